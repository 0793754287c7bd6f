from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, SecretBytes, SecretStr

from chokaq_core.contracts import Job, JsonSerializer, Profile
from chokaq_core.domain.errors import RegistrationError

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

SECRET_RULE = "is a secret; operators read payloads, so send its name and read the secret in the handler"


class Credentials(BaseModel):
    user: str = ""
    password: SecretStr = SecretStr("")


class Plain(Job):
    token: SecretStr


class Binary(Job):
    token: SecretBytes


class Optional(Job):
    token: SecretStr | None = None


class Several(Job):
    tokens: list[SecretStr]


class ByName(Job):
    tokens: dict[str, SecretStr]


class Nested(Job):
    accounts: list[Credentials]


class Aliased(Job):
    token: SecretStr = Field(alias="apiToken")


def register(model: type[Job]) -> None:
    Profile("mailing").handler("email.send.v1", job_type=model)(lambda job: None)


def refusal(model: type[Job]) -> str:
    with pytest.raises(RegistrationError) as caught:
        register(model)
    return str(caught.value).removeprefix("handler of 'email.send.v1': ")


@pytest.mark.case("C-040")
@pytest.mark.parametrize(
    "model,field",
    [
        (Plain, "Plain.token"),
        (Binary, "Binary.token"),
        (Optional, "Optional.token"),
        (Several, "Several.tokens"),
        (ByName, "ByName.tokens"),
        (Nested, "Credentials.password"),
        (Aliased, "Aliased.apiToken"),
    ],
)
def test_a_secret_is_refused_by_the_name_of_its_field(model: type[Job], field: str) -> None:
    assert refusal(model) == f"{field} {SECRET_RULE}"


def test_words_of_a_schema_in_names_and_defaults_are_no_secrets() -> None:
    class Odd(Job):
        writeOnly: bool = True  # noqa: N815 - the word of the schema
        properties: dict[str, Any] = Field(default={"properties": "x", "writeOnly": True})
        defs: dict[str, Any] = Field(default={"writeOnly": True}, alias="$defs", examples=[{"writeOnly": True}])

    register(Odd)
    assert JsonSerializer().loads(Odd, JsonSerializer().dumps(Odd())) == Odd()


@pytest.mark.case("C-038")
@pytest.mark.parametrize(
    "field",
    [
        Field(1, alias="q"),
        Field(1, validation_alias="q", serialization_alias="q"),
        Field(1, validation_alias=AliasChoices("old", "q"), serialization_alias="q"),
        Field(1, validation_alias=AliasChoices("number", "old")),
    ],
    ids=["alias", "both aliases", "choices", "choices with the own name"],
)
def test_a_field_that_is_read_by_the_name_it_is_written_under_is_accepted(field: int) -> None:
    class Send(Job):
        number: int = field

    register(Send)
    assert JsonSerializer().loads(Send, JsonSerializer().dumps(Send())).number == 1


@pytest.mark.case("C-038")
def test_a_field_that_may_also_be_read_by_its_own_name_is_accepted() -> None:
    class Send(Job):
        model_config = ConfigDict(populate_by_name=True)

        number: int = Field(1, validation_alias="q")

    register(Send)
    assert JsonSerializer().loads(Send, JsonSerializer().dumps(Send())).number == 1


@pytest.mark.case("C-038")
@pytest.mark.parametrize(
    "field,written,read",
    [
        (Field(1, validation_alias="q"), "number", "'q'"),
        (Field(1, serialization_alias="q"), "q", "'number'"),
        (Field(1, alias="q", serialization_alias="r"), "r", "'q'"),
        (Field(1, validation_alias=AliasChoices("q", "r")), "number", "'q' or 'r'"),
        (Field(1, validation_alias=AliasPath("q", 0)), "number", "\"AliasPath(path=['q', 0])\""),
    ],
)
def test_a_field_that_is_not_read_by_the_name_it_is_written_under_is_refused(
    field: int,
    written: str,
    read: str,
) -> None:
    class Send(Job):
        number: int = field

    assert refusal(Send) == f"field number is written as {written!r} but read as {read}; give it one alias for both"


def test_a_model_that_reads_by_field_names_only_is_asked_to_write_by_them() -> None:
    class Send(Job):
        model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)

        number: int = Field(1, alias="q")

    assert refusal(Send) == "field number is written as 'q' but read as 'number'; give it one alias for both"


def test_a_model_whose_types_are_not_there_yet_is_refused() -> None:
    class Send(Job):
        price: OnlyForCheckers

    assert refusal(Send).startswith("Send cannot be a payload: `Send` is not fully defined")


def test_a_model_with_a_field_that_json_cannot_hold_is_refused() -> None:
    class Send(Job):
        call: Callable[[int], int]

    assert refusal(Send).startswith("Send cannot be a payload: Cannot generate a JsonSchema")
