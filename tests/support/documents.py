"""
Markdown as tests look at it: fenced blocks, headings, links, code spans, tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]

_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Block:
    """
    A fenced block, with the heading that it stands under and the line on which it begins.
    """

    language: str
    text: str
    heading: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """
    One Markdown file, taken apart.

    Attributes:
        prose: lines outside of fenced blocks, each with the heading that it stands under.
    """

    path: Path
    blocks: tuple[Block, ...]
    prose: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """
        Its path from the project's root.
        """
        return self.path.relative_to(ROOT).as_posix()

    def blocks_in(self, language: str) -> list[Block]:
        """
        The fenced blocks of a language.
        """
        return [block for block in self.blocks if block.language == language]

    def anchors(self) -> set[str]:
        """
        What a link can lead to: GitHub's names for the headings.
        """
        headings = (line.lstrip("# ") for line, _ in self.prose if line.startswith("#"))
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def links(self) -> list[str]:
        """
        The targets of all links.
        """
        return [target for line, _ in self.prose for target in _LINK.findall(_CODE_SPAN.sub("", line))]

    def code_spans(self) -> list[str]:
        """
        All texts in backticks.
        """
        return [span for line, _ in self.prose for span in _CODE_SPAN.findall(line)]

    def first_column(self, heading: str) -> list[str]:
        """
        The texts in backticks in the first column of the tables under a heading.
        """
        rows = [line for line, above in self.prose if above == heading and line.startswith("|")]
        return [span for row in rows for span in _CODE_SPAN.findall(row.split("|")[1])]


def read_document(path: Path) -> Document:
    """
    Reads a Markdown file.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    blocks = tuple(_blocks(lines))
    fenced = {number for block in blocks for number in range(block.line, block.line + block.text.count("\n") + 2)}
    prose = [(line, heading) for number, line, heading in _with_headings(lines) if number not in fenced]
    return Document(path, blocks, tuple(prose))


def documents() -> list[Document]:
    """
    Every document of the project.
    """
    return [read_document(path) for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])]


def _blocks(lines: list[str]) -> Iterator[Block]:
    language, begun, content = "", 0, list[str]()
    for number, line, heading in _with_headings(lines):
        if begun and line.strip() == "```":
            yield Block(language, dedent("".join(f"{text}\n" for text in content)), heading, begun)
            begun, content = 0, []
        elif begun:
            content.append(line)
        elif line.lstrip().startswith("```"):
            language, begun = line.strip().removeprefix("```").strip(), number


def _with_headings(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    heading, is_fenced = "", False
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif line.startswith("#") and not is_fenced:
            heading = line.lstrip("# ")
        yield number, line, heading
