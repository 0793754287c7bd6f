"""
Faults that users of other job runners met in the field, as tests.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chokaq_core.config import load_settings
from chokaq_core.domain.failures import ErrorFacts, Failed, FailureKind, FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.policy.after_failure import AttemptFacts, decide

Problems = Callable[..., list[str]]

NOW = datetime(2030, 5, 10, 12, 0, tzinfo=UTC)
KEY = "k" * 32
VAULT = "@Microsoft.KeyVault(SecretUri=https://kv-example.vault.azure.net/secrets/db/)"


@pytest.mark.case("C-015")
class TestC015MaxAttempts:
    @pytest.mark.parametrize("given, runs", [("1", 1), ("2", 2)])
    def test_it_counts_runs_in_all(self, given: str, runs: int, app_folder: Path) -> None:
        rules = load_settings(app_folder, {"ChokaQ__Retry__MaxAttempts": given}).retry
        failed = Failed(FailureKind.TRANSIENT, ErrorFacts("RuntimeError", "x", "x"))
        verdicts = [
            decide(failed, AttemptFacts(n, rules.max_attempts, NOW, NOW), rules, 0.0) for n in range(1, runs + 1)
        ]
        assert [verdict.move for verdict in verdicts] == [Move.RETRY] * (runs - 1) + [Move.DEAD_LETTER]
        assert verdicts[-1].reason is FailureReason.MAX_RETRIES_EXCEEDED

    @pytest.mark.parametrize("given", ["0", "-1", "three"])
    def test_no_value_retries_without_limit(self, given: str, problems: Problems) -> None:
        assert problems({"ChokaQ__Retry__MaxAttempts": given}) == [
            (
                f"Retry.MaxAttempts: must be a whole number from 1 to 10000; got '{given}' (environment variable "
                "ChokaQ__Retry__MaxAttempts); 1 runs a job once, and no value retries without limit"
            )
        ]


@pytest.mark.case("C-050")
class TestC050Durations:
    @pytest.mark.parametrize(
        "given, value",
        [
            ("00:15:00", timedelta(seconds=900)),
            ("1.00:00:00", timedelta(seconds=86_400)),
            ("00:00:03.5000000", timedelta(seconds=3.5)),
        ],
    )
    def test_a_plain_duration_means_what_it_says(self, given: str, value: timedelta, app_folder: Path) -> None:
        loaded = load_settings(app_folder, {"ChokaQ__Retry__MaxDelay": given})
        assert loaded.retry.max_delay == value

    @pytest.mark.parametrize(
        "given, hint",
        [
            ("24:00:00", "; write 1.00:00:00 (1 day) or 24.00:00:00 (24 days)"),
            ("48:00:00", "; write 2.00:00:00 (2 days) or 48.00:00:00 (48 days)"),
            ("7", "; write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)"),
            ("1:30", "; write 01:30:00 (90 minutes) or 00:01:30 (90 seconds)"),
            ("23:59:60", "; write 1.00:00:00 (1 day)"),
            ("00:60:00", "; write 01:00:00 (1 hour)"),
            ("7.", "; write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)"),
            ("-00:00:05", "; write 00:00:05 (5 seconds)"),
            ("PT15M", "; write 00:15:00 (15 minutes)"),
            ("15m", "; write 00:15:00 (15 minutes)"),
            (" 00:15:00 ", "; write 00:15:00 (15 minutes)"),
            ("1,5", "; write 00:00:01.5 or 1.12:00:00 (36 hours)"),
            ("", ""),
        ],
    )
    def test_a_value_that_two_readers_may_read_differently_is_refused_with_both_readings(
        self, given: str, hint: str, problems: Problems
    ) -> None:
        assert problems({"ChokaQ__Retry__MaxDelay": given}) == [
            (
                "Retry.MaxDelay: must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23; got "
                f"'{given}' (environment variable ChokaQ__Retry__MaxDelay){hint}"
            )
        ]

    @pytest.mark.parametrize("given", ["00:00:00", "10675199.02:48:05.4775807"])
    def test_zero_and_for_ever_are_refused_where_they_make_no_sense(self, given: str, problems: Problems) -> None:
        assert problems({"ChokaQ__Retry__MaxDelay": given}) == [
            (
                f"Retry.MaxDelay: must be longer than 00:00:00 and at most 3650.00:00:00; got '{given}' (environment "
                "variable ChokaQ__Retry__MaxDelay)"
            )
        ]


@pytest.mark.case("C-052")
class TestC052UnresolvedReferences:
    @pytest.mark.parametrize("name", ["SqlServer.ConnectionString", "Deck.ReadKey", "Retry.MaxAttempts", "Sqlite.Path"])
    @pytest.mark.parametrize(
        "reference",
        [
            VAULT,
            "@Microsoft.KeyVault(VaultName=kv-example;SecretName=db)",
            VAULT.upper(),
            VAULT.lower(),
            f"  \t{VAULT}",
            f"{VAULT}\n",
            "@Microsoft.KeyVault(",
        ],
    )
    def test_a_reference_is_refused_by_name_in_any_setting(self, name: str, reference: str, problems: Problems) -> None:
        [problem] = problems({f"ChokaQ__{name.replace('.', '__')}": reference})
        assert problem.startswith(
            f"{name}: Key Vault reference not resolved; check the app's identity (keyVaultReferenceIdentity), its role "
            "Key Vault Secrets User, the secret's name and the vault's network rules; "
        )

    def test_one_of_app_configuration_too(self, problems: Problems) -> None:
        reference = "@microsoft.appconfiguration(Endpoint=https://x.azconfig.io; Key=k)"
        [problem] = problems({"ChokaQ__Queues__mail__MaxWorkers": reference})
        assert problem.startswith(
            "Queues.mail.MaxWorkers: App Configuration reference not resolved; check the app's identity "
            "(keyVaultReferenceIdentity), its role App Configuration Data Reader, key and label, and the store's "
            "network rules; "
        )

    def test_a_secret_that_merely_holds_such_a_word_is_legitimate(self, app_folder: Path) -> None:
        key = f"{KEY}@Microsoft.KeyVault(x)"
        loaded = load_settings(app_folder, {}, {"Deck.ReadKey": key})
        assert loaded.deck.read_key is not None
        assert loaded.deck.read_key.matches(key)

    def test_a_resolved_secret_loses_the_line_end_that_came_with_it(self, app_folder: Path) -> None:
        environ = {
            "ChokaQ__Deck__OperateKey": f"{KEY}\r\n",
            "ChokaQ__SqlServer__ConnectionString": " Server=db;Database=jobs;UID=a;PWD=b\n",
        }
        loaded = load_settings(app_folder, environ)
        assert loaded.deck.operate_key is not None
        assert loaded.deck.operate_key.reveal() == KEY
        assert loaded.sqlserver is not None
        assert loaded.sqlserver.connection.password is not None
        assert loaded.sqlserver.connection.password.reveal() == "b"


@pytest.mark.case("C-054")
class TestC054MaxWorkers:
    @pytest.mark.parametrize("given", ["0", "-1", "1.5", "", "all", "1000000"])
    def test_of_a_queue_nothing_but_null_means_no_limit(self, given: str, problems: Problems) -> None:
        assert problems({"ChokaQ__Queues__mail__MaxWorkers": given}) == [
            (
                f"Queues.mail.MaxWorkers: must be a whole number from 1 to 10000; got '{given}' (environment variable "
                "ChokaQ__Queues__mail__MaxWorkers); to stop a queue, pause it; only null means no limit"
            )
        ]

    @pytest.mark.parametrize("given", ["0", "-1", "1.5", "", "all", "1000000"])
    def test_of_a_process_there_is_always_a_limit(self, given: str, problems: Problems) -> None:
        assert problems({"ChokaQ__Worker__MaxConcurrency": given}) == [
            (
                f"Worker.MaxConcurrency: must be a whole number from 1 to 1000; got '{given}' (environment variable "
                "ChokaQ__Worker__MaxConcurrency); to stop a queue, pause it"
            )
        ]

    @pytest.mark.parametrize("given, limit", [("null", None), (None, None), (4, 4), ("10000", 10_000)])
    def test_a_limit_or_null_is_the_value_that_the_queue_starts_with(
        self, given: object, limit: int | None, app_folder: Path
    ) -> None:
        assert load_settings(app_folder, {}, {"Queues.mail.MaxWorkers": given}).queues["mail"].max_workers == limit
