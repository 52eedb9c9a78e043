# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns for oneDNN in the order of priority: products with their epilogues, then single operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_

from relax_mlir.codegens import PatternRow
from relax_mlir.patterns import GraphPattern, Match, Op, is_const, is_op, wildcard

from . import (  # register rules
    activations,
    einsums,  # noqa: F401
    elementwise,
    layout_views,
    movement,  # noqa: F401
    norms,  # noqa: F401
    products,  # noqa: F401
    quantized,  # noqa: F401
)
from .activations import activation_at
from .convolutions import CONVOLUTIONS, POOLS, RESIZED, TRANSPOSED
from .machine import drops_nan
from .norms import REDUCTIONS, SOFTMAX
from .rules import refusal

#: Most epilogue operators in a product's pattern. Further operators match other patterns, and are fused all the same.
_MOST_FOLLOWING = 6

Product = Callable[[GraphPattern, GraphPattern], GraphPattern]


def check(match: Match) -> bool | str:
    """Return True if oneDNN has all operators of a match, otherwise the reason why not.

    The operators of a spelt-out activation need no primitives of their own.
    """
    found = [each for each in map(activation_at, match.operations) if each is not None]
    inner = {op for each in found for op in each.inner}
    roots = {op for op in match.operations if activation_at(op) is not None}
    reasons = (refusal(op) for op in match.operations if op not in inner and op not in roots)
    if any(each.drops_nan for each in found) and isinstance(reason := drops_nan(), str):
        return reason
    return next(filter(None, reasons), True)


def _op(*names: str) -> Op:
    return is_op(*(f"relax.{name}" for name in names))


def _elementwise(x: GraphPattern) -> GraphPattern:
    """Return the pattern of an elementwise operator on `x`."""
    return (
        _op(*elementwise.PLAIN)(x)
        | _op("nn.leakyrelu", "nn.softplus")(x)
        | _op("nn.selu")(x)
        | _op("clip")(x, ...)
        | _op("power")(x, is_const())
    )


def _spelt_out(x: GraphPattern) -> GraphPattern:
    first, *others = (around(x) for around in activations.SPELT_OUT.values())
    return reduce(or_, others, first)


def _make_epilogue_pattern(value: GraphPattern) -> GraphPattern:
    """Return the pattern of a value with an elementwise epilogue."""

    def one(x: GraphPattern) -> GraphPattern:
        return _spelt_out(x) | _elementwise(x) | _op(*elementwise.BINARY)(x, wildcard())

    return value.repeated(one, most=_MOST_FOLLOWING)


def _quantize(product: Product) -> GraphPattern:
    """Return the pattern of a product of dequantized tensors. Its result may be quantized again."""
    data, weight = (
        _op("dequantize")(each, is_const(), is_const()) for each in (wildcard().named("x"), is_const().named("w"))
    )
    return _make_epilogue_pattern(product(data, weight)).optional(lambda y: _op("quantize")(y, is_const(), is_const()))


def _convolution(data: GraphPattern, weight: GraphPattern) -> GraphPattern:
    return _op(*CONVOLUTIONS)(data, weight)


def _make_transpose_pattern(data: GraphPattern, weight: GraphPattern) -> GraphPattern:
    return _op(*TRANSPOSED)(data, weight)


def _matmul(one: GraphPattern, other: GraphPattern) -> GraphPattern:
    return _op("matmul")(one, other) | _op("einsum")([one, other])


def _rows() -> Iterator[tuple[str, GraphPattern]]:
    yield "quantized_conv", _quantize(_convolution)
    yield "quantized_matmul", _quantize(_matmul)
    for name, product in (("conv", _convolution), ("deconv", _make_transpose_pattern), ("matmul", _matmul)):
        whole = product(wildcard(), wildcard())
        yield f"{name}_with_post_ops", _make_epilogue_pattern(whole)
        yield name, whole
    yield "activation", _spelt_out(wildcard())
    yield "pool", _op(*POOLS)
    yield "resize", _op(*RESIZED)
    yield "batch_norm_relu", _op("nn.relu")(_op("nn.batch_norm")[0])
    yield "batch_norm", _op("nn.batch_norm")
    yield "layer_norm", _op("nn.layer_norm")
    yield "group_norm", _op("nn.group_norm", "nn.instance_norm")
    yield "rms_norm", _op("nn.rms_norm")
    yield "softmax_without_nan", activations.without_nan(_op("nn.softmax")(wildcard()))
    yield "softmax", _op(*SOFTMAX)
    yield "reduction", _op(*REDUCTIONS)
    yield "binary", _op(*elementwise.BINARY)
    yield "eltwise", _elementwise(wildcard())
    yield "requantize", _op("quantize", "dequantize")
    yield "prelu", _op("nn.prelu")
    yield from _carrying()


def _carrying() -> Iterator[tuple[str, GraphPattern]]:
    """Yield patterns of operators that compute nothing. Parts contain them only next to computing operators."""
    yield "movement", _op("strided_slice", "split", "concat", "stack", "broadcast_to", "astype")
    yield "view", _op("permute_dims") | _op(*layout_views.RESHAPING)


_ONLY_BESIDE = {name for name, _ in _carrying()}
ROWS = [PatternRow(f"dnnl.{name}", pattern, check, beside=name in _ONLY_BESIDE) for name, pattern in _rows()]
