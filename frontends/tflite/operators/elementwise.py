# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on each element: arithmetic, comparisons, bits, choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ..prelude import (
    Convert,
    Node,
    Outputs,
    Tensor,
    cast,
    const,
    like,
    register_rows,
    register_tflite,
    relax,
)
from .activations import activated

Function = Callable[..., Tensor]


def _of_all(function: Function) -> Convert:
    """An operator of relax with the same operands."""
    return lambda node: function(*node.tensors())


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
        "FLOOR_DIV": _of_all(relax.floor_divide),
        "FLOOR_MOD": _of_all(relax.floor_mod),
        "POW": _of_all(relax.power),
        "ATAN2": _of_all(relax.atan2),
        "SQUARED_DIFFERENCE": _of_all(_squared_difference),
        "MINIMUM": _of_all(relax.minimum),
        "MAXIMUM": _of_all(relax.maximum),
        "ADD_N": lambda node: reduce(relax.add, node.tensors()),
        "ABS": _of_all(relax.abs),
        "CEIL": _of_all(relax.ceil),
        "COS": _of_all(relax.cos),
        "EXP": _of_all(relax.exp),
        "FLOOR": _of_all(relax.floor),
        "LOG": _of_all(relax.log),
        "NEG": _of_all(relax.negative),
        "ROUND": _of_all(relax.round),
        "RSQRT": _of_all(relax.rsqrt),
        "SIGN": _of_all(relax.sign),
        "SIN": _of_all(relax.sin),
        "SQRT": _of_all(relax.sqrt),
        "SQUARE": _of_all(relax.square),
        "EQUAL": _of_all(relax.equal),
        "NOT_EQUAL": _of_all(relax.not_equal),
        "LESS": _of_all(relax.less),
        "LESS_EQUAL": _of_all(relax.less_equal),
        "GREATER": _of_all(relax.greater),
        "GREATER_EQUAL": _of_all(relax.greater_equal),
        "LOGICAL_AND": _of_all(relax.logical_and),
        "LOGICAL_OR": _of_all(relax.logical_or),
        "LOGICAL_NOT": _of_all(relax.logical_not),
        "BITWISE_XOR": _of_all(relax.bitwise_xor),
        "RIGHT_SHIFT": _of_all(relax.right_shift),
        "SELECT_V2": lambda node: relax.where(*node.tensors(3)),
    }
)


@register_tflite("SELECT")
def select(node: Node) -> Outputs:
    """A condition of one dimension chooses rows."""
    condition, x, y = node.tensors(3)
    behind = node.rank(1) - node.rank(0)
    if node.rank(0) == 1 and behind > 0:
        condition = relax.expand_dims(condition, axis=list(range(1, 1 + behind)))
    return relax.where(condition, x, y)


@register_tflite("CAST")
def convert(node: Node) -> Outputs:
    """Of the numbers as they are stored."""
    x = node.stored(0).ssa
    target = node.results[0].dtype
    return relax.not_equal(x, like(x, 0)) if target == "i1" else cast(x, target)


@register_tflite("BITCAST")
def bitcast(node: Node) -> Outputs:
    return relax.bitcast(node.stored(0).ssa, dtype=node.results[0].dtype)


@register_tflite("FAKE_QUANT")
def fake_quant(node: Node) -> Outputs:
    """Real numbers as if they had been quantized: to steps between bounds, which are moved so that 0 is a step."""
    low, high, bits = node.attr("min"), node.attr("max"), node.attr("num_bits")
    if not low <= 0 <= high or low == high or not 2 <= bits <= 16:
        raise node.fail(f"{bits} bits between {low} and {high} cannot be")
    least, most = int(bool(node.attr("narrow_range", False))), (1 << bits) - 1
    scale = (high - low) / (most - least)
    zero = min(max(round(least - low / scale), least), most)
    x, one = cast(node.tensor(0), "f32"), const(scale, "f32")
    bounded = relax.clip(x, (least - zero) * scale, (most - zero) * scale)
    bottom = const((least - zero) * scale, "f32")
    steps = relax.floor(relax.add(relax.divide(relax.subtract(bounded, bottom), one), const(0.5, "f32")))
    return relax.add(relax.multiply(steps, one), bottom)
