from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from chokaq_core.contracts import Job, JsonSerializer
from chokaq_core.domain.errors import InvalidJobError

NOT_FINITE = "must be a finite number; JSON has no NaN or Infinity"
NAN = float("nan")


class Color(Enum):
    RED = "red"


class Sample(BaseModel):
    ratio: float | None = None
    note: Any = None


class ColoredSample(Sample):
    color: str = "red"


@dataclass
class Measure:
    width: float = 0.0
    more: list[float] = field(default_factory=list)


class Reading(Job):
    ratio: float = 0.0
    ratios: list[float] = Field(default_factory=list)
    by_name: dict[str, float] = Field(default_factory=dict)
    pair: tuple[float, float] = (0.0, 0.0)
    price: Annotated[Decimal, Field(allow_inf_nan=True)] = Decimal(0)
    sample: Sample = Field(default_factory=Sample)
    samples: list[Sample] = Field(default_factory=list)
    measure: Measure = Field(default_factory=Measure)
    count: Annotated[int, Field(gt=0)] = 1
    text: str = ""
    anything: Any = None
    loose: dict = Field(default_factory=dict)  # type: ignore[type-arg]


def reading(field_name: str, value: Any) -> Reading:  # noqa: ANN401 - a value of any field
    return Reading(**{field_name: value})


def problems(job: Job) -> list[str]:
    with pytest.raises(InvalidJobError) as caught:
        JsonSerializer().dumps(job)
    return [str(problem) for problem in caught.value.problems]


def endless() -> Iterator[int]:
    while True:
        yield 1


@pytest.mark.case("C-033")
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "field_name,wrap,path",
    [
        ("ratio", lambda number: number, "payload.ratio"),
        ("ratios", lambda number: [1.0, number], "payload.ratios.1"),
        ("by_name", lambda number: {"a": 1.0, "b": number}, "payload.by_name.b"),
        ("pair", lambda number: (number, 1.0), "payload.pair.0"),
        ("sample", lambda number: Sample(ratio=number), "payload.sample.ratio"),
        ("samples", lambda number: [Sample(), Sample(ratio=number)], "payload.samples.1.ratio"),
        ("measure", lambda number: Measure(width=number), "payload.measure.width"),
        ("measure", lambda number: Measure(more=[0.0, number]), "payload.measure.more.1"),
        ("anything", lambda number: {"q": [number]}, "payload.anything.q.0"),
        ("anything", lambda number: {number}, "payload.anything.0"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_its_path(
    number: float,
    field_name: str,
    wrap: Callable[[float], object],
    path: str,
) -> None:
    assert problems(reading(field_name, wrap(number))) == [f"{path}: {NOT_FINITE}"]


@pytest.mark.case("C-033")
@pytest.mark.parametrize("number", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_not_finite_is_refused_though_its_model_allows_it(number: str) -> None:
    assert problems(Reading(price=Decimal(number))) == [f"payload.price: {NOT_FINITE}"]


@pytest.mark.case("C-033")
def test_every_number_that_is_not_finite_is_told_at_once() -> None:
    job = Reading(ratio=NAN, ratios=[NAN, 1.0, NAN])
    paths = ["payload.ratio", "payload.ratios.0", "payload.ratios.2"]
    assert problems(job) == [f"{path}: {NOT_FINITE}" for path in paths]


@pytest.mark.case("C-033")
def test_a_serializer_of_the_models_own_cannot_smuggle_nan_into_the_text() -> None:
    class Scaled(Job):
        first: str = "NaN is a word here"
        ratio: int = 1

        @field_serializer("ratio")
        def scale(self, ratio: int) -> float:
            return NAN

    assert problems(Scaled()) == ["payload.ratio: cannot be written as JSON: NaN is not a JSON number"]


@pytest.mark.case("C-033")
@pytest.mark.parametrize("text", ["NaN", "-Infinity", "Infinity and beyond"])
def test_the_words_for_such_numbers_may_be_sent_as_text(text: str) -> None:
    assert f'"text":"{text}"' in JsonSerializer().dumps(Reading(text=text))


@pytest.mark.case("C-040")
def test_an_open_file_is_refused_and_not_read(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")
    with file.open(encoding="utf-8") as opened:
        assert problems(Reading(anything=opened)) == [
            "payload.anything: is an iterator of type TextIOWrapper; send the items as a list"
        ]
        assert opened.read() == "one\ntwo\n"


@pytest.mark.case("C-040")
@pytest.mark.parametrize(
    "iterator,name",
    [(endless(), "generator"), (iter([1]), "list_iterator"), (io.BytesIO(b"x"), "BytesIO"), (map(str, [1]), "map")],
    ids=["generator", "list iterator", "buffer", "map"],
)
def test_an_iterator_is_refused_and_not_used_up(iterator: object, name: str) -> None:
    expected = [f"payload.anything.deep: is an iterator of type {name}; send the items as a list"]
    assert problems(Reading(anything={"deep": iterator})) == expected


@pytest.mark.case("C-040")
def test_a_field_of_iterables_is_refused_since_it_can_be_read_only_once() -> None:
    class Lazy(Job):
        numbers: Iterable[int]

    assert problems(Lazy(numbers=[1, 2])) == [
        "payload.numbers: is an iterator of type ValidatorIterator; send the items as a list"
    ]


@pytest.mark.case("C-040")
@pytest.mark.parametrize("value", [object(), int, endless, io], ids=["object", "class", "function", "module"])
def test_a_value_that_cannot_be_written_is_refused_with_its_field(value: object) -> None:
    (problem,) = problems(Reading(anything=[value]))
    assert problem.startswith("payload.anything: cannot be written as JSON: Unable to serialize unknown type: ")


@pytest.mark.parametrize("field_name,value", [("text", "a\ud800"), ("anything", {"\udc00": 1})])
def test_a_lone_surrogate_is_refused_with_its_field(field_name: str, value: object) -> None:
    (problem,) = problems(reading(field_name, value))
    assert problem.startswith(f"payload.{field_name}: cannot be written as JSON: ")
    assert "surrogates not allowed" in problem


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    (problem,) = problems(Reading(anything=ring))
    assert problem.endswith(": is nested deeper than 100 levels; flatten it")


@pytest.mark.parametrize("lists", [99, 100])
def test_a_hundred_levels_may_nest_and_no_more(lists: int) -> None:
    value: list[object] = [1]
    for _ in range(lists - 1):
        value = [value]
    job = Reading(anything=value)
    if lists < 100:
        assert "[" * lists in JsonSerializer().dumps(job)
    else:
        path = "payload.anything" + ".0" * 99
        assert problems(job) == [f"{path}: is nested deeper than 100 levels; flatten it"]


@pytest.mark.case("C-033")
@pytest.mark.parametrize(
    "value,sent,read",
    [
        ({1, 2}, "set", "list"),
        (Decimal("0.10"), "Decimal", "str"),
        (b"bytes", "bytes", "str"),
        (datetime(2030, 5, 10, tzinfo=UTC), "datetime", "str"),
        (date(2030, 5, 10), "date", "str"),
        (Color.RED, "Color", "str"),
        (Sample(), "Sample", "dict"),
        (Measure(), "Measure", "dict"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_value_whose_type_the_field_leaves_open_is_refused(value: object, sent: str, read: str) -> None:
    rule = f"is a {sent} that would be read back as a {read}; declare the field's type, or send the latter"
    assert problems(Reading(anything=value)) == [f"payload.anything: {rule}"]
    assert problems(Reading(anything=[1, {"deep": value}])) == [f"payload.anything.1.deep: {rule}"]
    assert problems(Reading(loose={"deep": value})) == [f"payload.loose.deep: {rule}"]


@pytest.mark.case("C-033")
@pytest.mark.parametrize("field_name", ["anything", "loose"])
@pytest.mark.parametrize("key", [1, 1.5, None, True, Color.RED], ids=str)
def test_keys_do_not_turn_into_text_without_notice(field_name: str, key: object) -> None:
    rule = "has keys that would be read back as text; declare their type, or send text"
    assert problems(reading(field_name, {"a": 1, key: 2})) == [f"payload.{field_name}: {rule}"]


def test_a_model_that_would_lose_the_fields_of_its_own_class_is_refused() -> None:
    rule = "is a ColoredSample that would be read back as a Sample; declare the field's type, or send the latter"
    assert problems(Reading(sample=ColoredSample(color="blue"))) == [f"payload.sample: {rule}"]


def test_a_tuple_in_an_open_field_may_come_back_as_a_list() -> None:
    job = JsonSerializer().loads(Reading, JsonSerializer().dumps(Reading(anything=(1, (2, 3)))))
    assert job.anything == [1, [2, 3]]


@pytest.mark.case("C-040")
@pytest.mark.parametrize(
    "field_name,value,problem",
    [
        ("count", -1, "payload.count: Input should be greater than 0"),
        ("count", "many", "payload.count: Input should be a valid integer, unable to parse string as an integer"),
        ("count", 1.5, "payload.count: Input should be a valid integer, got a number with a fractional part"),
        ("count", None, "payload.count: Input should be a valid integer"),
        (
            "count",
            "5",
            "payload.count: is a str that would be read back as a int; declare the field's type, or send the latter",
        ),
        ("ratios", ["x"], "payload.ratios.0: Input should be a valid number, unable to parse string as a number"),
        ("ratio", NAN, f"payload.ratio: {NOT_FINITE}"),
    ],
)
def test_a_job_that_was_changed_into_an_invalid_one_is_refused(field_name: str, value: object, problem: str) -> None:
    job = Reading()
    setattr(job, field_name, value)
    assert problems(job) == [problem]


@pytest.mark.case("C-040")
def test_a_job_made_without_its_required_field_is_refused() -> None:
    class Invoice(Job):
        number: int

    assert problems(Invoice.model_construct()) == ["payload.number: Field required"]  # type: ignore[call-arg]


def test_a_number_too_long_for_any_reader_is_refused() -> None:
    assert problems(Reading(anything=10**5_000))[0].startswith("payload: Invalid JSON: number out of range")


def test_a_value_that_refuses_to_be_compared_is_refused_like_any_other() -> None:
    class Grid:
        def __init__(self, cells: list[int]) -> None:
            self.cells = cells

        def __eq__(self, other: object) -> bool:
            msg = "the truth value of a grid is ambiguous"
            raise ValueError(msg)

        __hash__ = None  # type: ignore[assignment]

    class Plotted(Job):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        name: str = "plot"
        grid: Any = None

        @field_serializer("grid")
        def cells(self, grid: Grid) -> list[int]:
            return grid.cells

    rule = "is a Grid that would be read back as a list; declare the field's type, or send the latter"
    assert problems(Plotted(grid=Grid([1]))) == [f"payload.grid: {rule}"]
