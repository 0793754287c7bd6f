"""
Serializers of an app's own, that break their contract: it costs the one job, and nobody else.
"""

from __future__ import annotations

import pytest

from chokaq_core.contracts import Job, JsonSerializer
from chokaq_core.contracts.request import RawRequest
from chokaq_core.contracts.serializer import AnyJob
from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import EnqueueResult, NewJob
from chokaq_core.ports import Store
from tests.engine.conftest import OpenRig
from tests.support.engine import NOTE, Note, profile_of


class Faulty(JsonSerializer):
    """
    Fails for some texts, and writes no strict JSON for others.
    """

    def dumps(self, job: Job) -> str:
        text = job.text if isinstance(job, Note) else ""
        match text:
            case "fails":
                raise KeyError(text)
            case "nan":
                return '{"text": NaN}'
            case "nul":
                return '{"text": "a\x00"}'
            case "bytes":
                return b"{}"  # type: ignore[return-value]
        return super().dumps(job)

    def loads(self, job_type: type[AnyJob], text: str) -> AnyJob:
        if "unreadable" in text:
            raise KeyError(text)
        return super().loads(job_type, text)


@pytest.mark.case("C-031")
@pytest.mark.case("C-033")
@pytest.mark.parametrize("text", ["fails", "nan", "nul", "bytes"])
def test_what_cannot_be_written_is_refused_and_its_batch_goes_on(open_rig: OpenRig, text: str) -> None:
    rig = open_rig(profile_of(lambda job: None), serializer=Faulty())

    refused, stored = rig.engine.producer.enqueue_many([Note(text=text), Note(text="good")])

    assert isinstance(refused, InvalidJobError)
    assert [problem.field for problem in refused.problems] == ["payload"]
    assert isinstance(stored, EnqueueResult)
    assert rig.store.counts().hot == 1


@pytest.mark.case("C-038")
def test_what_cannot_be_read_is_refused_at_the_door_and_rejected_in_the_queue(open_rig: OpenRig, store: Store) -> None:
    runs: list[Job] = []
    rig = open_rig(profile_of(runs.append), serializer=Faulty())
    text = '{"text":"unreadable"}'

    with pytest.raises(InvalidJobError, match=r"the serializer failed with KeyError at test_serializers\.py:\d+"):
        rig.engine.producer.enqueue_raw(RawRequest(NOTE, text))
    store.enqueue([NewJob("stored", NOTE, text)])
    good = rig.enqueue(Note(text="good"))
    rig.visit()

    assert (rig.dead("stored").reason, rig.dead("stored").payload) == (FailureReason.REJECTED, text)
    assert rig.archived(good).attempt == 1
    assert runs == [Note(text="good")]
