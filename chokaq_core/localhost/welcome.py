"""
What stdout says once the host is ready: where it is, and three lines to paste into a terminal, or what to mend first.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

TRY_IT = """\
Try it, in another terminal:

  curl -s {api}/jobs -H 'content-type: application/json' \\
    -d '{{"type": "email.send.v1", "payload": {{"to": "ada@example.org", "subject": "Hello", "body": "First job"}}}}'

  curl -s {api}/jobs -H 'content-type: application/json' \\
    -d '{{"type": "report.csv.v1", "payload": {{"path": "jobs/samples/orders.csv", "group_by": ["country"], \
"total": ["amount"]}}}}'

  curl -s {api}/jobs/ID    # the id that either answer gave
"""

MEND_IT = """\
Nothing works yet, and jobs are refused with 503:

{problems}

Mend that and start again. Whether it is enough is told beforehand by

  {python} -m chokaq_core config check
"""


def welcome(host: str, port: int, route_prefix: str, deck_key: str | None = None, problems: Sequence[str] = ()) -> str:
    """
    Words the greeting for an address that is being served.

    Args:
        deck_key: a key of the Deck that was made for this run; a link with it signs in. Browsers do not send what
            stands behind the `#`.
        problems: why the app refuses to work.
    """
    api = f"http://{_reachable(host)}:{port}/{route_prefix}".rstrip("/")
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        mend_it = MEND_IT.format(problems=listed, python=shlex.quote(sys.executable))
        return f"ChokaQ answers at {api} (Ctrl-C stops it)\n\n{mend_it}"
    deck = f"The Deck: {api}/deck" + (f"#key={deck_key}" if deck_key is not None else "")
    return f"ChokaQ answers at {api} (Ctrl-C stops it)\n{deck}\n\n{TRY_IT.format(api=api)}"


def _reachable(host: str) -> str:
    # "Every interface" is an address to listen at, not one to call.
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared with, not bound to
        return "localhost"
    return f"[{host}]" if ":" in host else host
