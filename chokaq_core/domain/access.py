"""
Who acts, and what they may do.
"""

from __future__ import annotations

from enum import IntEnum

from chokaq_core.domain.value import Value


class Role(IntEnum):
    """
    What a person may do; each role includes those before it.
    """

    NONE = 0
    READ = 1
    OPERATE = 2


class Actor(Value):
    """
    A person, by the name that is written down for what they do, at most 100 characters.
    """

    name: str
    role: Role
