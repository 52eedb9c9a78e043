# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Server of a compiled program by KServe's open inference protocol, version 2."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy
import relax_mlir as rx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .batching import BatchedCall, Batcher
from .errors import ApiError
from .http_app import State, make_app, read_body, until_gone
from .kserve_tensors import HEADER_LENGTH, encode_results, parse_inference
from .metrics import heading, sample
from .signatures import signature_of

if TYPE_CHECKING:
    from numpy import ndarray

_VERSION = "1"


class ServedProgram:
    """Function of a compiled program, with the thread that runs it."""

    def __init__(
        self, name: str, executable: rx.runtime.Executable, function: str, most_rows: int, delay: float, most_jobs: int
    ) -> None:
        self.name = name
        self.signature = signature_of(executable, function)
        self._function = executable.copying()[function]
        self._scalars = [each["kind"] == "scalar" for each in executable.signature(function)["inputs"]]
        can_batch = self.signature.rows is not None
        self.batcher = Batcher(self._run, most_rows=most_rows if can_batch else 1, delay=delay, most_jobs=most_jobs)

    def _run(self, inputs: Sequence[ndarray]) -> Sequence[ndarray]:
        passed = [
            input_.item() if is_scalar else input_ for input_, is_scalar in zip(inputs, self._scalars, strict=True)
        ]
        found = self._function(*passed)
        return [numpy.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]

    def job(self, inputs: Sequence[ndarray]) -> BatchedCall:
        """Return the call of the function with inputs."""
        if self.signature.rows is None:
            return BatchedCall(inputs, 1, None)
        key = tuple((input_.shape[1:], input_.dtype.name) for input_ in inputs)
        return BatchedCall(inputs, inputs[0].shape[0], key)

    def content(self) -> dict[str, object]:
        """Return the metadata of the model."""
        return {
            "name": self.name,
            "versions": [_VERSION],
            "platform": "relax-mlir",
            "inputs": [input_.content() for input_ in self.signature.inputs],
            "outputs": [output.content() for output in self.signature.outputs],
        }


class KServeRoutes:
    """Endpoints of one program."""

    def __init__(self, program: ServedProgram, most_bytes: int, state: State) -> None:
        self._program = program
        self._most_bytes = most_bytes
        self._state = state

    async def server(self, request: Request) -> Response:
        return JSONResponse({"name": "relax-serve", "version": rx.__version__, "extensions": ["binary_tensor_data"]})

    async def live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> Response:
        is_ready = self._program.batcher.is_alive and not self._state.is_stopping
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    async def model(self, request: Request) -> Response:
        self._check_name(request)
        return JSONResponse(self._program.content())

    async def model_ready(self, request: Request) -> Response:
        self._check_name(request)
        return await self.ready(request)

    async def infer(self, request: Request) -> Response:
        self._check_name(request)
        program = self._program
        body = await read_body(request, self._most_bytes)
        inference = await run_in_threadpool(
            parse_inference, body, request.headers.get(HEADER_LENGTH), program.signature
        )
        job = program.job(inference.inputs)
        if not program.batcher.submit(job):
            waiting = program.batcher.waiting
            raise ApiError(429, f"the server has {waiting} waiting requests, its --max-queue: try again later")
        try:
            results = await until_gone(request, _result(job))
        except (ApiError, rx.RelaxError):
            raise
        except Exception as error:  # programs raise errors of types, sizes and devices
            raise ApiError(500, f"the program failed: {error}") from None
        names = [output.name for output in program.signature.outputs]
        encoded = await run_in_threadpool(encode_results, program.name, inference.id, inference.outputs, results, names)
        if encoded.header_length is None:
            return Response(encoded.body, media_type="application/json")
        headers = {HEADER_LENGTH: str(encoded.header_length)}
        return Response(encoded.body, media_type="application/octet-stream", headers=headers)

    def _check_name(self, request: Request) -> None:
        name, version = request.path_params["name"], request.path_params.get("version", _VERSION)
        if name != self._program.name:
            raise ApiError(404, f"there is no model '{name}'; there is {self._program.name}", param="model")
        if version != _VERSION:
            raise ApiError(404, f"the model '{name}' has no version '{version}'; it has {_VERSION}", param="version")


async def _result(job: BatchedCall) -> Sequence[ndarray]:
    return await asyncio.wrap_future(job.result)


def error_content(error: ApiError) -> dict[str, object]:
    """Return the body of an error in KServe's form."""
    return {"error": error.message}


def make_kserve_app(
    program: ServedProgram,
    state: State,
    *,
    key: str | None = None,
    most_bytes: int = 1 << 24,
    origins: Sequence[str] = (),
) -> Starlette:
    """Return the application of a program."""
    routes = KServeRoutes(program, most_bytes, state)
    model = "/v2/models/{name}"
    by_name = [
        Route(f"{start}{end}", endpoint, methods=[method])
        for start in (f"{model}/versions/{{version}}", model)
        for end, endpoint, method in (
            ("/infer", routes.infer, "POST"),
            ("/ready", routes.model_ready, "GET"),
            ("", routes.model, "GET"),
        )
    ]
    return make_app(
        [
            Route("/v2", routes.server),
            Route("/v2/health/live", routes.live),
            Route("/v2/health/ready", routes.ready),
            *by_name,
        ],
        state,
        is_healthy=lambda: program.batcher.is_alive,
        metrics=lambda: _metrics(program),
        form=error_content,
        key=key,
        origins=origins,
    )


def _metrics(program: ServedProgram) -> Iterable[str]:
    counts, labels = program.batcher.counts, {"model": program.name}
    families = (
        ("infer_requests_total", "counter", "Requests.", counts.requests),
        ("infer_calls_total", "counter", "Calls of the program.", counts.calls),
        ("infer_rows_total", "counter", "Rows of all calls.", counts.rows),
        ("infer_failures_total", "counter", "Requests that failed in the program.", counts.failures),
        ("infer_waiting", "gauge", "Requests that wait for a call.", program.batcher.waiting),
    )
    for name, kind, text, value in families:
        yield from heading(f"relax_{name}", kind, text)
        yield sample(f"relax_{name}", labels, value)


def chosen_function(executable: rx.runtime.Executable, name: str | None) -> str:
    """Return the function to serve: the named one, `main`, or the only one."""
    names = list(executable)
    if name is None and ("main" in names or len(names) == 1):
        return "main" if "main" in names else names[0]
    if name not in names:
        asked = "the program has several functions" if name is None else f"the program has no function '{name}'"
        raise rx.OptionError(f"{asked}: expected --function with one of {', '.join(names)}")
    return name
