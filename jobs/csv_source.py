"""
Reads a CSV file of any size as a stream.

Memory stays flat: one line at a time, none longer than `MAX_LINE_CHARACTERS`. Whatever is wrong with the file becomes
a `FatalJobError` that names the file, because the same file would fail the next attempt too.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

from chokaq_core.contracts import FatalJobError

SNIFF_CHARACTERS = 64 * 1024
"""How much of the beginning decides on the delimiter."""
CHECK_IN_CHARACTERS = 1024 * 1024
"""How much is read between two looks at the outside world; some 50 ms of work."""
MAX_LINE_CHARACTERS = 4 * 1024 * 1024
MAX_LISTED_COLUMNS = 50
MAX_NAME_CHARACTERS = 100
MAX_POSITION_DIGITS = 5

_GZIP_MAGIC = b"\x1f\x8b"
_QUOTED_CELL_OR_QUOTE = re.compile(r"""(?m)(?:^|(?<=[,;\t| ]))"[^"]*(?:""[^"]*)*"|["']""")
_LINE_END = re.compile(r"\r\n|\r|\n")

CheckIn = Callable[[float], None]
"""Called now and then with the percentage of the file's bytes read so far; it may raise to stop the reading."""


@dataclass(frozen=True, slots=True)
class CsvForm:
    """
    How a file is written. Without a delimiter, the file's beginning is asked.
    """

    delimiter: str | None = None
    encoding: str = "utf-8-sig"
    has_header: bool = True


class CsvReader(Protocol):
    """
    What `csv.reader` answers.
    """

    @property
    def line_num(self) -> int:
        """
        Lines read so far.
        """

    def __iter__(self) -> Iterator[list[str]]:
        """
        The rows.
        """

    def __next__(self) -> list[str]:
        """
        The next row.
        """


class CsvTable:
    """
    An open CSV file: the names of its columns, and its rows.

    Attributes:
        header: the names, blanks around them removed; None when columns are named by position, "1" for the first.
        width: number of cells in the header, or in the first row when there is no header.
        rows: the rows as they come, once. A blank line is an empty row.
    """

    def __init__(self, path: Path, reader: CsvReader, *, has_header: bool) -> None:
        self._path = path
        self._reader = reader
        first = next((row for row in reader if row), None)
        if first is None and has_header:
            raise FatalJobError(f"{path}: has no header row, it is empty")
        self.header = [name.strip() for name in first or []] if has_header else None
        self.width = len(first or [])
        self.rows: Iterator[list[str]] = reader if has_header or first is None else chain([first], reader)

    def index_of(self, name: str) -> int:
        """
        Where the column of that name stands, from 0.

        A position is taken on trust, as rows may be longer than the first one; see `require_width`.

        Raises:
            FatalJobError: there is no such column, or more than one.
        """
        if self.header is None:
            return self._position(name)
        found = self.header.count(name.strip())
        if found != 1:
            problem = "no column" if found == 0 else f"{found} columns are named"
            raise FatalJobError(f"{self._path}: {problem} {name!r}; there are {_listing(self.header)}")
        return self.header.index(name.strip())

    def require_width(self, needed: int, widest: int) -> None:
        """
        Refuses a position beyond the widest row that was seen; an empty file proves nothing.

        Raises:
            FatalJobError: no row has that many cells.
        """
        if self.header is None and 0 < widest < needed:
            raise FatalJobError(f"{self._path}: no column '{needed}'; the widest of its rows ends at '{widest}'")

    def line_of(self, row: list[str]) -> int:
        """
        Number of the line, from 1, on which the row that was read last begins.
        """
        return self._reader.line_num - sum(len(_LINE_END.findall(cell)) for cell in row)

    def _position(self, name: str) -> int:
        position = int(name) if name.isdecimal() and len(name) <= MAX_POSITION_DIGITS else 0
        if position < 1:
            raise FatalJobError(
                f"{self._path}: no column {name!r}; without a header, columns are named by position, '1' for the first"
            )
        return position - 1


@contextmanager
def open_csv(path: Path, form: CsvForm, check_in: CheckIn) -> Iterator[CsvTable]:
    """
    Opens a CSV file, also one packed by gzip, whatever its line ends.

    Raises:
        FatalJobError: there is no such file, or it cannot be read as CSV; also raised while its rows are read.
    """
    if not path.is_file():
        raise FatalJobError(f"no file {str(path)!r} in {str(Path.cwd())!r}")
    with _faults_are_fatal(path, form.encoding), path.open("rb") as packed, _unpacked(packed) as plain:
        # newline="" leaves line ends to the csv module, which needs them within quoted cells.
        text = TextIOWrapper(cast("IO[bytes]", plain), _with_optional_mark(form.encoding), newline="")
        dialect = _dialect(form.delimiter) if form.delimiter is not None else _dialect_of(text)
        size = max(1, path.stat().st_size)
        reader = csv.reader(_lines(text, lambda: check_in(100 * packed.tell() / size)), dialect)
        try:
            yield CsvTable(path, reader, has_header=form.has_header)
        except csv.Error as error:
            raise FatalJobError(f"{path}: cannot be read as CSV at line {reader.line_num}: {error}") from error


def sniffed_dialect(sample: str) -> csv.Dialect:
    """
    The delimiter that a file's beginning suggests: one of `, ; tab |`, else a blank, else a comma.

    Quoted cells are taken out first: they hold delimiters that delimit nothing, and `csv.Sniffer`'s own search for
    them takes half a minute on an unlucky 64 KiB while it holds the interpreter lock, so that heartbeats stop.
    """
    text = "\n".join(_LINE_END.split(_QUOTED_CELL_OR_QUOTE.sub("", sample))).lstrip("\n")
    return _sniffed(text, ",;\t|") or _sniffed(text, " ") or csv.excel()


def _sniffed(text: str, candidates: str) -> csv.Dialect | None:
    first_line = text.partition("\n")[0]
    present = "".join(character for character in candidates if character in first_line)
    if not present:
        return None
    try:
        sniffed = csv.Sniffer().sniff(text, delimiters=present)
    except csv.Error:
        return None
    return _dialect(sniffed.delimiter, skipinitialspace=sniffed.skipinitialspace)


def _dialect_of(text: TextIOWrapper) -> csv.Dialect:
    sample = text.read(SNIFF_CHARACTERS)
    text.seek(0)
    return sniffed_dialect(sample)


def _dialect(delimiter: str, *, skipinitialspace: bool = False) -> csv.Dialect:
    dialect = csv.excel()
    dialect.delimiter = delimiter
    dialect.skipinitialspace = skipinitialspace
    return dialect


def _lines(text: TextIOWrapper, check_in: Callable[[], None]) -> Iterator[str]:
    unseen = CHECK_IN_CHARACTERS
    while line := text.readline(MAX_LINE_CHARACTERS):
        if len(line) == MAX_LINE_CHARACTERS:
            raise csv.Error(f"a line has more than {MAX_LINE_CHARACTERS} characters")
        unseen += len(line)
        if unseen >= CHECK_IN_CHARACTERS:
            unseen = 0
            check_in()
        yield line


@contextmanager
def _unpacked(packed: BinaryIO) -> Iterator[BinaryIO | gzip.GzipFile]:
    is_gzip = packed.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    packed.seek(0)
    if is_gzip:
        with gzip.GzipFile(fileobj=packed) as plain:
            yield plain
    else:
        yield packed


@contextmanager
def _faults_are_fatal(path: Path, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        raise FatalJobError(f"{path}: is not text in {encoding}; name its encoding ({error})") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FatalJobError(f"{path}: is not a whole gzip file: {error}") from error


def _with_optional_mark(encoding: str) -> str:
    """
    The encoding, able to skip a byte order mark if it is UTF-8.
    """
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _listing(names: list[str]) -> str:
    listing = ", ".join(repr(name[:MAX_NAME_CHARACTERS]) for name in names[:MAX_LISTED_COLUMNS])
    return listing if len(names) <= MAX_LISTED_COLUMNS else f"{listing} and {len(names) - MAX_LISTED_COLUMNS} more"
