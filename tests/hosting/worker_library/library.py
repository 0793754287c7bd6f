"""
The test's side of the worker process.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.host_process import ROOT

DRIVER = Path(__file__).with_name("driver.py")
TRACE_PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

TIMER = {
    "json": json.dumps(
        {
            "Schedule": {"AdjustForDST": True},
            "ScheduleStatus": {
                "Last": "2026-11-30T16:00:00+00:00",
                "LastUpdated": "2026-11-30T16:00:00+00:00",
                "Next": "2026-11-30T16:01:00+00:00",
            },
            "IsPastDue": False,
        }
    )
}
QUEUE_METADATA = {
    "Id": {"string": "9a0e2f6c-0001"},
    "PopReceipt": {"string": "AgAAAAMAAAAAAAAA"},
    "DequeueCount": {"json": "1"},
    "InsertionTime": {"json": '"2026-11-30T16:00:00+00:00"'},
    "ExpirationTime": {"json": '"2026-11-30T16:02:00+00:00"'},
    "NextVisibleTime": {"json": '"2026-11-30T16:10:00+00:00"'},
}


@dataclass(frozen=True)
class Answer:
    """
    What an HTTP function answered.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - whatever the body holds
        """
        The body's value.
        """
        return json.loads(self.body)


class WorkerLibrary:
    """
    An app inside Microsoft's worker library, in a process of its own.
    """

    def __init__(self, interpreter: str, app: Path, environ: Mapping[str, str], log: Path) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.lower().startswith(("chokaq", "azurewebjobs"))}
        self.environ = {**inherited, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default", **environ}
        self.log = log
        self._invocations = (f"invocation-{number}" for number in itertools.count(1))
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [interpreter, str(DRIVER), str(app)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=app,
                env=self.environ,
                text=True,
            )
        started = self._read()
        if not started["succeeded"]:
            self.stop()
            raise AssertionError(started["error"])
        self.capabilities: dict[str, str] = started["capabilities"]
        self.functions: dict[str, dict[str, Any]] = self._ask("functions")["functions"]

    def reload(self, environ: Mapping[str, str]) -> None:
        """
        Indexes the app afresh, with other settings beside the ones it was started with.
        """
        outcome = self._ask("reload", environ={**self.environ, **environ})
        assert outcome["succeeded"], outcome["error"]
        self.functions = self._ask("functions")["functions"]

    def tick(self, name: str) -> None:
        """
        Fires a timer function, which must end well.
        """
        self._invoke(name, {"timer": TIMER})

    def wake(self, body: str | bytes = '{"v":1}') -> str:
        """
        Hands a message to the queue function, which must end well: else the host would deliver it again.

        Returns:
            The invocation's id.
        """
        is_text = isinstance(body, str)
        value = {"string": body} if is_text else {"bytes": base64.b64encode(body).decode()}  # type: ignore[arg-type]
        invocation: str = self._invoke("chokaq_worker", {"wake": value}, QUEUE_METADATA)["invocation"]
        return invocation

    def call(
        self,
        name: str,
        method: str = "GET",
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        route: Mapping[str, str] | None = None,
    ) -> Answer:
        """
        Sends a request to an HTTP function. The host makes the trace of the header `traceparent` the invocation's.
        """
        request = {
            "method": method,
            "url": "https://app.example/api/x?code=secret",
            "headers": dict(headers or {}),
            "params": dict(route or {}),
            "query": {"code": "secret"},
            "body": base64.b64encode(body).decode(),
        }
        trace = (headers or {}).get("traceparent", TRACE_PARENT)
        answer = self._invoke(name, {"req": {"http": request}}, trace=trace)["answer"]
        return Answer(answer["status"], answer["headers"], base64.b64decode(answer["body"]))

    def post(self, body: object, **headers: str) -> Answer:
        """
        Enqueues a job.
        """
        content = json.dumps(body).encode()
        return self.call(
            "chokaq_enqueue", "POST", body=content, headers={"content-type": "application/json", **headers}
        )

    def job(self, job_id: str) -> dict[str, Any]:
        """
        The job as the API shows it.
        """
        shown: dict[str, Any] = self.call("chokaq_job", route={"id": job_id}).json()
        return shown

    def output(self) -> str:
        """
        All that the worker has logged so far.
        """
        return self.log.read_text(encoding="utf-8")

    def stop(self) -> None:
        """
        Ends the process.
        """
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0, self.output()

    def _invoke(
        self, name: str, inputs: dict[str, Any], metadata: dict[str, Any] | None = None, trace: str = TRACE_PARENT
    ) -> dict[str, Any]:
        invocation = next(self._invocations)
        outcome = self._ask(
            "invoke",
            id=self.functions[name]["id"],
            invocation=invocation,
            inputs=inputs,
            metadata=metadata or {},
            trace=trace,
        )
        assert outcome["succeeded"], outcome["error"]
        return {**outcome, "invocation": invocation}

    def _ask(self, command: str, **arguments: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps({"do": command, **arguments}), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the worker ended:\n{self.output()}"
        answer: dict[str, Any] = json.loads(line)
        return answer
