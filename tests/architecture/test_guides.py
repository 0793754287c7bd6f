"""
The examples of the guides run, and do what the text around them says.
"""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from chokaq_core.config.catalog import SETTINGS
from chokaq_core.domain.events import EventName
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.documents import ROOT, read_document
from tests.support.engine import ONE_AT_A_TIME, Setup, build_rig
from tests.support.examples import imported, module_in, rig_for
from tests.support.infra import parameter_values
from tests.support.recorded_run import RecordedRun

GUARANTEES = read_document(ROOT / "docs/delivery-guarantees.md")
PAYLOADS = read_document(ROOT / "docs/payloads.md")
SIZING = read_document(ROOT / "docs/sizing.md")


def test_the_charge_has_the_same_key_at_every_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(GUARANTEES, "A charge that a provider does once"), tmp_path, monkeypatch)
    requests = [module.request_for(module.Charge(order="7", cents=100), "job-1", "https://x.example") for _ in "ab"]
    assert [request.headers["Idempotency-key"] for request in requests] == ["job-1", "job-1"]
    assert json.loads(requests[0].data) == {"order": "7", "cents": 100}


def test_the_outbox_is_relayed_under_its_own_ids_and_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(GUARANTEES, "An outbox"), tmp_path, monkeypatch)
    db = sqlite3.connect(":memory:")
    db.executescript("CREATE TABLE orders (id TEXT PRIMARY KEY); CREATE TABLE outbox (id TEXT PRIMARY KEY, body TEXT)")
    module.place_order(db, "7")
    with pytest.raises(sqlite3.IntegrityError):
        module.place_order(db, "7")
    run = RecordedRun()
    assert module.relay(db, 100, run.context()) == 1
    assert [(job, options["job_id"]) for job, options in run.enqueued] == [(module.Announce(text="7"), "placed.7")]
    assert db.execute("SELECT count(*) FROM outbox").fetchone() == (0,)
    db.close()


def test_a_relay_that_dies_half_way_enqueues_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(GUARANTEES, "An outbox"), tmp_path, monkeypatch)
    rig = rig_for([module.orders])
    announce = module.Announce(text="7")
    results = [rig.engine.producer.enqueue(announce, job_id="placed.7") for _ in range(2)]
    assert [(result.job_id, result.is_duplicate) for result in results] == [("placed.7", False), ("placed.7", False)]
    rig.visit()
    assert rig.archived("placed.7").attempt == 1
    assert rig.store.totals()["default"].succeeded == 1


def test_work_behind_a_key_is_done_once_for_two_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(GUARANTEES, "An order that is paid out once"), tmp_path, monkeypatch)
    store = SqliteStore()
    store.prepare()
    rig = build_rig(store, [module.payouts], Setup(worker=ONE_AT_A_TIME, claims=store))
    jobs = [rig.run(module.PayOut(order="7"), job_id=name) for name in ("first", "second")]
    assert [rig.archived(job).result for job in jobs] == ['{"paid":"7"}', '{"paid":"7"}']
    claims = [event.facts["claim"] for event in rig.events.of(EventName.IDEMPOTENCY_CLAIM_ANSWERED)]
    assert claims == ["claimed", "completed", "completed_duplicate"]


def test_the_old_version_of_a_payload_does_the_new_ones_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(module_in(PAYLOADS, "Two versions side by side"), tmp_path, monkeypatch)
    rig = rig_for([module.invoices])
    assert rig.archived(rig.run(module.RenderInvoice(number=7))).result == '{"rendered":"INV-7"}'
    assert rig.archived(rig.run(module.RenderInvoiceV2(number="INV-8"))).result == '{"rendered":"INV-8"}'


def test_the_executions_of_an_idle_month_follow_from_the_schedules() -> None:
    defaults = {setting.name: setting.default for setting in SETTINGS}
    month = timedelta(days=30)
    names = (
        "Functions.PollInterval",
        "Functions.HeartbeatInterval",
        "Recovery.ScanInterval",
        "Functions.MaintenanceInterval",
    )
    executions = [month // period for name in names if isinstance(period := defaults[name], timedelta)]
    shown = [
        line.split("|")[3].strip()
        for line, above in SIZING.prose
        if above == "What an idle deployment uses" and "|" in line
    ]
    assert [f"{number:,}".replace(",", " ") for number in (*executions, sum(executions))] == shown[2:7]
    text = "\n".join(line for line, _ in SIZING.prose)
    assert "351 360 GB-seconds" in text
    assert sum(executions) * 2 == 351_360
    assert sum(executions) // 2 == 87_840


def test_the_sessions_of_the_page_are_those_of_the_parameter_files() -> None:
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for line, above in SIZING.prose
        if above == "Sessions" and line.startswith("|") and len(cells := line.strip("|").split("|")) == 3
    }
    dev, prod = parameter_values("dev"), parameter_values("prod")
    assert rows["size of the database"] == [dev["sqlSkuName"], prod["sqlSkuName"]]
    assert rows["`maximumInstanceCount`"] == [str(dev["maximumInstanceCount"]), str(prod["maximumInstanceCount"])]
    assert rows["sessions at most: 17 × instances"] == ["680 of 900", "1 020 of 30 000"]
    assert rows["requests at work: 2 × instances"] == ["80 of 90", "120 of 200"]
