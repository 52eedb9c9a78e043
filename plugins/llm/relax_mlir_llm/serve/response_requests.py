# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests to /v1/responses, parsed and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .bodies import Fields
from .chat_messages import render
from .constraints import CONSTRAINT_FIELDS, Constraint, schema_constraint
from .errors import invalid
from .field_names import check_names
from .openai_requests import AnswersRequest, chat_call, parse_offered_tools
from .response_input import parse_input
from .sampling_fields import IGNORED_FIELDS, MOST_LOGPROBS, SAMPLING_FIELDS
from .served_model import ServedModel

_ELSEWHERE = ("n", "best_of", "max_tokens")
FIELDS = (
    *(*IGNORED_FIELDS, *(name for name in SAMPLING_FIELDS if name not in _ELSEWHERE)),
    *("model", "input", "instructions", "max_output_tokens", "tools", "tool_choice", "parallel_tool_calls", "text"),
    *("reasoning", "include", "top_logprobs", "stream", "stream_options", "chat_template_kwargs", "background_options"),
)
#: Fields of OpenAI that would change an answer, and fields of chats -> values with which they would not.
UNSUPPORTED: Mapping[str, Collection[object]] = {
    **{"previous_response_id": (), "conversation": (), "prompt": (), "background": (False,), "max_tool_calls": ()},
    **{"truncation": ("disabled",), "context_management": ([],), "moderation": (), "image": (), "access_programs": ()},
    **{"n": (1,), "best_of": (1,), "max_tokens": (), "max_completion_tokens": (), "messages": (), "logprobs": (False,)},
    **{**dict.fromkeys(CONSTRAINT_FIELDS, ()), "grammar": ("",), "response_format": ({"type": "text"},)},
    **{"reasoning_effort": (), "add_generation_prompt": (True,), "continue_final_message": (False,)},
}
_LOGPROBS = "message.output_text.logprobs"
_INCLUDED = (_LOGPROBS, "reasoning.encrypted_content")
_FORMATS = ("text", "json_object", "json_schema")


def parse_response(fields: Fields, model: ServedModel) -> AnswersRequest:
    """Return the call of /v1/responses."""
    check_names(fields, FIELDS, UNSUPPORTED)
    if model.template is None:
        raise invalid(f"the model '{model.name}' has no chat template: use /v1/completions", "model")
    messages = parse_input(fields, model)
    tools = parse_offered_tools(_with_nested_tools(fields), model)
    prompt = render(model.template, _with_effort(fields), messages, tools, param="input")
    most = fields.count("max_output_tokens", 0, 1, model.context) or None
    included = fields.items("include") or ()
    if [each for each in included if each not in _INCLUDED]:
        raise fields.refuse("include", f"a list of {' and '.join(_INCLUDED)}")
    top = fields.count("top_logprobs", 0, 0, MOST_LOGPROBS)
    logprobs = top if top or _LOGPROBS in included else None
    return chat_call(
        fields, model, prompt, param="input", tools=tools, constraint=_format(fields), most=most, logprobs=logprobs
    )


def _with_nested_tools(fields: Fields) -> Fields:
    """Return the fields with tools in the form of a chat, in which a function is a field of a tool."""
    nested = []
    for tool in fields.parts("tools"):
        if tool.text("type") != "function":
            raise tool.refuse("type", "function: this server calls no tools by itself")
        tool.needed_text("name")
        values = {name: value for name, value in tool.values.items() if name != "type"}
        nested.append({"type": "function", "function": values})
    return Fields({**fields.values, "tools": nested})


def _with_effort(fields: Fields) -> Fields:
    reasoning = fields.part("reasoning")
    effort = None if reasoning is None else reasoning.text("effort")
    return fields if effort is None else Fields({**fields.values, "reasoning_effort": effort})


def _format(fields: Fields) -> Constraint | None:
    """Return the grammar of `text.format`."""
    text = fields.part("text")
    form = None if text is None else text.part("format")
    if form is None:
        return None
    if (kind := form.choice("type", _FORMATS)) is None:
        raise form.refuse("type", f"one of {', '.join(_FORMATS)}")
    if kind == "text":
        return None
    if kind == "json_object":
        return Constraint.of_schema({"type": "object"}, form.path("type"))
    if not form.has("schema"):
        raise invalid(f"the field {form.path('schema')} is missing, expected a JSON schema", form.path("schema"))
    return schema_constraint(form.get("schema"), form.path("schema"))
