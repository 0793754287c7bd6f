"""
Settings of what is accepted, and of what must not run twice.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from unittest import mock

from chokaq_core.config import Settings
from chokaq_core.contracts import IdempotentJob, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.hosting.core import Core
from chokaq_core.policy.envelope import payload_problems
from chokaq_core.policy.idempotency import lifetime, result_ttl_problem
from chokaq_core.ports import ClaimAnswer, ClaimState
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.settings_at_work.trial import DAY, MINUTE, SECOND, Note, Row, Trial, by, stage


class Charge(IdempotentJob):
    @property
    def idempotency_key(self) -> str:
        return "order-7"


def is_refused_as_too_large(settings: Settings) -> bool:
    return any(payload_problems('"' + 1_500_000 * "x" + '"', settings.envelope))


def time_of_a_claim(settings: Settings) -> timedelta:
    """
    How long a protected job claims its key for.
    """
    profile = Profile("charges")

    @profile.handler("charge.v1")
    def charge(job: Charge) -> None: ...

    claims = mock.Mock()
    claims.claim_key.return_value = ClaimAnswer(ClaimState.CLAIMED)
    rules = EngineRules(worker=settings.worker, idempotency=settings.idempotency)
    with stage() as on:
        engine = Engine(on.store, Catalog([profile]), RecordedWakes(), RecordedEvents(), rules=rules, claims=claims)
        engine.producer.enqueue(Charge())
        engine.attend()
        engine.stop()
    span: timedelta = claims.claim_key.call_args.args[1]
    return span


def is_refused(settings: Settings, ttl: timedelta) -> bool:
    return result_ttl_problem(ttl, settings.idempotency) is not None


def problems_of_a_handler_without_a_key(trial: Trial) -> int:
    profile = Profile("nameless")

    @profile.handler()
    def work(job: Note) -> None: ...

    return len(Core(trial.folder, profiles=[profile], environ=trial.environ).problems)


NO_LINGER = {"Functions.IdleLinger": "00:00:00"}
ACCEPTING = (
    Row("Serialization.MaxPayloadBytes", "2000000", by(is_refused_as_too_large), True, False),
    Row("Idempotency.InProgressTtl", "01:30:00", by(time_of_a_claim), 30 * MINUTE, 90 * MINUTE, NO_LINGER),
    Row("Idempotency.DefaultResultTtl", "7.00:00:00", by(lambda s: lifetime(None, s.idempotency)), None, 7 * DAY),
    Row("Idempotency.MinResultTtl", "00:01:00", by(partial(is_refused, ttl=SECOND)), False, True),
    Row("Idempotency.MaxResultTtl", "30.00:00:00", by(partial(is_refused, ttl=31 * DAY)), False, True),
    Row("TypeResolution.RequireRegisteredJobTypes", "false", problems_of_a_handler_without_a_key, 1, 0),
)
