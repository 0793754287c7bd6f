"""
What a user of the library writes against: jobs, profiles of handlers, the running job's context, middleware.
"""

from __future__ import annotations

from chokaq_core.contracts.context import JobContext
from chokaq_core.contracts.idempotent import IdempotentJob
from chokaq_core.contracts.job import Job
from chokaq_core.contracts.middleware import Middleware
from chokaq_core.contracts.profile import Profile
from chokaq_core.contracts.request import JobRequest, RawRequest
from chokaq_core.contracts.serializer import JobSerializer, JsonSerializer
from chokaq_core.domain.errors import (
    FatalJobError,
    JobCancelledError,
    JobPostponedError,
    ThrottledError,
    TransientJobError,
)

__all__ = [
    "FatalJobError",
    "IdempotentJob",
    "Job",
    "JobCancelledError",
    "JobContext",
    "JobPostponedError",
    "JobRequest",
    "JobSerializer",
    "JsonSerializer",
    "Middleware",
    "Profile",
    "RawRequest",
    "ThrottledError",
    "TransientJobError",
]
