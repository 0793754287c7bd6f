from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.contracts.profile import Registration
from chokaq_core.domain.errors import RegistrationError

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

ANNOTATE = "annotate its first argument with a subclass of Job, or pass job_type="


class Send(Job):
    to: str = ""


def with_context(job: Send, ctx: JobContext) -> None: ...


def without_context(job: Send) -> None: ...


def with_more_to_give(job: Send, ctx: JobContext | None = None, retries: int = 3) -> None: ...


def with_whatever(job: Send, *rest: object, **options: object) -> None: ...


def with_names_for_checkers(job: Send, ctx: OnlyForCheckers) -> OnlyForCheckers | None: ...


async def asynchronous(job: Send, ctx: JobContext) -> None: ...


class Sender:
    def __call__(self, job: Send, ctx: JobContext) -> None: ...

    def method(self, job: Send) -> None: ...

    @staticmethod
    async def static(job: Send, ctx: JobContext) -> None: ...


class AsyncSender:
    async def __call__(self, job: Send) -> None: ...


def configured(region: str, job: Send, ctx: JobContext) -> None: ...


async def configured_async(region: str, job: Send) -> None: ...


@functools.wraps(with_context)
def decorated(*args: object, **kwargs: object) -> None: ...


def generator(job: Send) -> Iterator[int]:
    yield 1


async def async_generator(job: Send) -> AsyncIterator[int]:
    yield 1


class GeneratorSender:
    def __call__(self, job: Send) -> Iterator[int]:
        yield 1


def registered(function: Callable[..., Any], **options: Any) -> Registration:  # noqa: ANN401 - any option
    profile = Profile("mailing")
    profile.handler("email.send.v1", **options)(function)
    (registration,) = profile
    return registration


def refusal(function: Callable[..., Any], **options: Any) -> str:  # noqa: ANN401 - any option
    with pytest.raises(RegistrationError) as caught:
        registered(function, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "function,is_async,wants_context",
    [
        (with_context, False, True),
        (without_context, False, False),
        (with_more_to_give, False, True),
        (with_whatever, False, True),
        (with_names_for_checkers, False, True),
        (asynchronous, True, True),
        (Sender(), False, True),
        (Sender().method, False, False),
        (Sender.static, True, True),
        (AsyncSender(), True, False),
        (functools.partial(configured, "eu"), False, True),
        (functools.partial(configured_async, "eu"), True, False),
        (functools.partial(AsyncSender()), True, False),
        (decorated, False, True),
    ],
    ids=str,
)
def test_model_colour_and_context_are_read_from_the_signature(
    function: Callable[..., Any], is_async: bool, wants_context: bool
) -> None:
    registration = registered(function)
    assert registration.job_type is Send
    assert registration.handler is function
    assert (registration.is_async, registration.wants_context) == (is_async, wants_context)


def test_a_decorator_gives_the_function_back_as_it_was() -> None:
    assert Profile("mailing").handler("email.send.v1")(with_context) is with_context


def test_a_model_defined_inside_of_a_function_is_asked_for_by_name() -> None:
    class Local(Job):
        pass

    def handle(job: Local) -> None: ...

    assert refusal(handle) == (
        f"handler {handle.__qualname__}: the annotation of its first argument cannot be resolved "
        "(name 'Local' is not defined); pass job_type="
    )
    assert registered(handle, job_type=Local).job_type is Local


def test_a_given_model_wins_over_the_annotation() -> None:
    class Other(Job):
        pass

    assert registered(with_context, job_type=Other).job_type is Other


def test_an_annotation_that_makes_no_sense_is_told() -> None:
    def handle(job: Send.Missing) -> None: ...  # type: ignore[name-defined]

    assert refusal(handle).startswith(
        f"handler {handle.__qualname__}: the annotation of its first argument cannot be resolved ("
    )


@pytest.mark.parametrize("annotation", [None, int, "int", dict, Send | None, list[Send], "Send()"], ids=str)
def test_a_first_argument_of_another_type_is_refused(annotation: object) -> None:
    def handle(job: object) -> None: ...

    handle.__annotations__ = {"job": annotation}
    assert refusal(handle) == f"handler {handle.__qualname__}: {ANNOTATE}"


def test_a_first_argument_without_a_type_is_refused() -> None:
    assert refusal(lambda job: None).endswith(f": {ANNOTATE}")
    assert refusal(lambda: None).endswith(f": {ANNOTATE}")


@pytest.mark.parametrize("job_type", [int, object(), "Send", JobContext])
def test_a_given_model_that_is_no_job_is_refused(job_type: object) -> None:
    assert f"job_type= must be a subclass of Job; got {job_type!r}" in refusal(with_context, job_type=job_type)


@pytest.mark.parametrize(
    "function,arguments",
    [
        (lambda: None, "()"),
        (lambda a, b, c: None, "(a, b, c)"),
        (lambda a, *, ctx: None, "(a, *, ctx)"),
        (lambda *, job: None, "(*, job)"),
        (lambda **options: None, "(**options)"),
        (functools.partial(lambda a, b: None, 1, 2), "()"),
    ],
)
def test_a_handler_that_cannot_be_called_with_a_job_is_refused(function: Callable[..., Any], arguments: str) -> None:
    rule = f": is called with (job, ctx) or (job); its arguments are {arguments}"
    assert refusal(function, job_type=Send).endswith(rule)


@pytest.mark.parametrize(
    "function",
    [generator, async_generator, GeneratorSender(), functools.partial(generator)],
    ids=["generator", "async generator", "object", "partial"],
)
def test_a_handler_whose_body_no_call_would_run_is_refused(function: Callable[..., Any]) -> None:
    rule = "is a generator, whose body no call runs; return the result, do not yield it"
    assert refusal(function).endswith(rule)


@pytest.mark.parametrize("function", [5, "send", dict], ids=repr)
def test_what_is_no_function_or_hides_its_arguments_is_refused(function: Any) -> None:  # noqa: ANN401 - wrong on purpose
    assert "its arguments cannot be told" in refusal(function, job_type=Send)
