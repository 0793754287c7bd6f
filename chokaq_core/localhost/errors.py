"""
The one error of the local host.
"""

from __future__ import annotations


class HostError(Exception):
    """
    What keeps the host from starting; the text is for the person at the terminal and says what to change.
    """
