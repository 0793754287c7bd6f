"""
Where values come from: a settings file, the environment, code. Each source is read as it is; nothing is judged here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chokaq_core.config.names import in_code, in_environment
from chokaq_core.config.setting import ROOT
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SETTINGS_FILE = "appsettings.json"
DEFAULT = "default"

OWN_TESTS = "chokaq_test_"
"""Variables that begin so steer the project's own tests and are left alone."""


class Given(Value):
    """
    One value as a source gives it.

    Attributes:
        path: the words of its name, in the source's own letter case.
        spelling: the name as it stands in the source.
        raw: the value, not yet looked at.
        origin: where it stands, in words.
        is_variable: whether the spelling is the name of an environment variable.
    """

    path: tuple[str, ...]
    spelling: str
    raw: object
    origin: str
    is_variable: bool = False


class FileError(Exception):
    """
    A JSON file cannot be read; the text says why and never repeats what it holds.
    """


class Members(tuple[tuple[str, object], ...]):
    """
    The members of a JSON object in order, so that a name that stands twice is seen twice.
    """

    __slots__ = ()


def from_file(folder: Path) -> list[Given]:
    """
    The values of section `ChokaQ` in the app's settings file; none when there is no file.

    Raises:
        FileError: the file is not such a file.
    """
    top = read_members(folder / SETTINGS_FILE)
    givens: list[Given] = []
    for name, section in top or ():
        if name.lower() != ROOT.lower():
            continue
        if not isinstance(section, Members):
            msg = f"{ROOT} must be an object that holds the sections"
            raise FileError(msg)
        givens += [Given(path, ":".join(path), raw, SETTINGS_FILE) for path, raw in leaves(section)]
    return givens


def from_environment(environ: Mapping[str, str]) -> list[Given]:
    """
    The values of all variables that begin with `ChokaQ`, in any letter case.
    """
    return [
        Given(path, variable, raw, f"environment variable {variable}", is_variable=True)
        for variable, raw in environ.items()
        if not variable.lower().startswith(OWN_TESTS) and (path := in_environment(variable)) is not None
    ]


def from_code(overrides: Mapping[str, object]) -> list[Given]:
    """
    The values that the app's own code sets.
    """
    return [Given(in_code(name), name, raw, "code") for name, raw in overrides.items()]


def read_members(path: Path) -> Members | None:
    """
    The members of a JSON file's top object; None when there is no file.

    Raises:
        FileError: it cannot be read, or is something else.
    """
    try:
        top = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=Members)
    except FileNotFoundError:
        return None
    except RecursionError as error:
        raise FileError("is nested too deep") from error
    except json.JSONDecodeError as error:
        raise FileError(f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except ValueError as error:
        raise FileError("is not valid JSON in UTF-8") from error
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}") from error
    if not isinstance(top, Members):
        raise FileError("must hold a JSON object")
    return top


def leaves(members: Members) -> Iterator[tuple[tuple[str, ...], object]]:
    """
    Every value below an object in order, with its path; a colon in a name is one more level, as in .NET.
    """
    pending: list[tuple[tuple[str, ...], object]] = [((), members)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Members):
            pending += [((*path, *name.split(":")), inner) for name, inner in reversed(value)]
        else:
            yield path, value
