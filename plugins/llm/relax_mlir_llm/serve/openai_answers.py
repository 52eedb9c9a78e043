# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers in the form of OpenAI's API: whole, or as a stream of server-sent events."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple

import relax_mlir as rx

from ..grammar import Grammar
from ..requests import Output, Token
from .answer_parts import CallAnswer, Usage, usage_content
from .answer_text import TextPiece
from .errors import ApiError, invalid
from .logprobs import chat_logprobs, completion_logprobs
from .loop import RunningRequests
from .openai_requests import AnswersRequest
from .tool_calls import ToolCall

_LOG = logging.getLogger("relax-serve")
_DONE = "data: [DONE]\n\n"


class _Head(NamedTuple):
    """Fields of an answer and of each of its parts."""

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str


def _head(call: AnswersRequest) -> _Head:
    prefix = "chatcmpl" if call.is_chat else "cmpl"
    kind = "text_completion" if not call.is_chat else "chat.completion.chunk" if call.is_stream else "chat.completion"
    fingerprint = f"relax-mlir-{rx.__version__}"
    return _Head(f"{prefix}-{uuid.uuid4().hex}", kind, int(time.time()), call.model.name, fingerprint)


class Answers:
    """Answers to one call, which grow with the outputs of the scheduler."""

    def __init__(self, call: AnswersRequest, running: RunningRequests) -> None:
        self.call = call
        self._running = running
        self._answers = [
            CallAnswer(call, index, call.prompts[index // call.choices], call.echoes[index // call.choices])
            for index in range(len(call.prompts) * call.choices)
        ]

    def __iter__(self) -> Iterator[CallAnswer]:
        return iter(self._answers)

    async def pieces(self) -> AsyncGenerator[tuple[CallAnswer, TextPiece], None]:
        """Yield the next parts of the answers. Raise ApiError if the engine ends one of them with an error."""
        async for index, output in self._running.outputs():
            if output.finish_reason == "error":
                raise self._failure(output)
            answer = self._answers[index]
            piece = answer.add(output)
            if answer.text.is_stopped:
                self._running.end(index)
            yield answer, piece

    def _failure(self, output: Output) -> ApiError:
        """Return the error of an answer. A grammar that exceeds a limit is an error of the request."""
        message = output.error or "the engine failed"
        if self._running.is_stopping:
            return ApiError(503, message, code="stopping")
        grammar, constraint = output.request.grammar, self.call.constraint
        if constraint is not None and isinstance(grammar, Grammar) and grammar.is_failed:
            return invalid(f"{constraint.field}: {message}", constraint.field)
        return ApiError(500, message, code="engine_failed")

    @property
    def usage(self) -> Usage:
        """Return the counts of tokens. Answers to one prompt count the prompt once."""
        first = self._answers[:: self.call.choices]
        prompt = sum(len(prompt) for prompt in self.call.prompts)
        completion = sum(answer.count for answer in self._answers)
        return Usage(prompt, completion, sum(answer.cached for answer in first))


async def whole_answer(call: AnswersRequest, running: RunningRequests) -> dict[str, object]:
    """Return the body of an answer that is not a stream."""
    answers = Answers(call, running)
    async with aclosing(answers.pieces()) as pieces:
        async for answer, piece in pieces:
            answer.keep(piece)
    form = _chat_choice if call.is_chat else _completion_choice
    choices = [form(answer) for answer in answers]
    return {**_head(call)._asdict(), "choices": choices, "usage": usage_content(answers.usage)}


def _completion_choice(answer: CallAnswer) -> dict[str, object]:
    return {
        "index": answer.index,
        "text": answer.echo + answer.kept_text,
        "logprobs": completion_logprobs(answer.call, answer.kept_tokens),
        "finish_reason": answer.finish_reason,
    }


def _chat_choice(answer: CallAnswer) -> dict[str, object]:
    parsed = answer.parsed()
    message: dict[str, object] = {"role": "assistant", "content": parsed.text, "refusal": None}
    if parsed.calls:
        message["content"] = parsed.text or None
        message["tool_calls"] = [_call_content(call) for call in parsed.calls]
    logprobs = chat_logprobs(answer.call, answer.kept_tokens)
    reason = _reason(answer, parsed.calls)
    return {"index": answer.index, "message": message, "logprobs": logprobs, "finish_reason": reason}


def _call_content(call: ToolCall) -> dict[str, object]:
    # Mistral's template accepts ids of nine letters and digits only.
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": uuid.uuid4().hex[:9], "type": "function", "function": function}


def _reason(answer: CallAnswer, calls: Sequence[ToolCall]) -> str | None:
    return "tool_calls" if calls and answer.finish_reason == "stop" else answer.finish_reason


async def event_stream(call: AnswersRequest, running: RunningRequests) -> AsyncIterator[str]:
    """Yield the server-sent events of an answer. An error during the answer is an event, too."""
    answers = Answers(call, running)
    head = _head(call)._asdict()
    rest: dict[str, object] = {"usage": None} if call.has_usage else {}
    events = _chat_events if call.is_chat else _completion_events
    try:
        for choice in _first_choices(answers):
            yield _event({**head, "choices": [choice], **rest})
        async with aclosing(answers.pieces()) as pieces:
            async for answer, piece in pieces:
                for choice in events(answer, piece):
                    yield _event({**head, "choices": [choice], **rest})
        if call.has_usage:
            yield _event({**head, "choices": [], "usage": usage_content(answers.usage)})
    except ApiError as error:
        yield _event(error.content())
    except Exception:
        _LOG.exception("an answer failed")
        yield _event(ApiError(500, "the answer failed: the log of the server has the reason").content())
    yield _DONE


def _event(content: Mapping[str, object]) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _first_choices(answers: Answers) -> Iterator[dict[str, object]]:
    """Yield the parts before all tokens: the role in a chat, the prompt with `echo`."""
    for answer in answers:
        if answer.call.is_chat:
            yield _delta(answer, {"role": "assistant", "content": ""})
        elif answer.echo:
            yield {"index": answer.index, "text": answer.echo, "logprobs": None, "finish_reason": None}


def _completion_events(answer: CallAnswer, piece: TextPiece) -> Iterator[dict[str, object]]:
    if piece.text or piece.tokens or answer.finish_reason:
        yield {
            "index": answer.index,
            "text": piece.text,
            "logprobs": completion_logprobs(answer.call, piece.tokens),
            "finish_reason": answer.finish_reason,
        }


def _chat_events(answer: CallAnswer, piece: TextPiece) -> Iterator[dict[str, object]]:
    text, tokens = answer.visible(piece), piece.tokens
    calls: Sequence[ToolCall] = ()
    if answer.finish_reason:
        parsed = answer.rest()
        text, calls = text + parsed.text, parsed.calls
    if text or (tokens and answer.call.parameters.logprobs is not None):
        yield _delta(answer, {"content": text}, tokens)
    for number, call in enumerate(calls):
        yield _delta(answer, {"tool_calls": [{"index": number, **_call_content(call)}]})
    if answer.finish_reason:
        yield {**_delta(answer, {}), "finish_reason": _reason(answer, calls)}


def _delta(
    answer: CallAnswer, delta: Mapping[str, object], tokens: Sequence[tuple[int, Token]] = ()
) -> dict[str, object]:
    logprobs = chat_logprobs(answer.call, tokens) if tokens else None
    return {"index": answer.index, "delta": delta, "logprobs": logprobs, "finish_reason": None}
