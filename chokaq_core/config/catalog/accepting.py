"""
Settings of what is accepted as a job, and of jobs that must not run twice.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.kinds import FLAG, duration, whole
from chokaq_core.config.setting import Section, Setting

SERIALIZATION = Section(
    "Serialization",
    "How large a job may be.",
    (
        Setting(
            "Serialization.MaxPayloadBytes",
            ("envelope.max_payload_bytes",),
            whole(1, 100_000_000),
            1_000_000,
            purpose=(
                "Largest payload accepted, in bytes of its stored JSON text as UTF-8. Larger ones are refused at "
                "enqueue."
            ),
            change="payloads cannot be made smaller by storing large data elsewhere and sending its address.",
        ),
    ),
)

IDEMPOTENCY = Section(
    "Idempotency",
    "How long the idempotency middleware remembers what ran.",
    (
        Setting(
            "Idempotency.InProgressTtl",
            ("idempotency.in_progress_ttl",),
            duration(),
            timedelta(minutes=30),
            purpose="How long a running job holds its key before another job may claim it.",
            change="protected jobs run longer; keep it above their execution timeout.",
        ),
        Setting(
            "Idempotency.DefaultResultTtl",
            ("idempotency.default_result_ttl",),
            duration(),
            None,
            purpose="How long the result of a protected job is remembered when the job does not say.",
            change="results shall not be kept for ever.",
            null="for ever",
        ),
        Setting(
            "Idempotency.MinResultTtl",
            ("idempotency.min_result_ttl",),
            duration(),
            None,
            purpose="No job may ask for its result to be remembered for less.",
            change="a business rule sets a least time.",
            null="no bound",
        ),
        Setting(
            "Idempotency.MaxResultTtl",
            ("idempotency.max_result_ttl",),
            duration(),
            None,
            purpose="No job may ask for its result to be remembered for longer.",
            change="a business rule sets a greatest time.",
            null="no bound",
        ),
    ),
)

TYPE_RESOLUTION = Section(
    "TypeResolution",
    "Which types of jobs may run.",
    (
        Setting(
            "TypeResolution.RequireRegisteredJobTypes",
            ("require_registered_types",),
            FLAG,
            default=True,
            purpose=(
                "Whether every handler needs a type key of its own, such as `email.send.v1`. With false the class's "
                "import path serves as the key, and breaks when the class moves."
            ),
            change="you are trying things out; leave it true in production.",
        ),
    ),
)

ACCEPTING = (SERIALIZATION, IDEMPOTENCY, TYPE_RESOLUTION)
