"""
How handlers are called: `def` in one of a bounded number of threads, `async def` on the event loop, as in Azure.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor
    from pathlib import Path

    from chokaq_core.localhost.functions import Handler


class LocalTraceContext(Value):
    """
    The trace that a request came with; empty for timers and wakes.
    """

    trace_parent: str = ""
    trace_state: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class LocalContext(Value):
    """
    What a handler that takes `context` is given: the attributes of `azure.functions.Context`.
    """

    function_name: str
    function_directory: str
    trace_context: LocalTraceContext
    invocation_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    retry_context: None = None
    thread_local_storage: threading.local = field(default_factory=threading.local)


class Invoker:
    """
    Calls handlers and knows which of them are busy.

    Args:
        app_folder: what handlers see as their function's directory.
        threads: how many `def` handlers may run at once; a thread is started when it is first needed.
    """

    def __init__(self, app_folder: Path, threads: int) -> None:
        self._app_folder = app_folder
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="function")
        self._busy: Counter[str] = Counter()
        self._busy_lock = threading.Lock()

    async def invoke(
        self,
        handler: Handler,
        trigger_value: object,
        *,
        headers: Mapping[str, str] | None = None,
        threads: Executor | None = None,
    ) -> object:
        """
        Calls a handler and gives its answer; what it raises is raised.

        Args:
            handler: the handler to call.
            trigger_value: what its trigger argument is filled with.
            headers: a request's headers, in lower case, for the trace that it belongs to.
            threads: where a `def` handler runs, if not in the common threads.
        """
        arguments = self._arguments(handler, trigger_value, headers or {})
        try:
            if handler.is_async:
                return await handler.call(**arguments)
            call = partial(self._call_counted, handler.name, partial(handler.call, **arguments))
            return await asyncio.get_running_loop().run_in_executor(threads or self._threads, call)
        except SystemExit as error:
            # Left alone it would end the event loop, and with it the host.
            raise RuntimeError(f"function '{handler.name}' tried to end the process") from error

    def busy_functions(self) -> tuple[str, ...]:
        """
        Names the functions whose `def` handler is running now.
        """
        with self._busy_lock:
            return tuple(sorted(name for name, running in self._busy.items() if running))

    def close(self) -> None:
        """
        Lets the common threads end: calls that wait for one are dropped, running ones go on.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _arguments(self, handler: Handler, trigger_value: object, headers: Mapping[str, str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {handler.argument: trigger_value}
        if "context" in handler.parameters:
            trace = LocalTraceContext(headers.get("traceparent", ""), headers.get("tracestate", ""))
            arguments.setdefault("context", LocalContext(handler.name, str(self._app_folder), trace))
        return arguments

    def _call_counted(self, name: str, call: Callable[[], object]) -> object:
        self._count(name, 1)
        try:
            return call()
        finally:
            self._count(name, -1)

    def _count(self, name: str, change: int) -> None:
        with self._busy_lock:
            self._busy[name] += change
