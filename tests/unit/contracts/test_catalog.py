from __future__ import annotations

import sys
from typing import Any

import pytest

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.errors import FieldProblem, InvalidJobError, RegistrationError


class Build(Job):
    pass


class Send(Job):
    pass


class Unregistered(Job):
    pass


class BuildOfMonth(Build):
    pass


def build(job: Build, ctx: JobContext) -> None: ...


def send(job: Send) -> None: ...


def pipe(type_key: str, payload: str, ctx: JobContext) -> None: ...


def profile(*handlers: tuple[str | None, Any]) -> Profile:
    made = Profile("reports")
    for type_key, handler in handlers:
        made.handler(type_key)(handler)
    return made


CATALOG = Catalog([profile(("report.build", build)), profile(("email.send.v1", send))])

UNKNOWN = [
    "report.build_v2",
    "REPORT.BUILD",
    "report.build ",
    "report.buil",
    "",
    "os.system",
    "builtins.eval",
    "chokaq_unimportable_module:Job",
    f"{__name__}:Unregistered",
    f"{__name__}:Build",
    "r" * 300,
    "*",
]


def test_all_profiles_together_make_the_catalog() -> None:
    assert [registration.type_key for registration in CATALOG] == ["report.build", "email.send.v1"]
    assert CATALOG.pipe is None


@pytest.mark.parametrize("type_key,model", [("report.build", Build), ("email.send.v1", Send)])
def test_a_known_type_is_found_by_its_key_and_by_its_job(type_key: str, model: type[Job]) -> None:
    registration = CATALOG.require(type_key)
    assert registration.job_type is model
    assert CATALOG.find(type_key) is registration
    assert CATALOG.of(model()) is registration


@pytest.mark.case("C-039")
@pytest.mark.parametrize("type_key", UNKNOWN, ids=lambda key: key[:20])
def test_an_unknown_type_is_not_found_and_nothing_is_imported_for_it(type_key: str) -> None:
    before = set(sys.modules)
    assert CATALOG.find(type_key) is None
    assert set(sys.modules) == before


@pytest.mark.case("C-039")
@pytest.mark.parametrize(
    "type_key,shown",
    [
        ("report.build_v2", "'report.build_v2'"),
        ("REPORT.BUILD", "'REPORT.BUILD'"),
        ("os.system", "'os.system'"),
        ("é\n\x00", "'\\xe9\\n\\x00'"),
        ("r" * 300, "'" + "r" * 255 + "'"),
    ],
    ids=lambda key: ascii(key)[:20],
)
def test_an_unknown_type_is_refused_with_its_key_in_the_text(type_key: str, shown: str) -> None:
    with pytest.raises(InvalidJobError) as caught:
        CATALOG.require(type_key)
    rule = f"{shown} is not a registered type of this app; mind the spelling, or register a handler for it"
    assert caught.value.problems == (FieldProblem("type", rule, "unknown_type"),)


@pytest.mark.parametrize("job", [Unregistered(), BuildOfMonth()], ids=["unknown", "subclass of a known one"])
def test_a_job_of_a_class_without_a_handler_is_refused(job: Job) -> None:
    with pytest.raises(InvalidJobError) as caught:
        CATALOG.of(job)
    name = type(job).__name__
    rule = f"{__name__}:{name} has no registered handler; register it in a profile of this app"
    assert caught.value.problems == (FieldProblem("type", rule, "unknown_type"),)


@pytest.mark.parametrize("thing,shown", [({"to": "x"}, "a dict"), (Build, "the class Build itself"), (7, "a int")])
def test_what_is_no_job_is_refused_with_what_to_give_instead(thing: Any, shown: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidJobError) as caught:
        CATALOG.of(thing)
    rule = f"give an object of a registered class of jobs; got {shown}"
    assert caught.value.problems == (FieldProblem("type", rule, "unknown_type"),)


@pytest.mark.case("C-039")
@pytest.mark.parametrize("type_key", ["report.build_v2", "os.system", "", "r" * 300])
def test_a_pipe_takes_every_type(type_key: str) -> None:
    catalog = Catalog(pipe=pipe)
    assert catalog.find(type_key) is catalog.require(type_key) is catalog.pipe
    assert catalog.pipe is not None
    assert (catalog.pipe.handler, catalog.pipe.job_type, catalog.pipe.is_async) == (pipe, None, False)
    assert list(catalog) == []


def test_an_asynchronous_pipe_is_seen_as_such() -> None:
    async def later(type_key: str, payload: str, ctx: JobContext) -> None: ...

    catalog = Catalog(pipe=later)
    assert catalog.pipe is not None
    assert catalog.pipe.is_async is True


def test_a_catalog_may_be_empty() -> None:
    assert Catalog().find("report.build") is None


def test_a_handler_without_a_key_is_accepted_only_where_the_settings_say_so() -> None:
    nameless = profile((None, build))
    with pytest.raises(RegistrationError) as caught:
        Catalog([nameless])
    key = f"{__name__}:Build"
    assert str(caught.value) == (
        f"handler of {key!r} needs a type key, or TypeResolution.RequireRegisteredJobTypes=false"
    )
    assert Catalog([nameless], require_registered_types=False).of(Build()).type_key == key


def refusal(*profiles: Profile, pipe_handler: Any = None) -> str:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(RegistrationError) as caught:
        Catalog(profiles, pipe=pipe_handler)
    return str(caught.value)


def test_a_key_with_two_handlers_is_refused() -> None:
    text = refusal(profile(("report.build", build)), profile(("report.build", send)))
    assert text == "type key 'report.build' has two handlers; every key has exactly one"


def test_a_model_with_two_keys_is_refused() -> None:
    text = refusal(profile(("report.build", build), ("report.build.v2", build)))
    assert text.startswith("'report.build.v2': model ")
    assert text.endswith(" already belongs to another type key; every key has a model of its own")


def test_a_pipe_beside_profiles_is_refused() -> None:
    text = refusal(profile(("report.build", build)), pipe_handler=pipe)
    assert text == "pipe mode takes every job with one handler; remove the profiles or the pipe handler"


@pytest.mark.parametrize(
    "handler,end",
    [
        (lambda: None, "its arguments are ()"),
        (lambda job, ctx: None, "its arguments are (job, ctx)"),
        (lambda a, b, c, d: None, "its arguments are (a, b, c, d)"),
    ],
)
def test_a_pipe_that_cannot_be_called_with_key_text_and_context_is_refused(handler: Any, end: str) -> None:  # noqa: ANN401
    assert refusal(pipe_handler=handler).endswith(f": is called with (type_key, payload_text, ctx); {end}")
