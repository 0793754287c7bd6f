"""
Settings of the app on Azure Functions: timers, wakes, and who may use the Deck.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.kinds import FLAG, KEY, PERIOD, ZERO, duration, text, whole
from chokaq_core.config.setting import Section, Setting

FUNCTIONS = Section(
    "Functions",
    "Timers and wakes.",
    (
        Setting(
            "Functions.PollInterval",
            ("functions.poll_interval",),
            PERIOD,
            timedelta(seconds=30),
            purpose="Schedule of the poll: how late a job may start when every wake for it was lost.",
            change="that bound must be shorter, or the database may rest longer.",
        ),
        Setting(
            "Functions.HeartbeatInterval",
            ("functions.heartbeat_interval",),
            PERIOD,
            timedelta(minutes=1),
            purpose="Schedule of the app's own heartbeat, which refreshes gauges and warns of silent jobs.",
            change="gauges shall be fresher, or cheaper.",
        ),
        Setting(
            "Functions.MaintenanceInterval",
            ("functions.maintenance_interval",),
            PERIOD,
            timedelta(minutes=15),
            purpose="Schedule of the clean-up that `Retention` describes.",
            change="clean-up cannot keep pace, or shall run less often.",
        ),
        Setting(
            "Functions.WakeQueueName",
            ("functions.wake_queue_name",),
            text(
                r"(?=.{3,56}\Z)[a-z0-9]+(?:-[a-z0-9]+)*",
                "3 to 56 lower-case letters, digits and single inner hyphens, which leaves room for '-poison'",
            ),
            "chokaq-wake",
            purpose="Storage queue that carries the wakes.",
            change="several apps share a storage account: each needs its own.",
        ),
        Setting(
            "Functions.MaxWakesPerPoll",
            ("functions.max_wakes_per_poll",),
            whole(1, 1_000),
            32,
            purpose="Wakes that one poll may send, and so about how many workers it may start.",
            change="a large backlog shall be met by more instances at once, or by fewer.",
        ),
        Setting(
            "Functions.DrainBudget",
            ("worker.drain_budget",),
            duration(),
            timedelta(minutes=4),
            purpose="How long one run of the worker function claims jobs of any length. After that, while jobs still "
            "run, it claims only such as time out before the longest of them.",
            change="`functionTimeout` in host.json is short, or longer runs shall save hand-overs.",
        ),
        Setting(
            "Functions.IdleLinger",
            ("worker.idle_linger",),
            duration(low=ZERO),
            timedelta(seconds=2),
            purpose="How long a worker that has worked goes on looking after it found nothing more.",
            change="jobs come in short gaps and shall find a warm worker, or idle time costs too much.",
        ),
    ),
)

DECK = Section(
    "Deck",
    "Who may look at the Deck, the operators' page, and who may act there.",
    (
        Setting(
            "Deck.ReadKey",
            ("deck.read_key",),
            KEY,
            None,
            purpose="Secret that lets people look.",
            change="you do not use the platform's authentication.",
            null="no such key",
        ),
        Setting(
            "Deck.OperateKey",
            ("deck.operate_key",),
            KEY,
            None,
            purpose="Secret that lets people look and act. It must differ from `ReadKey`.",
            change="you do not use the platform's authentication.",
            null="no such key",
        ),
        Setting(
            "Deck.TrustPlatformAuthentication",
            ("deck.trust_platform_authentication",),
            FLAG,
            default=False,
            purpose=(
                "Whether the principal that the platform's authentication reports is believed, with the app roles "
                "`ChokaQ.Reader` and `ChokaQ.Operator`. It counts only while that authentication is on."
            ),
            change="the platform's authentication (App Service Authentication) protects the app.",
        ),
        Setting(
            "Deck.AllowAnonymous",
            ("deck.allow_anonymous",),
            FLAG,
            default=False,
            purpose="Whether everyone may look and act. Refused in Azure, and beside the three settings above.",
            change="you work alone on your machine.",
        ),
    ),
)

HOSTING = (FUNCTIONS, DECK)
