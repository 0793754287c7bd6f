"""
Seals an envelope of which a test names only the fields that it is about.
"""

from __future__ import annotations

from typing import Any

import pytest

from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.domain.job import NewJob
from chokaq_core.policy.envelope import Envelope, EnvelopeLimits, seal


def sealed(limit: int = 1_000_000, /, **fields: Any) -> NewJob:  # noqa: ANN401 - wrong types are part of the tests
    """
    The sealed job.
    """
    envelope = Envelope(**{"type_key": "invoice.render.v1", "payload": "{}", **fields})
    return seal(envelope, EnvelopeLimits(max_payload_bytes=limit), fresh_id="fresh-id")


def refusals(limit: int = 1_000_000, /, **fields: Any) -> tuple[FieldProblem, ...]:  # noqa: ANN401
    """
    The problems for which the job is refused; fails when it is accepted.
    """
    with pytest.raises(InvalidJobError) as caught:
        sealed(limit, **fields)
    return caught.value.problems


def refusal(limit: int = 1_000_000, /, **fields: Any) -> str:  # noqa: ANN401
    """
    The text of the only problem.
    """
    (problem,) = refusals(limit, **fields)
    return str(problem)
