# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of /v1/responses: whole, or as a stream of typed events."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing

from ..requests import Token
from .answer_parts import CallAnswer, Usage
from .answer_text import TextPiece
from .errors import ApiError
from .logprobs import described_tokens
from .loop import RunningRequests
from .openai_answers import Answers
from .openai_requests import AnswersRequest
from .tool_calls import ToolCall

_LOG = logging.getLogger("relax-serve")

_Content = dict[str, object]


async def whole_response(call: AnswersRequest, running: RunningRequests) -> _Content:
    """Return the body of an answer that is not a stream."""
    answers = Answers(call, running)
    async with aclosing(answers.pieces()) as pieces:
        async for answer, piece in pieces:
            answer.keep(piece)
    (answer,) = answers
    parsed, status = answer.parsed(), _status(answer)
    output = [_call_item(each, status) for each in parsed.calls]
    if parsed.text or not output:
        output.insert(0, _message(_new_id("msg"), status, _text(call, parsed.text, answer.kept_tokens)))
    return {**_response(call, status), "output": output, "usage": _usage(answers.usage)}


def response_stream(call: AnswersRequest, running: RunningRequests) -> AsyncIterator[str]:
    """Return the server-sent events of an answer. An error during the answer is an event, too."""
    return _Stream(call, running).events()


class _Stream:
    """Stream of one answer. Each event has its type and a number."""

    def __init__(self, call: AnswersRequest, running: RunningRequests) -> None:
        self._call = call
        self._answers = Answers(call, running)
        self._head = _response(call, "in_progress")
        self._number = -1
        #: Finished items, and the identity of the message that is written.
        self._output: list[_Content] = []
        self._message_id: str | None = None
        self._text = ""
        self._tokens: list[tuple[int, Token]] = []

    async def events(self) -> AsyncIterator[str]:
        yield self._event("response.created", response=self._head)
        yield self._event("response.in_progress", response=self._head)
        try:
            async with aclosing(self._answers.pieces()) as pieces:
                async for answer, piece in pieces:
                    for event in self._piece(answer, piece):
                        yield event
        except ApiError as error:
            yield self._fail(error)
        except Exception:
            _LOG.exception("an answer failed")
            yield self._fail(ApiError(500, "the answer failed: the log of the server has the reason"))

    def _event(self, kind: str, **content: object) -> str:
        self._number += 1
        data = {"type": kind, "sequence_number": self._number, **content}
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"

    def _fail(self, error: ApiError) -> str:
        reason = {"code": error.code or "server_error", "message": error.message}
        response = {**self._head, "status": "failed", "output": self._output, "error": reason}
        return self._event("response.failed", response=response)

    def _piece(self, answer: CallAnswer, piece: TextPiece) -> Iterator[str]:
        """Yield the events of a part of the answer."""
        text = answer.visible(piece)
        calls: Sequence[ToolCall] = ()
        if answer.finish_reason:
            rest = answer.rest()
            text, calls = text + rest.text, rest.calls
        self._tokens += piece.tokens
        if text:
            yield from self._delta(text, piece.tokens)
        if answer.finish_reason:
            yield from self._end(answer, calls)

    def _delta(self, text: str, tokens: Sequence[tuple[int, Token]]) -> Iterator[str]:
        if self._message_id is None:
            yield from self._begin_message()
        self._text += text
        logprobs = described_tokens(self._call, tokens)
        yield self._event("response.output_text.delta", **self._place(), delta=text, logprobs=logprobs)

    def _begin_message(self) -> Iterator[str]:
        self._message_id = _new_id("msg")
        item = {**_message(self._message_id, "in_progress", {}), "content": []}
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", **self._place(), part=_text(self._call, "", ()))

    def _place(self) -> _Content:
        return {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def _end(self, answer: CallAnswer, calls: Sequence[ToolCall]) -> Iterator[str]:
        status = _status(answer)
        if self._message_id is None and not calls:
            yield from self._begin_message()
        if self._message_id is not None:
            yield from self._end_message(self._message_id, status)
        for call in calls:
            yield from self._called(_call_item(call, status))
        response = {**self._head, **_ended(status), "output": self._output, "usage": _usage(self._answers.usage)}
        yield self._event(f"response.{status}", response=response)

    def _end_message(self, identity: str, status: str) -> Iterator[str]:
        part = _text(self._call, self._text, self._tokens)
        done = {"text": self._text, "logprobs": part["logprobs"]}
        yield self._event("response.output_text.done", **self._place(), **done)
        yield self._event("response.content_part.done", **self._place(), part=part)
        self._output.append(_message(identity, status, part))
        yield self._event("response.output_item.done", output_index=0, item=self._output[0])

    def _called(self, item: _Content) -> Iterator[str]:
        index, arguments = len(self._output), item["arguments"]
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        place = {"item_id": item["id"], "output_index": index}
        yield self._event("response.function_call_arguments.delta", **place, delta=arguments)
        done = {"name": item["name"], "arguments": arguments}
        yield self._event("response.function_call_arguments.done", **place, **done)
        self._output.append(item)
        yield self._event("response.output_item.done", output_index=index, item=item)


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def _status(answer: CallAnswer) -> str:
    return "incomplete" if answer.finish_reason == "length" else "completed"


def _ended(status: str) -> _Content:
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {"status": status, "incomplete_details": details}


def _response(call: AnswersRequest, status: str) -> _Content:
    """Return the fields of a response without its output."""
    fields, parameters = call.fields, call.parameters
    return {
        "id": _new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        **_ended(status),
        "background": False,
        "error": None,
        "instructions": fields.get("instructions"),
        "max_output_tokens": parameters.max_tokens,
        "metadata": fields.get("metadata") or {},
        "model": call.model.name,
        "output": [],
        "parallel_tool_calls": fields.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None, **_part(fields, "reasoning")},
        "store": False,
        "temperature": parameters.temperature,
        "text": {"format": {"type": "text"}, **_part(fields, "text")},
        "tool_choice": fields.get("tool_choice") or "auto",
        "tools": fields.get("tools") or [],
        "top_logprobs": parameters.logprobs or 0,
        "top_p": parameters.top_p,
        "truncation": "disabled",
        "usage": None,
        "user": fields.get("user"),
    }


def _part(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def _message(identity: str, status: str, part: _Content) -> _Content:
    return {"id": identity, "type": "message", "role": "assistant", "status": status, "content": [part]}


def _text(call: AnswersRequest, text: str, tokens: Sequence[tuple[int, Token]]) -> _Content:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": described_tokens(call, tokens)}


def _call_item(call: ToolCall, status: str) -> _Content:
    # Mistral's template accepts ids of nine letters and digits only.
    identities = {"id": _new_id("fc"), "call_id": uuid.uuid4().hex[:9]}
    return {**identities, "type": "function_call", "status": status, "name": call.name, "arguments": call.arguments}


def _usage(usage: Usage) -> _Content:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }
