"""
The worker process: Microsoft's own worker library with an app in it, driven by one JSON line for each request.

Run by an interpreter that has `azure_functions_runtime`. It stands where the Functions host's gRPC channel would be,
and hands the library messages of the same shape.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import logging
import os
import sys
from typing import Any, Self

WORKER: Any = importlib.import_module("azure_functions_runtime")


class Message:
    """
    Stands for any protobuf message: a field that was not set is None, a nested type that does not exist is an error.
    """

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401 - whatever the library puts in
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> None:
        if name[:1].isupper() or name.startswith("__"):
            raise AttributeError(name)

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 - protobuf's own name
        """
        The one field that is set.
        """
        return next((name for name in self.__dict__ if name != "name"), None)


class StatusResult(Message):
    """
    How an invocation ended.
    """

    Failure, Success, Cancelled = 0, 1, 2


class BindingInfo(Message):
    """
    One binding of a function.
    """

    undefined, inout, out = -1, 2, 1


class Protos:
    """
    The classes of messages that the library makes.
    """

    StatusResult, BindingInfo = StatusResult, BindingInfo

    def __getattr__(self, name: str) -> type[Message]:
        return Message


PROTOS = Protos()


class HostLog(logging.Handler):
    """
    Writes each line as the worker's host would get it: with the invocation that it belongs to, or a dash.
    """

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"[{WORKER.invocation_id_cv.get() or '-'}] {record.getMessage()}\n")


class Worker:
    """
    One app in the worker library.
    """

    @classmethod
    async def start(cls, folder: str) -> tuple[Self, dict[str, Any]]:
        """
        Starts the library and lets it import and index the app; the answer says whether that went well.
        """
        WORKER.start_threadpool_executor()
        sys.path.insert(0, folder)
        init = Message(capabilities={}, function_app_directory=folder)
        answer = await WORKER.worker_init_request(_request(worker_init_request=init))
        return cls(folder), {**_outcome(answer.result), "capabilities": answer.capabilities}

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """
        Carries out one command.
        """
        match command.pop("do"):
            case "functions":
                return await self._functions()
            case "invoke":
                return await self._invoke(**command)
            case "reload":
                return await self._reload(**command)
            case other:
                raise ValueError(other)

    async def _functions(self) -> dict[str, Any]:
        answer = await WORKER.functions_metadata_request(_request())
        return {
            "functions": {
                f.name: {
                    "id": f.function_id,
                    "bindings": [json.loads(raw) for raw in f.raw_bindings],
                    "retry": f.retry_options,
                }
                for f in answer.function_metadata_results
            }
        }

    async def _invoke(
        self,
        id: str,  # noqa: A002 - the host's word
        invocation: str,
        inputs: dict[str, Any],
        metadata: dict[str, Any],
        trace: str,
    ) -> dict[str, Any]:
        request = Message(
            invocation_id=invocation,
            function_id=id,
            input_data=[Message(name=name, data=_data(value)) for name, value in inputs.items()],
            trigger_metadata={name: _data(value) for name, value in metadata.items()},
            trace_context=Message(trace_parent=trace, trace_state="", attributes={}),
            retry_context=Message(retry_count=0, max_retry_count=0, exception=None),
        )
        answer = await WORKER.invocation_request(_request(invocation_request=request))
        return {**_outcome(answer.result), "answer": _answer(answer.return_value)}

    async def _reload(self, environ: dict[str, str]) -> dict[str, Any]:
        """
        Indexes the app afresh under another environment, as when a waiting instance is given to an app.
        """
        sys.modules.pop("function_app", None)
        reload = Message(environment_variables=environ, function_app_directory=self._folder)
        answer = await WORKER.function_environment_reload_request(_request(function_environment_reload_request=reload))
        return _outcome(answer.result)


def _request(**request: Message) -> Message:
    return Message(request=Message(**request), properties={"host": "127.0.0.1", "protos": PROTOS})


def _data(value: dict[str, Any]) -> Message:
    """
    A value as the host sends it: its kind and its content.
    """
    ((kind, content),) = value.items()
    match kind:
        case "http":
            return Message(http=Message(**{**content, "body": _data({"bytes": content["body"]})}))
        case "bytes":
            return Message(bytes=base64.b64decode(content))
        case _:
            return Message(**{kind: content})


def _outcome(result: StatusResult) -> dict[str, Any]:
    error = result.exception
    return {
        "succeeded": result.status == StatusResult.Success,
        "error": f"{error.message}\n{error.stack_trace}" if error is not None else None,
    }


def _answer(value: Message | None) -> dict[str, Any] | None:
    http: Any = value.http if value is not None else None
    if http is None:
        return None
    body = http.body.bytes if http.body.bytes is not None else (http.body.string or "").encode()
    return {"status": int(http.status_code), "headers": dict(http.headers), "body": base64.b64encode(body).decode()}


async def main(folder: str) -> None:
    """
    Answers each line of standard input with one line, until its end.
    """
    # What the app prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.INFO, handlers=[HostLog()])
    worker, started = await Worker.start(folder)
    print(json.dumps(started), file=answers, flush=True)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await worker.do(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
    # Daemon threads of the app's engine may be in the middle of something; the platform does not wait for them either.
    os._exit(0)
