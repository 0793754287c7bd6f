"""
All settings, valid and frozen, as the values that the rooms take.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from chokaq_core.domain.secret import Secret
from chokaq_core.domain.value import Value
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.policy.health import HealthRules
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.idempotency import IdempotencyRules
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.policy.queues import QueueRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.policy.retention import RetentionRules
from chokaq_core.policy.running import ExecutionRules, WorkerRules
from chokaq_core.policy.sqlserver import SqlServerSettings

if TYPE_CHECKING:
    from chokaq_core.config.reading import Reading


class FunctionsSettings(Value):
    """
    The settings of section `Functions` that triggers and wakes take.
    """

    poll_interval: timedelta = timedelta(seconds=30)
    heartbeat_interval: timedelta = timedelta(minutes=1)
    maintenance_interval: timedelta = timedelta(minutes=15)
    wake_queue_name: str = "chokaq-wake"
    max_wakes_per_poll: int = 32


class DeckSettings(Value):
    """
    The settings of section `Deck`: who may look and who may act.
    """

    read_key: Secret | None = None
    operate_key: Secret | None = None
    trust_platform_authentication: bool = False
    allow_anonymous: bool = False

    @property
    def is_configured(self) -> bool:
        """
        Whether anybody at all could be let in.
        """
        return bool(self.read_key or self.operate_key or self.trust_platform_authentication or self.allow_anonymous)


class Effective(NamedTuple):
    """
    One setting as it came out, ready to be shown: secrets are masked.
    """

    name: str
    shown: str
    source: str


class Settings(Value):
    """
    Every setting of the app. Sections that the engine knows come as its own value classes.

    Attributes:
        queues: what the rows of configured queues start with, by queue.
        sqlite_path: the embedded store's file; None keeps it in memory.
        sqlserver: None means the embedded store.
        warnings: what is accepted and should still be looked at.
    """

    retry: RetryRules
    rescue: RescueRules
    heartbeat: HeartbeatRules
    execution: ExecutionRules
    worker: WorkerRules
    envelope: EnvelopeLimits
    queues: Mapping[str, QueueRules]
    circuit: CircuitRules
    idempotency: IdempotencyRules
    retention: RetentionRules
    health: HealthRules
    metrics: MetricRules
    sqlserver: SqlServerSettings | None
    sqlite_path: str | None
    in_memory_max_capacity: int
    require_registered_types: bool
    functions: FunctionsSettings
    deck: DeckSettings
    warnings: tuple[str, ...] = ()
    listing: tuple[Effective, ...] = ()

    def effective(self) -> list[Effective]:
        """
        Every setting with its value and where that came from, `default` included; secrets are masked.
        """
        return list(self.listing)


def assemble(reading: Reading) -> Settings:
    """
    The settings that a reading without problems came to.
    """
    groups = _grouped(reading)
    own = groups[""]
    is_sql_server = groups["sqlserver"]["connection"] is not None
    timeouts = {queue: options["queue_timeouts"] for queue, options in _of_queues(reading, "execution").items()}
    return Settings(
        retry=RetryRules(**groups["retry"]),
        rescue=RescueRules(**groups["rescue"]),
        heartbeat=HeartbeatRules(**groups["heartbeat"]),
        execution=ExecutionRules(
            **groups["execution"],
            queue_timeouts=MappingProxyType({queue: limit for queue, limit in timeouts.items() if limit is not None}),
        ),
        worker=WorkerRules(
            **groups["worker"],
            shutdown_grace_period=groups["grace"]["sqlserver" if is_sql_server else "embedded"],
        ),
        envelope=EnvelopeLimits(**groups["envelope"]),
        queues=MappingProxyType(
            {queue: QueueRules(**options) for queue, options in _of_queues(reading, "queues").items()}
        ),
        circuit=CircuitRules(**groups["circuit"]),
        idempotency=IdempotencyRules(**groups["idempotency"]),
        retention=RetentionRules(**groups["retention"]),
        health=HealthRules(**groups["health"]),
        metrics=MetricRules(**groups["metrics"]),
        sqlserver=SqlServerSettings(**groups["sqlserver"]) if is_sql_server else None,
        sqlite_path=own["sqlite_path"],
        in_memory_max_capacity=own["in_memory_max_capacity"],
        require_registered_types=own["require_registered_types"],
        functions=FunctionsSettings(**groups["functions"]),
        deck=DeckSettings(**groups["deck"]),
        warnings=tuple(reading.warnings),
        listing=tuple(_listing(reading)),
    )


def _grouped(reading: Reading) -> dict[str, dict[str, Any]]:
    """
    The values of settings that exist once, by the two halves of where they go.
    """
    groups: dict[str, dict[str, Any]] = {}
    for setting in reading.settings.values():
        for path in setting.to if setting.queue is None else ():
            group, _, attribute = path.rpartition(".")
            groups.setdefault(group, {})[attribute] = reading.values[setting.name]
    return groups


def _of_queues(reading: Reading, group: str) -> dict[str, dict[str, Any]]:
    """
    The values of queues' settings that go into one group, by queue and attribute.
    """
    queues: dict[str, dict[str, Any]] = {}
    for setting in reading.settings.values():
        for path in setting.to:
            here, _, attribute = path.rpartition(".")
            if setting.queue is not None and here == group:
                queues.setdefault(setting.queue, {})[attribute] = reading.values[setting.name]
    return queues


def _listing(reading: Reading) -> list[Effective]:
    return [
        Effective(name, setting.show(reading.values[name]), reading.origins[name])
        for name, setting in reading.settings.items()
    ]
