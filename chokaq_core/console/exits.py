"""
How a command ends, for scripts.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """
    2 is argparse's own, for a command line that cannot be understood.
    """

    DONE = 0
    FAILED = 1
    """Refused, or it could not be done; the reason is on standard error."""
    INCOMPLETE = 3
    """Carried out, but some of the jobs were left alone; the output says which and why."""
    NOT_FOUND = 4
    """There is no such job."""
