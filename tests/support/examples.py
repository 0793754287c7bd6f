"""
Python examples of the documents, as modules that run.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from chokaq_core.contracts import Profile
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.documents import Block, Document
from tests.support.engine import Rig, Setup, build_rig


def module_in(document: Document, title: str) -> Block:
    """
    The Python block whose module docstring begins with these words.
    """
    (block,) = [block for block in document.blocks_in("python") if block.text.startswith(f'"""\n{title}')]
    return block


def imported(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """
    The block as a module; pydantic looks the names of annotations up in `sys.modules`.
    """
    path = folder / f"example_{block.line}.py"
    path.write_text(block.text, encoding="utf-8")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def rig_for(profiles: list[Profile], setup: Setup | None = None) -> Rig:
    store = SqliteStore()
    store.prepare()
    return build_rig(store, profiles, setup if setup is not None else Setup())
