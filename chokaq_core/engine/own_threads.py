"""
The engine's own threads: started once in a process, and started again when a fault of ours ends one.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName
from chokaq_core.engine.thread_names import OWN_THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from chokaq_core.ports import Events

SWITCH_INTERVAL_SECONDS = 0.0005
"""How long a thread may keep the interpreter; the default of 5 ms lets 16 spinning handlers starve the heartbeat."""


class OwnThreads:
    """
    Daemon threads, by what each runs.

    Args:
        bodies: by the end of a thread's name.
        pause: how long a thread waits before it runs its body again.
        facts: of the worker, for the events.

    Attributes:
        threads: those that were started; none before the first visit.
    """

    def __init__(
        self,
        bodies: Mapping[str, Callable[[], None]],
        pause: timedelta,
        events: Events,
        facts: Callable[[], Mapping[str, object]],
    ) -> None:
        self.threads: list[threading.Thread] = []
        self._bodies = bodies
        self._pause = pause
        self._events = events
        self._facts = facts

    def start(self) -> None:
        """
        Starts the threads once in this process.
        """
        if self.threads:
            return
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL_SECONDS))
        for short_name, body in self._bodies.items():
            name = f"{OWN_THREADS}{short_name}"
            thread = threading.Thread(target=self._keep_going, args=(name, body), name=name, daemon=True)
            self.threads.append(thread)
            thread.start()
        self._events.publish([Event(EventName.WORKER_STARTED, facts=self._facts())])

    def join(self, seconds: float) -> bool:
        """
        Waits for threads that were told to end, so long for each; False when one goes on.
        """
        for thread in self.threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self.threads)

    def _keep_going(self, name: str, body: Callable[[], None]) -> None:
        """
        Runs a thread's body again when it ends by a fault of ours.
        """
        while True:
            try:
                body()
            except Exception as error:  # noqa: BLE001 - whatever it is, jobs still need this thread
                facts = {**self._facts(), "thread": name}
                self._events.publish([Event(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY, facts=facts, error=error)])
                time.sleep(self._pause.total_seconds())
            else:
                return
