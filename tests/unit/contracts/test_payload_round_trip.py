from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, Json, PrivateAttr, computed_field

from chokaq_core.contracts import Job, JsonSerializer

SERIALIZER = JsonSerializer()
EASTERN = timezone(timedelta(hours=5, minutes=30))


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1


class Line(BaseModel):
    sku: str
    price: Decimal
    ratio: float = 1.0


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Box:
    width: float
    label: str


class Everything(Job):
    number: int = 0
    ratio: float = 0.0
    price: Decimal = Decimal(0)
    text: str = ""
    at: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    on: date = date(2026, 3, 1)
    daily: time = time(12)
    wait: timedelta = timedelta(0)
    ref: UUID = UUID(int=0)
    raw: bytes = b""
    color: Color = Color.RED
    size: Size = Size.SMALL
    names: set[str] = Field(default_factory=set)
    sealed: frozenset[int] = frozenset()
    queue: deque[int] = Field(default_factory=deque)
    by_number: dict[int, str] = Field(default_factory=dict)
    by_color: dict[Color, Decimal] = Field(default_factory=dict)
    pair: tuple[int, str] = (0, "")
    point: Point = Point(0, 0)
    box: Box = Field(default_factory=lambda: Box(1.0, ""))
    path: PurePosixPath = PurePosixPath("/")
    lines: list[Line] = Field(default_factory=list)
    anything: Any = None


def holding(field: str, value: Any) -> Everything:  # noqa: ANN401 - a value of any field
    return Everything(**{field: value})


def round_trip(job: Everything) -> Everything:
    return SERIALIZER.loads(Everything, SERIALIZER.dumps(job))


VALUES = [
    ("number", 2**80),
    ("number", -(2**63)),
    ("ratio", 1e-320),
    ("ratio", 5e-324),
    ("ratio", 1.7976931348623157e308),
    ("ratio", 0.1),
    ("price", Decimal("0.10")),
    ("price", Decimal("1E+400")),
    ("price", Decimal("-0")),
    ("price", Decimal("123456789012345678901234567890.123456789012345678901234567890")),
    ("text", 'é 😀 "\\ \x01\n NaN Infinity </script>'),
    ("at", datetime(2030, 5, 10, 12, 0, 0, 123_457, tzinfo=UTC)),
    ("at", datetime(2030, 5, 10, 12, 0, 0, 1, tzinfo=EASTERN)),
    ("at", datetime(2030, 5, 10, 12, 0, tzinfo=ZoneInfo("Europe/Madrid"))),
    ("at", datetime(2030, 5, 10, 12, 0)),  # noqa: DTZ001 - a payload's business
    ("on", date(2024, 2, 29)),
    ("daily", time(23, 59, 59, 999_999)),
    ("wait", timedelta(days=400, seconds=3, microseconds=7)),
    ("wait", timedelta(microseconds=-1)),
    ("ref", UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")),
    ("raw", b"plain"),
    ("raw", b"\x00\xff\xfe not UTF-8"),
    ("raw", bytes(range(256))),
    ("color", Color.BLUE),
    ("size", Size.SMALL),
    ("names", {"b", "a"}),
    ("sealed", frozenset({3, 1})),
    ("queue", deque([3, 1])),
    ("by_number", {1: "one", -7: "minus seven"}),
    ("by_color", {Color.BLUE: Decimal("0.50")}),
    ("pair", (7, "seven")),
    ("point", Point(3, 4)),
    ("box", Box(0.5, "wide")),
    ("path", PurePosixPath("/tmp/a b")),  # noqa: S108 - nothing is opened
    ("lines", [Line(sku="a", price=Decimal("1.00")), Line(sku="b", price=Decimal("2.50"), ratio=0.25)]),
    ("anything", {"a": [1, 2.5, None, True, "x", {"b": []}]}),
]


@pytest.mark.case("C-033")
@pytest.mark.case("C-040")
@pytest.mark.parametrize("field,value", VALUES, ids=lambda value: ascii(value)[:40])
def test_a_value_comes_back_equal_and_of_its_declared_type(field: str, value: object) -> None:
    back = getattr(round_trip(holding(field, value)), field)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.case("C-033")
@pytest.mark.parametrize("field,value", VALUES, ids=lambda value: ascii(value)[:40])
def test_the_stored_text_is_strict_json(field: str, value: object) -> None:
    def refuse(constant: str) -> float:
        pytest.fail(f"{constant} is not strict JSON")

    json.loads(SERIALIZER.dumps(holding(field, value)), parse_constant=refuse)


@pytest.mark.case("C-033")
def test_the_sign_of_a_negative_zero_is_kept() -> None:
    assert math.copysign(1, round_trip(Everything(ratio=-0.0)).ratio) == -1.0


@pytest.mark.case("C-033")
@pytest.mark.parametrize(
    "field,value,text",
    [
        ("price", Decimal("0.10"), '"price":"0.10"'),
        ("price", Decimal("1E+400"), '"price":"1E+400"'),
        ("ratio", -0.0, '"ratio":-0.0'),
        ("at", datetime(2030, 5, 10, 12, 0, 0, 1, tzinfo=EASTERN), '"at":"2030-05-10T12:00:00.000001+05:30"'),
        ("raw", b"\xff\xfe", '"raw":"__4="'),
        ("by_number", {1: "one"}, '"by_number":{"1":"one"}'),
        ("color", Color.BLUE, '"color":"blue"'),
        ("text", "é😀", '"text":"é😀"'),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_value_has_its_documented_spelling(field: str, value: object, text: str) -> None:
    assert text in SERIALIZER.dumps(holding(field, value))


@pytest.mark.case("C-033")
@given(
    st.builds(
        Everything,
        number=st.integers(min_value=-(10**4_000), max_value=10**4_000),
        ratio=st.floats(allow_nan=False, allow_infinity=False),
        price=st.decimals(allow_nan=False, allow_infinity=False),
        text=st.text(st.characters(codec="utf-8")),
        at=st.datetimes(timezones=st.sampled_from([UTC, EASTERN])),
        wait=st.timedeltas(min_value=timedelta(days=-99_999_999), max_value=timedelta(days=99_999_999)),
        raw=st.binary(),
        names=st.sets(st.text(st.characters(codec="utf-8"))),
        by_number=st.dictionaries(st.integers(min_value=-(2**63), max_value=2**63 - 1), st.text("ab")),
    )
)
def test_any_job_comes_back_equal(job: Everything) -> None:
    assert round_trip(job) == job


class Aliased(Job):
    model_config = ConfigDict(populate_by_name=True)

    project_id: int = Field(alias="projectId")
    tags: list[str] = Field(default_factory=lambda: ["new"])


@pytest.mark.case("C-040")
def test_an_aliased_field_is_stored_by_its_alias_and_read_by_it() -> None:
    text = SERIALIZER.dumps(Aliased(project_id=12))
    assert text == '{"projectId":12,"tags":["new"]}'
    assert SERIALIZER.loads(Aliased, text) == Aliased(project_id=12, tags=["new"])


@pytest.mark.case("C-040")
def test_a_default_factory_runs_when_the_job_is_made_and_not_when_it_is_read() -> None:
    class Stamped(Job):
        number: int = Field(default_factory=iter([7, 8]).__next__)

    assert SERIALIZER.loads(Stamped, SERIALIZER.dumps(Stamped())).number == 7


@pytest.mark.case("C-040")
def test_a_change_after_writing_is_not_seen() -> None:
    job = Everything(names={"a"}, lines=[Line(sku="a", price=Decimal(1))], anything={"n": 1})
    text = SERIALIZER.dumps(job)
    job.names.add("b")
    job.lines[0].sku = "changed"
    job.anything["n"] = 2
    back = SERIALIZER.loads(Everything, text)
    assert (back.names, back.lines[0].sku, back.anything) == ({"a"}, "a", {"n": 1})


def test_what_is_computed_from_other_fields_is_not_stored() -> None:
    class Invoice(Job):
        net: int
        tax: int

        @computed_field  # type: ignore[prop-decorator]
        @property
        def gross(self) -> int:
            return self.net + self.tax

    text = SERIALIZER.dumps(Invoice(net=100, tax=19))
    assert text == '{"net":100,"tax":19}'
    assert SERIALIZER.loads(Invoice, text).gross == 119


def test_json_inside_of_a_field_stays_text() -> None:
    class Hook(Job):
        body: Json[dict[str, int]]

    text = SERIALIZER.dumps(Hook(body='{"a":1}'))  # type: ignore[arg-type]
    assert text == '{"body":"{\\"a\\":1}"}'
    assert SERIALIZER.loads(Hook, text).body == {"a": 1}


def test_a_private_attribute_stays_behind() -> None:
    class Noted(Job):
        name: str
        _note: str = PrivateAttr(default="none")

    job = Noted(name="a")
    job._note = "mine"  # noqa: SLF001 - the point of the test
    assert SERIALIZER.loads(Noted, SERIALIZER.dumps(job))._note == "none"  # noqa: SLF001


def test_a_default_looser_than_its_type_comes_back_as_the_type() -> None:
    class Loose(Job):
        price: Decimal = 1  # type: ignore[assignment]
        names: set[str] = []  # type: ignore[assignment]  # noqa: RUF012 - pydantic copies it
        path: PurePosixPath = "/a"  # type: ignore[assignment]
        wait: timedelta = 5  # type: ignore[assignment]
        items: list[int] = ()  # type: ignore[assignment]

    back = SERIALIZER.loads(Loose, SERIALIZER.dumps(Loose()))
    assert (back.price, back.names, back.wait, back.items) == (Decimal(1), set(), timedelta(seconds=5), [])
    assert back.path == PurePosixPath("/a")
