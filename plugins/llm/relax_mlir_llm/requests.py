# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests to the scheduler, and the tokens that it returns."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from operator import index
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from relax_mlir import RelaxError

if TYPE_CHECKING:
    from numpy import ndarray

#: Reason why an answer ended. An answer that goes on has None.
FinishReason = Literal["stop", "length", "cancelled", "error"]

#: Bounds of the numbers in SamplingParameters, as OpenAI documents them where it has the parameter.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 100.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repetition_penalty": (0.01, 100.0),
}
#: Integers with their least values. None is accepted too, except for top_k.
_LEAST: Mapping[str, int] = {
    "max_tokens": 1,
    "top_k": 0,
    "seed": -(2**63),
    "logprobs": 0,
    "prompt_logprobs": 0,
    "min_tokens": 0,
}
_LARGEST_BIAS = 100.0


class TokenMask(Protocol):
    """Grammar of one answer: tells which tokens may be next."""

    @property
    def is_finished(self) -> bool:
        """Return True if no token can follow."""

    def fill(self, bitmask: ndarray) -> None:
        """Set bit `token % 32` of the i32 word `token // 32` for each token that may be next, clear the other bits."""

    def accept(self, token: int) -> None:
        """Advance by a token. Raise RelaxError if the grammar has no place for the token."""


@runtime_checkable
class ForcedTokens(Protocol):
    """Addition to TokenMask: a grammar that knows tokens in advance, such as the names of a JSON schema."""

    def forced(self) -> list[int]:
        """Return the next tokens if only one text can follow. The scheduler uses the tokens as a draft."""


@dataclass(frozen=True)
class SamplingParameters:
    """Choice of the tokens of one answer."""

    #: Most tokens of the answer. None: as many as the context has room for.
    max_tokens: int | None = None
    #: 0 chooses the most likely token each time.
    temperature: float = 1.0
    #: Sample from the most likely tokens, which together have this probability.
    top_p: float = 1.0
    #: Sample from so many most likely tokens, and from tokens as likely as the last of these. 0: all.
    top_k: int = 0
    #: Sample from tokens with at least this share of the largest probability.
    min_p: float = 0.0
    #: Equal seeds give equal answers. None: a random seed.
    seed: int | None = None
    #: Texts that end the answer. The scheduler needs the argument `decode` for these.
    stop: tuple[str, ...] = ()
    #: Tokens that end the answer, besides the scheduler's `end_tokens`.
    stop_tokens: tuple[int, ...] = ()
    #: Subtracted from the logits of tokens in the answer so far.
    presence_penalty: float = 0.0
    #: Subtracted from the logits of tokens in the answer so far, once for each use.
    frequency_penalty: float = 0.0
    #: Positive logits of tokens in the prompt or the answer are divided by this, negative logits multiplied.
    repetition_penalty: float = 1.0
    #: Added to the logits of tokens.
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    #: Number of most likely tokens to return with each token. None: no log-probabilities at all.
    logprobs: int | None = None
    #: The same for each token of the prompt. These tokens are computed even if the prefix cache has their pages.
    prompt_logprobs: int | None = None
    #: Continue after the scheduler's `end_tokens`.
    ignore_eos: bool = False
    #: Tokens before which neither `end_tokens` nor `stop_tokens` may end the answer.
    min_tokens: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if not _is_number(value) or not low <= value <= high:
                raise RelaxError(f"{name} is {value!r}, expected a number from {low:g} to {high:g}")
        for name, least in _LEAST.items():
            _check_integer(name, getattr(self, name), least)
        if not self.top_p:
            raise RelaxError("top_p is 0, expected a number above 0 and up to 1. Use temperature=0 for one choice")
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise RelaxError(f"min_tokens is {self.min_tokens}, expected at most max_tokens, {self.max_tokens}")
        if not isinstance(self.ignore_eos, bool):
            raise RelaxError(f"ignore_eos is {self.ignore_eos!r}, expected True or False")
        object.__setattr__(self, "stop", _checked_texts(self.stop))
        object.__setattr__(self, "stop_tokens", _checked_tokens("stop_tokens", self.stop_tokens))
        object.__setattr__(self, "logit_bias", _checked_bias(self.logit_bias))


@dataclass(frozen=True, eq=False)
class Request:
    """Prompt and choice of its answer."""

    prompt: Sequence[int]
    parameters: SamplingParameters = field(default_factory=SamplingParameters)
    #: A request needs a grammar object of its own.
    grammar: TokenMask | None = None
    #: Name of an adapter (LoRA) that the engine has.
    adapter: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt", _checked_tokens("prompt", self.prompt))
        if not self.prompt:
            raise RelaxError(f"request '{self.id}': the prompt has no tokens, expected at least one")


class Alternative(NamedTuple):
    """Likely token at the place of a token."""

    token: int
    logprob: float


class Token(NamedTuple):
    """Token of an answer or a prompt."""

    token: int
    #: Logarithm of the model's probability, before penalties, temperature and grammar. None unless requested.
    logprob: float | None = None
    #: The most likely tokens at this place, in descending order.
    top: tuple[Alternative, ...] = ()


class Output(NamedTuple):
    """Result of a step for one request. The token that ends an answer is not part of the answer."""

    request: Request
    tokens: tuple[Token, ...] = ()
    finish_reason: FinishReason | None = None
    #: Sentence for the user if the finish reason is "error".
    error: str | None = None
    #: Tokens of the prompt that the prefix cache had.
    cached_tokens: int = 0
    #: Tokens of the prompt if `prompt_logprobs` requests these: once, with the begin of the answer. The first has no
    #: log-probability.
    prompt: tuple[Token, ...] = ()


class Statistics(NamedTuple):
    """Counts of a scheduler: its present state, and sums since it was made."""

    running: int
    waiting: int
    #: Pages of running requests, pages that only the prefix cache has, and empty pages.
    pages_used: int
    pages_cached: int
    pages_free: int
    #: Sums: tokens of prompts, and how many of these the prefix cache had.
    prompt_tokens: int
    prefix_hits: int
    #: Sums: tokens of answers, and how many of these were accepted drafts.
    tokens: int
    accepted_drafts: int
    proposed_drafts: int
    #: Sums: requests that gave their pages away, and calls of the engine.
    preempted: int
    steps: int


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_integer(name: str, value: object, least: int) -> None:
    """Raise RelaxError unless the value is an integer in its range, or None where that has a meaning."""
    if value is None and name not in ("top_k", "min_tokens"):
        return
    if not _is_integer(value) or not least <= value < 2**64:  # type: ignore[operator]
        expected = "an integer of 64 bits" if name == "seed" else f"an integer of at least {least}"
        raise RelaxError(f"{name} is {value!r}, expected {expected}")


def _checked_texts(texts: object) -> tuple[str, ...]:
    """Return stop texts as a tuple. A single text becomes a tuple, too."""
    checked_texts = (
        (texts,) if isinstance(texts, str) else tuple(texts) if isinstance(texts, (list, tuple)) else (None,)
    )
    if any(not isinstance(text, str) or not text for text in checked_texts):
        raise RelaxError(f"stop is {texts!r}, expected a text or a list of texts, each with at least one character")
    return checked_texts


def _checked_tokens(name: str, tokens: object) -> tuple[int, ...]:
    """Return tokens as a tuple of Python's integers. Arrays and integers of NumPy are accepted."""
    items = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    try:
        checked_tokens = tuple(index(item) for item in items) if isinstance(items, (list, tuple)) else (-1,)
    except TypeError:
        checked_tokens = (-1,)
    if min(checked_tokens, default=0) < 0:
        raise RelaxError(f"{name}: expected a list of tokens, integers of at least 0, got {_shorten(tokens)}")
    return checked_tokens


def _checked_bias(bias: object) -> dict[int, float]:
    """Return a copy of the biases. JSON has texts as keys, so texts of integers are accepted."""
    if not isinstance(bias, Mapping):
        raise RelaxError(f"logit_bias is {_shorten(bias)}, expected a mapping from tokens to numbers")
    checked_bias: dict[int, float] = {}
    for key, value in bias.items():
        if not str(key).isdecimal() or isinstance(key, bool):
            raise RelaxError(f"logit_bias has the key {key!r}, expected a token, an integer of at least 0")
        if not _is_number(value) or not -_LARGEST_BIAS <= value <= _LARGEST_BIAS:
            raise RelaxError(f"logit_bias of token {key} is {value!r}, expected a number from -100 to 100")
        checked_bias[int(key)] = float(value)
    return checked_bias


def _shorten(value: object) -> str:
    """Return the representation of a value, cut to the length of a line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
