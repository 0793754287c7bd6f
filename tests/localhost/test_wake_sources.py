from __future__ import annotations

import pytest

from chokaq_core.engine.wakes import InProcessWakes, PendingWakes
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.functions import Handler, QueueFunction
from chokaq_core.localhost.storage_queue import StorageQueueSource
from chokaq_core.localhost.wake_sources import InProcessSource, open_sources


def test_an_in_process_wake_that_was_put_back_comes_again() -> None:
    wakes = InProcessWakes()
    source = InProcessSource(wakes)
    wakes.send()
    first = source.receive()
    assert first is not None

    source.put_back(first)
    again = source.receive()

    assert again is not None
    assert (again.id, again.body, again.delivery) == (first.id, '{"v":1}', 2)


def test_deleted_and_buried_in_process_wakes_do_not_come_again() -> None:
    wakes = InProcessWakes()
    source = InProcessSource(wakes)
    wakes.send()
    wakes.send()
    first, second = source.receive(), source.receive()
    assert first is not None
    assert second is not None

    source.delete(first)
    source.bury(second)

    assert wakes.pending() == PendingWakes(visible=0, hidden=0)


def named(name: str, queue: str, connection: str = "AzureWebJobsStorage") -> QueueFunction:
    return QueueFunction(Handler(name, "wake", print), queue, connection)


def test_the_only_queue_of_an_app_gets_the_wakes_whatever_its_name() -> None:
    assert set(open_sources([named("worker", "my-wakes")], {})) == {"worker"}


def test_functions_on_one_queue_share_its_wakes() -> None:
    assert set(open_sources([named("one", "wakes"), named("two", "wakes")], {})) == {"one", "two"}


@pytest.mark.parametrize(
    "environ,served",
    [({}, "worker"), ({"CHOKAQ__FUNCTIONS__WAKEQUEUENAME": "orders"}, "shop")],
)
def test_among_several_queues_the_wake_queue_gets_the_wakes(
    environ: dict[str, str], served: str, all_logs: pytest.LogCaptureFixture
) -> None:
    sources = open_sources([named("worker", "chokaq-wake"), named("shop", "orders")], environ)

    assert set(sources) == {served}
    assert all_logs.text.count("gets no messages here: only Azure Storage could fill") == 1


def test_a_queue_name_may_stand_in_a_setting() -> None:
    functions = [named("worker", "%QUEUE%"), named("shop", "orders")]

    assert set(open_sources(functions, {"QUEUE": "chokaq-wake"})) == {"worker"}


@pytest.mark.parametrize(
    "connection,name",
    [
        ("AzureWebJobsStorage", "AzureWebJobsStorage"),
        ("AzureWebJobsStorage", "AZUREWEBJOBSSTORAGE"),
        ("Storage", "AzureWebJobsStorage"),
        ("", "AzureWebJobsStorage"),
        ("CHOKAQ_WAKE", "CHOKAQ_WAKE"),
    ],
)
def test_a_connection_string_leads_to_the_queue_in_storage(connection: str, name: str) -> None:
    sources = open_sources([named("worker", "chokaq-wake", connection)], {name: "UseDevelopmentStorage=true"})

    assert isinstance(sources["worker"], StorageQueueSource)


@pytest.mark.parametrize(
    "connection,name",
    [
        ("AzureWebJobsStorage", "AZUREWEBJOBSSTORAGE__ACCOUNTNAME"),
        ("CHOKAQ_WAKE", "CHOKAQ_WAKE__queueServiceUri"),
        ("Storage", "AzureWebJobsStorage__accountName"),
    ],
)
def test_an_identity_is_refused(connection: str, name: str) -> None:
    with pytest.raises(HostError, match="Function 'worker' would read its queue with an identity"):
        open_sources([named("worker", "chokaq-wake", connection)], {name: "acme"})


def test_a_text_that_is_no_connection_string_is_refused_by_its_settings_name() -> None:
    with pytest.raises(HostError, match="Function 'worker': AzureWebJobsStorage is no connection string"):
        open_sources([named("worker", "chokaq-wake")], {"AzureWebJobsStorage": "nonsense"})


def test_a_blank_storage_setting_counts_as_none() -> None:
    assert set(open_sources([named("worker", "chokaq-wake")], {"AzureWebJobsStorage": ""})) == {"worker"}
