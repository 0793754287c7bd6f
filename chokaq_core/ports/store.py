"""
A store with all its parts.
"""

from __future__ import annotations

from typing import Protocol

from chokaq_core.ports.claims import ClaimStore
from chokaq_core.ports.job_store import JobStore
from chokaq_core.ports.maintenance import MaintenanceStore
from chokaq_core.ports.operator_store import OperatorStore


class Store(JobStore, OperatorStore, ClaimStore, MaintenanceStore, Protocol):
    """
    A whole store.
    """
