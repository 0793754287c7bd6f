from __future__ import annotations

import copy
import pickle

import pytest

from chokaq_core.domain.value import Value, asdict, field, field_names, replace


class Order(Value):
    number: int
    tags: dict[str, str] = field(default_factory=dict)


class Rush(Order):
    hours: int = 2


ORDER = Order(7, {"to": "Ada"})


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        ORDER.number = 8  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del ORDER.number
    assert ORDER.number == 7


def test_it_takes_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        ORDER.colour = "red"  # type: ignore[attr-defined]
    assert not hasattr(ORDER, "__dict__")


def test_values_are_equal_if_their_classes_and_fields_are() -> None:
    assert Order(7, {"to": "Ada"}) == ORDER
    assert Order(8, {"to": "Ada"}) != ORDER
    assert Rush(7, {"to": "Ada"}) != ORDER


def test_equal_values_are_one_key() -> None:
    class Place(Value):
        queue: str
        type_key: str

    assert {Place("default", "mail"): 1}[Place("default", "mail")] == 1


def test_it_shows_its_fields() -> None:
    assert repr(Rush(7)) == "Rush(number=7, tags={}, hours=2)"


def test_a_default_is_made_for_each_value() -> None:
    assert Order(1).tags is not Order(1).tags


@pytest.mark.parametrize("wrong", [{}, {"number": 1, "colour": "red"}], ids=["missing", "unknown"])
def test_wrong_fields_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Order(**wrong)  # type: ignore[arg-type]


def test_replace_makes_another_value() -> None:
    assert replace(ORDER, number=8) == Order(8, {"to": "Ada"})
    assert ORDER.number == 7
    with pytest.raises(TypeError, match="colour"):
        replace(ORDER, colour="red")


def test_its_fields_are_known_in_order() -> None:
    assert field_names(Rush) == field_names(Rush(7)) == ("number", "tags", "hours")
    assert asdict(ORDER) == {"number": 7, "tags": {"to": "Ada"}}


def test_it_matches_by_place_and_by_name() -> None:
    match ORDER:
        case Order(number, tags={"to": to}):
            assert (number, to) == (7, "Ada")
        case _:
            pytest.fail("no match")


def test_copies_are_equal() -> None:
    assert copy.deepcopy(ORDER) == copy.copy(ORDER) == pickle.loads(pickle.dumps(ORDER)) == ORDER  # noqa: S301 - its own
