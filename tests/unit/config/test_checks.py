from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chokaq_core.config import load_settings
from tests.support.setting_cases import SQL_SERVER

Problems = Callable[..., list[str]]

READ_KEY = "read-key-read-key-read-key-read-key"
OPERATE_KEY = "operate-key-operate-key-operate-key"


@pytest.mark.parametrize(
    "overrides, expected",
    [
        (
            {"Execution.DefaultTimeout": "00:00:00"},
            "Execution.DefaultTimeout: must be longer than 00:00:00 and at most 3650.00:00:00; got '00:00:00' (code)",
        ),
        (
            {"Execution.DefaultTimeout": "-00:00:01"},
            (
                "Execution.DefaultTimeout: must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23; got "
                "'-00:00:01' (code); write 00:00:01 (1 second)"
            ),
        ),
        (
            {"Retry.MaxAttempts": 0},
            (
                "Retry.MaxAttempts: must be a whole number from 1 to 10000; got 0 (code); 1 runs a job once, and no "
                "value retries without limit"
            ),
        ),
        (
            {"Retry.BaseDelay": "00:00:10", "Retry.MaxDelay": "00:00:09"},
            "Retry.MaxDelay: must be at least Retry.BaseDelay (00:00:10); got 00:00:09",
        ),
        (
            {"Execution.HeartbeatIntervalMin": "00:00:13"},
            "Execution.HeartbeatIntervalMax: must be at least Execution.HeartbeatIntervalMin (00:00:13); got 00:00:12",
        ),
        (
            {"InMemory.MaxCapacity": 0},
            "InMemory.MaxCapacity: must be a whole number from 1 to 100000000; got 0 (code)",
        ),
        (
            {"SqlServer.ConnectionString": "  "},
            (
                "SqlServer.ConnectionString: is present but blank; the value is not shown (code); give it, or remove "
                "the setting to use the embedded store"
            ),
        ),
        (
            {"SqlServer.PollingInterval": "00:00:00"},
            "SqlServer.PollingInterval: must be longer than 00:00:00 and at most 3650.00:00:00; got '00:00:00' (code)",
        ),
        (
            {"SqlServer.CommandTimeoutSeconds": 0},
            "SqlServer.CommandTimeoutSeconds: must be a whole number from 1 to 3600; got 0 (code)",
        ),
        (
            {"SqlServer.CleanupBatchSize": 0},
            "SqlServer.CleanupBatchSize: must be a whole number from 1 to 100000; got 0 (code)",
        ),
        (
            {"Health.WorkerHeartbeatTimeout": "00:00:00"},
            (
                "Health.WorkerHeartbeatTimeout: must be longer than 00:00:00 and at most 3650.00:00:00; got "
                "'00:00:00' (code)"
            ),
        ),
        (
            {"Health.QueueLagDegradedThreshold": "00:00:11"},
            (
                "Health.QueueLagUnhealthyThreshold: must be at least Health.QueueLagDegradedThreshold (00:00:11); "
                "got 00:00:10"
            ),
        ),
        (
            {"Metrics.MaxQueueTagValues": 0},
            "Metrics.MaxQueueTagValues: must be a whole number from 1 to 100000; got 0 (code)",
        ),
        (
            {"Metrics.UnknownTagValue": " "},
            "Metrics.UnknownTagValue: must be text of 1 to 128 characters on one line, not only blanks; got ' ' (code)",
        ),
        (
            {"Metrics.OverflowTagValue": ""},
            "Metrics.OverflowTagValue: must be text of 1 to 128 characters on one line, not only blanks; got '' (code)",
        ),
        (
            {"Recovery.ProcessingZombieTimeout": "00:00:35.999999"},
            (
                "Recovery.ProcessingZombieTimeout: must be at least 3 × Execution.HeartbeatIntervalMax (00:00:36), or "
                "living jobs would be buried; got 00:00:35.999999"
            ),
        ),
        (
            {"Queues.mail.ZombieTimeoutSeconds": 35},
            (
                "Queues.mail.ZombieTimeoutSeconds: must be at least 3 × Execution.HeartbeatIntervalMax (00:00:36), or "
                "living jobs would be buried; got 00:00:35"
            ),
        ),
        (
            {"Idempotency.MinResultTtl": "02:00:00", "Idempotency.MaxResultTtl": "01:00:00"},
            "Idempotency.MaxResultTtl: must be at least Idempotency.MinResultTtl (02:00:00); got 01:00:00",
        ),
        (
            {"Idempotency.DefaultResultTtl": "02:00:00", "Idempotency.MaxResultTtl": "01:00:00"},
            "Idempotency.MaxResultTtl: must be at least Idempotency.DefaultResultTtl (02:00:00); got 01:00:00",
        ),
        (
            {"Idempotency.DefaultResultTtl": "00:01:00", "Idempotency.MinResultTtl": "01:00:00"},
            "Idempotency.DefaultResultTtl: must be at least Idempotency.MinResultTtl (01:00:00); got 00:01:00",
        ),
        (
            {"Deck.AllowAnonymous": True, "Deck.TrustPlatformAuthentication": True},
            "Deck.AllowAnonymous: contradicts Deck.TrustPlatformAuthentication; remove one or the other",
        ),
        (
            {"Deck.AllowAnonymous": True, "Deck.ReadKey": READ_KEY, "Deck.OperateKey": OPERATE_KEY},
            "Deck.AllowAnonymous: contradicts Deck.ReadKey and Deck.OperateKey; remove one or the other",
        ),
        (
            {"Deck.ReadKey": READ_KEY, "Deck.OperateKey": READ_KEY},
            "Deck.OperateKey: must differ from Deck.ReadKey, or every reader could act",
        ),
        (
            {"Deck.ReadKey": "k" * 31},
            (
                "Deck.ReadKey: must be at least 32 printable ASCII characters without blanks; the value is not shown "
                "(code); make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
            ),
        ),
        (
            {"Deck.OperateKey": "ключ" * 10},
            (
                "Deck.OperateKey: must be at least 32 printable ASCII characters without blanks; the value is not "
                "shown (code); make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
            ),
        ),
    ],
)
def test_a_broken_rule_is_named(overrides: dict[str, object], expected: str, problems: Problems) -> None:
    assert problems({}, overrides) == [expected]


@pytest.mark.parametrize(
    "overrides",
    [
        {"Retry.BaseDelay": "00:00:10", "Retry.MaxDelay": "00:00:10"},
        {"Execution.HeartbeatIntervalMin": "00:00:12"},
        {"Recovery.ProcessingZombieTimeout": "00:00:36"},
        {"Queues.mail.ZombieTimeoutSeconds": 36},
        {"Health.QueueLagDegradedThreshold": "00:00:10"},
        {"Idempotency.MaxResultTtl": "01:00:00"},
        {"Deck.ReadKey": "k" * 32, "Deck.OperateKey": "o" * 32, "Deck.TrustPlatformAuthentication": True},
        {"Deck.AllowAnonymous": True, "Deck.TrustPlatformAuthentication": False, "Deck.ReadKey": None},
    ],
)
def test_a_rule_that_is_just_kept_is_kept(overrides: dict[str, object], problems: Problems) -> None:
    assert problems({}, overrides) == []


def test_a_rule_waits_until_its_settings_are_valid_by_themselves(problems: Problems) -> None:
    overrides = {"Retry.BaseDelay": "02:00:00", "Retry.MaxDelay": "7", "Execution.HeartbeatIntervalMax": "x"}
    assert [problem.partition(":")[0] for problem in problems({}, overrides)] == [
        "Retry.MaxDelay",
        "Execution.HeartbeatIntervalMax",
    ]


def test_long_timeouts_and_close_probes_are_allowed_with_a_warning(app_folder: Path) -> None:
    overrides = {
        "Execution.DefaultTimeout": "01:00:00.000001",
        "Queues.reports.ExecutionTimeout": "02:00:00",
        "Queues.mail.ExecutionTimeout": "01:00:00",
        "Execution.HeartbeatIntervalMax": "00:00:30",
    }
    environ = {"AzureFunctionsJobHost__functionTimeout": "-1"}
    assert load_settings(app_folder, environ, overrides).warnings == (
        "Execution.DefaultTimeout: is 01:00:00.000001; past 01:00:00 the platform may end a run at a scale-in",
        "Queues.reports.ExecutionTimeout: is 02:00:00; past 01:00:00 the platform may end a run at a scale-in",
        (
            "Circuit.ProbeTimeout: is not above Execution.HeartbeatIntervalMax, so a living probe may be given up "
            "between two heartbeats"
        ),
    )


def test_a_keyword_of_the_connection_string_without_effect_is_told(app_folder: Path) -> None:
    overrides = {"SqlServer.ConnectionString": f"{SQL_SERVER};Max Pool Size=50"}
    assert load_settings(app_folder, {}, overrides).warnings == (
        "SqlServer.ConnectionString: keyword Max Pool Size has no effect",
    )
