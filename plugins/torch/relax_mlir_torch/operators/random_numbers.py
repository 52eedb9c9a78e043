# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of random numbers, which differ each time that a node runs, and from torch's numbers.

Each draw has a key and a seed (draws.py). A program of rx.from_torch counts its draws, so it draws the same numbers
each time that it is loaded. torch.compile draws a key from torch's generator for each call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.core.infos import bit_width, is_float
from relax_mlir.frontends.core import random_numbers
from relax_mlir.frontends.core.values import as_values

from ..fx_operators import listed, name_of
from ..inner_node import InnerNode
from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    cast,
    const,
    known,
    like,
    part,
    register_rows,
    register_torch,
    relax,
    sizes,
)
from ..prelude import wide_float as wide_of
from ..registry import converted
from .assertions import stop_where
from .control_flow import by_name

# The replacement of dropped elements in alpha_dropout: the minimum of selu.
_LEAST_OF_SELU = -1.7580993408473766


def _drawing(node: TorchNode) -> tuple[Tensor, int]:
    """Return the key and the seed of a draw. A repeated draw has the key of the first one."""
    if node.has("random_key"):
        return node.tensor("random_key"), 0
    return node.graph.draws.key(is_inside=node.graph.is_inside), node.graph.draws.seed(node.fx.name)


def _uniform(node: TorchNode, shape: Sequence[sizes.Size], dtype: str) -> Tensor:
    """Return floats of f32 or f64 in [0, 1)."""
    return random_numbers.uniform(*_drawing(node), shape, dtype)


def _draw_uniform(node: TorchNode) -> Tensor:
    """Return floats in [0, 1) in the shape of the result, in at least f32."""
    return _uniform(node, node.sizes_of_result, wide_of(node.dtype))


def _exponential(node: TorchNode) -> Tensor:
    """Return numbers above 0 with an exponential distribution of rate 1."""
    drawn = _draw_uniform(node)
    return relax.negative(relax.log(relax.subtract(const(1, wide_of(node.dtype)), drawn)))


def _normal(node: TorchNode) -> Tensor:
    wide = wide_of(node.dtype)
    return random_numbers.normal(*_drawing(node), node.sizes_of_result, wide)


def _scale(node: TorchNode, drawn: Tensor, factor: Tensor, offset: Tensor) -> Tensor:
    return cast(relax.add(relax.multiply(drawn, factor), offset), node.dtype)


@register_torch("aten::rand", "aten::rand_like")
def rand(node: TorchNode) -> Outputs:
    return cast(_truncate_below_one(node, _draw_uniform(node)), node.dtype)


def _truncate_below_one(node: TorchNode, drawn: Tensor) -> Tensor:
    """Truncate the digits for narrow types, which would round up to 1."""
    if bit_width(node.dtype) >= 32:
        return drawn
    steps = const(2.0 ** (8 if node.dtype == "bf16" else 11), "f32")
    return relax.divide(relax.floor(relax.multiply(drawn, steps)), steps)


@register_torch("aten::randn", "aten::randn_like")
def randn(node: TorchNode) -> Outputs:
    return cast(_normal(node), node.dtype)


@register_torch("aten::uniform")
def uniform(node: TorchNode) -> Outputs:
    low, high = node.float("from", 0.0), node.float("to", 1.0)
    wide = wide_of(node.dtype)
    return _scale(node, _truncate_below_one(node, _draw_uniform(node)), const(high - low, wide), const(low, wide))


@register_torch("aten::normal", "aten::normal_functional")
def normal(node: TorchNode) -> Outputs:
    """Convert normal. Mean and deviation are numbers or tensors."""
    wide = wide_of(node.dtype)
    mean, deviation = (
        node.operand(name, wide) if node.has(name) else const(default, wide)
        for name, default in (("mean", 0), ("std", 1))
    )
    return _scale(node, _normal(node), deviation, mean)


@register_torch("aten::randint", "aten::randint_like", "aten::random")
def randint(node: TorchNode) -> Outputs:
    """Convert randint: integers from `low` to before `high`, or all non-negative integers of the type."""
    low = node.size("low" if "low" in node.arguments else "from") if node.has("low") or node.has("from") else 0
    high = next((node.size(name) for name in ("high", "to") if node.has(name)), _most(node.dtype))
    bits = random_numbers.hashes(*_drawing(node), node.sizes_of_result)
    count = cast(relax.reshape(sizes.as_tensor([sizes.minus(high, low)]), ()), "ui64")
    return cast(relax.add(cast(relax.floor_mod(bits, count), "i64"), sizes.as_scalar(low, "i64")), node.dtype)


def _most(dtype: str) -> int:
    """Return the exclusive upper limit of `random_`. A float represents all integers below it exactly."""
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "i1": 1, "i64": 62}
    return 2 ** digits[dtype] + (is_float(dtype)) if dtype in digits else 2 ** (bit_width(dtype) - ("u" not in dtype))


@register_torch("aten::randperm")
def randperm(node: TorchNode) -> Outputs:
    return cast(relax.argsort(_uniform(node, node.sizes_of_result, "f64"), axis=0, dtype="i64"), node.dtype)


@register_torch("aten::bernoulli")
def bernoulli(node: TorchNode) -> Outputs:
    """Convert bernoulli: 1 with the probability in the input or in `p`, else 0."""
    wide = wide_of(node.dtype)
    chance = node.operand("p" if node.has("p") else "self", wide)
    return cast(relax.less(_draw_uniform(node), chance), node.dtype)


@register_torch("aten::multinomial")
def multinomial(node: TorchNode) -> Outputs:
    """Convert multinomial: draw indices by weight.

    Without replacement, the result is the order of exponential random times, which are shorter for larger weights.
    """
    weights, rank = node.tensor(0), node.rank(0)
    wide = wide_of(node.value(0).dtype)
    own, count = sizes.sizes_of(node.value(0)), node.sizes_of_result[-1]
    weights = cast(weights, wide)
    is_weight = relax.logical_and(relax.isfinite(weights), relax.greater_equal(weights, like(weights, 0)))
    stop_where(relax.logical_not(is_weight), "probability tensor contains either `inf`, `nan` or element < 0")
    total = relax.sum(weights, axis=[rank - 1], keepdims=True)
    stop_where(relax.equal(total, like(total, 0)), "invalid multinomial distribution (sum of probabilities <= 0)")
    if not node.bool("replacement"):
        drawn = _uniform(node, own, wide)
        times = relax.negative(relax.log(relax.subtract(const(1, wide), drawn)))
        order = relax.argsort(relax.divide(times, weights), axis=rank - 1, dtype="i64")
        first = sizes.sliced(Value(ssa=order), {rank - 1: (0, count, 1)}, {rank - 1: count})
        return sizes.stated(first, node.sizes_of_result)
    ends = relax.divide(relax.cumsum(weights, axis=rank - 1), total)
    drawn = relax.expand_dims(_uniform(node, node.sizes_of_result, wide), axis=[rank])
    passed = relax.less_equal(relax.expand_dims(ends, axis=[rank - 1]), drawn)
    places = relax.sum(cast(passed, "i64"), axis=[rank])
    return relax.minimum(places, relax.subtract(sizes.as_scalar(own[-1], "i64"), const(1, "i64")))


register_rows(
    {
        "aten::exponential": lambda node: cast(
            relax.divide(_exponential(node), const(node.float("lambd", 1.0), wide_of(node.dtype))), node.dtype
        ),
        "aten::log_normal": lambda node: cast(
            relax.exp(_scale_and_shift(node, _normal(node), node.float("mean", 1.0), node.float("std", 2.0))),
            node.dtype,
        ),
        "aten::cauchy": lambda node: cast(
            _scale_and_shift(node, _tangent(node), node.float("median", 0.0), node.float("sigma", 1.0)), node.dtype
        ),
        "aten::geometric": lambda node: cast(_tries(node, node.float("p")), node.dtype),
    }
)


def _scale_and_shift(node: TorchNode, drawn: Tensor, offset: float, factor: float) -> Tensor:
    wide = wide_of(node.dtype)
    return relax.add(relax.multiply(drawn, const(factor, wide)), const(offset, wide))


def _tangent(node: TorchNode) -> Tensor:
    wide = wide_of(node.dtype)
    return relax.tan(relax.multiply(relax.subtract(_draw_uniform(node), const(0.5, wide)), const(math.pi, wide)))


def _tries(node: TorchNode, chance: float) -> Tensor:
    """Return the number of tries until an event with a probability occurs."""
    wide = wide_of(node.dtype)
    rate = -math.log1p(-chance) if chance < 1 else math.inf
    return relax.maximum(relax.ceil(relax.divide(_exponential(node), const(rate, wide))), const(1, wide))


@register_torch("aten::rrelu", "aten::rrelu_with_noise", "aten::rrelu_with_noise_functional")
def rrelu(node: TorchNode) -> Outputs:
    """Convert rrelu. Slopes below 0 are random in training, and the mean of their bounds in inference."""
    x, low, high = node.tensor(0), node.float("lower", 1 / 8), node.float("upper", 1 / 3)
    has_slopes = node.op.startswith("aten::rrelu_with_noise_functional")
    if not node.bool("training"):
        made = relax.nn.leakyrelu(x, alpha=(low + high) / 2)
        return [made, node.tensor("noise")] if has_slopes else made
    drawn = _scale_and_shift(node, _draw_uniform(node), low, high - low)
    slopes = relax.where(relax.less_equal(x, like(x, 0)), cast(drawn, node.dtype), like(x, 1))
    made = relax.multiply(x, slopes)
    return [made, slopes] if has_slopes else made


# ---- dropout ----


@register_torch(
    "aten::dropout",
    "aten::feature_dropout",
    "aten::alpha_dropout",
    "aten::feature_alpha_dropout",
    "aten::native_dropout",
)
def dropout(node: TorchNode) -> Outputs:
    """Convert dropout. In inference the data is unchanged; in training, elements or channels are dropped at random."""
    x, chance, own = node.tensor(0), node.float("p", 0.5), sizes.sizes_of(node.value(0))
    is_native = node.op.startswith("aten::native")
    if not node.bool("train", True) or chance == 0:
        return [x, sizes.full(own, const(1, "i1"))] if is_native else x
    shape = [*own[:2], *[1] * (len(own) - 2)] if "feature" in node.op else own
    kept = relax.greater_equal(_uniform(node, shape, "f32"), const(chance, "f32"))
    dtype = node.value(0).dtype
    if "alpha" in node.op:
        return _drop_to_least(x, kept, chance, dtype)
    factor = 1 / (1 - chance) if chance < 1 else 0.0
    made = relax.where(kept, relax.multiply(x, const(factor, dtype)), const(0, dtype))
    return [made, kept] if is_native else made


def _drop_to_least(x: Tensor, kept: Tensor, chance: float, dtype: str) -> Tensor:
    """Replace dropped elements by the minimum of selu, then scale and shift to preserve mean and deviation."""
    if chance == 1:
        return relax.multiply(x, const(0, dtype))
    factor = 1 / math.sqrt((_LEAST_OF_SELU**2 * chance + 1) * (1 - chance))
    offset = -factor * _LEAST_OF_SELU * chance
    chosen = relax.where(kept, x, const(_LEAST_OF_SELU, dtype))
    return relax.add(relax.multiply(chosen, const(factor, dtype)), const(offset, dtype))


# ---- repeated draws, for checkpoints ----

# Shifts of the key's bytes at the beginning of torch's generator state.
_SHIFTS = [8 * place for place in range(8)]


@register_torch("higher_order::run_and_save_rng_state")
def run_and_save(node: TorchNode) -> Outputs:
    """Return a state that repeats the draw, and the result of an operator."""
    key = random_numbers.hashes(*_drawing(node), [])
    bits = relax.right_shift(key, known(_SHIFTS, "ui64").ssa)
    written = cast(relax.bitwise_and(bits, random_numbers.word(255)), "ui8")
    (operator, *given), named = by_name(node)
    state, like = node.fx.meta["val"]
    (length,) = state.shape  # If the length is a symbol, the program defines it.
    rest = sizes.zeros([length - len(_SHIFTS) if isinstance(length, int) else 0], "ui8")
    made = as_values(_repeat_draw(node, key, operator, given, named, listed(like)))
    return [relax.concat([written, rest], axis=0), made if isinstance(like, (list, tuple)) else made[0]]  # type: ignore[list-item]


@register_torch("higher_order::run_with_rng_state")
def run_again(node: TorchNode) -> Outputs:
    (state, operator, *given), named = by_name(node)
    written = cast(part(state.ssa, 0, 0, len(_SHIFTS)), "ui64")
    key = relax.sum(relax.left_shift(written, known(_SHIFTS, "ui64").ssa), axis=[0])
    return _repeat_draw(node, key, operator, given, named, listed(node.fx.meta["val"]))


def _repeat_draw(
    node: TorchNode, key: Tensor, operator: Any, given: Sequence[Any], named: Mapping[str, Any], like: Sequence[Any]
) -> Outputs:
    names = [argument.name for argument in operator._schema.arguments]
    defaults = {argument.name: argument.default_value for argument in operator._schema.arguments}
    arguments = {**defaults, **dict(zip(names, given, strict=False)), **named, "random_key": Value(ssa=key)}
    return converted(InnerNode(node, name_of(operator), arguments, like), operator)
