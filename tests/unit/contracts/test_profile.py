from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.contracts.profile import Registration, identity_of
from chokaq_core.domain.errors import RegistrationError
from chokaq_core.policy.classify import ErrorRules

KEY_RULE = "a type key has 1 to 255 printable ASCII characters without blanks"
CLASSES_RULE = "fatal and transient are tuples of exception classes"
QUEUE_RULE = "must match [a-z0-9][a-z0-9._-]{0,254}"


class Send(Job):
    to: str = ""


def send(job: Send, ctx: JobContext) -> None: ...


def registered(type_key: str | None = "email.send.v1", **options: Any) -> Registration:  # noqa: ANN401 - any option
    profile = Profile("mailing")
    profile.handler(type_key, **options)(send)
    (registration,) = profile
    return registration


def test_a_registration_has_the_defaults_for_what_was_left_out() -> None:
    assert registered() == Registration(
        type_key="email.send.v1",
        job_type=Send,
        handler=send,
        is_async=False,
        wants_context=True,
        has_own_key=True,
        queue="default",
        priority=10,
        max_attempts=None,
        timeout=None,
        errors=ErrorRules((), ()),
        rerun_after_loss=False,
    )


def test_a_registration_keeps_every_option() -> None:
    options: dict[str, Any] = {
        "queue": "mail",
        "priority": 70,
        "max_attempts": 5,
        "timeout": timedelta(minutes=2),
        "rerun_after_loss": True,
    }
    registration = registered(fatal=(KeyError,), transient=(ValueError, SystemExit), **options)
    assert {name: getattr(registration, name) for name in options} == options
    assert registration.errors == ErrorRules((KeyError,), (ValueError, SystemExit))


def test_a_profile_lists_its_handlers_in_the_order_they_were_written() -> None:
    profile = Profile("mailing")
    for key in ("c.v1", "a.v1", "b.v1"):
        profile.handler(key)(send)
    assert [registration.type_key for registration in profile] == ["c.v1", "a.v1", "b.v1"]


def test_a_handler_without_a_key_goes_by_the_import_path_of_its_model() -> None:
    registration = registered(None)
    assert registration.type_key == identity_of(Send) == f"{__name__}:Send"
    assert registration.has_own_key is False


@pytest.mark.parametrize(
    "options",
    [
        {"max_attempts": 1},
        {"priority": 0},
        {"priority": 1_000_000},
        {"queue": "q" * 255},
        {"timeout": timedelta(microseconds=1)},
    ],
    ids=str,
)
def test_a_value_at_the_edge_of_its_rule_is_accepted(options: dict[str, Any]) -> None:
    (name,) = options
    assert getattr(registered(**options), name) == options[name]


@pytest.mark.case("C-015")
@pytest.mark.parametrize(
    "options,rule",
    [
        ({"queue": "Mail"}, f"queue 'Mail' {QUEUE_RULE}"),
        ({"queue": "mail\n"}, f"queue 'mail\\n' {QUEUE_RULE}"),
        ({"queue": ""}, f"queue '' {QUEUE_RULE}"),
        ({"queue": "q" * 256}, f"queue '{'q' * 256}' {QUEUE_RULE}"),
        ({"queue": None}, f"queue None {QUEUE_RULE}"),
        ({"priority": -1}, "priority must be 0 to 1000000"),
        ({"priority": 1_000_001}, "priority must be 0 to 1000000"),
        ({"priority": 1.5}, "priority must be 0 to 1000000"),
        ({"priority": "7"}, "priority must be 0 to 1000000"),
        ({"priority": True}, "priority must be 0 to 1000000"),
        ({"max_attempts": 0}, "max_attempts must be at least 1"),
        ({"max_attempts": -1}, "max_attempts must be at least 1"),
        ({"max_attempts": 2.5}, "max_attempts must be at least 1"),
        ({"max_attempts": "three"}, "max_attempts must be at least 1"),
        ({"max_attempts": True}, "max_attempts must be at least 1"),
        ({"timeout": timedelta(0)}, "timeout must be a positive timedelta"),
        ({"timeout": timedelta(seconds=-1)}, "timeout must be a positive timedelta"),
        ({"timeout": 30}, "timeout must be a positive timedelta"),
        ({"fatal": ValueError}, CLASSES_RULE),
        ({"fatal": [ValueError]}, CLASSES_RULE),
        ({"transient": ("ValueError",)}, CLASSES_RULE),
        ({"transient": (ValueError(),)}, CLASSES_RULE),
        ({"transient": (int,)}, CLASSES_RULE),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_an_option_that_breaks_its_rule_is_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        registered(**options)
    assert str(caught.value) == f"handler of 'email.send.v1': {rule}"


@pytest.mark.case("C-029")
@pytest.mark.parametrize("key", ["a", "email.send.v1", "T" * 255, "!%s~"])
def test_a_type_key_by_the_rule_is_kept(key: str) -> None:
    assert registered(key).type_key == key


@pytest.mark.case("C-029")
@pytest.mark.parametrize("key", ["", "a b", "a\n", "é", "T" * 256])
def test_any_other_type_key_is_refused(key: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        registered(key)
    assert str(caught.value) == f"handler of {key!r}: {KEY_RULE}"


def test_a_refused_handler_is_not_part_of_the_profile() -> None:
    profile = Profile("mailing")
    with pytest.raises(RegistrationError):
        profile.handler("email.send.v1", max_attempts=0)(send)
    assert list(profile) == []
