from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass

import pytest

from chokaq_core.domain.secret import Secret

PLANTED = "hunter2-hunter2"


@dataclass(frozen=True)
class Holder:
    password: Secret


@pytest.mark.parametrize(
    "shown",
    [
        str(Secret(PLANTED)),
        repr(Secret(PLANTED)),
        f"{Secret(PLANTED)!s:>20}",
        f"{Secret(PLANTED)}",
        "%s %r" % (Secret(PLANTED), Secret(PLANTED)),  # noqa: UP031 - the way of logging
        repr([Secret(PLANTED)]),
        repr({"password": Secret(PLANTED)}),
        repr(Holder(Secret(PLANTED))),
        repr(asdict(Holder(Secret(PLANTED)))),
        json.dumps({"password": Secret(PLANTED)}, default=str),
        str(ValueError(Secret(PLANTED))),
    ],
)
def test_a_secret_is_shown_as_a_mask_wherever_it_stands(shown: str) -> None:
    assert PLANTED not in shown
    assert "***" in shown


def test_a_logged_secret_is_a_mask(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("logging in with %s", Secret(PLANTED))
    assert caplog.messages == ["logging in with ***"]


def test_it_has_no_attribute_dictionary_to_be_dumped() -> None:
    assert not hasattr(Secret(PLANTED), "__dict__")


def test_only_asking_for_it_reveals_it() -> None:
    assert Secret(PLANTED).reveal() == "hunter2-hunter2"


def test_it_matches_itself_and_nothing_else() -> None:
    assert Secret(PLANTED).matches("hunter2-hunter2")
    assert not Secret(PLANTED).matches("hunter2-hunter3")
    assert not Secret(PLANTED).matches("")
    assert not Secret("größer").matches("gr\udcc3er")


def test_equal_secrets_are_equal_values() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_an_empty_secret_is_no_secret() -> None:
    assert not Secret("")
    assert Secret(PLANTED)
