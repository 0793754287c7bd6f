from __future__ import annotations

import csv
import gzip
import io
import logging
import os
import random
import time
import tracemalloc
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chokaq_core.contracts import FatalJobError, JobCancelledError, JsonSerializer
from chokaq_core.domain.failures import FailureKind
from chokaq_core.policy.classify import failure_kind
from jobs.csv_source import CHECK_IN_CHARACTERS, CsvForm, open_csv, sniffed_dialect
from jobs.csv_summary import plain, summarise, to_number
from jobs.report import SummariseCsv, reporting, summarise_csv
from tests.support.recorded_run import RecordedRun

ORDERS = Path(__file__).parents[2] / "jobs" / "samples" / "orders.csv"


def summary_of(
    content: str | bytes, run: RecordedRun | None = None, **fields: object
) -> tuple[list[str], dict[str, object]]:
    """
    The lines of the summary of a file with this content, and the handler's result.
    """
    Path("source.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    job = SummariseCsv.model_validate({"path": "source.csv", **fields})
    result = summarise_csv(job, (run or RecordedRun()).context(job_id="j1"))
    text = Path(str(result["path"])).read_bytes().decode()
    assert text.endswith("\r\n")
    return text.split("\r\n")[:-1], result


class TestThePayload:
    @pytest.mark.parametrize(
        "fields",
        [
            {"path": ""},
            {"delimiter": ""},
            {"delimiter": ";;"},
            {"delimiter": "\n"},
            {"delimiter": '"'},
            {"encoding": "no-such-encoding"},
            {"encoding": "hex"},
            {"encoding": "utf-8\0"},
            {"output": ""},
            {"group_by": "country"},
            {"total": [1]},
        ],
    )
    def test_what_cannot_work_is_refused(self, fields: dict[str, object]) -> None:
        with pytest.raises(ValidationError) as refused:
            SummariseCsv.model_validate({"path": "a.csv", **fields})
        assert refused.value.errors()[0]["loc"][0] == next(iter(fields))

    def test_it_travels_as_json(self) -> None:
        text = (
            '{"path":"a.csv","group_by":["country"],"total":["amount"],"delimiter":"\\t","encoding":"cp1252",'
            '"output":"sums.csv","header":false}'
        )
        assert JsonSerializer().dumps(JsonSerializer().loads(SummariseCsv, text)) == text


class TestTheSummary:
    def test_the_sample_comes_to_known_totals(self, run: RecordedRun) -> None:
        job = SummariseCsv(path=str(ORDERS), group_by=["country"], total=["amount"])
        result = summarise_csv(job, run.context(job_id="j1"))
        assert result == {
            "path": "reports/j1.csv",
            "rows": 30,
            "groups": 6,
            "ragged": 0,
            "skipped": 0,
            "first_skipped_line": None,
        }
        assert Path("reports/j1.csv").read_text(encoding="utf-8") == (
            "country,rows,total_amount\nDE,7,210.30\nFR,5,211.90\nGB,5,211.50\nIT,4,150.40\nPL,3,112.75\nUS,6,262.70\n"
        )

    def test_groups_are_made_of_several_columns(self) -> None:
        lines, _ = summary_of("a,b,n\nx,2,1\ny,1,10\nx,1,100\nx,2,1000\n", group_by=["b", "a"], total=["n"])
        assert lines == ["b,a,rows,total_n", "1,x,1,100", "1,y,1,10", "2,x,2,1001"]

    def test_without_group_columns_there_is_one_total_over_everything(self) -> None:
        lines, result = summary_of("a,n,m\nx,1,0.5\ny,2,0.25\n", total=["m", "n"])
        assert lines == ["rows,total_m,total_n", "2,0.75,3"]
        assert result["groups"] == 1

    def test_without_total_columns_rows_are_counted(self) -> None:
        lines, _ = summary_of("a\nx\ny\nx\n", group_by=["a"])
        assert lines == ["a,rows", "x,2", "y,1"]

    def test_totals_are_exact(self) -> None:
        cells = ["0.1", "0.2", "1e30", "-1E30", " 7 ", "+5", "1e-30", "-0", ".5", "3."]
        lines, result = summary_of("n\n" + "\n".join(cells) + "\n", total=["n"])
        assert lines == ["rows,total_n", "10,15.800000000000000000000000000001"]
        assert result["skipped"] == 0

    def test_the_ends_of_the_range_of_numbers_add_up_exactly(self) -> None:
        lines, _ = summary_of("n\n9e999\n1e-999\n", total=["n"])
        assert lines[1] == "2,9" + "0" * 999 + "." + "0" * 998 + "1"

    def test_a_total_keeps_its_decimal_places(self) -> None:
        lines, _ = summary_of("n\n10.00\n2.50\n1\n", total=["n"])
        assert lines[1] == "3,13.50"

    @pytest.mark.parametrize(
        "cell", ["n/a", "", " ", "NaN", "Infinity", "1_000", '"1,5"', "0x1F", "1e1000", "1 2", "--1", "9" * 101, "²"]
    )
    def test_a_cell_that_is_no_number_is_skipped_and_reported(
        self, cell: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            lines, result = summary_of(f"a,n\nx,1\nx,{cell}\nx,2\nx,{cell}\n", group_by=["a"], total=["n"])
        assert lines[1] == "x,4,3"
        assert (result["rows"], result["skipped"], result["first_skipped_line"]) == (4, 2, 3)
        assert "2 cell(s) are not numbers" in caplog.text
        assert "in column 'n' on line 3" in caplog.text

    def test_the_first_skipped_line_is_the_one_its_row_begins_on(self) -> None:
        content = 'a,n\r\n"one\r\ntwo",1\r\n\r\n"three\nfour\rfive",none\r\n'
        _, result = summary_of(content, total=["n"])
        assert result["first_skipped_line"] == 5

    def test_a_group_is_the_exact_text_of_its_cells(self) -> None:
        lines, _ = summary_of('a\nx\n" x"\nX\n""\nübel\n"a,""b"""\n', group_by=["a"])
        assert lines == ["a,rows", ",1", " x,1", "X,1", '"a,""b""",1', "x,1", "übel,1"]

    def test_quoted_line_ends_belong_to_their_cell(self) -> None:
        lines, result = summary_of('a,n\n"x\ny",1\n"x\ny",2\n', group_by=["a"], total=["n"])
        assert "\n".join(lines) == 'a,rows,total_n\n"x\ny",2,3'
        assert result["rows"] == 2

    def test_ragged_rows_are_filled_up_or_cut_and_counted(self) -> None:
        content = "a,b,n\nx,1,1\nx\n\nx,1,2,surplus,more\n \nx,1,4\n"
        lines, result = summary_of(content, group_by=["a", "b"], total=["n"])
        assert lines == ["a,b,rows,total_n", " ,,1,0", "x,,1,0", "x,1,3,7"]
        assert (result["rows"], result["ragged"], result["skipped"]) == (5, 3, 2)


class TestTheFile:
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", ["", "\n"])
    def test_every_line_end_is_read(self, line_end: str, last: str) -> None:
        content = line_end.join(["a;n", "x;1", "y;2"]) + last.replace("\n", line_end)
        lines, result = summary_of(content, group_by=["a"], total=["n"])
        assert lines == ["a,rows,total_n", "x,1,1", "y,1,2"]
        assert result["rows"] == 2

    @pytest.mark.parametrize(
        "encoding, named",
        [
            ("utf-8", None),
            ("utf-8-sig", None),
            ("utf-8-sig", "utf-8"),
            ("utf-8-sig", "UTF8"),
            ("cp1252", "cp1252"),
            ("utf-16", "utf-16"),
            ("utf-16-le", "utf-16-le"),
        ],
    )
    @pytest.mark.parametrize("quote", ["", '"'])
    def test_every_encoding_is_read(self, encoding: str, named: str | None, quote: str) -> None:
        content = f"{quote}größe{quote},n\nü,1\nü,2\n".encode(encoding)
        lines, _ = summary_of(content, group_by=["größe"], total=["n"], encoding=named or "utf-8-sig")
        assert lines == ["größe,rows,total_n", "ü,2,3"]

    def test_a_gzip_file_is_unpacked_as_it_is_read(self) -> None:
        lines, _ = summary_of(gzip.compress(b"a,n\nx,1\nx,2\n"), group_by=["a"], total=["n"])
        assert lines == ["a,rows,total_n", "x,2,3"]

    @pytest.mark.parametrize("content", ["", "\n", "\r\n\r\n", b"\xef\xbb\xbf"])
    def test_an_empty_file_has_no_header(self, content: str | bytes) -> None:
        with pytest.raises(FatalJobError, match=r"source\.csv: has no header row"):
            summary_of(content, total=["n"])

    @pytest.mark.parametrize("content", ["", "\n"])
    def test_an_empty_file_without_header_comes_to_nothing(self, content: str) -> None:
        lines, result = summary_of(content, header=False, total=["1"])
        assert lines == ["rows,total_1", "0,0"]
        lines, result = summary_of(content, header=False, group_by=["1"])
        assert lines == ["1,rows"]
        assert (result["rows"], result["groups"]) == (0, 0)

    def test_a_file_of_a_header_alone_has_no_groups(self) -> None:
        lines, result = summary_of("a,n", group_by=["a"], total=["n"])
        assert lines == ["a,rows,total_n"]
        assert (result["rows"], result["groups"]) == (0, 0)

    def test_blank_lines_before_the_header_are_passed_over(self) -> None:
        lines, _ = summary_of("\n\na,n\nx,1\n", group_by=["a"], total=["n"])
        assert lines == ["a,rows,total_n", "x,1,1"]

    def test_a_missing_file_is_fatal(self, run: RecordedRun, workdir: Path) -> None:
        with pytest.raises(FatalJobError, match=f"no file 'orders.csv' in '{workdir}'"):
            summarise_csv(SummariseCsv(path="orders.csv"), run.context())

    @pytest.mark.parametrize("special", [Path.mkdir, os.mkfifo])
    def test_what_is_not_a_file_is_fatal(self, run: RecordedRun, special: object) -> None:
        assert callable(special)
        special(Path("thing"))
        with pytest.raises(FatalJobError, match="no file 'thing'"):
            summarise_csv(SummariseCsv(path="thing"), run.context())

    def test_a_file_in_another_encoding_is_fatal(self) -> None:
        with pytest.raises(FatalJobError, match=r"source\.csv: is not text in utf-8-sig; name its encoding"):
            summary_of("größe,n\n".encode("cp1252"), total=["n"])

    def test_a_wrong_byte_far_into_the_file_is_fatal_and_leaves_no_summary(self, workdir: Path) -> None:
        with pytest.raises(FatalJobError, match="is not text in utf-8-sig"):
            summary_of(b"n\n" + b"1\n" * 100_000 + b"\xff\n", total=["n"])
        assert not (workdir / "reports").exists()

    @pytest.mark.parametrize(
        "content", [gzip.compress(b"n\n" + os.urandom(50_000).hex().encode())[:20_000], b"\x1f\x8bx"]
    )
    def test_a_broken_gzip_file_is_fatal(self, content: bytes) -> None:
        with pytest.raises(FatalJobError, match="is not a whole gzip file"):
            summary_of(content)

    def test_a_quote_that_is_never_closed_is_fatal_and_names_the_line(self) -> None:
        content = 'a,n\nx,1\n"x,1\n' + "y,2\n" * 100_000
        with pytest.raises(FatalJobError, match=r"cannot be read as CSV at line \d{5}: field larger than field limit"):
            summary_of(content, group_by=["a"])

    def test_a_line_without_end_is_fatal_before_it_fills_the_memory(self) -> None:
        with pytest.raises(FatalJobError, match="a line has more than 4194304 characters"):
            summary_of(b"a,n\n" + b"1," * 3_000_000)


class TestTheColumns:
    def test_an_unknown_column_is_fatal_and_the_known_ones_are_named(self) -> None:
        with pytest.raises(FatalJobError, match=r"source\.csv: no column 'Country'; there are 'country', 'amount'"):
            summary_of("country,amount\nDE,1\n", group_by=["Country"])
        with pytest.raises(FatalJobError, match="no column 'total'"):
            summary_of("country,amount\nDE,1\n", group_by=["country"], total=["total"])

    def test_a_long_header_is_not_listed_in_full(self) -> None:
        header = ",".join(f"column{number}" for number in range(60)) + "," + "x" * 5000
        with pytest.raises(FatalJobError, match=r"'column49' and 11 more$"):
            summary_of(f"{header}\n", group_by=["other"])

    def test_a_name_that_two_columns_share_is_fatal(self) -> None:
        with pytest.raises(FatalJobError, match="2 columns are named 'n'; there are 'n', 'a', 'n'"):
            summary_of("n,a,n\n1,2,3\n", total=["n"])
        assert summary_of("n,a,n\n1,2,3\n", total=["a"])[0] == ["rows,total_a", "1,2"]

    def test_blanks_around_a_name_do_not_matter(self) -> None:
        lines, _ = summary_of("a ,\tn \nx,1\n", group_by=["a"], total=[" n"])
        assert lines == ["a,rows,total_ n", "x,1,1"]

    def test_without_a_header_columns_are_named_by_position(self) -> None:
        content = "3,2,setosa,versicolor\n5.1,3.5,1,0\n4.9,3.0,1,0\n6.0,2.5,2,1\n"
        lines, result = summary_of(content, header=False, group_by=["4"], total=["1", "3"])
        assert lines == ["4,rows,total_1,total_3", "0,2,10.0,2", "1,1,6.0,2", "versicolor,1,3,0"]
        assert (result["rows"], result["skipped"], result["first_skipped_line"]) == (4, 1, 1)

    def test_without_a_header_rows_may_be_wider_than_the_first(self) -> None:
        lines, result = summary_of("2,x\n1,2,3\n4,5,6\n", header=False, group_by=["3"], total=["1"])
        assert lines == ["3,rows,total_1", ",1,2", "3,1,1", "6,1,4"]
        assert result["ragged"] == 1
        lines, result = summary_of("2,x\n1,2,3\n4,5\n", header=False, total=["3"])
        assert lines == ["rows,total_3", "3,3"]

    @pytest.mark.parametrize("name", ["0", "-1", "x", "", "1.0", "100000", "²"])
    def test_without_a_header_a_name_must_be_a_position(self, name: str) -> None:
        with pytest.raises(FatalJobError, match="columns are named by position"):
            summary_of("1,2\n", header=False, total=[name])

    def test_a_position_beyond_every_row_is_fatal(self) -> None:
        with pytest.raises(FatalJobError, match="no column '4'; the widest of its rows ends at '3'"):
            summary_of("1\n1,2,3\n1,2\n", header=False, total=["4"])
        with pytest.raises(FatalJobError, match="no column '2'; the widest of its rows ends at '1'"):
            summary_of("1\n2\n", header=False, group_by=["2"])

    @pytest.mark.parametrize(
        "sample, delimiter",
        [
            ("a,b\n1,2\n", ","),
            ("a;b\n1;2\n", ";"),
            ("a\tb\n1\t2\n", "\t"),
            ("a|b\n1|2\n", "|"),
            ("Chins Situps Jumps\n5 162 60\n2 110 60\n", " "),
            ("a;b\r1;2\r", ";"),
            ("name;amount\nA;12,5\nB;3,7\n", ";"),
            ('"a";"b"\n"1,2";"3,4"\n"1,2";"3,4"\n', ";"),
            ('"x, ""y""\nz, z";b\n"x, y, z";2\n', ";"),
            ("id|at\n1|2026-01-01 10:00:00\n2|2026-01-01 11:00:00\n", "|"),
            ("country,ordered at\nDE,2026-01-01 10:00\nFR,2026-01-01 11:00\n", ","),
            ("name\nAda Lovelace\nAlan Turing\n", ","),
            ("id;text\n" + "1;it's a dog's life, isn't it\n" * 20, ";"),
            ("n\n1.5\n2.5\n", ","),
            ("", ","),
        ],
    )
    def test_the_delimiter_is_found_out(self, sample: str, delimiter: str) -> None:
        assert sniffed_dialect(sample).delimiter == delimiter

    def test_blanks_behind_delimiters_are_no_part_of_the_cells(self) -> None:
        lines, _ = summary_of('a, n\nx, 1\n"x", 2\n', group_by=["a"], total=["n"])
        assert lines == ["a,rows,total_n", "x,2,3"]

    def test_a_named_delimiter_is_believed(self) -> None:
        lines, _ = summary_of("a;b,n\nx;1,2\n", delimiter=",", group_by=["a;b"], total=["n"])
        assert lines == ["a;b,rows,total_n", "x;1,1,2"]

    @pytest.mark.parametrize("unit", ["a,'b", ",'", "'\n", '"x', 'a,"b', ";'b\n;\"c\n"])
    def test_no_content_makes_the_search_for_a_delimiter_slow(self, unit: str) -> None:
        sample = (unit * 65_536)[:65_536]
        started = time.process_time()
        sniffed_dialect(sample)
        assert time.process_time() - started < 5


class TestTheOutput:
    def test_a_second_run_replaces_the_summary_of_the_first(self, workdir: Path) -> None:
        summary_of("a\nx\n", group_by=["a"])
        summary_of("a\ny\n", group_by=["a"])
        assert [path.name for path in (workdir / "reports").iterdir()] == ["j1.csv"]
        assert (workdir / "reports/j1.csv").read_text(encoding="utf-8") == "a,rows\ny,1\n"

    def test_the_folder_is_a_setting_and_the_name_an_option(
        self, monkeypatch: pytest.MonkeyPatch, workdir: Path
    ) -> None:
        monkeypatch.setenv("REPORTS_DIR", "out/here")
        _, result = summary_of("a\nx\n", output="march/sums.csv")
        assert result["path"] == "out/here/march/sums.csv"
        assert (workdir / "out/here/march/sums.csv").is_file()

    @pytest.mark.parametrize("output", ["../sums.csv", "a/../../sums.csv", "/tmp/sums.csv", "link/sums.csv"])  # noqa: S108 - never written
    def test_nothing_is_written_outside_of_the_folder(self, workdir: Path, output: str) -> None:
        (workdir / "reports").mkdir()
        (workdir / "reports/link").symlink_to(workdir)
        with pytest.raises(FatalJobError, match="lies outside of REPORTS_DIR, 'reports'"):
            summary_of("a\nx\n", output=output)

    def test_the_source_is_never_overwritten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REPORTS_DIR", ".")
        with pytest.raises(FatalJobError, match="is the source itself"):
            summary_of("a\nx\n", output="source.csv")
        assert Path("source.csv").read_text(encoding="utf-8") == "a\nx\n"

    @pytest.mark.parametrize("output", [".", "folder", "file/sums.csv"])
    def test_a_name_that_cannot_be_a_file_is_fatal_by_its_type(self, workdir: Path, output: str) -> None:
        (workdir / "reports/folder").mkdir(parents=True)
        (workdir / "reports/file").touch()
        with pytest.raises(OSError) as raised:  # noqa: PT011 - which one differs, what it means does not
            summary_of("a\nx\n", output=output)
        [registration] = reporting
        assert failure_kind(raised.value, registration.errors) is FailureKind.FATAL
        assert [path.name for path in workdir.rglob("*.part")] == []


class TestALongRun:
    @pytest.fixture
    def content(self) -> bytes:
        dice = random.Random(17)  # noqa: S311 - a made-up file
        rows = [
            f"{dice.choice('ABC')},{dice.randrange(100)},{dice.randrange(10_000) / 100:.2f}\n" for _ in range(40_000)
        ]
        return ("group,count,amount\n" + "".join(rows) * 10).encode()

    def test_progress_follows_the_bytes(self, run: RecordedRun, content: bytes) -> None:
        assert len(content) > 4 * CHECK_IN_CHARACTERS
        summary_of(content, run, group_by=["group"], total=["count", "amount"])
        percents = [percent for percent, _ in run.progress]
        assert percents[0] == 0
        assert percents[-1] == 100
        assert percents == sorted(percents)
        assert len(percents) == len(content) // CHECK_IN_CHARACTERS + 2
        assert run.progress[1][1] == "reading source.csv"
        assert run.progress[-1][1] == "400000 rows in 3 groups"

    def test_progress_of_a_packed_file_follows_its_packed_bytes(self, run: RecordedRun, content: bytes) -> None:
        summary_of(gzip.compress(content, 1), run, total=["count"])
        percents = [percent for percent, _ in run.progress]
        assert percents == sorted(percents)
        assert 20 < percents[len(percents) // 2] < 80

    def test_a_cancel_stops_it_midway_and_leaves_nothing_behind(self, content: bytes, workdir: Path) -> None:
        run = RecordedRun(checks_until_cancel=2)
        with pytest.raises(JobCancelledError):
            summary_of(content, run, total=["count"])
        assert len(run.progress) == 2
        assert not (workdir / "reports").exists()

    def test_a_cancel_while_the_summary_is_written_leaves_nothing_behind(self, workdir: Path) -> None:
        run = RecordedRun(checks_until_cancel=2)
        with pytest.raises(JobCancelledError):
            summary_of("a\n" + "\n".join(map(str, range(30_000))), run, group_by=["a"])
        assert list((workdir / "reports").iterdir()) == []

    def test_memory_does_not_grow_with_the_rows(self, content: bytes) -> None:
        Path("source.csv").write_bytes(content[:2_000_000])
        job = SummariseCsv(path="source.csv", group_by=["group"], total=["amount"])
        tracemalloc.start()
        try:
            summarise_csv(job, RecordedRun().context())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000


CELLS = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.text(max_size=6),
)
NAMES = st.text(max_size=3)


@given(
    rows=st.lists(st.tuples(NAMES, NAMES, CELLS, CELLS), max_size=40),
    delimiter=st.sampled_from(",;\t| "),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_totals_are_those_of_a_naive_computation(
    rows: list[tuple[str, str, str, str]], delimiter: str, line_end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(
        [("a", "b", "n", "m"), *rows]
    )
    path = tmp_path_factory.getbasetemp() / "generated.csv"
    path.write_bytes(text.getvalue().encode("utf-8", "replace"))

    expected: dict[tuple[str, str], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 3)
    skipped = 0
    for a, b, *cells in ([cell.encode("utf-8", "replace").decode() for cell in row] for row in rows):
        numbers = [naive_number(cell) for cell in cells]
        skipped += numbers.count(None)
        added = zip(expected[a, b], [Fraction(1), *(number or Fraction(0) for number in numbers)], strict=True)
        expected[a, b] = [total + number for total, number in added]

    with open_csv(path, CsvForm(delimiter), lambda _: None) as table:
        summary = summarise(table, [0, 1], [2, 3])
    assert {key: [Fraction(plain(total)) for total in sums] for key, sums in summary.groups.items()} == expected
    assert (summary.rows, summary.skipped, summary.ragged) == (len(rows), skipped, 0)


def naive_number(cell: str) -> Fraction | None:
    """
    The number by Python's own reading, where it reads like a number at all.
    """
    text = cell.strip()
    if not text or "_" in text or "/" in text or text.lower().lstrip("+-").startswith(("n", "i")):
        return None
    try:
        return Fraction(text)
    except ValueError:
        return None


@given(st.text(alphabet="0123456789+-.eE_ nNaAiIfF", max_size=12))
def test_a_number_is_what_python_reads_as_a_finite_one(cell: str) -> None:
    number = to_number(cell)
    expected = naive_number(cell) if len(cell.lower().partition("e")[2].strip().lstrip("+-")) <= 3 else None
    assert (None if number is None else Fraction(number)) == expected
