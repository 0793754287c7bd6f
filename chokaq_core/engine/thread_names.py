"""
How the engine's threads are told apart from a host's.
"""

from __future__ import annotations

OWN_THREADS = "chokaq-"
"""How the names of all threads of an engine begin."""
