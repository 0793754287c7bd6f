"""
The command line of the local host: `python -m chokaq_core.localhost`.

Exit codes: 0 after a graceful stop, 1 when work had to be left behind, 2 when the host could not start.
"""

from __future__ import annotations

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """
    Serves an app until a signal ends it.
    """
    options = _parse(arguments)
    # Imported only now, so that --help and its like answer at once.
    from chokaq_core.localhost.errors import HostError  # noqa: PLC0415
    from chokaq_core.localhost.run import run  # noqa: PLC0415

    try:
        return run(options.app, options.host, options.port)
    except HostError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m chokaq_core.localhost",
        description="Serves a function_app.py on this machine: HTTP, timers and in-process queue wakes, without Azure.",
        epilog=(
            "Settings come from the environment, then from local.settings.json in the app's folder. Without a SQL"
            " Server connection string, jobs are kept in .chokaq/chokaq.db there. LOGLEVEL sets how much is logged"
            " (INFO). Ctrl-C lets running work finish first; a second Ctrl-C ends the host at once."
        ),
    )
    parser.add_argument("--app", default=".", metavar="DIR", help="the folder of function_app.py (default: this one)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", default=7071, type=_port, help="the port, 0 for any free one (default: %(default)s)")
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:  # noqa: PLR2004 - the last TCP port
        raise argparse.ArgumentTypeError(f"'{text}' is no port: expected 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
