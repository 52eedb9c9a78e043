# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Input of /v1/responses as the messages of a chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .bodies import Fields
from .chat_messages import parse_arguments
from .errors import invalid
from .served_model import ServedModel

_ROLES = ("system", "developer", "user", "assistant")
_TEXTS = ("input_text", "output_text", "text", "refusal")
_ITEMS = ("message", "function_call", "function_call_output", "reasoning")

Message = dict[str, object]


def parse_input(fields: Fields, model: ServedModel) -> list[Message]:
    """Return the messages of a request: its instructions, and its input. Raise ApiError if they cannot fit."""
    instructions = fields.text("instructions")
    messages: list[Message] = [{"role": "system", "content": instructions}] if instructions else []
    if isinstance(value := fields.get("input"), str):
        messages.append({"role": "user", "content": value})
    elif isinstance(value, list) and value:
        messages += _messages(fields)
    else:
        raise fields.refuse("input", "a text, or a list with at least one item")
    if not any(message["role"] != "system" for message in messages):
        raise invalid("input has no message besides those of the system, expected at least one", "input")
    model.check_size(sum(len(str(message["content"])) for message in messages), "input")
    return messages


def _messages(fields: Fields) -> Iterator[Message]:
    """Yield the messages of items. Calls that follow each other, or a message of the assistant, are one message."""
    last: Message | None = None
    for item in fields.parts("input"):
        kind = item.choice("type", _ITEMS) or "message"
        if kind == "reasoning":  # templates drop earlier reasoning, too
            continue
        if kind == "function_call":
            if last is None or last["role"] != "assistant":
                yield from () if last is None else (last,)
                last = {"role": "assistant", "content": ""}
            calls = last.setdefault("tool_calls", [])
            assert isinstance(calls, list)
            calls.append(_call(item))
            continue
        if last is not None:
            yield last
        last = _output(item) if kind == "function_call_output" else _message(item)
    if last is not None:
        yield last


def _message(item: Fields) -> Message:
    if (role := item.choice("role", _ROLES)) is None:
        raise item.refuse("role", f"one of {', '.join(_ROLES)}")
    return {"role": "system" if role == "developer" else role, "content": _text(item, "content")}


def _call(item: Fields) -> Mapping[str, object]:
    function = {"name": item.needed_text("name"), "arguments": parse_arguments(item)}
    return {"id": item.needed_text("call_id"), "type": "function", "function": function}


def _output(item: Fields) -> Message:
    return {"role": "tool", "tool_call_id": item.needed_text("call_id"), "content": _text(item, "output")}


def _text(item: Fields, name: str) -> str:
    """Return the text of a field, which may be in parts."""
    if isinstance(value := item.get(name), str):
        return value
    if not isinstance(value, list):
        raise item.refuse(name, "a text, or a list of parts with texts")
    return "".join(_part(part) for part in item.parts(name))


def _part(part: Fields) -> str:
    if (kind := part.text("type")) not in _TEXTS:
        raise part.refuse("type", "input_text or output_text: this server reads neither pictures, files nor sounds")
    return part.needed_text("refusal" if kind == "refusal" else "text")
