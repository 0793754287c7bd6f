from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.logs import set_up_logs


@pytest.fixture(autouse=True)
def _untouched_logging() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    # Taken off first: the set-up closes the handlers that it finds.
    root.handlers.clear()
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def test_a_log_line_is_compact_and_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs({})

    logging.getLogger("jobs.mail").info("sent %d", 3)

    written = capsys.readouterr()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} INFO    jobs\.mail  sent 3\n", written.err)
    assert written.out == ""


def test_a_strangers_text_ends_no_line_and_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs({})

    logging.getLogger("web").info("GET %s", "/a\n12:00:00.000 INFO    web  all is well\x1b[2J\u202e")

    written = capsys.readouterr().err
    assert written.endswith("  GET /a\\u000a12:00:00.000 INFO    web  all is well\\u001b[2J\\u202e\n")
    assert written.count("\n") == 1


def test_a_traceback_stands_indented_under_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs({})

    error = OSError("said\n12:00:00.000 INFO    web  all is well\x1b[2J")
    logging.getLogger("web").error("failed", exc_info=error)

    _, *under = capsys.readouterr().err.splitlines()
    assert under == ["    OSError: said", "    12:00:00.000 INFO    web  all is well\\u001b[2J"]


@pytest.mark.parametrize("name,level", [("", "INFO"), ("debug", "DEBUG"), (" ERROR ", "ERROR")])
def test_the_level_comes_from_loglevel(name: str, level: str) -> None:
    set_up_logs({"LOGLEVEL": name})

    assert logging.getLevelName(logging.getLogger().level) == level


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(HostError, match="LOGLEVEL is 'LOUD': expected one of DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        set_up_logs({"LOGLEVEL": "loud"})


@pytest.mark.parametrize("name", ["azure", "uvicorn", "asyncio"])
def test_chatty_libraries_speak_from_warning_on(name: str) -> None:
    set_up_logs({"LOGLEVEL": "DEBUG"})

    assert logging.getLogger(name).level == logging.WARNING
