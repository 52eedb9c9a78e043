# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of a token from logits: penalties, bias, grammar mask, temperature, top-k, top-p, min-p, and random noise.

A random choice is `argmax(weight / noise)` with exponential noise: an exact sample of the distribution. The noise is a
function of seed, position and token. So an answer depends neither on the batch nor on preemption. A draft model that
uses the same noise mostly proposes the token that the model chooses, and speculation never changes an answer.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
from relax_mlir import RelaxError

from .requests import Alternative, SamplingParameters, Token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import ndarray

_WORD = 2**64 - 1
#: Constants of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def exponential_noise(seed: int, position: int, tokens: ndarray) -> ndarray:
    """Return exponentially distributed f64 noise for tokens, a function of seed, position and token alone."""
    key = _mixed(_mixed(seed & _WORD) + _STEP * (position + 1))
    bits = tokens.astype(np.uint64) * np.uint64(_STEP) + np.uint64(key)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(_FIRST)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(_SECOND)
    bits ^= bits >> np.uint64(31)
    # Uniform numbers of 53 bits in [0, 1). log1p keeps the small noise exact, which decides the choice.
    noise: ndarray = -np.log1p((bits >> np.uint64(11)).astype(np.float64) * -(2.0**-53))
    return np.maximum(noise, 2.0**-60)


def _mixed(value: int) -> int:
    """Return the output function of SplitMix64."""
    value &= _WORD
    value = (value ^ value >> 30) * _FIRST & _WORD
    value = (value ^ value >> 27) * _SECOND & _WORD
    return value ^ value >> 31


class Sampler:
    """Sampling state of one request: its parameters, and the tokens so far that penalties count."""

    def __init__(self, parameters: SamplingParameters, prompt: Sequence[int]) -> None:
        self.parameters = parameters
        self.seed = secrets.randbits(64) if parameters.seed is None else parameters.seed
        #: The choice is the largest logit, and the lowest token among equal logits.
        self.is_greedy = parameters.temperature == 0 or parameters.top_k == 1
        self._has_penalties = bool(parameters.presence_penalty or parameters.frequency_penalty)
        self._counts: dict[int, int] = {}
        self._seen = dict.fromkeys(prompt) if parameters.repetition_penalty != 1 else {}
        self._biased = np.array(list(parameters.logit_bias), np.int64)
        self._bias = np.array(list(parameters.logit_bias.values()), np.float32)
        #: Logits are used as they are, but for the grammar.
        self.is_plain = not (self._has_penalties or self._seen or self._biased.size)

    def count(self, token: int) -> None:
        """Add a token of the answer to the counts of the penalties."""
        if self._has_penalties:
            self._counts[token] = self._counts.get(token, 0) + 1
        if self._seen:
            self._seen[token] = None

    def choose(self, logits: ndarray, position: int, allowed: ndarray | None = None) -> int:
        """Return the token at a position of the sequence, from its logits and the bits of the allowed tokens."""
        row = logits if self.is_plain else self._adjusted(logits)
        if allowed is not None:
            row = np.where(_flags(allowed, row.size), row, -np.inf)
        best = int(row.argmax())
        check_logit(row[best])
        return best if self.is_greedy else self._random(row, row[best], position)

    def _adjusted(self, logits: ndarray) -> ndarray:
        """Return a copy of the logits with penalties and bias."""
        row: ndarray = logits.astype(np.float32)
        if self._seen:
            seen = np.fromiter(self._seen, np.int64, len(self._seen))
            penalty, values = self.parameters.repetition_penalty, row[seen]
            row[seen] = np.where(values > 0, values / penalty, values * penalty)
        if self._counts:
            used = np.fromiter(self._counts, np.int64, len(self._counts))
            uses = np.fromiter(self._counts.values(), np.float32, len(self._counts))
            row[used] -= self.parameters.presence_penalty + self.parameters.frequency_penalty * uses
        row[self._biased] += self._bias
        return row

    def _random(self, row: ndarray, largest: float, position: int) -> int:
        """Return a random token by the probabilities of a row."""
        weights = np.exp((row - largest) / np.float32(self.parameters.temperature))
        kept = np.flatnonzero(weights >= max(self._least_weight(weights), np.float32(1e-37)))
        noise = exponential_noise(self.seed, position, kept)
        return int(kept[(weights[kept] / noise).argmax()])

    def _least_weight(self, weights: ndarray) -> float:
        """Return the least weight that top-k, then top-p among the rest, then min-p keep. The largest weight is 1."""
        count, share = self.parameters.top_k, self.parameters.top_p
        least = np.float32(0)
        if 0 < count < weights.size:
            least = np.partition(weights, weights.size - count)[weights.size - count]
        if share < 1:
            least = max(least, _nucleus(weights[weights >= least], share))
        return max(least, np.float32(self.parameters.min_p))


def _nucleus(weights: ndarray, share: float) -> float:
    """Return the least weight of the fewest largest weights with a share of the sum."""
    # Weights below this bound have less than `1 - share` of the sum together: they are not in the nucleus.
    total = float(weights.sum(dtype=np.float64))
    likely = weights[weights >= (1 - share) * total / weights.size]
    likely = np.sort(likely)[::-1].astype(np.float64)
    return np.float32(likely[min(int(np.searchsorted(np.cumsum(likely), share * total)), likely.size - 1)])


def check_logit(largest: float) -> None:
    """Raise RelaxError if the largest logit of a row is no finite number."""
    if largest == -np.inf:
        raise RelaxError("no token may follow: the grammar or logit_bias excludes all tokens of the vocabulary")
    if not np.isfinite(largest):
        raise RelaxError(f"the largest logit of the model is {largest}, expected a finite number")


def _flags(bits: ndarray, count: int) -> ndarray:
    """Return a boolean for each token from the words of a bit mask."""
    return np.unpackbits(bits.view(np.uint8), count=count, bitorder="little").view(np.bool_)


def with_logprobs(token: int, logits: ndarray, count: int | None) -> Token:
    """Return a token with its log-probability and the most likely tokens, or the token alone if count is None."""
    if count is None:
        return Token(token)
    shifted = logits.astype(np.float64) - float(logits.max())
    logprobs = shifted - np.log(np.exp(shifted).sum())
    count = min(count, logits.size)
    top = np.argpartition(-logprobs, count - 1)[:count] if count else np.empty(0, np.int64)
    # Equal log-probabilities are in the order of tokens.
    top = top[np.lexsort((top, -logprobs[top]))]
    return Token(token, float(logprobs[token]), tuple(Alternative(int(each), float(logprobs[each])) for each in top))
