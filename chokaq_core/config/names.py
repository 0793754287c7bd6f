"""
The names of settings: how sources spell them, and what an unknown one was probably meant to be.

A name is a path of words. Sources spell it their own way, in any letter case: `Retry.MaxAttempts` in code and in
errors, nested in a settings file, `ChokaQ__Retry__MaxAttempts` or `ChokaQ:Retry:MaxAttempts` in the environment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chokaq_core.config.catalog import OLD_NAMES, QUEUE_SETTINGS, SECTIONS, SETTINGS
from chokaq_core.config.setting import ROOT
from chokaq_core.domain.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.config.setting import Setting

MAX_VARIABLE_CHARACTERS = 50
"""Linux plans have cut longer names of app settings, at 53 or at 64 characters."""

_PORTABLE = r"[A-Za-z0-9_.:]+"
_QUEUES = "queues"
_QUEUE_PATH_LENGTH = 3
_BY_NAME = {setting.name.lower(): setting for setting in SETTINGS}
_BY_OLD_NAME = {old.lower(): replace(_BY_NAME[new.lower()], name=old) for old, new in OLD_NAMES.items()}
_BY_QUEUE_OPTION = {setting.name.rpartition(".")[2].lower(): setting for setting in QUEUE_SETTINGS}
_SECTION_NAMES = {section.name.lower() for section in SECTIONS}


def find(path: tuple[str, ...]) -> Setting | None:
    """
    The setting that a path names, or None. A queue's setting carries the queue's name; an old name, the old name.
    """
    words = tuple(word.lower() for word in path)
    if len(words) == _QUEUE_PATH_LENGTH and words[0] == _QUEUES:
        template = _BY_QUEUE_OPTION.get(words[2])
        return of_queue(template, words[1]) if template else None
    name = ".".join(words)
    return _BY_NAME.get(name) or _BY_OLD_NAME.get(name)


def of_queue(template: Setting, queue: str) -> Setting:
    """
    The setting that one queue has by a template of QUEUE_SETTINGS.
    """
    return replace(template, name=template.name.replace("{queue}", queue), queue=queue)


def in_code(name: str) -> tuple[str, ...]:
    """
    The path of a name that code spells with dots; what stands between the ends of a queue's setting is the queue.
    """
    words = tuple(name.split("."))
    if words[0].lower() == _QUEUES and len(words) > _QUEUE_PATH_LENGTH:
        return words[0], ".".join(words[1:-1]), words[-1]
    return words


def in_environment(variable: str) -> tuple[str, ...] | None:
    """
    The path that an environment variable names; None when the variable is not ours.

    A name that only begins like ours keeps its spelling, so that it is found unknown.
    """
    if not variable.lower().startswith(ROOT.lower()):
        return None
    first, *rest = variable.replace("__", ":").split(":")
    return tuple(rest) if first.lower() == ROOT.lower() and rest else (variable,)


def is_section(path: tuple[str, ...]) -> bool:
    """
    Whether a path stops where settings begin: at a section, or at one queue.
    """
    words = tuple(word.lower() for word in path)
    is_queue = len(words) == _QUEUE_PATH_LENGTH - 1 and words[0] == _QUEUES and words[1] not in _BY_QUEUE_OPTION
    return is_queue or (len(words) == 1 and words[0] in _SECTION_NAMES)


def is_portable(variable: str) -> bool:
    """
    Whether a variable of this name arrives whole on every platform.
    """
    return len(variable) <= MAX_VARIABLE_CHARACTERS and re.fullmatch(_PORTABLE, variable) is not None


def renamed(old: str) -> Setting | None:
    """
    The setting that an old name stands for now, or None.
    """
    new = OLD_NAMES.get(old)
    return _BY_NAME[new.lower()] if new else None


def nearest(path: tuple[str, ...]) -> str:
    """
    The known name that is spelled most like the path.
    """
    import difflib  # noqa: PLC0415 - for misspelt names only

    known = {_squashed(name): name for name in _candidates(path)}
    return known[difflib.get_close_matches(_squashed(".".join(path)), known, n=1, cutoff=0.0)[0]]


def _candidates(path: tuple[str, ...]) -> Iterable[str]:
    yield from (setting.name for setting in SETTINGS)
    queue = path[1] if len(path) == _QUEUE_PATH_LENGTH else "{queue}"
    yield from (setting.name.replace("{queue}", queue) for setting in QUEUE_SETTINGS)


def _squashed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix(ROOT.lower())[:MAX_VARIABLE_CHARACTERS]
