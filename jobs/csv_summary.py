"""
Groups rows and adds up columns, exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation, localcontext
from operator import itemgetter

from jobs.csv_source import CsvTable

MAX_NUMBER_CHARACTERS = 100
MAX_PLAIN_DIGITS = 18
"""Longer whole numbers go the slower way, where the bound on characters is checked."""
EXACT_DIGITS = 4_000
"""
Room for every sum of cells that count as numbers: 100 characters and an exponent of three digits reach from
1e-1100 to 1e1100, and a file has fewer than 1e100 rows.
"""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
# Inexact is trapped: a sum that would have to be rounded is an error, never a wrong number.
_EXACT = Context(prec=EXACT_DIGITS, traps=[Inexact, InvalidOperation])

Key = str | tuple[str, ...]
"""The cells that make a group: one, or a tuple when there is not exactly one group column."""
Sums = list[int | Decimal]
"""Of one group: the number of its rows, then the total of each totalled column."""


@dataclass(slots=True)
class Summary:
    """
    What a table comes to.

    Attributes:
        groups: sums by group.
        rows: rows counted; blank lines are not rows.
        ragged: rows with more or fewer cells than the header, or than the first row when there is no header. Missing
            cells are empty, surplus ones are ignored.
        skipped: cells of totalled columns that are not numbers; the total leaves them out.
        first_skipped: line, which of the totalled columns, from 0, and text of the first such cell.
    """

    groups: dict[Key, Sums] = field(default_factory=dict)
    ragged: int = 0
    skipped: int = 0
    first_skipped: tuple[int, int, str] | None = None

    @property
    def rows(self) -> int:
        """
        Rows counted, over all groups.
        """
        return sum(int(sums[0]) for sums in self.groups.values())


def summarise(table: CsvTable, keys: Sequence[int], totals: Sequence[int]) -> Summary:
    """
    Reads the table to its end. Memory grows with the number of distinct groups only.

    Args:
        table: the table, freshly opened.
        keys: columns that make the group; none means one group, which is there even if no row is.
        totals: columns to add up.

    Raises:
        FatalJobError: the file turned out unreadable, or no row is wide enough for a column named by position.
    """
    tally = _Tally(table, keys, totals)
    with localcontext(_EXACT):
        tally.add_rows()
    return tally.summary


def to_number(cell: str) -> Decimal | None:
    """
    The number that a cell shows, such as ` -12.50 ` or `1e3`; None when it is none. NaN and infinity are none.
    """
    text = cell.strip()
    if len(text) > MAX_NUMBER_CHARACTERS or _NUMBER.fullmatch(text) is None:
        return None
    return Decimal(text)


def plain(value: int | Decimal) -> str:
    """
    The number in digits, never with an exponent.
    """
    return format(value, "f") if isinstance(value, Decimal) else str(value)


class _Tally:
    def __init__(self, table: CsvTable, keys: Sequence[int], totals: Sequence[int]) -> None:
        self.summary = Summary()
        self._table = table
        self._key_of = _key_reader(keys)
        self._slots = tuple(enumerate(totals, start=1))
        self._needed = max([*keys, *totals], default=-1) + 1
        self._width = max(table.width, self._needed)
        self._widest = table.width
        if not keys:
            self.summary.groups[()] = self._new_sums()

    def add_rows(self) -> None:
        # The hot loop: some two million rows for 100 MB, so names are local and the common cell takes the short way.
        groups, key_of, slots, width = self.summary.groups, self._key_of, self._slots, self._width
        for row in self._table.rows:
            if len(row) != width and not self._level(row):
                continue
            key = key_of(row)
            sums = groups.get(key)
            if sums is None:
                sums = groups[key] = self._new_sums()
            sums[0] += 1
            for slot, column in slots:
                cell = row[column]
                if cell.isdecimal() and len(cell) <= MAX_PLAIN_DIGITS:
                    sums[slot] += int(cell)
                else:
                    self._add_other(sums, slot, row, cell)
        rows_at_width = self.summary.rows - self.summary.ragged
        self._table.require_width(self._needed, self._width if rows_at_width else self._widest)

    def _new_sums(self) -> Sums:
        return [0] * (1 + len(self._slots))

    def _level(self, row: list[str]) -> bool:
        """
        Fills up a row that is too short; False when it is a blank line and no row at all.
        """
        if not row:
            return False
        self.summary.ragged += 1
        self._widest = max(self._widest, len(row))
        row.extend([""] * (self._needed - len(row)))
        return True

    def _add_other(self, sums: Sums, slot: int, row: list[str], cell: str) -> None:
        number = to_number(cell)
        if number is not None:
            sums[slot] += number
            return
        self.summary.skipped += 1
        if self.summary.first_skipped is None:
            self.summary.first_skipped = (self._table.line_of(row), slot - 1, cell)


def _key_reader(keys: Sequence[int]) -> Callable[[list[str]], Key]:
    if not keys:
        return lambda _: ()
    return itemgetter(*keys)
