"""
The line of writers at the lock file: in order, and not for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import portalocker
import pytest

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.stores.sqlite import lock_file
from chokaq_core.stores.sqlite.lock_file import LockFile
from tests.support.engine import join
from tests.support.polling import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db.lock"


@contextmanager
def turn(line: LockFile) -> Iterator[None]:
    """
    A turn from its beginning to its end.
    """
    line.acquire()
    try:
        yield
    finally:
        line.release()


@pytest.fixture
def own(path: Path) -> Iterator[LockFile]:
    own = LockFile(path)
    yield own
    own.close()


class Stranger:
    """
    Somebody else who holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self._handle = path.open("a")
        portalocker.lock(self._handle, portalocker.LockFlags.EXCLUSIVE)

    def let_go(self) -> None:
        self._handle.close()


def is_free(path: Path) -> bool:
    with path.open("a") as handle:
        try:
            portalocker.lock(handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            return False
        return True


def test_a_turn_holds_the_lock_from_its_beginning_to_its_end(own: LockFile, path: Path) -> None:
    for _ in range(2):
        with turn(own):
            assert not is_free(path)
        assert is_free(path)


def test_a_writer_waits_for_another_ones_turn(own: LockFile, path: Path) -> None:
    stranger = Stranger(path)
    turns: list[bool] = []

    def take_turn() -> None:
        with turn(own):
            turns.append(is_free(path))

    for _ in range(2):
        writer = threading.Thread(target=take_turn)
        writer.start()
        wait_until(lambda: own._line is not None and own._line.is_occupied())  # noqa: SLF001 - nothing else tells
        stranger.let_go()
        join(writer)
        assert is_free(path)
        stranger = Stranger(path)
    stranger.let_go()

    assert turns == [False, False]


def test_a_lock_that_never_comes_free_is_told_with_the_file_and_the_way_out(
    own: LockFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_file, "PATIENCE_SECONDS", 0.02)
    stranger = Stranger(path)

    with pytest.raises(StoreUnavailableError) as caught, turn(own):
        raise AssertionError("two hold the lock")

    assert "kept the embedded database locked for 0.02 s" in str(caught.value)
    assert f"`fuser {path}` names it" in str(caught.value)
    stranger.let_go()


def test_a_lock_that_comes_when_nobody_waits_any_more_is_given_on(
    own: LockFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_file, "PATIENCE_SECONDS", 0.02)
    stranger = Stranger(path)
    with pytest.raises(StoreUnavailableError), turn(own):
        raise AssertionError("two hold the lock")

    stranger.let_go()

    wait_until(lambda: is_free(path))
    with turn(own):
        assert not is_free(path)
    assert is_free(path)


def test_a_writer_that_comes_back_keeps_its_place(own: LockFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Stranger(path)
    with monkeypatch.context() as patched:
        patched.setattr(lock_file, "PATIENCE_SECONDS", 0.02)
        with pytest.raises(StoreUnavailableError), turn(own):
            raise AssertionError("two hold the lock")
    place = own._line  # noqa: SLF001 - the place is what is looked at
    releasing = threading.Timer(0.0, stranger.let_go)

    releasing.start()
    with turn(own):
        assert not is_free(path)

    assert own._line is place  # noqa: SLF001 - the same


def test_a_closed_writer_leaves_nothing_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_file, "PATIENCE_SECONDS", 0.02)
    stranger, own = Stranger(path), LockFile(path)
    with pytest.raises(StoreUnavailableError), turn(own):
        raise AssertionError("two hold the lock")

    own.close()
    stranger.let_go()

    wait_until(lambda: is_free(path))
    wait_until(lambda: all(thread.name != "chokaq-lock" for thread in threading.enumerate()))


def test_a_lock_that_the_system_refuses_while_the_writer_waits_is_told(
    own: LockFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger, lock = Stranger(path), portalocker.lock

    def refuse_to_wait(handle: IO[str], flags: portalocker.LockFlags) -> None:
        if portalocker.LockFlags.NON_BLOCKING not in flags:
            raise portalocker.LockException("no locks left")
        lock(handle, flags)

    monkeypatch.setattr(portalocker, "lock", refuse_to_wait)

    with pytest.raises(portalocker.LockException, match="no locks left"), turn(own):
        raise AssertionError("two hold the lock")
    stranger.let_go()
