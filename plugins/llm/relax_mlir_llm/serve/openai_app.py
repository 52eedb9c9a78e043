# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Routes of OpenAI's API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .. import requests
from .bodies import Fields
from .embeddings import EmbeddingCall, embeddings_answer, parse_embeddings
from .errors import ApiError, invalid
from .http_app import State, make_app, read_object, until_gone
from .loop import RunningRequests
from .metrics import MeasuredModel, scheduler_lines
from .openai_answers import event_stream, whole_answer
from .openai_requests import AnswersRequest, parse_chat, parse_completion
from .rerank import RankingCall, parse_ranking, ranking_answer
from .response_answers import response_stream, whole_response
from .response_requests import parse_response
from .served_model import ServedModel
from .tokens import text_answer, tokens_answer

if TYPE_CHECKING:
    from numpy import ndarray

#: Function from the fields of a body and a model to a call.
Parse = Callable[[Fields, ServedModel], AnswersRequest]


_HasTexts = TypeVar("_HasTexts", EmbeddingCall, RankingCall)


class _Endpoint(NamedTuple):
    """Form of requests for answers, and of the answers."""

    parse: Parse
    whole: Callable[[AnswersRequest, RunningRequests], Coroutine[object, object, dict[str, object]]] = whole_answer
    stream: Callable[[AnswersRequest, RunningRequests], AsyncIterator[str]] = event_stream


class OpenAIRoutes:
    """Endpoints over some models."""

    def __init__(self, models: Mapping[str, ServedModel]) -> None:
        self._models = models
        self._limits = next(iter(models.values())).limits

    async def list_models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [model.description() for model in self._models.values()]})

    async def show_model(self, request: Request) -> Response:
        return JSONResponse(self._find_model(request.path_params["name"]).description())

    async def complete(self, request: Request) -> Response:
        return await self._answer(request, _Endpoint(parse_completion))

    async def chat(self, request: Request) -> Response:
        return await self._answer(request, _Endpoint(parse_chat))

    async def respond(self, request: Request) -> Response:
        return await self._answer(request, _Endpoint(parse_response, whole_response, response_stream))

    async def embed(self, request: Request) -> Response:
        return await self._pool(request, parse_embeddings, embeddings_answer)

    async def rank(self, request: Request) -> Response:
        return await self._pool(request, parse_ranking, ranking_answer)

    async def _pool(
        self,
        request: Request,
        parse: Callable[[Fields, ServedModel], _HasTexts],
        answer: Callable[[_HasTexts, ndarray], dict[str, object]],
    ) -> Response:
        """Answer a request for which the model pools the hidden states of some texts."""
        fields = Fields(await read_object(request, self._limits))
        model = self._model(fields)
        # Tokenizers and answers of many numbers may take longer than a token.
        call = await run_in_threadpool(parse, fields, model)
        pooled = await until_gone(request, _result(model.loop.embed(call.texts)))
        return JSONResponse(await run_in_threadpool(answer, call, pooled))

    async def tokenize(self, request: Request) -> Response:
        return await self._tokens(request, tokens_answer)

    async def detokenize(self, request: Request) -> Response:
        return await self._tokens(request, text_answer)

    async def _tokens(self, request: Request, answer: Callable[[Fields, ServedModel], dict[str, object]]) -> Response:
        fields = Fields(await read_object(request, self._limits))
        return JSONResponse(await run_in_threadpool(answer, fields, self._model(fields)))

    async def _answer(self, request: Request, form: _Endpoint) -> Response:
        fields = Fields(await read_object(request, self._limits))
        model = self._model(fields)
        if not model.has_answers:
            raise invalid(f"the model '{model.name}' has embeddings only: use /v1/embeddings or /v1/rerank", "model")
        # Templates, tokenizers and compilers of grammars may take longer than a token.
        call, queued = await run_in_threadpool(_parse_call, form.parse, fields, model)
        running = RunningRequests(model.loop, queued)
        running.start()
        if call.is_stream:
            return _EventStream(form.stream(call, running), running)
        try:
            return JSONResponse(await until_gone(request, form.whole(call, running)))
        finally:
            running.close()

    def _model(self, fields: Fields) -> ServedModel:
        """Return the model that a request names. The only model needs no name."""
        if fields.text("model") is None and len(self._models) == 1:
            (only,) = self._models.values()
            return only
        return self._find_model(fields.needed_text("model"))

    def _find_model(self, name: str) -> ServedModel:
        if (model := self._models.get(name)) is None:
            known = ", ".join(self._models)
            raise ApiError(404, f"there is no model '{name}'; there is {known}", param="model", code="model_not_found")
        return model


class _EventStream(StreamingResponse):
    """Stream of an answer. The end of the stream or of the connection cancels unfinished requests."""

    def __init__(self, events: AsyncIterator[str], running: RunningRequests) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._running.close()


def _parse_call(parse: Parse, fields: Fields, model: ServedModel) -> tuple[AnswersRequest, list[requests.Request]]:
    call = parse(fields, model)
    return call, call.requests()


async def _result(future: Future[ndarray]) -> ndarray:
    """Return the result of the scheduler's thread. Cancelling this task cancels the work."""
    return await asyncio.wrap_future(future)


def make_openai_app(
    models: Mapping[str, ServedModel], state: State, *, key: str | None = None, origins: Sequence[str] = ()
) -> Starlette:
    """Return the application of OpenAI's API over models by name."""
    routes = OpenAIRoutes(models)

    def metrics() -> Iterable[str]:
        # An adapter shares the scheduler of its model.
        own = (model for model in models.values() if model.parent is None)
        return scheduler_lines(MeasuredModel(each.name, each.loop.metrics, each.loop.statistics) for each in own)

    return make_app(
        [
            Route("/v1/models", routes.list_models),
            Route("/v1/models/{name:path}", routes.show_model),
            Route("/v1/completions", routes.complete, methods=["POST"]),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/responses", routes.respond, methods=["POST"]),
            Route("/v1/embeddings", routes.embed, methods=["POST"]),
            Route("/v1/rerank", routes.rank, methods=["POST"]),
            Route("/rerank", routes.rank, methods=["POST"]),
            Route("/tokenize", routes.tokenize, methods=["POST"]),
            Route("/detokenize", routes.detokenize, methods=["POST"]),
        ],
        state,
        is_healthy=lambda: all(model.loop.is_alive for model in models.values()),
        metrics=metrics,
        form=ApiError.content,
        key=key,
        origins=origins,
    )
