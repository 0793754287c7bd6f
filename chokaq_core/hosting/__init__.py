"""
ChokaQ on Azure Functions: triggers, HTTP, wakes, and the one object that a `function_app.py` needs.
"""

from __future__ import annotations

from chokaq_core.hosting.app import ChokaQ

__all__ = ["ChokaQ"]
