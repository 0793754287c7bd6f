"""
The command line as a process, on a database in a file that a host of the same folder would use.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.cli import main
from chokaq_core.domain.circuit import CircuitReport, CircuitSignal
from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.moves import dead_letter
from chokaq_core.ports import Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.host_process import ROOT, write_app

HANDLERS = """
from chokaq_core.contracts import Job, Profile


class Note(Job):
    text: str = ""
    number: int = 0


notes = Profile("notes")


@notes.handler("note.keep.v1", job_type=Note)
def keep(job: Note) -> None:
    pass


PROFILES = [notes]
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """
    A command that has ended.
    """

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - whatever was printed
        """
        Standard output as JSON.
        """
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Shell:
    """
    Runs commands in an app's folder.
    """

    folder: Path

    @property
    def database(self) -> Path:
        """
        Where the local host keeps the app's jobs.
        """
        return self.folder / ".chokaq" / "chokaq.db"

    def run(self, *arguments: str, **environ: str) -> Ended:
        """
        Runs one command.
        """
        with self.start(*arguments, **environ) as command:
            out, err = command.communicate()
        # A fault of ours ends with a bare traceback; the app's own comes inside of an error.
        assert not err.startswith("Traceback"), err
        return Ended(command.returncode, out, err)

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """
        Starts one command, whose streams are pipes.
        """
        inherited = {k: v for k, v in os.environ.items() if not k.lower().startswith(("chokaq", "azurewebjobs"))}
        return subprocess.Popen(
            [sys.executable, "-m", "chokaq_core", *arguments],
            cwd=self.folder,
            env={**inherited, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def kill(self, job_id: str, **values: Any) -> str:  # noqa: ANN401 - the fields of NewJob
        """
        Puts a job into the DLQ.
        """
        self.database.parent.mkdir(exist_ok=True)
        known = {"type_key": "note.keep.v1", "payload": '{"text":"","number":0}'}
        with closing(SqliteStore(self.database)) as store:
            store.prepare()
            store.enqueue([NewJob(**{"id": job_id, **known, **values})])
            (claimed,) = store.turn(Turn(f"killer of {job_id}", 1, want=1)).claimed
            error = ErrorFacts("ValueError", "boom \x1b[31mred", "Traceback\nValueError: boom \x1b[31mred")
            ending = dead_letter(claimed.lease, FailureReason.FATAL_ERROR, error)
            store.turn(Turn(f"killer of {job_id}", 2, settlements=(ending,)))
        return job_id


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """
    An app with one type of job and no jobs.
    """
    return Shell(write_app(tmp_path / "app", HANDLERS))


@pytest.fixture
def in_process(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Ended]]:
    """
    Runs commands in this process, for many small cases; all that a command changes of the process is put back.
    """
    environ = {k: v for k, v in os.environ.items() if not k.lower().startswith(("chokaq", "azurewebjobs", "website"))}
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.chdir(shell.folder)
    level = logging.getLogger("chokaq").level

    def run(*arguments: str) -> Ended:
        code = main(arguments)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    yield run
    logging.getLogger("chokaq").setLevel(level)


def test_a_job_is_enqueued_shown_listed_and_cancelled(shell: Shell) -> None:
    big = 9_007_199_254_740_993
    stored = shell.run("enqueue", "note.keep.v1", json.dumps({"number": big}), "--id", "a", "--tags", "x", "--json")
    assert (stored.code, stored.json()) == (0, {"id": "a", "duplicate": False})

    shown = shell.run("jobs", "show", "a", "--json").json()
    assert (shown["payload"], shown["status"], shown["tags"]) == (f'{{"text":"","number":{big}}}', "Pending", "x")
    listed = shell.run("jobs", "list", "--pillar", "hot", "--search", "x", "--json").json()
    assert ([job["id"] for job in listed["jobs"]], listed["further"]) == (["a"], None)

    cancelled = shell.run("jobs", "cancel", "a", "--actor", "ann", "--json")
    assert (cancelled.code, cancelled.json()["results"][0]["outcome"]) == (0, "dead_lettered")
    assert "cancelled by ann" in shell.run("jobs", "show", "a").out


@pytest.mark.parametrize(
    "arguments,words",
    [
        (("enqueue", "unknown.v1", "{}"), "'unknown.v1' is not a registered type"),
        (("enqueue", "note.keep.v1", '{"number": "x"}'), "payload.number"),
        (("enqueue", "note.keep.v1", "{"), "payload: is not strict JSON"),
        (("enqueue", "note.keep.v1", "@nowhere.json"), "payload: nowhere.json cannot be read"),
        (("enqueue", "note.keep.v1", "{}", "--delay", "5"), "delay: must be a duration"),
        (("jobs", "list"), "pillar: name one"),
        (("jobs", "list", "--pillar", "hot", "--reason", "Zombie"), "reason: only dead jobs"),
        (("jobs", "list", "--pillar", "hot", "--limit", "0"), "limit"),
        (("jobs", "purge", "a", "--pillar", "dlq"), "ids: name jobs either by"),
        (("jobs", "purge", "--pillar", "hot"), "pillar: purge does nothing to jobs in hot"),
        (("jobs", "purge", "--pillar", "dlq", "--token", "x"), "the token does not belong to this command"),
        (("queues", "pause", "nowhere"), "there is no queue 'nowhere'"),
        (("queues", "set", "default"), "change: name at least one control"),
        (("queues", "set", "default", "--max-workers", "0"), "max_workers: must be from 1 to 10000"),
        (("schema", "script"), "only SQL Server has a script"),
        (("config", "check", "--app", "nowhere"), "nowhere: name the app's folder with --app"),
        (("doctor", "--app", "nowhere"), "nowhere: name the app's folder with --app"),
    ],
)
def test_what_is_refused_ends_with_one_and_says_why(
    in_process: Callable[..., Ended], arguments: tuple[str, ...], words: str
) -> None:
    ended = in_process(*arguments)

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert words in ended.err


def test_help_names_every_command(in_process: Callable[..., Ended], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        in_process("--help")

    words = " ".join(capsys.readouterr().out.split())
    for line in (
        "config check jobs list, show, cancel, resurrect, edit, purge queues list, pause, resume, set",
        "circuits list workers list timers list",
        "dlq summary, export enqueue store one job schema apply, status, script doctor check whether",
    ):
        assert line in words


def test_settings_are_checked_and_refused_as_the_local_host_reads_them(shell: Shell) -> None:
    values = {"ChokaQ__Retry__MaxAttempts": "0", "ChokaQ__Deck__OperateKey": "too-short-to-be-told"}
    (shell.folder / "local.settings.json").write_text(json.dumps({"Values": values}), encoding="utf-8")

    checked = shell.run("config", "check")
    listed = shell.run("jobs", "list", "--pillar", "dlq")

    assert (checked.code, checked.out.splitlines()[0]) == (1, "2 invalid setting(s):")
    assert "Retry.MaxAttempts: must be a whole number from 1 to 10000; got '0'" in checked.out
    assert (listed.code, listed.out) == (1, "")
    assert {line.split(maxsplit=2)[0] for line in listed.err.splitlines()} == {"error:"}
    assert "too-short-to-be-told" not in checked.out + listed.err


def test_a_reader_that_leaves_early_gets_no_traceback(shell: Shell) -> None:
    with shell.start("config", "check") as command:
        assert command.stdout is not None
        command.stdout.close()
        assert command.stderr is not None
        complaint = command.stderr.read()

    assert (command.returncode, complaint) == (1, "")


def test_a_job_that_is_not_there_ends_with_four(shell: Shell) -> None:
    assert shell.run("jobs", "show", "nobody").code == 4


def test_some_jobs_left_alone_end_with_three(shell: Shell) -> None:
    shell.kill("a")

    ended = shell.run("jobs", "resurrect", "a", "nobody")

    assert ended.code == 3
    assert "there is no such job" in ended.out
    assert "1 done, 1 left alone" in ended.out


def test_an_edit_is_checked_by_the_handlers_of_the_app(shell: Shell, tmp_path: Path) -> None:
    shell.kill("a")
    payload = tmp_path / "payload.json"
    payload.write_text('{"number": 12345678901234567890}', encoding="utf-8")

    assert shell.run("jobs", "edit", "a", "--payload", '{"number": "x"}').code == 1
    assert shell.run("jobs", "edit", "a", "--payload", f"@{payload}", "--priority", "3", "--resurrect").code == 0

    shown = shell.run("jobs", "show", "a", "--json").json()
    assert (shown["payload"], shown["priority"], shown["pillar"]) == (
        '{"text":"","number":12345678901234567890}',
        3,
        "hot",
    )


def test_a_filter_shows_first_and_acts_with_the_token_or_with_yes(shell: Shell) -> None:
    for name in ("a", "b", "c"):
        shell.kill(name, tags="a_b" if name == "a" else "axb")

    preview = shell.run("jobs", "purge", "--pillar", "dlq", "--search", "a_b", "--json").json()
    assert (preview["touched"], [job["id"] for job in preview["samples"]]) == (1, ["a"])
    assert shell.run("jobs", "show", "a").code == 0

    done = shell.run("jobs", "purge", "--pillar", "dlq", "--search", "a_b", "--token", preview["token"])
    assert (done.code, shell.run("jobs", "show", "a").code) == (0, 4)
    rest = shell.run("jobs", "resurrect", "--pillar", "dlq", "--yes", "--json").json()
    assert (rest["done"], rest["skipped"]) == (2, 0)


def test_a_filter_that_meets_nothing_asks_for_no_token(shell: Shell) -> None:
    ended = shell.run("jobs", "resurrect", "--pillar", "dlq", "--queue", "nowhere")

    assert (ended.code, ended.err) == (0, "There is nothing to do\n")


def test_queues_are_paused_resumed_and_limited(in_process: Callable[..., Ended]) -> None:
    assert in_process("queues", "pause", "default", "--json").json()[0]["is_paused"] is True
    assert in_process("queues", "resume", "default", "--json").json()[0]["is_paused"] is False
    limited = in_process("queues", "set", "default", "--max-workers", "5", "--zombie-timeout", "00:05:00", "--json")
    assert [limited.json()[0][name] for name in ("max_workers", "zombie_timeout")] == [5, "00:05:00"]
    freed = in_process("queues", "set", "default", "--max-workers", "none", "--active", "no", "--json").json()[0]
    assert [freed[name] for name in ("max_workers", "zombie_timeout", "is_active")] == [None, "00:05:00", False]
    assert "default  no" in in_process("queues", "list").out


def test_what_holds_jobs_back_and_who_is_there_is_listed(shell: Shell, in_process: Callable[..., Ended]) -> None:
    shell.database.parent.mkdir(exist_ok=True)
    with closing(SqliteStore(shell.database)) as store:
        store.prepare()
        store.register(WorkerFacts("worker-1", "host", 4))
        store.timer_started("rescue")
        store.timer_finished("rescue", "0 recovered, 0 buried", has_succeeded=True)
        store.enqueue([NewJob(id="a", type_key="note.keep.v1", payload="{}")])
        (claimed,) = store.turn(Turn("worker-1", 1, want=1)).claimed
        failure = CircuitReport("note.keep.v1", "a", claimed.circuit_generation, CircuitSignal.FAILURE)
        store.turn(Turn("worker-1", 2, reports=(failure,)))

    (worker,) = in_process("workers", "list", "--json").json()
    (timer,) = in_process("timers", "list", "--json").json()

    assert (worker["worker_id"], worker["state"], worker["capacity"]) == ("worker-1", "running", 4)
    assert "is_alive" not in worker
    assert (timer["name"], timer["last_outcome"]) == ("rescue", "0 recovered, 0 buried")
    assert "worker-1   running  4" in in_process("workers", "list").out
    (circuit,) = in_process("circuits", "list", "--json").json()
    assert (circuit["type"], circuit["state"], circuit["failures"]) == ("note.keep.v1", "closed", 1)


def test_dead_jobs_are_summed_up_and_exported(shell: Shell, tmp_path: Path) -> None:
    shell.kill("a", tags="=1+1")
    shell.kill("b", queue="other")

    summary = shell.run("dlq", "summary", "--json").json()
    assert summary["jobs"] == {"count": 2, "is_complete": True, "text": "2"}
    assert [(group["type"], group["jobs"]) for group in summary["groups"]] == [("note.keep.v1", 2)]
    out = tmp_path / "dead.csv"
    assert shell.run("dlq", "export", "--queue", "default", "--out", str(out)).code == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"), newline="")))
    assert [(row["id"], row["tags"]) for row in rows] == [("a", "'=1+1")]
    assert [job["id"] for job in json.loads(shell.run("dlq", "export", "--format", "json").out)] == ["b", "a"]


def test_no_text_of_a_job_reaches_the_terminal_as_a_command_to_it(
    shell: Shell, in_process: Callable[..., Ended]
) -> None:
    shell.kill("a", tags="\x1b]0;title\x07")

    for arguments in (("jobs", "list", "--pillar", "dlq"), ("jobs", "show", "a"), ("dlq", "summary")):
        ended = in_process(*arguments)
        assert ended.code == 0
        assert "\x1b" not in ended.out
        assert "\x07" not in ended.out


class TestSchemaAndDoctor:
    def test_a_schema_is_applied_and_told_of(self, shell: Shell) -> None:
        before = shell.run("schema", "status", "--json")
        assert (before.code, before.json()["version"], before.json()["is_ready"]) == (1, 0, False)
        assert shell.run("schema", "apply").code == 0
        assert shell.run("schema", "status", "--json").json()["is_ready"] is True

    def test_the_script_for_sql_server_needs_no_server(self, shell: Shell) -> None:
        connection = "Server=db.example.org;Database=jobs;User Id=app;Password=secret"
        environ = {"ChokaQ__SqlServer__ConnectionString": connection, "ChokaQ__SqlServer__SchemaName": "work"}

        script = shell.run("schema", "script", **environ)

        assert script.code == 0
        assert "CREATE TABLE [work].JobsHot" in script.out
        assert "N'0007_operator_reads'" in script.out
        assert "[chokaq]" not in script.out
        assert "secret" not in script.out

    def test_all_is_well_where_the_app_can_work(self, shell: Shell) -> None:
        shell.run("schema", "apply")

        ended = shell.run("doctor", "--json")

        assert ended.code == 0
        assert [(finding["check"], finding["ok"]) for finding in ended.json()] == [
            ("settings", True),
            ("host.json", True),
            ("driver", True),
            ("database", True),
            ("schema", True),
            ("clock", True),
            ("storage queue", True),
        ]

    def test_wrong_settings_are_listed_with_the_rule_and_without_secrets(self, shell: Shell) -> None:
        ended = shell.run("doctor", ChokaQ__Retry__MaxAttempts="0", ChokaQ__Deck__ReadKey="PLANTED")

        assert ended.code == 1
        assert "FAIL  settings: Retry.MaxAttempts" in ended.out
        assert "Deck.ReadKey" in ended.out
        assert "PLANTED" not in ended.out

    def test_a_host_json_that_does_not_fit_is_named(self, shell: Shell) -> None:
        path = shell.folder / "host.json"
        options = json.loads(path.read_text(encoding="utf-8"))
        options["extensions"]["queues"]["batchSize"] = 16
        path.write_text(json.dumps(options), encoding="utf-8")

        ended = shell.run("doctor")

        assert ended.code == 1
        assert "host.json extensions.queues.batchSize: must be 1" in ended.out

    def test_a_missing_host_json_is_named(self, shell: Shell) -> None:
        (shell.folder / "host.json").unlink()

        assert "FAIL  host.json: is missing" in shell.run("doctor").out

    def test_a_database_that_is_no_database_is_told(self, shell: Shell) -> None:
        shell.database.parent.mkdir()
        shell.database.write_text("this is not a database, but long enough to look like one " * 10, encoding="utf-8")

        ended = shell.run("doctor")

        assert ended.code == 1
        assert "FAIL  database: refuses" in ended.out

    def test_a_storage_queue_that_does_not_answer_is_told(self, shell: Shell) -> None:
        storage = (
            "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=c2VjcmV0;"
            "QueueEndpoint=http://127.0.0.1:1/devstoreaccount1"
        )

        ended = shell.run("doctor", AzureWebJobsStorage=storage)

        assert ended.code == 1
        assert "FAIL  storage queue: storage queue chokaq-wake cannot be reached" in ended.out
        assert "c2VjcmV0" not in ended.out


def test_an_app_that_cannot_be_imported_is_an_error_of_its_own(shell: Shell) -> None:
    (shell.folder / "function_app.py").write_text("import nothing_like_it", encoding="utf-8")

    ended = shell.run("enqueue", "note.keep.v1", "{}")

    assert ended.code == 1
    assert "nothing_like_it" in ended.err
    assert shell.run("jobs", "list", "--pillar", "hot").code == 0
