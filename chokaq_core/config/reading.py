"""
From what sources give to values: the last source wins, every rule is checked, every problem is kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chokaq_core.config.catalog import SETTINGS
from chokaq_core.config.kinds import RefusedError
from chokaq_core.config.names import MAX_VARIABLE_CHARACTERS, find, is_portable, is_section, nearest, renamed
from chokaq_core.config.sources import DEFAULT
from chokaq_core.domain.durations import format_duration
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.envelope import QUEUE_NAME, QUEUE_NAME_RULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chokaq_core.config.setting import Setting
    from chokaq_core.config.sources import Given

MAX_SHOWN_CHARACTERS = 60
MAX_NAME_CHARACTERS = 300

VARIABLE_RULE = (
    f"as a variable, its name must be at most {MAX_VARIABLE_CHARACTERS} letters, digits, '.', '_' and ':' to arrive "
    "whole on every platform"
)
QUEUE_RULE = f"belongs to a queue that cannot exist; a queue's name is {QUEUE_NAME_RULE}"

_REFERENCES = {
    "@microsoft.keyvault(": (
        "Key Vault reference not resolved; check the app's identity (keyVaultReferenceIdentity), its role Key Vault "
        "Secrets User, the secret's name and the vault's network rules"
    ),
    "@microsoft.appconfiguration(": (
        "App Configuration reference not resolved; check the app's identity (keyVaultReferenceIdentity), its role App "
        "Configuration Data Reader, key and label, and the store's network rules"
    ),
}
_LARGEST_WHOLE_BITS = 63


@dataclass(slots=True)
class Reading:
    """
    What the sources came to.

    Attributes:
        settings: every setting that has a value or a problem, queues' settings included, by name.
        values: the valid values, by name.
        origins: where each value came from, by name.
        problems: every broken rule, ready to be shown.
        warnings: what is accepted and should still be mended.
    """

    settings: dict[str, Setting] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read(sources: Iterable[list[Given]]) -> Reading:
    """
    The values of all settings, from sources in rising order of weight.
    """
    reading = Reading()
    chosen: dict[str, tuple[Setting, Given]] = {}
    for givens in sources:
        chosen |= _by_name(givens, reading)
    _rename_old(chosen, reading)
    for setting in SETTINGS:
        reading.settings[setting.name] = setting
        if setting.name not in chosen:
            reading.values[setting.name] = setting.default
            reading.origins[setting.name] = DEFAULT
    for setting, given in chosen.values():
        _take(setting, given, reading)
    return reading


def _by_name(givens: list[Given], reading: Reading) -> dict[str, tuple[Setting, Given]]:
    """
    One source's values by the setting's name; unknown names, and names given twice, are problems.
    """
    found: dict[str, tuple[Setting, Given]] = {}
    for given in givens:
        setting = find(given.path)
        if setting is None:
            reading.problems += _unknown(given)
        elif setting.name in found:
            spellings = f"as {_name(found[setting.name][1].spelling)} and as {_name(given.spelling)}"
            reading.problems.append(f"{_name(setting.name)}: is given twice, {spellings}; keep one")
        else:
            found[setting.name] = (setting, given)
    return found


def _unknown(given: Given) -> list[str]:
    name = _name(".".join(given.path))
    if is_section(given.path):
        if given.raw is None:
            return []
        return [f"{name}: is a section and holds no value of its own ({_name(given.origin)})"]
    return [f"{name}: is not a setting; the nearest is {_name(nearest(given.path))} ({_name(given.origin)})"]


def _rename_old(chosen: dict[str, tuple[Setting, Given]], reading: Reading) -> None:
    """
    Moves values of old names to the new ones, with a warning; beside the new name an old one is a problem.
    """
    for old in tuple(chosen):
        setting = renamed(old)
        if setting is None:
            continue
        _, given = chosen.pop(old)
        if setting.name in chosen:
            reading.problems.append(f"{old}: is the old name of {setting.name} and stands beside it; remove {old}")
        else:
            chosen[setting.name] = (setting, given)
            reading.warnings.append(f"{old}: is the old name of {setting.name}; rename it ({given.origin})")


def _take(setting: Setting, given: Given, reading: Reading) -> None:
    reading.settings[setting.name] = setting
    try:
        value = _value(setting, given)
    except RefusedError as refused:
        reading.problems += [_problem(setting, given, rule, refused.hint) for rule in refused.rules]
    else:
        reading.values[setting.name] = value
        reading.origins[setting.name] = given.origin


def _value(setting: Setting, given: Given) -> object:
    _check_name(setting, given)
    text = _text(given.raw)
    if text is None or (text == "" and setting.is_empty_null) or text.lower() == "null":
        if setting.null is not None:
            return None
        text = text or ""
    _check_reference(text)
    return setting.kind.parse(text.strip() if setting.kind.is_secret else text)


def _check_name(setting: Setting, given: Given) -> None:
    if given.is_variable and not is_portable(given.spelling):
        raise RefusedError(VARIABLE_RULE, hint="set it in appsettings.json, or at run time")
    if setting.queue is not None and QUEUE_NAME.fullmatch(setting.queue) is None:
        raise RefusedError(QUEUE_RULE)


def _check_reference(text: str) -> None:
    start = text.lstrip().lower()
    for opening, rule in _REFERENCES.items():
        if start.startswith(opening):
            raise RefusedError(rule)


def _text(raw: object) -> str | None:
    """
    The one text form that all sources share; None is null.
    """
    if raw is None or isinstance(raw, str):
        return raw
    for kind, spell in _SPELLINGS:
        if isinstance(raw, kind):
            return spell(raw)
    raise RefusedError("must be a single value")


def _spell_whole(raw: int) -> str:
    """
    Decimal digits, or hexadecimal ones, which no rule accepts, for numbers that Python would refuse to spell out.
    """
    return str(raw) if raw.bit_length() <= _LARGEST_WHOLE_BITS else hex(raw)


_SPELLINGS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda raw: str(raw).lower()),
    (int, _spell_whole),
    (float, repr),
    (timedelta, format_duration),
    (Secret, Secret.reveal),
    (os.PathLike, str),
)
"""How values of code and of JSON are spelled; `bool` stands before the `int` that it also is."""


def _problem(setting: Setting, given: Given, rule: str, hint: str) -> str:
    shown = "the value is not shown" if setting.kind.is_secret else f"got {_shown(given.raw)}"
    return f"{_name(setting.name)}: {rule}; {shown} ({_name(given.origin)}){f'; {hint}' if hint else ''}"


def _shown(raw: object) -> str:
    """
    A value as its problem shows it: text in quotes, which tell blanks, and of other things no more than their type.
    """
    if raw is None:
        return "null"
    if isinstance(raw, str | Secret):
        return _cut(ascii(raw))
    if any(isinstance(raw, kind) for kind, _ in _SPELLINGS):
        return _cut(str(_text(raw)))
    return f"a {type(raw).__name__}"


def _name(text: str) -> str:
    return _cut(text, MAX_NAME_CHARACTERS)


def _cut(text: str, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """
    Printable ASCII of bounded length, so that a hostile name or value cannot flood or forge a log.
    """
    plain = ascii(text)[1:-1] if not text.isascii() or not text.isprintable() else text
    return plain if len(plain) <= limit else f"{plain[:limit]}…"
