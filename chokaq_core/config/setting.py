"""
One setting, as it is declared.
"""

from __future__ import annotations

from chokaq_core.config.kinds import Kind
from chokaq_core.domain.secret import MASK
from chokaq_core.domain.value import Value

ROOT = "ChokaQ"


class Setting(Value):
    """
    Everything that is known of one setting; parsing, errors, samples and documentation are made from it.

    Attributes:
        name: its full name, `Section.Name`.
        to: where its value goes in `Settings`: one or more paths such as `retry.max_attempts`.
        kind: its type and range.
        default: its value when no source gives one.
        purpose: what it decides, in a sentence.
        change: when to move it away from the default.
        null: what null means, where null is allowed.
        is_empty_null: whether an empty text counts as null.
        queue: the queue that it belongs to, if it is a queue's.
    """

    name: str
    to: tuple[str, ...]
    kind: Kind
    default: object
    purpose: str
    change: str
    null: str | None = None
    is_empty_null: bool = True
    queue: str | None = None

    @property
    def environment_name(self) -> str:
        """
        The spelling that works on every platform: Linux knows no colon in the name of a variable.
        """
        return "__".join((ROOT, *self.name.split(".")))

    @property
    def rule(self) -> str:
        """
        The whole rule, null included.
        """
        return self.kind.rule if self.null is None else f"{self.kind.rule}, or null"

    def show(self, value: object) -> str:
        """
        A value as an operator may see it.
        """
        if value is None:
            return "not set" if self.null is None else "null"
        return MASK if self.kind.is_secret else self.kind.show(value)

    def as_json(self, value: object) -> object:
        """
        A value as a settings file holds it.
        """
        return None if value is None else self.kind.as_json(value)


class Section(Value):
    """
    Settings that answer one question, in the order in which they are documented.
    """

    name: str
    intro: str
    settings: tuple[Setting, ...]
