# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests in the form of OpenAI's API, parsed and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ..fill_marks import FillMarks
from ..requests import Request, SamplingParameters
from .bodies import Fields
from .chat_messages import parse_messages, render
from .constraints import CONSTRAINT_FIELDS, Constraint, call_schema, constraint_of, parameters_of, refuse_both
from .errors import ApiError, invalid
from .field_names import check_names
from .sampling_fields import (
    IGNORED_FIELDS,
    MOST_LOGPROBS,
    SAMPLING_FIELDS,
    choice_count,
    sampling_parameters,
    seeded,
    stop_texts,
)
from .served_model import ServedModel
from .tools import Tools, parse_tools

#: OpenAI's number of tokens of a completion without max_tokens.
_USUAL_TOKENS = 16
_COMMON = (*SAMPLING_FIELDS, *CONSTRAINT_FIELDS, *IGNORED_FIELDS, "model", "stream", "stream_options")
#: Fields that change the text of a chat.
CHAT_VARIABLES = ("chat_template_kwargs", "add_generation_prompt", "continue_final_message", "reasoning_effort")
_COMPLETION_FIELDS = (*_COMMON, "prompt", "suffix", "echo", "logprobs")
_CHAT_FIELDS = (
    *(*_COMMON, "messages", "max_completion_tokens", "logprobs", "top_logprobs"),
    *("tools", "tool_choice", "parallel_tool_calls", "modalities", *CHAT_VARIABLES),
)


@dataclass(frozen=True)
class AnswersRequest:
    """Request for answers: prompts, the number of answers to each prompt, and the form of the result."""

    model: ServedModel
    prompts: Sequence[Sequence[int]]
    #: Text to return before the answers of each prompt (`echo`).
    echoes: Sequence[str]
    choices: int
    parameters: SamplingParameters
    stops: tuple[str, ...]
    is_chat: bool
    #: Field that the prompts come from.
    param: str = "prompt"
    #: The answers are empty: the scheduler computes one token, which is dropped.
    has_no_tokens: bool = False
    is_stream: bool = False
    has_usage: bool = False
    constraint: Constraint | None = None
    #: Tools that the model may call.
    tools: Tools | None = None
    #: Fields of the request, which a response repeats.
    fields: Mapping[str, object] = field(default_factory=dict)

    def requests(self) -> list[Request]:
        """Return a request to the scheduler for each answer: all answers to the first prompt, then to the next one."""
        return [
            Request(
                prompt,
                seeded(self.parameters, index),
                None if self.constraint is None else self.constraint.compile(self.model.grammars),
                self.model.adapter,
            )
            for prompt in self.prompts
            for index in range(self.choices)
        ]


def parse_completion(fields: Fields, model: ServedModel) -> AnswersRequest:
    """Return the call of /v1/completions."""
    check_names(fields, _COMPLETION_FIELDS)
    logprobs = fields.count("logprobs", -1, 0, MOST_LOGPROBS)
    echo = fields.flag("echo")
    prompts = prompts_of(fields, "prompt", model)
    if (marks := _fill_marks(fields, model, echo)) is not None:
        prompts = [model.filled(prompt, fields.text("suffix") or "", marks, "suffix") for prompt in prompts]
    most = fields.count("max_tokens", _USUAL_TOKENS, 0 if echo else 1, model.context)
    parameters = sampling_parameters(fields, max(most, 1), logprobs if logprobs >= 0 else None)
    if marks is not None:
        parameters = replace(parameters, stop_tokens=(*parameters.stop_tokens, *marks.ends))
    call = AnswersRequest(
        model=model,
        prompts=prompts,
        echoes=[model.tokenizer.decode(prompt) if echo else "" for prompt in prompts],
        choices=choice_count(fields),
        parameters=_with_echo(parameters, most) if echo else parameters,
        stops=stop_texts(fields),
        is_chat=False,
        has_no_tokens=not most,
        constraint=constraint_of(fields),
    )
    return _check_call(_with_stream(call, fields))


def _fill_marks(fields: Fields, model: ServedModel, echo: bool) -> FillMarks | None:
    """Return the tokens around the gap in front of a suffix, or None for a request without a suffix."""
    if not fields.text("suffix"):
        return None
    if echo:
        raise invalid(
            "suffix and echo exclude each other: expected an answer between the prompt and the suffix", "suffix"
        )
    if (marks := model.tokenizer.fill_marks) is None:
        raise invalid(
            f"suffix: '{model.name}' fills in no gaps, for its tokenizer has no tokens such as <|fim_prefix|>: leave "
            "the suffix out, or use a model of code",
            "suffix",
        )
    return marks


def _with_echo(parameters: SamplingParameters, most_tokens: int) -> SamplingParameters:
    """Return the parameters of an answer behind its prompt."""
    # Clients that score prompts drop the last token of the result. So one token must come, whichever the model chooses.
    ignores_end = parameters.ignore_eos or most_tokens < (1 if parameters.logprobs is None else 2)
    return replace(parameters, prompt_logprobs=parameters.logprobs, ignore_eos=ignores_end)


def parse_chat(fields: Fields, model: ServedModel) -> AnswersRequest:
    """Return the call of /v1/chat/completions."""
    check_names(fields, _CHAT_FIELDS)
    if model.template is None:
        raise invalid(f"the model '{model.name}' has no chat template: use /v1/completions", "model")
    if fields.items("modalities") not in (None, ["text"]):
        raise fields.refuse("modalities", '["text"]')
    tools = parse_offered_tools(fields, model)
    prompt = render(model.template, fields, parse_messages(fields, model), tools)
    name = "max_completion_tokens" if fields.has("max_completion_tokens") else "max_tokens"
    most = fields.count(name, 0, 1, model.context) or None
    logprobs, constraint = _chat_logprobs(fields), constraint_of(fields)
    return chat_call(
        fields, model, prompt, param="messages", tools=tools, constraint=constraint, most=most, logprobs=logprobs
    )


def chat_call(
    fields: Fields,
    model: ServedModel,
    prompt: str,
    *,
    param: str,
    tools: Tools | None,
    constraint: Constraint | None,
    most: int | None,
    logprobs: int | None,
) -> AnswersRequest:
    """Return the call of a chat with the text of its prompt, which comes from the field `param`."""
    if tools is not None and tools.is_forced:
        refuse_both(constraint)
        constraint = _forced_call(tools)
    call = AnswersRequest(
        model=model,
        prompts=[model.encode(prompt, param)],
        echoes=[""],
        choices=choice_count(fields),
        parameters=sampling_parameters(fields, most, logprobs),
        stops=stop_texts(fields),
        is_chat=True,
        param=param,
        constraint=constraint,
        tools=tools,
        fields=fields.values,
    )
    return _check_call(_with_stream(call, fields))


def parse_offered_tools(fields: Fields, model: ServedModel) -> Tools | None:
    """Return the tools of a request. Raise ApiError if the model would not see them."""
    tools = parse_tools(fields)
    if tools is not None and not tools.is_forced and model.template is not None and not model.template.has_tools:
        raise invalid(
            f"the chat template of '{model.name}' has no place for tools, so the model would not see them: leave tools "
            "out, or force a call with tool_choice, which a grammar binds to the schema of the function",
            "tools",
        )
    return tools


def _with_stream(call: AnswersRequest, fields: Fields) -> AnswersRequest:
    is_stream, options = fields.flag("stream"), fields.part("stream_options")
    if options is None:
        return replace(call, is_stream=is_stream)
    if not is_stream:
        raise invalid("stream_options needs stream: true", "stream_options")
    options.refuse_unknown(("include_usage", "include_obfuscation"))
    return replace(call, is_stream=True, has_usage=options.flag("include_usage"))


def _chat_logprobs(fields: Fields) -> int | None:
    top = fields.count("top_logprobs", 0, 0, MOST_LOGPROBS)
    is_wanted = fields.flag("logprobs")
    if top and not is_wanted:
        raise invalid("top_logprobs needs logprobs: true", "top_logprobs")
    return top if is_wanted else None


def _forced_call(tools: Tools) -> Constraint:
    """Return the grammar of a call that the answer must be."""
    if tools.named is not None:
        return Constraint.of_schema(parameters_of(tools.named), "tools")
    return Constraint.of_schema(call_schema(tools.functions), "tools")


def prompts_of(fields: Fields, name: str, model: ServedModel, *, is_embedded: bool = False) -> list[list[int]]:
    """Return the tokens of prompts: a text, tokens, or a list of texts or of tokens."""
    value = fields.get(name)
    encode = partial(model.encode, param=name, is_embedded=is_embedded)
    if value is None:
        raise invalid(f"the field {name} is missing, expected a text, tokens, or a list of these", name)
    if isinstance(value, list) and value and all(isinstance(each, (str, list)) for each in value):
        return [_tokens(fields, name, each, encode) for each in value]
    return [_tokens(fields, name, value, encode)]


def _tokens(fields: Fields, name: str, value: object, encode: Callable[[str], list[int]]) -> list[int]:
    if isinstance(value, str):
        return encode(value)
    if not isinstance(value, list) or not all(type(each) is int and each >= 0 for each in value):
        raise fields.refuse(name, "a text, a list of tokens, or a list of these")
    return value


def _check_call(call: AnswersRequest) -> AnswersRequest:
    """Raise ApiError for a prompt or a token that the model has no place for."""
    for prompt in call.prompts:
        check_tokens(prompt, call.model, call.param, call.model.context - 1)
    if call.parameters.min_tokens and call.constraint is not None:
        raise invalid(
            f"min_tokens and {call.constraint.field} exclude each other: a grammar may allow no more tokens",
            "min_tokens",
        )
    if (biased := max(call.parameters.logit_bias, default=0)) >= call.model.vocabulary:
        raise invalid(_unknown_token("logit_bias", biased, call.model), "logit_bias")
    return call


def check_tokens(prompt: Sequence[int], model: ServedModel, param: str, most: int) -> None:
    """Raise ApiError for an empty prompt, more than `most` tokens, or a token outside of the vocabulary."""
    if not prompt:
        raise invalid(f"{param} has no tokens, expected at least one", param)
    if len(prompt) > most:
        expected = "fewer than" if most < model.context else "at most"
        raise ApiError(
            400,
            f"{param} has {len(prompt)} tokens, expected {expected} {model.context}, the context of '{model.name}'",
            param=param,
            code="context_length_exceeded",
        )
    check_vocabulary(prompt, model, param)


def check_vocabulary(tokens: Sequence[int], model: ServedModel, param: str) -> None:
    """Raise ApiError for a token outside of the vocabulary."""
    if (most := max(tokens, default=0)) >= model.vocabulary:
        raise invalid(_unknown_token(param, most, model), param)


def _unknown_token(param: str, token: int, model: ServedModel) -> str:
    return f"{param} has the token {token}, expected less than {model.vocabulary}, the vocabulary of '{model.name}'"
