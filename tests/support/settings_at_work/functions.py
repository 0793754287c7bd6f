"""
Settings of the functions, and of who may use the Deck.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from functools import partial

import azure.functions as func

from chokaq_core.config import Settings
from chokaq_core.hosting import ChokaQ
from chokaq_core.hosting.principal import who
from tests.support.settings_at_work.trial import Row, Trial, by

READ_KEY = "a-key-that-lets-its-holder-look-on"
OPERATE_KEY = "a-key-that-lets-its-holder-act-too"
PRINCIPAL = base64.b64encode(json.dumps({"claims": [{"typ": "roles", "val": "ChokaQ.Operator"}]}).encode()).decode()


def trigger(trial: Trial, function: str, option: str) -> object:
    """
    One option of a function's trigger, as a host reads it.
    """
    app = func.FunctionApp()
    ChokaQ(trial.folder, environ=trial.environ).register(app)
    (found,) = (each for each in app.get_functions() if each.get_function_name() == function)
    return json.loads(found.get_raw_bindings()[0])[option]


def role(settings: Settings, headers: Mapping[str, str]) -> str:
    req = func.HttpRequest(method="GET", url="http://app/api/deck/me", headers=dict(headers), body=b"")
    return who(req, settings.deck, {"WEBSITE_AUTH_ENABLED": "true"}).role.name


def wake_queue(trial: Trial) -> object:
    return trigger(trial, "chokaq_worker", "queueName")


def schedule_of(timer: str) -> Callable[[Trial], object]:
    return partial(trigger, function=f"chokaq_{timer}", option="schedule")


def role_with(key: str) -> Callable[[Trial], object]:
    return by(partial(role, headers={"X-ChokaQ-Key": key}))


role_of_principal = partial(role, headers={"X-MS-CLIENT-PRINCIPAL": PRINCIPAL})
FUNCTIONS = (
    Row("Functions.PollInterval", "00:02:00", schedule_of("poll"), "*/30 * * * * *", "0 */2 * * * *"),
    Row("Functions.HeartbeatInterval", "00:00:20", schedule_of("heartbeat"), "0 */1 * * * *", "*/20 * * * * *"),
    Row("Functions.MaintenanceInterval", "00:30:00", schedule_of("maintenance"), "0 */15 * * * *", "0 */30 * * * *"),
    Row("Recovery.ScanInterval", "00:00:30", schedule_of("rescue"), "0 */1 * * * *", "*/30 * * * * *"),
    Row("Functions.WakeQueueName", "billing-wake", wake_queue, "chokaq-wake", "billing-wake"),
    Row("Deck.ReadKey", READ_KEY, role_with(READ_KEY), "NONE", "READ"),
    Row("Deck.OperateKey", OPERATE_KEY, role_with(OPERATE_KEY), "NONE", "OPERATE"),
    Row("Deck.TrustPlatformAuthentication", "true", by(role_of_principal), "NONE", "OPERATE"),
    Row("Deck.AllowAnonymous", "true", by(partial(role, headers={})), "NONE", "OPERATE"),
)
