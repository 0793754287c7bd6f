from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from chokaq_core.hosting import invocations as module
from chokaq_core.hosting.invocations import Invocations
from tests.support.polling import WAIT_SECONDS


@pytest.fixture(autouse=True)
def _without_the_worker_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    As under the workers up to Python 3.12, whatever is installed here.
    """
    monkeypatch.setattr(module, "WORKER_LIBRARY", "no.such.library")


@pytest.fixture
def storage() -> threading.local:
    return threading.local()


def invocation(storage: threading.local, invocation_id: str) -> Any:  # noqa: ANN401 - stands for a context
    return SimpleNamespace(invocation_id=invocation_id, thread_local_storage=storage)


def seen_on(name: str, invocations: Invocations, storage: threading.local, before: str | None = None) -> str | None:
    """
    Marks a thread of this name, and gives the id that a line from it would carry.
    """
    seen: list[str | None] = []

    def look() -> None:
        storage.invocation_id = before
        invocations.mark_thread()
        seen.append(storage.invocation_id)

    thread = threading.Thread(target=look, name=name)
    thread.start()
    thread.join(WAIT_SECONDS)
    return seen[0]


def test_one_of_our_threads_works_for_the_invocation_that_began_last(storage: threading.local) -> None:
    invocations = Invocations()
    with invocations.during(invocation(storage, "first")):
        with invocations.during(invocation(storage, "second")):
            assert seen_on("chokaq-store", invocations, storage) == "second"
        assert seen_on("chokaq-store", invocations, storage, before="second") == "first"
    assert seen_on("chokaq-store", invocations, storage, before="first") is None


def test_the_first_of_two_may_end_first(storage: threading.local) -> None:
    invocations = Invocations()
    first, second = invocations.during(invocation(storage, "first")), invocations.during(invocation(storage, "second"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert seen_on("chokaq-handler-1", invocations, storage) == "second"
    second.__exit__(None, None, None)
    assert seen_on("chokaq-handler-1", invocations, storage) is None


@pytest.mark.parametrize("before", [None, "its-own"])
def test_a_thread_of_the_host_keeps_what_it_has(storage: threading.local, before: str | None) -> None:
    invocations = Invocations()
    with invocations.during(invocation(storage, "first")):
        assert seen_on("ThreadPoolExecutor-0_0", invocations, storage, before) == before


def test_an_invocation_that_fails_is_over_all_the_same(storage: threading.local) -> None:
    invocations = Invocations()
    with pytest.raises(OSError, match="broken"), invocations.during(invocation(storage, "first")):
        raise OSError("broken")
    assert seen_on("chokaq-store", invocations, storage) is None


def test_before_any_invocation_there_is_nothing_to_mark(storage: threading.local) -> None:
    assert seen_on("chokaq-store", Invocations(), storage, before="kept") == "kept"
