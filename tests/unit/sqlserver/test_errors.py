"""
What SQL Server and its driver say, as the store's own errors.
"""

from __future__ import annotations

import pytest

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.stores.sqlserver.errors import (
    NUMBERS,
    SQLSTATES,
    FaultKind,
    fault_of,
    numbers_of,
    state_of,
    store_error,
)

DRIVER = "[Microsoft][ODBC Driver 18 for SQL Server]"

# Microsoft's list of transient errors of Azure SQL, and what Entity Framework Core retries besides.
TRANSIENT = [
    20, 64, 121, 233, 601, 615, 921, 997, 1204, 1205, 1221, 1222, 3935, 3960, 4060, 4221, 8645, 8651, 9001, 10053,
    10054, 10060, 10061, 10928, 10929, 10936, 11001, 17142, 17197, 18401, 40143, 40166, 40197, 40501, 40540, 40613,
    41301, 41302, 41305, 41325, 41839, 42108, 42109, 49918, 49919, 49920,
]  # fmt: skip
FOR_A_PERSON = [
    207, 208, 229, 262, 916, 1105, 3906, 9002, 18452, 18456, 18470, 18486, 18487, 18488, 40532, 40544, 40615, 40914,
    47073,
]  # fmt: skip
BUSY = [601, 1205, 1222, 2601, 2627, 3960, 41301, 41302, 41305, 41325, 41839]
STATES_OF_LOST_CONNECTIONS = [
    "08001",
    "08003",
    "08004",
    "08007",
    "08S01",
    "HYT00",
    "HYT01",
    *(f"IMC0{n}" for n in range(1, 7)),
]


def _error(state: str, text: str) -> Exception:
    return Exception(state, f"[{state}] {DRIVER}[SQL Server]{text} (SQLExecDirectW)")


class TestNumbers:
    @pytest.mark.case("C-057")
    @pytest.mark.parametrize("number", TRANSIENT)
    def test_what_passes_by_itself_is_unavailable(self, number: int) -> None:
        error = _error("HY000", f"It said so. ({number})")

        assert isinstance(store_error(error, fault_of(error)), StoreUnavailableError)

    @pytest.mark.case("C-057")
    @pytest.mark.parametrize("number", FOR_A_PERSON)
    def test_what_needs_a_person_is_refused(self, number: int) -> None:
        error = _error("42000", f"It said so. ({number})")

        assert isinstance(store_error(error, fault_of(error)), StoreRefusedError)

    def test_rivals_on_the_same_rows_are_repeated_at_once_on_the_same_connection(self) -> None:
        found = {number for number, fault in NUMBERS.items() if fault.kind is FaultKind.BUSY}

        assert found == set(BUSY)
        assert not any(NUMBERS[number].is_session_lost for number in found)

    def test_every_other_fault_ends_its_connection(self) -> None:
        assert all(fault.is_session_lost for fault in NUMBERS.values() if fault.kind is not FaultKind.BUSY)

    def test_the_table_holds_these_numbers_and_no_others(self) -> None:
        further = {230, 300, 701, 922, 927, 983, 2601, 2627, 2760, 3908, 15151, 15247, 17830, 40549}

        assert set(NUMBERS) == {*TRANSIENT, *FOR_A_PERSON, *further}

    def test_every_meaning_is_a_text_of_its_own_words(self) -> None:
        assert all(fault.meaning and not fault.meaning.endswith(".") for fault in NUMBERS.values())

    def test_a_number_wins_over_its_sqlstate(self) -> None:
        assert fault_of(_error("08S01", "Login failed. (18456)")).kind is FaultKind.REFUSED
        assert fault_of(_error("42000", "Database is not currently available. (40613)")).kind is FaultKind.AWAY

    def test_the_first_known_number_of_several_messages_counts(self) -> None:
        text = "Cannot open database. (4060); [28000] Login failed for user. (18456)"

        assert fault_of(_error("42000", text)).kind is FaultKind.AWAY


class TestStates:
    @pytest.mark.case("C-057")
    @pytest.mark.parametrize("state", STATES_OF_LOST_CONNECTIONS)
    def test_a_connection_that_is_gone_is_unavailable(self, state: str) -> None:
        fault = fault_of(_error(state, "something (0)"))

        assert (fault.kind, fault.is_session_lost) == (FaultKind.AWAY, True)

    def test_every_state_of_the_connections_class_is_taken_for_a_lost_one(self) -> None:
        assert fault_of(_error("08999", "something (0)")).kind is FaultKind.AWAY

    @pytest.mark.parametrize("state", ["IM002", "IM003", "28000", "42S02", "42S22", "42000", "22001", "HYC00", "07002"])
    def test_what_repeats_itself_is_refused(self, state: str) -> None:
        assert fault_of(_error(state, "something (0)")).kind is FaultKind.REFUSED

    @pytest.mark.parametrize("state", ["40001", "23000"])
    def test_a_deadlock_and_a_duplicate_without_a_number_are_rivals(self, state: str) -> None:
        assert fault_of(_error(state, "something (0)")).kind is FaultKind.BUSY

    def test_a_general_error_of_the_driver_may_pass_and_one_of_the_server_is_refused(self) -> None:
        assert fault_of(_error("HY000", "Protocol error in TDS stream (0)")).kind is FaultKind.AWAY
        assert fault_of(_error("HY000", "Raised by a trigger. (50000)")).kind is FaultKind.REFUSED

    def test_the_table_holds_these_states_and_no_others(self) -> None:
        further = {"40001", "23000", "HY008", "IM002", "IM003", "28000", "42S02", "42S22"}

        assert set(SQLSTATES) == {*STATES_OF_LOST_CONNECTIONS, *further}


class TestReading:
    def test_state_and_numbers_are_read_from_pyodbcs_arguments(self) -> None:
        error = Exception("42000", f"[42000] {DRIVER}Oh (1205) (SQLExecute); [01000] {DRIVER}And (3621) (SQLExecute)")

        assert (state_of(error), numbers_of(error)) == ("42000", [1205, 3621])

    def test_an_error_without_arguments_says_nothing(self) -> None:
        assert (state_of(Exception()), numbers_of(Exception("HY000"))) == ("", [])
        assert fault_of(Exception()).kind is FaultKind.REFUSED

    def test_the_stores_error_repeats_codes_and_no_names(self) -> None:
        error = _error("28000", "Login failed for user 'app' on secret-server. (18456)")

        text = str(store_error(error, fault_of(error)))

        assert text == (
            "SQL Server: the login failed: look at user, password, or the identity's user in the database "
            "(SQLSTATE 28000, error 18456)"
        )

    def test_an_error_without_a_number_says_so(self) -> None:
        error = _error("HYT00", "Login timeout expired (0)")

        assert str(store_error(error, fault_of(error))) == (
            "SQL Server: no answer in time (SQLSTATE HYT00, error none)"
        )
