"""
KQL as tests look at it: which tables, columns, metrics, tags and events a query names.

No parser: words are told apart by what they are known as. `tests/support/kusto.py` has the real one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from chokaq_core.domain.events import EventName
from chokaq_core.telemetry import instruments
from chokaq_core.telemetry.instruments import Instrument

TABLES: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "infra/kusto/tables.json").read_text(encoding="utf-8")
)
INSTRUMENTS = {value.name: value for value in vars(instruments).values() if isinstance(value, Instrument)}
EVENT_IDS = {event.id for event in EventName}

WORDS = {
    "ago", "and", "arg_max", "array_sort_desc", "asc", "avg", "between", "bin", "bool", "by", "coalesce",
    "contains", "count", "countif", "d", "datetime", "dcount", "desc", "distinct", "extend", "h", "has", "iff",
    "in", "indexof", "inner", "isempty", "isnotempty", "isnotnull", "isnull", "join", "kind", "leftouter", "let",
    "m", "make_list", "max", "max_of", "maxif", "min", "not", "now", "nulls", "on", "or", "order", "parse_json",
    "percentile", "project", "real", "round", "s", "startswith", "substring", "sum", "sumif", "summarize", "take",
    "take_any", "tobool", "todatetime", "todouble", "toint", "top", "toreal", "toscalar", "tostring", "union",
    "where",
}  # fmt: skip

_COMMENT = re.compile(r"//.*")
_STRING = re.compile(r"@?'(?:\\.|[^'\\])*'")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_BOUND = re.compile(r"\b([A-Za-z_]\w*)\s*=(?![=~])")
_TAG = re.compile(r"customDimensions\.(\w+)")
_EVENT_TEST = re.compile(r"facts\.event_id\)\s*(?:==\s*(\d+)|in\s*\(([\d,\s]+)\))")


def strings_in(query: str) -> list[str]:
    """
    The string literals of a query.
    """
    return [literal.lstrip("@").strip("'") for literal in _STRING.findall(_COMMENT.sub("", query))]


def statements(query: str) -> list[str]:
    """
    The steps of a query, each on one line.
    """
    return [" ".join(step.split()) for step in _COMMENT.sub("", query).split("|")]


def metrics_in(query: str) -> set[str]:
    """
    The metrics that a query names.
    """
    return {text for text in strings_in(query) if text.startswith("chokaq.")}


def event_ids_in(query: str) -> set[int]:
    """
    The ids of events that a query looks for.
    """
    texts = [one or several for one, several in _EVENT_TEST.findall(query)]
    return {int(number) for text in texts for number in text.split(",")}


def tables_in(query: str) -> set[str]:
    """
    The tables that a query reads.
    """
    return set(_WORD.findall(_bare(query))) & TABLES.keys()


def compared_with(query: str, tag: str) -> list[str]:
    """
    The texts that a tag of a metric is compared with.
    """
    pattern = rf"customDimensions\.{tag}\)\s*(?:==|!=|in\s*\()\s*((?:@?'[^']*'[,\s]*)+)"
    return [text.strip("'") for match in re.findall(pattern, query) for text in re.findall(r"'[^']*'", match)]


def metric_problems(query: str) -> list[str]:
    """
    Metrics that do not exist, tags that none of the named metrics has, and events that do not exist.
    """
    named = metrics_in(query)
    problems = [f"no metric {name}" for name in named - INSTRUMENTS.keys()]
    tags = {tag for name in named & INSTRUMENTS.keys() for tag in INSTRUMENTS[name].tags}
    if named:
        problems += [f"no tag {tag} on {sorted(named)}" for tag in set(_TAG.findall(query)) - tags]
    return problems + [f"no event {number}" for number in event_ids_in(query) - EVENT_IDS]


def name_problems(query: str) -> list[str]:
    """
    Words of a query that are no table, no column of its tables, no name that it gives itself and no known word of KQL.
    """
    bare = _bare(query)
    tables = tables_in(query)
    columns = {column for table in tables for column in TABLES[table]}
    given = set(_BOUND.findall(bare))
    unknown = set(_WORD.findall(bare)) - tables - columns - given - WORDS
    return [f"unknown: {word}" for word in sorted(unknown)] + ([] if tables else ["no table"])


def _bare(query: str) -> str:
    return _STRING.sub("''", _COMMENT.sub("", query))
