"""
Writes `docs/configuration.md` and the sample settings files: `python -m chokaq_core.config.docs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.config.catalog import SECTIONS
from chokaq_core.config.docs_intro import INTRO
from chokaq_core.config.samples import file_sample, local_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chokaq_core.config.setting import Section, Setting

ROOT_FOLDER = Path(__file__).parents[2]


def generated_files() -> Mapping[str, str]:
    """
    The text of every generated file, by its path from the project's root.
    """
    return {
        "docs/configuration.md": manual(),
        "appsettings.sample.json": file_sample(),
        "local.settings.sample.json": local_sample(),
    }


def manual() -> str:
    """
    The manual of all settings, as Markdown.
    """
    return "\n".join((INTRO, *(line for section in SECTIONS for line in _section(section))))


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.name}"
    yield ""
    yield section.intro
    yield ""
    for setting in section.settings:
        yield from _setting(setting)


def _setting(setting: Setting) -> Iterator[str]:
    yield f"### {setting.name}"
    yield ""
    yield setting.purpose
    yield ""
    yield f"- Environment: `{setting.environment_name}`"
    yield f"- Type: {setting.kind.type_name}"
    yield f"- Default: {_default(setting)}"
    yield f"- Rule: {setting.rule}"
    yield f"- Change it when {setting.change}"
    yield ""


def _default(setting: Setting) -> str:
    if setting.default is None:
        return "not set" if setting.null is None else f"`null`: {setting.null}"
    meaning = f"; `null` means: {setting.null}" if setting.null is not None else ""
    return f"`{setting.show(setting.default)}`{meaning}"


def _write_all() -> None:
    for path, content in generated_files().items():
        (ROOT_FOLDER / path).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    _write_all()
