# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Application with the routes that every server has, and the checks before all requests."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TypeVar

import relax_mlir as rx
from relax_mlir import RelaxError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .bodies import check_values, parse_object, read_limited
from .errors import ApiError
from .limits import ServerLimits
from .metrics import CONTENT_TYPE

_LOG = logging.getLogger("relax-serve")

#: Paths that need the key.
_GUARDED = ("/v1", "/v2", "/rerank", "/tokenize", "/detokenize")
_PHRASES = {404: "there is no such path", 405: "the path does not accept this method"}
_CLIENT_GONE = 499
#: Bytes of a body that a thread reads. Each search in the body keeps the interpreter's lock; between them, other
#: requests have their turn.
_LONG_BODY = 1 << 16

_Result = TypeVar("_Result")

#: Form of an error, which is another one in each protocol.
ErrorForm = Callable[[ApiError], dict[str, object]]


class State:
    """State of a server that all requests see."""

    def __init__(self) -> None:
        #: True from the first signal on: the server answers its requests, and accepts no others.
        self.is_stopping = False
        #: Number of requests that are being answered, without /health and /metrics.
        self.active = 0


class Guard:
    """Middleware: checks the key, refuses requests while the server stops, and counts requests."""

    def __init__(self, app: ASGIApp, state: State, key: str | None, form: ErrorForm) -> None:
        self._app = app
        self._state = state
        self._key = key
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(_GUARDED):
            await self._app(scope, receive, send)
            return
        if (error := self._refusal(scope)) is not None:
            await error_response(error, self._form)(scope, receive, send)
            return
        self._state.active += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._state.active -= 1

    def _refusal(self, scope: Scope) -> ApiError | None:
        if not self._has_key(scope):
            return ApiError(
                401,
                "the API key is missing or wrong: send the header `Authorization: Bearer KEY`",
                code="invalid_api_key",
            )
        if self._state.is_stopping and scope["method"] == "POST":
            return ApiError(503, "the server is stopping and accepts no requests", code="stopping")
        return None

    def _has_key(self, scope: Scope) -> bool:
        if self._key is None:
            return True
        given = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(given, b"Bearer " + self._key.encode())


def error_response(error: ApiError, form: ErrorForm) -> Response:
    """Return the answer to a refused request."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "5"}}
    return JSONResponse(form(error), error.status, headers.get(error.status))


def make_app(
    routes: Iterable[BaseRoute],
    state: State,
    *,
    is_healthy: Callable[[], bool],
    metrics: Callable[[], Iterable[str]],
    form: ErrorForm,
    key: str | None = None,
    origins: Sequence[str] = (),
) -> Starlette:
    """Return an application with routes, /health, /metrics and /version. Pages from `origins` may use it."""

    async def health(request: Request) -> Response:
        is_ready = is_healthy() and not state.is_stopping
        status = "ok" if is_ready else "stopping" if state.is_stopping else "failed"
        return JSONResponse({"status": status}, 200 if is_ready else 503)

    async def show_metrics(request: Request) -> Response:
        return PlainTextResponse("".join(f"{line}\n" for line in metrics()), headers={"Content-Type": CONTENT_TYPE})

    async def version(request: Request) -> Response:
        return JSONResponse({"version": rx.__version__})

    async def on_api_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return error_response(error, form)

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = _PHRASES.get(error.status_code, error.detail)
        return error_response(ApiError(error.status_code, f"{request.method} {request.url.path}: {text}"), form)

    async def on_relax_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RelaxError)
        return error_response(ApiError(400, error.message), form)

    async def on_deep(request: Request, error: Exception) -> Response:
        return error_response(ApiError(400, "the body is nested too deeply"), form)

    async def on_gone(request: Request, error: Exception) -> Response:
        return Response(status_code=_CLIENT_GONE)

    async def on_failure(request: Request, error: Exception) -> Response:
        message = "the request failed by an error of the server: its log has the reason"
        return error_response(ApiError(500, message, code="internal_error"), form)

    own: Sequence[BaseRoute] = (Route("/health", health), Route("/metrics", show_metrics), Route("/version", version))
    # Browsers ask without the key which headers they may send, so this comes before the guard.
    cors = [Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])]
    return Starlette(
        routes=[*own, *routes],
        middleware=[*(cors if origins else ()), Middleware(Guard, state=state, key=key, form=form)],
        exception_handlers={
            ApiError: on_api_error,
            HTTPException: on_http_error,
            RelaxError: on_relax_error,
            RecursionError: on_deep,
            ClientDisconnect: on_gone,
            Exception: on_failure,
        },
    )


async def read_object(request: Request, limits: ServerLimits) -> dict[str, object]:
    """Return the JSON object in the body of a request."""
    body = await read_body(request, limits.body)
    return _parse_body(body, limits) if len(body) < _LONG_BODY else await run_in_threadpool(_parse_body, body, limits)


def _parse_body(body: bytes, limits: ServerLimits) -> dict[str, object]:
    check_values(body, limits)
    return dict(parse_object(body))


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of a request. Raise ApiError if it is larger than the limit."""
    return await read_limited(request.stream(), request.headers.get("content-length"), limit)


async def until_gone(request: Request, work: Coroutine[object, object, _Result]) -> _Result:
    """Return the result of work. Cancel the work when the client has closed the connection."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_for_end(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
        return await task
    except asyncio.CancelledError:
        if not gone.done():  # this task itself was cancelled
            raise
        raise ApiError(499, "the client has closed the connection") from None
    finally:
        task.cancel()
        gone.cancel()


async def _wait_for_end(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
