"""
Rules that bind the settings to host.json.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.config.checks import durations_of, execution_timeouts
from chokaq_core.config.host import HOST_FILE
from chokaq_core.domain.durations import DurationError, format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chokaq_core.config.reading import Reading

MARGIN = timedelta(seconds=30)

_TIMEOUT = "functionTimeout"
_DEFAULT_TIMEOUT = "00:30:00"
_UNLIMITED = "-1"
_DRAIN_BUDGET = "Functions.DrainBudget"

_QUEUE_OPTIONS = (
    ("batchSize", "1", "16", "one wake stands for one worker process"),
    ("newBatchThreshold", "0", "half of batchSize", "one wake stands for one worker process"),
    ("messageEncoding", "none", "base64", "wakes are sent as plain text"),
)


def host_problems(reading: Reading, options: Mapping[str, object] | None, *, in_azure: bool) -> Iterator[str]:
    """
    What host.json must change to fit the settings; an option that it leaves out has the platform's default.

    Args:
        options: its options by lower-case path; None when there is no file. Then no Functions host runs here, unless
            this is Azure, and the options of its queues do not matter.
    """
    yield from _timeout_problems(reading, options or {})
    if options is not None or in_azure:
        yield from _queue_problems(options or {})


def _timeout_problems(reading: Reading, options: Mapping[str, object]) -> Iterator[str]:
    given = options.get(_TIMEOUT.lower())
    text = _DEFAULT_TIMEOUT if given is None else str(given)
    if text == _UNLIMITED:
        return
    try:
        timeout = parse_duration(text)
    except DurationError as error:
        hint = f"; {error.hint}" if error.hint else ""
        yield f"{HOST_FILE} {_TIMEOUT}: {error.rule}, or -1; got {text[:60]!a}{hint}"
        return
    needed = _needed_timeout(reading)
    if needed is not None and timeout < needed:
        origin = " (the platform's default)" if given is None else ""
        yield (
            f"{HOST_FILE} {_TIMEOUT}: must be at least {_DRAIN_BUDGET} + the largest execution timeout + "
            f"{MARGIN.seconds} s = {format_duration(needed)}, or -1; got {text}{origin}"
        )


def _needed_timeout(reading: Reading) -> timedelta | None:
    durations = durations_of(reading)
    timeouts = execution_timeouts(durations)
    if not timeouts or not durations.has(_DRAIN_BUDGET):
        return None
    return durations.by_name[_DRAIN_BUDGET] + max(timeouts.values()) + MARGIN


def _queue_problems(options: Mapping[str, object]) -> Iterator[str]:
    for option, needed, default, reason in _QUEUE_OPTIONS:
        given = options.get(f"extensions:queues:{option}".lower())
        if given is None:
            yield (
                f"{HOST_FILE} extensions.queues.{option}: must be {needed}, since {reason}; it is left out, and the "
                f"platform's default is {default}"
            )
        elif str(given).lower() != needed:
            yield f"{HOST_FILE} extensions.queues.{option}: must be {needed}, since {reason}; got {ascii(given)[:60]}"
