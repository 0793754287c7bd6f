from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

import pytest

from chokaq_core.contracts import IdempotentJob, Job, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.contracts.idempotent import is_idempotent, job_problems
from chokaq_core.domain.errors import RegistrationError
from chokaq_core.policy.idempotency import IdempotencyRules

DAY = timedelta(days=1)
AT_MOST_A_DAY = IdempotencyRules(default_result_ttl=DAY, max_result_ttl=DAY)


class Charge(IdempotentJob):
    order: str = "7"

    @property
    def idempotency_key(self) -> str:
        return self.order


class ChargeForAWeek(Charge):
    result_ttl: ClassVar[timedelta | None] = timedelta(days=7)


class ChargeAsAsked(Charge):
    days: int = 1

    @property
    def result_ttl(self) -> timedelta | None:
        return timedelta(days=self.days)


class Keyless(IdempotentJob):
    order: str = "7"


class Broken(IdempotentJob):
    @property
    def idempotency_key(self) -> str:
        raise KeyError("no such order")


def catalog_of(job_type: type[Job], rules: IdempotencyRules) -> Catalog:
    profile = Profile("test")
    profile.handler("test.charge.v1", job_type=job_type)(lambda job: None)
    return Catalog([profile], idempotency=rules)


@pytest.mark.parametrize(
    "job_type,rules,message",
    [
        (
            ChargeForAWeek,
            AT_MOST_A_DAY,
            "ChargeForAWeek.result_ttl is 7 days, 0:00:00, longer than Idempotency.MaxResultTtl (1 day, 0:00:00)",
        ),
        (
            Charge,
            IdempotencyRules(max_result_ttl=DAY),
            "Charge.result_ttl is for ever, longer than Idempotency.MaxResultTtl (1 day, 0:00:00)",
        ),
        (
            Keyless,
            IdempotencyRules(),
            "Keyless must define idempotency_key, a property that returns text",
        ),
    ],
)
def test_a_type_that_could_never_obey_is_refused_at_registration(
    job_type: type[Job], rules: IdempotencyRules, message: str
) -> None:
    with pytest.raises(RegistrationError) as caught:
        catalog_of(job_type, rules)
    assert str(caught.value) == f"handler of 'test.charge.v1': {message}"


@pytest.mark.parametrize("job_type", [Charge, ChargeAsAsked])
def test_a_type_that_may_obey_is_accepted(job_type: type[Job]) -> None:
    assert catalog_of(job_type, AT_MOST_A_DAY).find("test.charge.v1") is not None


@pytest.mark.parametrize(
    "job,problems",
    [
        (Charge(), []),
        (ChargeAsAsked(days=1), []),
        (
            ChargeAsAsked(days=2),
            ["payload.result_ttl: is 2 days, 0:00:00, longer than Idempotency.MaxResultTtl (1 day, 0:00:00)"],
        ),
        (Charge(order="x" * 256), ["payload.idempotency_key: has 256 characters; the limit is 255"]),
        (Broken(), ["payload.idempotency_key: cannot be told: KeyError: 'no such order'"]),
    ],
)
def test_a_job_is_looked_at_while_it_can_be_refused(job: IdempotentJob, problems: list[str]) -> None:
    assert [str(problem) for problem in job_problems(job, AT_MOST_A_DAY)] == problems


def test_only_jobs_that_ask_for_it_are_protected() -> None:
    assert is_idempotent(Charge)
    assert not is_idempotent(Job)
    assert not is_idempotent(None)


def test_neither_key_nor_lifetime_is_part_of_the_payload() -> None:
    assert ChargeAsAsked().model_dump() == {"order": "7", "days": 1}
