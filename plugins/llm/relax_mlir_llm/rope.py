# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Frequencies of rotary position embeddings, and their scalings for long contexts.

Position p turns the pair (i, i + size / 2) of a head by p * frequency i. RoFormer: https://arxiv.org/abs/2104.09864.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import relax_mlir as rx

from .facts import Facts


@dataclass(frozen=True)
class Rope:
    """Rotation of the first 2 * len(frequencies) elements of a head. The others stay."""

    frequencies: tuple[float, ...]
    #: Factor of the rotated elements.
    magnitude: float = 1.0

    @property
    def size(self) -> int:
        return 2 * len(self.frequencies)


@dataclass(frozen=True)
class Scaling:
    """Request for the rope of a model, from its facts."""

    #: none, linear, llama3, yarn, longrope
    kind: str
    factor: float
    #: Positions in training, before the scaling.
    original: int
    #: Facts about details, under config.json's names.
    details: Facts
    #: Divisors of the frequencies of longrope, and of GGUF's files of llama3.
    divisors: Sequence[float] | None = None


def make_rope(base: float, size: int, scaling: Scaling) -> Rope:
    """Return the rope of a model. Raise ModelError for numbers that give no rotation."""
    path = scaling.details.path
    if base <= 0:
        raise rx.ModelError(f"{path}: the base of the model's rope is {base}, expected a number above 0")
    if size < 2 or size % 2:  # pairs of elements turn
        raise rx.ModelError(f"{path}: the model's rope turns {size} elements, expected an even number above 0")
    if scaling.factor <= 0:
        raise rx.ModelError(f"{path}: the factor of the model's rope is {scaling.factor}, expected a number above 0")
    try:
        rope = _scale_rope(base, size, scaling)
        is_valid = all(0 < frequency < math.inf for frequency in (*rope.frequencies, rope.magnitude))
    except (ArithmeticError, ValueError):  # logarithms and quotients of damaged numbers
        is_valid = False
    if not is_valid:
        raise rx.ModelError(
            f"{path}: the parameters of the model's rope, scaling '{scaling.kind}', give no frequencies above 0: the "
            "file is damaged"
        )
    return rope


def _scale_rope(base: float, size: int, scaling: Scaling) -> Rope:
    plain = [base ** (-2 * i / size) for i in range(size // 2)]
    kind = scaling.kind
    if kind in ("none", "default", "dynamic"):  # dynamic scaling begins beyond the context
        return Rope(_divide_frequencies(plain, scaling))
    if kind == "linear":
        return Rope(tuple(number / scaling.factor for number in plain))
    if kind == "llama3":
        return Rope(tuple(_llama3(number, scaling) for number in plain))
    if kind == "yarn":
        return _yarn(plain, base, size, scaling)
    if kind in ("longrope", "su"):
        return Rope(_divide_frequencies(plain, scaling), _longrope_magnitude(scaling))
    raise rx.RefusalError(
        f"{scaling.details.path}: the rope scaling '{kind}' is not supported (supported: none, linear, dynamic, "
        "llama3, yarn, longrope)"
    )


def _divide_frequencies(plain: Sequence[float], scaling: Scaling) -> tuple[float, ...]:
    if scaling.divisors is None:
        return tuple(plain)
    if len(scaling.divisors) != len(plain):
        raise rx.ModelError(
            f"{scaling.details.path}: the model's rope has {len(scaling.divisors)} factors of frequencies, expected "
            f"{len(plain)}, one for each pair of rotated elements"
        )
    return tuple(number / divisor for number, divisor in zip(plain, scaling.divisors, strict=True))


def _llama3(frequency: float, scaling: Scaling) -> float:
    """Return a frequency, divided by the factor where a turn takes most of the original context."""
    low = scaling.details.number("low_freq_factor", 1.0)
    high = scaling.details.number("high_freq_factor", 4.0)
    if (turns := scaling.original * frequency / (2 * math.pi)) < low:
        return frequency / scaling.factor
    if turns > high:
        return frequency
    share = (turns - low) / (high - low)
    return (1 - share) * frequency / scaling.factor + share * frequency


def _yarn(plain: Sequence[float], base: float, size: int, scaling: Scaling) -> Rope:
    """Return YaRN's rope (https://arxiv.org/abs/2309.00071): high frequencies stay, low ones are divided."""
    details = scaling.details

    def pair_with(turns: float) -> float:
        """Return the pair that makes a number of turns in the original context."""
        return size * math.log(scaling.original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = pair_with(details.number("beta_fast", 32.0))
    high = pair_with(details.number("beta_slow", 1.0))
    if details.flag("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    width = high - low or 0.001
    shares = [min(max((i - low) / width, 0.0), 1.0) for i in range(size // 2)]
    mixed = (number * (1 - s) + number / scaling.factor * s for number, s in zip(plain, shares, strict=True))
    return Rope(tuple(mixed), _yarn_magnitude(scaling))


def _yarn_magnitude(scaling: Scaling) -> float:
    details = scaling.details
    if (stated := details.optional("attention_factor")) is not None:
        return stated
    weight, all_weight = details.optional("mscale"), details.optional("mscale_all_dim")
    if weight is not None and all_weight is not None:
        return _log_magnitude(scaling.factor, weight) / _log_magnitude(scaling.factor, all_weight)
    return _log_magnitude(scaling.factor, 1.0)


def _log_magnitude(factor: float, weight: float) -> float:
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0


def _longrope_magnitude(scaling: Scaling) -> float:
    """Return LongRoPE's factor: https://arxiv.org/abs/2402.13753."""
    if (stated := scaling.details.optional("attention_factor")) is not None:
        return stated
    if scaling.factor <= 1:
        return 1.0
    return math.sqrt(1 + math.log(scaling.factor) / math.log(scaling.original))
