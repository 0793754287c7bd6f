"""
The app that Azure Functions and the local host load. Handlers live in `jobs/`; everything else is settings.
"""

from __future__ import annotations

from pathlib import Path

import azure.functions as func

from chokaq_core.hosting import ChokaQ
from jobs import PROFILES

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)

chokaq = ChokaQ(Path(__file__).parent, profiles=PROFILES)
chokaq.register(app)


def on_shutdown() -> None:
    """
    Drains running jobs, where a host says that it is about to end the process; Azure does not.
    """
    chokaq.stop()
