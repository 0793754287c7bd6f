from __future__ import annotations

import re
from enum import Enum

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from chokaq_core.contracts import Job, JsonSerializer
from chokaq_core.domain.errors import InvalidJobError


class Color(Enum):
    RED = "red"


class Item(BaseModel):
    sku: str
    count: int


class ProjectV1(Job):
    project_id: int = Field(alias="projectId")


class ProjectV2(Job):
    project_id: int = Field(alias="projectId")
    slug: str
    color: Color = Color.RED
    items: list[Item] = Field(default_factory=list)


class Renamed(Job):
    project_id: int = Field(validation_alias=AliasChoices("projectId", "project"), serialization_alias="projectId")  # type: ignore[pydantic-alias]


class Forgiving(Job):
    model_config = ConfigDict(extra="ignore")

    name: str = ""


class Looked(Job):
    """
    A model that looks its values up, and does not think of those that are not there.
    """

    name: str

    @field_validator("name")
    @classmethod
    def look_up(cls, name: str) -> str:
        return {"a": "A"}[name]


class Divided(Job):
    by: int

    def model_post_init(self, _: object) -> None:
        assert 1 // self.by


class Echoing(Job):
    name: str

    @field_validator("name")
    @classmethod
    def refuse(cls, name: str) -> str:
        raise ValueError("half of a pair: \ud800")


UNKNOWN = "there is no such field; mind the spelling, or leave it out"


def problems(job_type: type[Job], text: str) -> list[str]:
    with pytest.raises(InvalidJobError) as caught:
        JsonSerializer().loads(job_type, text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.case("C-038")
@pytest.mark.parametrize(
    "job_type,text,expected",
    [
        (ProjectV2, '{"projectId":12}', ["payload.slug: Field required"]),
        (
            ProjectV1,
            '{"projectId":12,"slug":"x"}',
            ["payload.slug: " + UNKNOWN],
        ),
        (
            ProjectV2,
            '{"project":12,"slug":"x"}',
            [
                "payload.projectId: Field required",
                "payload.project: " + UNKNOWN,
            ],
        ),
        (ProjectV2, '{"projectId":1,"slug":"x","color":"blue"}', ["payload.color: Input should be 'red'"]),
        (
            ProjectV2,
            '{"projectId":"twelve","slug":7}',
            [
                "payload.projectId: Input should be a valid integer, unable to parse string as an integer",
                "payload.slug: Input should be a valid string",
            ],
        ),
        (
            ProjectV2,
            '{"projectId":1,"slug":"x","items":[{"sku":"a","count":1},{"sku":"b","count":"many"}]}',
            ["payload.items.1.count: Input should be a valid integer, unable to parse string as an integer"],
        ),
        (ProjectV2, "[]", ["payload: must be a JSON object"]),
        (ProjectV2, "null", ["payload: must be a JSON object"]),
    ],
)
def test_a_payload_of_another_release_is_refused_with_the_path_of_each_field(
    job_type: type[Job], text: str, expected: list[str]
) -> None:
    assert problems(job_type, text) == expected


@pytest.mark.case("C-038")
@pytest.mark.parametrize("text", ["", "not json", '{"projectId":12', "{'projectId':12}", '{"projectId":12} {}'])
def test_a_text_that_is_not_json_is_refused(text: str) -> None:
    (problem,) = problems(ProjectV1, text)
    assert problem.startswith("payload: Invalid JSON: ")


@pytest.mark.parametrize("text", ['{"name":"\ud800"}', '{"name":"\\ud800"}'])
def test_a_lone_surrogate_in_a_stored_text_is_refused(text: str) -> None:
    assert len(problems(Forgiving, text)) == 1


def test_a_text_nested_very_deep_is_refused() -> None:
    (problem,) = problems(Forgiving, '{"name":' + "[" * 100_000 + "]" * 100_000 + "}")
    assert problem.startswith("payload: Invalid JSON: recursion limit exceeded")


def test_no_value_of_the_payload_stands_in_the_refusal() -> None:
    text = "; ".join(problems(ProjectV2, '{"projectId":"s3cret","slug":{"a":"s3cret"},"other":"s3cret"}'))
    assert "s3cret" not in text


@pytest.mark.case("C-038")
@pytest.mark.parametrize("text", ['{"projectId":12}', '{"project":12}'])
def test_a_field_may_be_read_by_its_old_name_too(text: str) -> None:
    assert JsonSerializer().loads(Renamed, text).project_id == 12


@pytest.mark.case("C-038")
def test_a_model_may_ask_to_drop_unknown_fields() -> None:
    assert JsonSerializer().loads(Forgiving, '{"name":"a","slug":"x"}') == Forgiving(name="a")


@pytest.mark.case("C-038")
@pytest.mark.parametrize(
    "job_type, text, fault",
    [
        (Looked, '{"name":"s3cret"}', "KeyError"),
        (Divided, '{"by":0}', "ZeroDivisionError"),
    ],
    ids=["looked-up", "divided"],
)
def test_a_payload_on_which_the_model_itself_fails_is_refused_with_the_place_and_no_value(
    job_type: type[Job], text: str, fault: str
) -> None:
    (problem,) = problems(job_type, text)
    assert re.fullmatch(
        rf"payload: could not be judged: the model failed with {fault} at test_payload_reading\.py:\d+", problem
    )


def test_a_refusal_in_words_that_cannot_be_written_is_still_one() -> None:
    (problem,) = problems(Echoing, '{"name":"a"}')
    assert problem.startswith("payload: could not be judged: the model failed with UnicodeEncodeError at ")
