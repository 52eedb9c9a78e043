# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators: arithmetic, comparisons, bitwise operations and selection."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ..prelude import Convert, Outputs, Tensor, TfliteNode, cast, const, like, register_rows, register_tflite, relax
from .activations import activated

Function = Callable[..., Tensor]


def _make_converter(function: Function, count: int) -> Convert:
    """Return a converter to a relax operator with `count` operands."""
    return lambda node: function(*node.tensors(count))


def _with_activation(function: Function) -> Convert:
    return lambda node: activated(node, function(*node.tensors(2)))


def _squared_difference(x: Tensor, y: Tensor) -> Tensor:
    difference = relax.subtract(x, y)
    return relax.multiply(difference, difference)


register_rows(
    {
        "ADD": _with_activation(relax.add),
        "SUB": _with_activation(relax.subtract),
        "MUL": _with_activation(relax.multiply),
        "DIV": _with_activation(relax.divide),
        "FLOOR_DIV": _make_converter(relax.floor_divide, 2),
        "FLOOR_MOD": _make_converter(relax.floor_mod, 2),
        "POW": _make_converter(relax.power, 2),
        "ATAN2": _make_converter(relax.atan2, 2),
        "SQUARED_DIFFERENCE": _make_converter(_squared_difference, 2),
        "MINIMUM": _make_converter(relax.minimum, 2),
        "MAXIMUM": _make_converter(relax.maximum, 2),
        "ADD_N": lambda node: reduce(relax.add, node.tensors()),
        "ABS": _make_converter(relax.abs, 1),
        "CEIL": _make_converter(relax.ceil, 1),
        "COS": _make_converter(relax.cos, 1),
        "EXP": _make_converter(relax.exp, 1),
        "FLOOR": _make_converter(relax.floor, 1),
        "LOG": _make_converter(relax.log, 1),
        "NEG": _make_converter(relax.negative, 1),
        "ROUND": _make_converter(relax.round, 1),
        "RSQRT": _make_converter(relax.rsqrt, 1),
        "SIGN": _make_converter(relax.sign, 1),
        "SIN": _make_converter(relax.sin, 1),
        "SQRT": _make_converter(relax.sqrt, 1),
        "SQUARE": _make_converter(relax.square, 1),
        "EQUAL": _make_converter(relax.equal, 2),
        "NOT_EQUAL": _make_converter(relax.not_equal, 2),
        "LESS": _make_converter(relax.less, 2),
        "LESS_EQUAL": _make_converter(relax.less_equal, 2),
        "GREATER": _make_converter(relax.greater, 2),
        "GREATER_EQUAL": _make_converter(relax.greater_equal, 2),
        "LOGICAL_AND": _make_converter(relax.logical_and, 2),
        "LOGICAL_OR": _make_converter(relax.logical_or, 2),
        "LOGICAL_NOT": _make_converter(relax.logical_not, 1),
        "BITWISE_XOR": _make_converter(relax.bitwise_xor, 2),
        "RIGHT_SHIFT": _make_converter(relax.right_shift, 2),
        "SELECT_V2": lambda node: relax.where(*node.tensors(3)),
    }
)


@register_tflite("SELECT")
def select(node: TfliteNode) -> Outputs:
    """Convert SELECT. A one-dimensional condition selects rows."""
    condition, x, y = node.tensors(3)
    behind = node.rank(1) - node.rank(0)
    if node.rank(0) == 1 and behind > 0:
        condition = relax.expand_dims(condition, axis=list(range(1, 1 + behind)))
    return relax.where(condition, x, y)


@register_tflite("CAST")
def convert(node: TfliteNode) -> Outputs:
    """Convert CAST, which casts the stored integers of a quantized tensor."""
    x = node.stored(0).ssa
    target = node.results[0].dtype
    return relax.not_equal(x, like(x, 0)) if target == "i1" else cast(x, target)


@register_tflite("BITCAST")
def bitcast(node: TfliteNode) -> Outputs:
    return relax.bitcast(node.stored(0).ssa, dtype=node.results[0].dtype)


@register_tflite("FAKE_QUANT")
def fake_quant(node: TfliteNode) -> Outputs:
    """Convert FAKE_QUANT: round real numbers to the steps of a quantization.

    The bounds are shifted so that 0 is a step.
    """
    low, high, bits = node.attr("min"), node.attr("max"), node.attr("num_bits")
    if not low <= 0 <= high or low == high or not 2 <= bits <= 16:
        raise node.fail(f"a quantization to {bits} bits between {low} and {high} is invalid")
    least, most = int(bool(node.attr("narrow_range", False))), (1 << bits) - 1
    scale = (high - low) / (most - least)
    zero = min(max(round(least - low / scale), least), most)
    x, one = cast(node.tensor(0), "f32"), const(scale, "f32")
    bounded = relax.clip(x, (least - zero) * scale, (most - zero) * scale)
    bottom = const((least - zero) * scale, "f32")
    steps = relax.floor(relax.add(relax.divide(relax.subtract(bounded, bottom), one), const(0.5, "f32")))
    return relax.add(relax.multiply(steps, one), bottom)
