# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of a chat, in the form that chat templates expect."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from relax_mlir import RelaxError

from .bodies import Fields
from .errors import invalid
from .served_model import ServedModel, Template
from .tools import Tools

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: Fields of messages that templates get unchanged.
_PASSED = ("name", "tool_call_id", "reasoning_content")


def parse_messages(fields: Fields, model: ServedModel) -> list[dict[str, object]]:
    """Return the messages of a request with texts as contents. Raise ApiError if they cannot fit the context."""
    if not fields.items("messages"):
        raise invalid("the field messages is missing or empty, expected at least one message", "messages")
    messages = [_message(part) for part in fields.parts("messages")]
    # Rendering 10 MB stops other requests for tenths of a second. A character has at least one byte.
    model.check_size(sum(len(str(message["content"])) for message in messages), "messages")
    return messages


def _message(fields: Fields) -> dict[str, object]:
    if (role := fields.choice("role", _ROLES)) is None:
        raise fields.refuse("role", f"one of {', '.join(_ROLES)}")
    message: dict[str, object] = {"role": "system" if role == "developer" else role, "content": _content(fields, role)}
    message.update((name, fields.needed_text(name)) for name in _PASSED if fields.has(name))
    if calls := [_tool_call(part) for part in fields.parts("tool_calls")]:
        message["tool_calls"] = calls
    return message


def _content(fields: Fields, role: str) -> str:
    """Return the text of a message, which may be in parts."""
    if isinstance(value := fields.get("content"), str):
        return value
    if value is None and role == "assistant":  # a message with calls of tools
        return ""
    if value is None:
        raise invalid(f"the field {fields.path('content')} is missing, expected a text", fields.path("content"))
    if not isinstance(value, list):
        raise fields.refuse("content", "a text, or a list of parts with texts")
    return "".join(_part(part) for part in fields.parts("content"))


def _part(part: Fields) -> str:
    if (kind := part.text("type")) not in ("text", "refusal"):
        raise part.refuse("type", "text: this server reads neither pictures nor sounds")
    return part.needed_text(kind)


def _tool_call(call: Fields) -> Mapping[str, object]:
    """Return an earlier call. Templates expect the arguments as an object, and OpenAI has the text of the object."""
    if (function := call.part("function")) is None:
        raise call.refuse("function", "an object with name and arguments")
    described = {"name": function.needed_text("name"), "arguments": parse_arguments(function)}
    return {"id": call.text("id") or "", "type": "function", "function": described}


def parse_arguments(function: Fields) -> dict[str, object]:
    """Return the arguments of a call, which are an object or the text of one."""
    if isinstance(arguments := function.get("arguments"), str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise function.refuse("arguments", "the text of a JSON object") from None
    if not isinstance(arguments, dict):
        raise function.refuse("arguments", "the text of a JSON object")
    return arguments


def render(
    template: Template,
    fields: Fields,
    messages: Sequence[Mapping[str, object]],
    tools: Tools | None,
    *,
    param: str = "messages",
) -> str:
    """Return the prompt of a chat. Raise ApiError if the template refuses the messages, from the field `param`."""
    variables = fields.part("chat_template_kwargs")
    others = {} if variables is None else dict(variables.values)
    if fields.has("reasoning_effort"):
        others.setdefault("reasoning_effort", fields.needed_text("reasoning_effort"))
    reserved = next((name for name in ("self", "messages", "tools", "add_generation_prompt") if name in others), None)
    if reserved is not None:
        raise invalid(f"chat_template_kwargs has '{reserved}', which is a field of its own", "chat_template_kwargs")
    continues = fields.flag("continue_final_message")
    adds_prompt = fields.flag("add_generation_prompt", not continues)
    if continues and (adds_prompt or messages[-1]["role"] != "assistant" or not str(messages[-1]["content"]).strip()):
        raise invalid(
            "continue_final_message needs a last message of the assistant with a text, and no add_generation_prompt",
            "continue_final_message",
        )
    try:
        text = template.render(
            messages, tools=None if tools is None else tools.entries, add_generation_prompt=adds_prompt, **others
        )
    except RelaxError as error:
        raise invalid(error.message, param) from None
    return _cut_after(text, str(messages[-1]["content"])) if continues else text


def _cut_after(text: str, content: str) -> str:
    """Return the text of a chat up to the end of its last message, which the answer continues."""
    for last in (content, content.rstrip(), content.strip()):  # templates may remove white space
        if (place := text.rfind(last)) >= 0:
            return text[: place + len(last)]
    raise invalid("the chat template changes the last message, which can then not be continued", "messages")
