"""
No test sleeps for luck: what nobody announces is polled by one helper, and everything else is driven or announced.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HELPER = "support/polling.py"
SHORTEST_BOUND = 5.0
"""A wait with less of a limit is a pause; one with more tells a hang from an answer."""

EXCUSED = {
    "engine/test_timeouts.py": "a handler that ends in the very moment of its timeout",
    "faults/test_locked_database.py": "another program that keeps the database locked for seconds",
    "jobs/test_webhook.py": "a server that sends drop by drop, too slowly for the whole and too fast for any one read",
}
"""Where the time that passes is what is tested."""

_IN_TEXT = re.compile(r"\bsleep\s*\(\s*(?!0\s*\))")


def sources() -> list[Path]:
    return sorted(path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)


def pauses(source: str) -> Iterator[tuple[int, str]]:
    """
    Lines that let time pass, in the code and in the programs that it holds as text.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and is_pause(node):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _IN_TEXT.search(node.value):
            yield node.lineno, "a program in a text sleeps"


def is_pause(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep"), args=[ast.Constant(value=0)]):
            return False  # Lets others run, and no time pass.
        case ast.Call(func=ast.Attribute(attr="sleep" | "wait_for_timeout") | ast.Name(id="sleep")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Call(func=event), attr="wait"), args=[_]):
            return ast.unparse(event) in {"Event", "threading.Event", "asyncio.Event"}
        case ast.Call(func=ast.Attribute(attr="wait" | "join" | "acquire")):
            return is_short(call.args, call.keywords)
        case ast.Call(func=ast.Attribute(attr="wait_for"), args=[_, *limit]):
            return is_short(limit, call.keywords)
        case _:
            return False


def is_short(arguments: list[ast.expr], named: list[ast.keyword]) -> bool:
    """
    Whether the limit of a wait, if it is a plain number, is too short to tell a hang from an answer.
    """
    limits = [*arguments, *(keyword.value for keyword in named if keyword.arg == "timeout")]
    numbers = [value.value for value in limits if isinstance(value, ast.Constant)]
    return any(type(number) in {int, float} and float(str(number)) < SHORTEST_BOUND for number in numbers)


def test_no_test_sleeps() -> None:
    found = {
        f"{path.relative_to(TESTS)}:{line}: {what}"
        for path in sources()
        if path != Path(__file__) and path.relative_to(TESTS).as_posix() not in {HELPER, *EXCUSED}
        for line, what in pauses(path.read_text(encoding="utf-8"))
    }

    assert found == set()


def test_whoever_is_excused_sleeps() -> None:
    idle = {name for name in (HELPER, *EXCUSED) if not list(pauses((TESTS / name).read_text(encoding="utf-8")))}

    assert idle == set()


@pytest.mark.parametrize(
    "source",
    [
        "time.sleep(0.1)",
        "sleep(seconds)",
        "await asyncio.sleep(1)",
        "threading.Event().wait(3)",
        "Event().wait(seconds)",
        "over.wait(0.2)",
        "thread.join(0.1)",
        "process.wait(timeout=2)",
        "changed.wait_for(is_true, 1.5)",
        "page.wait_for_timeout(100)",
        "HANDLERS = 'import time\\ntime.sleep(0.5)'",
    ],
)
def test_every_way_to_sleep_is_found(source: str) -> None:
    assert len(list(pauses(source))) == 1


@pytest.mark.parametrize(
    "source",
    ["asyncio.sleep(0)", "over.wait(30)", "over.wait()", "threading.Event().wait()", "', '.join(names)", "wait(over)"],
)
def test_yielding_and_waiting_for_what_must_come_are_no_sleep(source: str) -> None:
    assert list(pauses(source)) == []
