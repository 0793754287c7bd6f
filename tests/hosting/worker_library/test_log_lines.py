"""
The host drops a line without an invocation: lines of the app's own threads have one, as under the real worker.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.hosting.worker_library.library import WorkerLibrary

LINE = re.compile(r"^\[(?P<invocation>[^]]+)] (?P<text>.*)$", re.MULTILINE)


@pytest.fixture
def bad_cells(tmp_path: Path) -> str:
    """
    A file whose report warns of a cell, in a line of the handler's own.
    """
    path = tmp_path / "bad-cells.csv"
    path.write_text("name,amount\nada,7\nbob,seven\n")
    return str(path)


def invocations_of(library: WorkerLibrary, words: str) -> list[str]:
    """
    Under which invocations lines with these words came, in order.
    """
    lines = [match for match in LINE.finditer(library.output()) if words in match["text"]]
    return [match["invocation"] for match in lines]


def enqueue(library: WorkerLibrary, job_id: str, path: str, total: str = "amount") -> None:
    """
    Enqueues a report.
    """
    payload = {"path": path, "total": [total]}
    assert library.post({"type": "report.csv.v1", "payload": payload, "id": job_id}).status == 202


def test_lines_of_a_handlers_thread_and_of_the_store_thread_belong_to_the_invocation_at_work(
    library: WorkerLibrary, bad_cells: str
) -> None:
    expected = []
    for number in (1, 2):
        enqueue(library, f"warns-{number}", bad_cells)
        enqueue(library, f"fails-{number}", bad_cells, total="no-such-column")
        expected.append(library.wake())

    assert len(set(expected)) == 2
    for number, invocation in enumerate(expected, start=1):
        assert invocations_of(library, f"job_id=warns-{number}") == [invocation]
        assert invocations_of(library, f'"job_id":"fails-{number}"') == [invocation]
    assert invocations_of(library, '"event":"WorkerStarted"') == expected[:1]


def test_no_line_of_the_app_is_one_that_the_host_would_drop(library: WorkerLibrary, bad_cells: str) -> None:
    enqueue(library, "last", bad_cells)
    library.wake()
    for timer in ("chokaq_poll", "chokaq_heartbeat", "chokaq_rescue", "chokaq_maintenance"):
        library.tick(timer)

    while_indexed = ("ConfigurationLoaded",)
    told = [match for match in LINE.finditer(library.output()) if '"event_id":' in match["text"]]
    dropped = [match["text"] for match in told if match["invocation"] == "-"]
    assert len(told) > len(dropped)
    assert [text for text in dropped if not any(name in text for name in while_indexed)] == []
