from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import pytest
from annotated_types import Len
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    SecretStr,
    WithJsonSchema,
    computed_field,
    field_serializer,
    model_serializer,
)
from pydantic_core import CoreSchema, SchemaError

from chokaq_core.contracts import Job, JsonSerializer, Profile
from chokaq_core.contracts.plain_fields import has_plain_fields
from chokaq_core.domain.errors import InvalidJobError


class Colour(enum.Enum):
    RED = "red"


class Part(BaseModel):
    number: int


@dataclass
class Point:
    x: int


class Row(TypedDict):
    cell: str


class Own:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(int)


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        int | None,
        list[dict[str, Decimal]],
        tuple[int, ...],
        Literal["a", "b"],
        Colour,
        JsonValue,
        Any,
        datetime,
        Annotated[str, Field(max_length=3, pattern="a+"), AfterValidator(str.lower)] | None,
        list[Annotated[str, Len(1, 3)]],
    ],
    ids=str,
)
def test_values_and_collections_of_them_are_plain(annotation: Any) -> None:  # noqa: ANN401 - any type
    class Send(Job):
        field: annotation

    assert has_plain_fields(Send)


@pytest.mark.parametrize(
    "annotation",
    [
        SecretStr,
        list[SecretStr | None],
        dict[str, Part],
        Part,
        Point,
        Row,
        Own,
        Sequence[int],
        type[int],
        Annotated[str, WithJsonSchema({"type": "string", "writeOnly": True})],
        list[Annotated[str, Field(json_schema_extra={"writeOnly": True})]],
    ],
    ids=str,
)
def test_what_could_hold_anything_is_looked_at_closely(annotation: Any) -> None:  # noqa: ANN401 - any type
    class Send(Job):
        field: annotation

    assert not has_plain_fields(Send)


def test_a_field_or_model_that_is_described_in_words_of_its_own_is_looked_at_closely() -> None:
    class Said(Job):
        token: str = Field(json_schema_extra={"writeOnly": True})

    class SaidOfAll(Job):
        model_config = ConfigDict(json_schema_extra={"writeOnly": True})

    assert not has_plain_fields(Said)
    assert not has_plain_fields(SaidOfAll)


def test_a_model_that_writes_itself_is_looked_at_closely() -> None:
    class ByField(Job):
        token: str

        @field_serializer("token")
        def hidden(self, token: str) -> SecretStr:
            return SecretStr(token)

    class ByModel(Job):
        token: str

        @model_serializer
        def hidden(self) -> dict[str, SecretStr]:
            return {"token": SecretStr(self.token)}

    class Derived(Job):
        token: str

        @computed_field  # type: ignore[prop-decorator]
        @property
        def hidden(self) -> SecretStr:
            return SecretStr(self.token)

    class BySchema(Job):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
            return handler(source)

    models: list[type[Job]] = [ByField, ByModel, Derived, BySchema]
    assert not any(map(has_plain_fields, models))


def register(model: type[Job]) -> None:
    Profile("mailing").handler("email.send.v1", job_type=model)(lambda job: None)


def test_registering_a_plain_model_builds_nothing() -> None:
    class Send(Job):
        to: str
        after: timedelta = timedelta(0)

    register(Send)
    assert not Send.__pydantic_complete__
    assert JsonSerializer().loads(Send, '{"to":"ada"}') == Send(to="ada")
    assert Send.__pydantic_complete__


@pytest.mark.parametrize(
    "annotation",
    [Annotated[int, Field(min_length=1)], Annotated[str, Field(pattern="(")]],
    ids=["of another type", "no regular expression"],
)
def test_a_constraint_that_does_not_fit_is_told_by_the_first_job(annotation: Any) -> None:  # noqa: ANN401 - any type
    class Send(Job):
        field: annotation

    register(Send)
    with pytest.raises(InvalidJobError, match="payload: could not be judged: the model failed with"):
        JsonSerializer().loads(Send, '{"field":1}')
    with pytest.raises((TypeError, SchemaError)):
        Send(field=1)


def test_threads_that_meet_an_unbuilt_model_all_read_their_job() -> None:
    class Send(Job):
        to: Annotated[list[str], Len(1)]

    assert _each_of_eight(lambda number: JsonSerializer().loads(Send, f'{{"to":["{number}"]}}').to) == [
        [str(number)] for number in range(8)
    ]


def _each_of_eight(read: Callable[[int], list[str]]) -> list[list[str]]:
    start, answers = threading.Barrier(8), dict[int, list[str]]()

    def run(number: int) -> None:
        start.wait(30)
        answers[number] = read(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return [answers[number] for number in range(8)]
