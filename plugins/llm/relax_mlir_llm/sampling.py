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
_LEAST_NOISE = 2.0**-60
#: Tokens with a smaller share of the largest weight are chosen so rarely that most need no logarithm.
_RARE = 2.0**-10
#: Block of weights with a common sum: a cumulative sum of all weights takes longer than their sort.
_BLOCK = 256
#: Quotients of logits and a lower temperature could overflow.
_LEAST_TEMPERATURE = 1e-5
#: Upper bounds of logits by the bit of a mask.
_LIMITS = np.array([-np.inf, np.inf], np.float32)


def noise_bits(seed: int, position: int, tokens: ndarray) -> ndarray:
    """Return 64 random bits for each u64 token, a function of seed, position and token."""
    key = _mix_bits(_mix_bits(seed & _WORD) + _STEP * (position + 1))
    bits: ndarray = tokens * np.uint64(_STEP)
    bits += np.uint64(key)
    shifted = bits >> np.uint64(30)
    bits ^= shifted
    bits *= np.uint64(_FIRST)
    np.right_shift(bits, np.uint64(27), out=shifted)
    bits ^= shifted
    bits *= np.uint64(_SECOND)
    np.right_shift(bits, np.uint64(31), out=shifted)
    bits ^= shifted
    return bits


def exponential_noise(bits: ndarray) -> ndarray:
    """Return exponentially distributed f64 noise, which grows with the bits."""
    # Uniform numbers of 53 bits in [0, 1). log1p keeps the small noise exact, which decides the choice.
    noise: ndarray = -np.log1p((bits >> np.uint64(11)) * -(2.0**-53))
    return np.maximum(noise, _LEAST_NOISE)


def _mix_bits(value: int) -> int:
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
        self.is_greedy = parameters.temperature < _LEAST_TEMPERATURE or parameters.top_k == 1
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
        row = logits if self.is_plain else self._adjust(logits)
        best = int(row.argmax())
        if allowed is not None and not (self.is_greedy and allowed[best >> 5] >> (best & 31) & 1):
            row = np.minimum(row, _LIMITS.take(_flags(allowed, row.size)))
            best = int(row.argmax())
        check_logit(row[best])
        return best if self.is_greedy else self._random(row, row[best], position)

    def _adjust(self, logits: ndarray) -> ndarray:
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
        weights = row - largest
        weights /= np.float32(self.parameters.temperature)
        np.exp(weights, out=weights)
        least = self._least_weight(weights)
        kept = np.flatnonzero(weights >= least) if least > 0 else np.arange(weights.size)
        return _race(kept, weights[kept] if least > 0 else weights, self.seed, position)

    def _least_weight(self, weights: ndarray) -> float:
        """Return the least weight that top-k, then top-p among the rest, then min-p keep. The largest weight is 1."""
        count, share = self.parameters.top_k, self.parameters.top_p
        least = 0.0
        if 0 < count < weights.size:
            least = float(np.partition(weights, weights.size - count)[weights.size - count])
        if share < 1:
            least = max(least, _nucleus(weights[weights >= least], share))
        return max(least, self.parameters.min_p)


def _race(tokens: ndarray, weights: ndarray, seed: int, position: int) -> int:
    """Return the token with the largest quotient of weight and noise. The largest weight is 1."""
    bits = noise_bits(seed, position, tokens.astype(np.uint64))
    is_likely = weights >= _RARE
    places = np.flatnonzero(is_likely)
    quotients = weights[places] / exponential_noise(bits[places])
    winner = quotients.argmax()
    place, best = places[winner], quotients[winner]
    # A rare token wins only with noise below this limit. The noise is not less than the uniform number of its bits.
    limit = min(_RARE / best * (1 + 2.0**-20) * 2.0**64, 2.0**64 - 2**11)
    places = np.flatnonzero((bits <= np.uint64(limit)) & ~is_likely)
    quotients = weights[places] / exponential_noise(bits[places])
    if places.size and quotients.max() > best:
        place = places[quotients.argmax()]
    return int(tokens[place])


def _nucleus(weights: ndarray, share: float) -> float:
    """Return the least weight of the fewest largest weights with a share of the sum."""
    # Weights below this bound have less than `1 - share` of the sum together: they are not in the nucleus.
    wanted = share * float(weights.sum(dtype=np.float64))
    likely = weights[weights >= (wanted / share - wanted) / weights.size]
    likely = np.sort(likely)[::-1].astype(np.float64)
    sums = np.cumsum(np.add.reduceat(likely, np.arange(0, likely.size, _BLOCK)))
    block = min(int(np.searchsorted(sums, wanted)), sums.size - 1)
    likely = likely[block * _BLOCK : (block + 1) * _BLOCK]
    before = sums[block - 1] if block else 0.0
    return float(likely[min(int(np.searchsorted(np.cumsum(likely), wanted - before)), likely.size - 1)])


def check_logit(largest: float) -> None:
    """Raise RelaxError if the largest logit of a row is no finite number."""
    if largest == -np.inf:
        raise RelaxError("no token may follow: the grammar or logit_bias excludes all tokens of the vocabulary")
    if not np.isfinite(largest):
        raise RelaxError(f"the largest logit of the model is {largest}, expected a finite number")


def _flags(bits: ndarray, count: int) -> ndarray:
    """Return 0 or 1 for each token from the words of a bit mask."""
    return np.unpackbits(bits.view(np.uint8), count=count, bitorder="little")


def with_logprobs(token: int, logits: ndarray, count: int | None) -> Token:
    """Return a token with its log-probability and the most likely tokens. If count is None, leave these out."""
    if count is None:
        return Token(token)
    shifted = logits.astype(np.float64) - float(logits.max())
    logprobs = shifted - np.log(np.exp(shifted).sum())
    count = min(count, logits.size)
    top = np.argpartition(-logprobs, count - 1)[:count] if count else np.empty(0, np.int64)
    # Equal log-probabilities are in the order of tokens.
    top = top[np.lexsort((top, -logprobs[top]))]
    return Token(token, float(logprobs[token]), tuple(Alternative(int(each), float(logprobs[each])) for each in top))
