# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of requests that choose the tokens of answers."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import RelaxError

from ..requests import SamplingParameters
from .bodies import Fields
from .errors import ApiError, invalid

MOST_LOGPROBS = 20
MOST_CHOICES = 128
_MOST_STOPS = 64

#: Fields that the scheduler checks, under the same names.
_PASSED = ("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias")
#: Fields of all requests for answers.
SAMPLING_FIELDS = (
    *(*_PASSED, "top_k", "seed", "stop", "stop_token_ids", "ignore_eos", "n", "best_of", "max_tokens", "min_tokens"),
)
#: Fields of OpenAI's clients without an effect here.
IGNORED_FIELDS = (
    *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
    *("prompt_cache_options", "prediction", "guided_decoding_backend", "spaces_between_special_tokens"),
    *("verbosity", "request_id", "priority", "cache_salt"),
)


def sampling_parameters(fields: Fields, most_tokens: int | None, logprobs: int | None) -> SamplingParameters:
    """Return the parameters of an answer. Stop texts are not among them: the server finds stop texts in the answer."""
    passed = {name: fields.get(name) for name in _PASSED if fields.has(name)}
    top_k = fields.integer("top_k")
    try:
        return SamplingParameters(
            max_tokens=most_tokens,
            top_k=0 if top_k in (None, -1) else top_k,
            seed=fields.integer("seed"),
            stop_tokens=_stop_tokens(fields),
            ignore_eos=fields.flag("ignore_eos"),
            logprobs=logprobs,
            min_tokens=fields.integer("min_tokens") or 0,
            **passed,  # type: ignore[arg-type]  # SamplingParameters checks the values
        )
    except RelaxError as error:
        raise _with_field(error, fields) from None
    except OverflowError:
        raise invalid("a number has too many digits, expected at most 300") from None


def _stop_tokens(fields: Fields) -> tuple[int, ...]:
    tokens = fields.items("stop_token_ids") or ()
    if not all(type(token) is int and token >= 0 for token in tokens):
        raise fields.refuse("stop_token_ids", "a list of tokens, integers of at least 0")
    return tuple(token for token in tokens if isinstance(token, int))


def _with_field(error: RelaxError, fields: Fields) -> ApiError:
    """Return the error for the user, with the field that its first word names."""
    name = error.message.split()[0].rstrip(":")
    return invalid(error.message, name if name in fields.values else None)


def seeded(parameters: SamplingParameters, index: int) -> SamplingParameters:
    """Return the parameters for one of several answers: each has a seed of its own."""
    if parameters.seed is None or index == 0:
        return parameters
    return replace(parameters, seed=(parameters.seed + index + 2**63) % 2**64 - 2**63)


def stop_texts(fields: Fields) -> tuple[str, ...]:
    """Return the texts that end an answer."""
    value = fields.get("stop")
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS:
        raise fields.refuse("stop", f"a text, or a list of at most {_MOST_STOPS} texts")
    if not all(isinstance(stop, str) and stop for stop in stops):
        raise fields.refuse("stop", "texts with at least one character")
    return tuple(stops)


def choice_count(fields: Fields) -> int:
    """Return the number of answers to a prompt."""
    count = fields.count("n", 1, 1, MOST_CHOICES)
    if fields.count("best_of", count, 1, MOST_CHOICES) != count:
        raise fields.refuse("best_of", f"the same number as n, {count}: all answers are returned")
    return count
