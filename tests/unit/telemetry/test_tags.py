from __future__ import annotations

import threading

import pytest

from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry.tags import Tags, TagValues

RULES = MetricRules(max_value_length=10)


class Exits:
    def __str__(self) -> str:
        raise SystemExit


class Disguised(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        return "mail"


def test_values_are_admitted_until_the_budget_is_spent_and_keep_their_place() -> None:
    values = TagValues(2, RULES)
    assert [values.of(name) for name in ("a", "b", "c", "a", "d", "b")] == ["a", "b", "other", "a", "other", "b"]


@pytest.mark.parametrize("blank", ["", "  ", "\t\n", None, Exits()])
def test_a_blank_value_is_unknown_and_costs_no_budget(blank: object) -> None:
    values = TagValues(1, RULES)
    assert values.of(blank) == "unknown"
    assert values.of("a") == "a"


def test_the_unknown_and_overflow_values_cost_no_budget_as_names() -> None:
    values = TagValues(1, RULES)
    assert [values.of(name) for name in ("other", "unknown", "a", "b")] == ["other", "unknown", "a", "other"]


@pytest.mark.parametrize(
    "value,expected",
    [
        ("0123456789abc", "0123456789"),
        ("  mail  ", "mail"),
        ("a" * 1_000_000, "aaaaaaaaaa"),
        ("a\x00b\ud800c", "a␀b\ufffdc"),
        (Disguised("x"), "mail"),
        (17, "17"),
    ],
)
def test_a_value_is_trimmed_to_what_every_exporter_takes(value: object, expected: str) -> None:
    assert TagValues(5, RULES).of(value) == expected


def test_values_that_are_the_same_once_trimmed_share_one_place() -> None:
    values = TagValues(1, RULES)
    assert {values.of(f"0123456789{number}") for number in range(100)} == {"0123456789"}


def test_threads_together_admit_no_more_than_the_budget() -> None:
    values = TagValues(50, RULES)
    barrier = threading.Barrier(8)
    seen: list[set[str]] = []

    def ask(worker: int) -> None:
        barrier.wait()
        seen.append({values.of(f"{number}-{worker}") for number in range(100)})

    threads = [threading.Thread(target=ask, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set().union(*seen) - {"other"}) == 50


def test_the_settings_name_their_values_and_budgets() -> None:
    rules = MetricRules(
        max_queue_values=1,
        max_job_type_values=2,
        max_error_values=3,
        max_failure_reason_values=4,
        unknown_value="none",
        overflow_value="rest",
    )
    tags = Tags(rules)
    names = [str(number) for number in range(10)]
    for family, budget in ((tags.queue, 1), (tags.type, 2), (tags.error, 3), (tags.reason, 4)):
        assert [family(name) for name in names] == names[:budget] + ["rest"] * (10 - budget)
        assert family("") == "none"


@pytest.mark.parametrize(
    "error_type,expected",
    [
        ("OSError", "OSError"),
        ("requests.exceptions.ConnectionError", "ConnectionError"),
        ("jobs.mail.send.<locals>.OddError", "OddError"),
        ("ends.with.", "unknown"),
        (None, "unknown"),
    ],
)
def test_an_error_is_its_short_class_name(error_type: object, expected: str) -> None:
    assert Tags(MetricRules()).error(error_type) == expected


@pytest.mark.parametrize(
    "number,expected", [(1, "1"), (9, "9"), (10, "10+"), (11, "10+"), (10**30, "10+"), (None, "unknown")]
)
def test_attempts_are_counted_one_by_one_up_to_ten(number: int | None, expected: str) -> None:
    assert Tags(MetricRules()).attempt(number) == expected
