"""
What the documents promise: links that lead somewhere, files that are there, examples that work.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.contracts import JobContext, Profile
from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import DEFAULT_QUEUE
from chokaq_core.domain.moves import MOVES, Move
from chokaq_core.engine.producer import Producer
from chokaq_core.hosting.http_models import EnqueueBody, JobView
from chokaq_core.localhost.welcome import welcome
from tests.support.documents import ROOT, Block, Document, documents, read_document
from tests.support.engine import Setup
from tests.support.examples import imported, module_in, rig_for

DOCUMENTS = documents()
README = read_document(ROOT / "README.md")
ARCHITECTURE = read_document(ROOT / "docs/architecture.md")
GLOSSARY = read_document(ROOT / "docs/glossary.md")
HANDLERS = read_document(ROOT / "docs/handlers.md")
HTTP = read_document(ROOT / "docs/http.md")

TOP = {entry.name for entry in ROOT.iterdir()}
FILE_ENDINGS = (".json", ".md", ".py", ".sql", ".toml", ".txt")
MADE_BY_READERS = {"appsettings.json", "jobs/checksums.py", "local.settings.json"}
"""Files that a document tells its reader to make."""

ARROW = re.compile(r"^ +(\S+) --> (\S+): (.+)$", re.MULTILINE)

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)


@each_document
def test_every_link_leads_somewhere(document: Document) -> None:
    local = [target for target in document.links() if not target.startswith(("https://", "mailto:"))]
    assert [target for target in local if not leads_somewhere(document, target)] == []


@each_document
def test_every_path_in_backticks_is_there(document: Document) -> None:
    paths = {span for span in document.code_spans() if is_path(span)}
    assert {path for path in paths - MADE_BY_READERS if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize(
    "span, expected",
    [
        ("chokaq_core/engine/turns.py", True),
        ("chokaq_core/policy/", True),
        ("function_app.py", True),
        (".ci/run", True),
        ("email.send.v1", False),
        ("/api/jobs/{id}", False),
        ("application/problem+json", False),
        ("python -m chokaq_core", False),
    ],
)
def test_a_span_is_taken_for_a_path_when_it_looks_like_one(span: str, expected: bool) -> None:
    assert is_path(span) is expected


def test_a_link_into_the_void_is_seen() -> None:
    assert not leads_somewhere(README, "docs/nowhere.md")
    assert not leads_somewhere(README, "docs/handlers.md#nothing")
    assert leads_somewhere(README, "docs/handlers.md#running-twice")


@each_document
def test_every_fenced_json_is_json(document: Document) -> None:
    for block in document.blocks_in("json"):
        json.loads(block.text)


@each_document
def test_every_fenced_python_compiles(document: Document) -> None:
    for block in document.blocks_in("python"):
        compile(block.text, f"{document.name}:{block.line}", "exec")


def test_the_lifecycle_diagram_draws_the_table_of_moves() -> None:
    (diagram,) = [block for block in ARCHITECTURE.blocks_in("mermaid") if block.text.startswith("stateDiagram-v2")]
    drawn = moves_drawn(diagram)
    assert drawn == {str(move): (rule.sources, rule.targets) for move, rule in MOVES.items()}


def test_the_lifecycle_diagram_tells_a_mark_from_an_end() -> None:
    arrows = {(one, other) for one, other, names in ARROW.findall(diagram_text()) if "cancel" in names.split(", ")}
    assert arrows == {("Pending", "DLQ"), ("Fetched", "DLQ"), ("Processing", "Processing")}


def test_the_glossary_knows_every_move() -> None:
    words = {line.split("|")[1].strip() for line, heading in GLOSSARY.prose if heading == "Moves" and "|" in line}
    assert {str(move) for move in Move} - words == set()


def test_the_manual_of_handlers_names_every_option_of_a_registration() -> None:
    assert HANDLERS.first_column("The registration") == arguments_of(Profile.handler)


def test_the_manual_of_handlers_names_every_option_of_an_enqueue() -> None:
    options = [name for name in HANDLERS.first_column("Enqueueing") if not name.endswith("Error")]
    assert options == arguments_of(Producer.enqueue)[1:] == arguments_of(JobContext.enqueue)[1:]


def test_the_manual_of_handlers_names_every_member_of_the_context() -> None:
    named = {re.sub(r"\W.*", "", span.removeprefix("ctx.")) for span in HANDLERS.first_column("The context")}
    own = {name for name in (*dir(JobContext), *JobContext.__slots__) if not name.startswith("_")}
    assert named == own


def test_the_manual_of_handlers_names_every_reason_that_a_job_can_end_for() -> None:
    spans = set(HANDLERS.first_column("What an exception means"))
    labels = {reason.label for reason in FailureReason}
    # These two are part of the stored contract, and nothing uses them.
    assert labels - spans == {"CircuitBreakerOpen", "Transient"}
    assert {span for span in spans - labels if not re.match(r"\w+Error\b", span)} == set()


def test_the_manual_of_http_names_every_member_of_a_body_and_of_an_answer() -> None:
    assert set(HTTP.first_column("Enqueue a job")) == set(EnqueueBody.model_fields)
    bodies = [block.text.partition("\n\n")[2] for block in HTTP.blocks_in("http") if block.heading == "Read a job"]
    shown = [json.loads(body) for body in bodies if body]
    assert set(JobView.model_fields) in [set(members) for members in shown]


def test_the_readme_shows_what_the_local_host_prints() -> None:
    words = welcome("127.0.0.1", 7071, "api", "KEY-OF-THIS-RUN")
    assert words.strip() in [block.text.strip() for block in README.blocks_in("text")]


def test_the_handlers_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(README, "Checksums of files"), tmp_path, monkeypatch)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(b"abc")
    (tmp_path / "in/b.txt").write_bytes(b"")
    rig = rig_for([module.checksums])
    rig.run(module.ChecksumFolder(path=str(tmp_path / "in"), pattern="*.txt"), job_id="sums")
    rig.visit()
    assert rig.archived("sums").result == '{"files":2}'
    of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert rig.archived("sums.0").result == f'{{"sha256":"{of_abc}","bytes":3}}'
    assert rig.archived("sums.1").result == f'{{"sha256":"{of_nothing}","bytes":0}}'


def test_the_handler_of_the_readme_gives_up_on_a_missing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(README, "Checksums of files"), tmp_path, monkeypatch)
    rig = rig_for([module.checksums])
    dead = rig.dead(rig.run(module.ChecksumFile(path=str(tmp_path / "missing"))))
    assert (dead.reason, dead.attempt, dead.queue) == (FailureReason.FATAL_ERROR, 1, "files")


def test_the_payload_of_the_manual_refuses_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(HANDLERS, "A payload that refuses"), tmp_path, monkeypatch)
    assert module.ChargeCard(order_id="7", cents=100).currency == "EUR"
    with pytest.raises(ValueError, match="order_id"):
        module.ChargeCard(order_id="seven", cents=100)


def test_the_handler_of_the_manual_runs_through_its_middlewares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = imported(module_in(HANDLERS, "A handler with its rules"), tmp_path, monkeypatch)
    around = imported(module_in(HANDLERS, "Two middlewares"), tmp_path, monkeypatch)
    rig = rig_for([handlers.invoices], Setup(middleware=(around.timed, around.stamped)))
    assert rig.archived(rig.run(handlers.RenderInvoice(number=7))).result == '{"pages":2,"attempt":1}'


def test_the_pipe_of_the_manual_takes_any_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(HANDLERS, "One handler for every type"), tmp_path, monkeypatch)
    rig = rig_for([], Setup(pipe=module.passes_on))
    job_id = rig.engine.producer.enqueue_raw(RawRequest("order.placed.v7", '{"a":1}')).job_id
    rig.visit()
    assert rig.archived(job_id).result == '{"type":"order.placed.v7"}'
    assert rig.archived(job_id).queue == DEFAULT_QUEUE


def leads_somewhere(document: Document, target: str) -> bool:
    file, _, anchor = target.partition("#")
    path = (document.path.parent / file).resolve() if file else document.path
    return path.exists() and (not anchor or anchor in read_document(path).anchors())


def is_path(span: str) -> bool:
    """
    Whether a text in backticks names a file or folder of the project.
    """
    if re.search(r"[\s{}*<>=]", span) or span.startswith("/"):
        return False
    return span.endswith(FILE_ENDINGS) or ("/" in span and span.partition("/")[0] in TOP)


def diagram_text() -> str:
    return "\n".join(block.text for block in ARCHITECTURE.blocks_in("mermaid"))


def moves_drawn(diagram: Block) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """
    From where to where each move leads, by the diagram's arrows.
    """
    sources, targets = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for one, other, names in ARROW.findall(diagram.text):
        for name in names.split(", "):
            sources[name].add(place_of(one))
            targets[name].add(place_of(other))
    return {name: (frozenset(sources[name]), frozenset(targets[name])) for name in sources}


def place_of(state: str) -> str:
    return "absent" if state == "[*]" else state.lower()


def arguments_of(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]
