# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for elementwise operators of one and of two tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, equal
from relax_mlir.dialects.relax.known_constants import floats_of, splat
from relax_mlir.dialects.relax.values import normal_axis
from relax_mlir.passes.graph.parts.operator_checks import same
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import CHECKS, converts
from .runtime.description import Argument

if TYPE_CHECKING:
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref


RELU, TANH, ELU, SQUARE, ABS, SQRT, LINEAR, SOFT_RELU = 32, 33, 34, 35, 36, 37, 38, 39
LOGISTIC, EXP, GELU_TANH, SWISH, LOG, CLIP, POWER, GELU, ROUND, MISH, HARD_SWISH = (
    41, 42, 43, 44, 45, 47, 48, 49, 50, 51, 52)  # fmt: skip
#: Largest finite f32.
LARGEST = 3.4028234663852886e38
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

#: Algorithm, alpha and beta of operators with one operand.
PLAIN = {
    "nn.relu": (RELU, 0.0, 0.0),
    "tanh": (TANH, 0.0, 0.0),
    "square": (SQUARE, 0.0, 0.0),
    "abs": (ABS, 0.0, 0.0),
    "sqrt": (SQRT, 0.0, 0.0),
    "negative": (LINEAR, -1.0, 0.0),
    "sigmoid": (LOGISTIC, 0.0, 0.0),
    "exp": (EXP, 0.0, 0.0),
    "log": (LOG, 0.0, 0.0),
    "rsqrt": (POWER, 1.0, -0.5),
    "round": (ROUND, 0.0, 0.0),
    "nn.gelu": (GELU, 0.0, 0.0),
    "nn.gelu_tanh": (GELU_TANH, 0.0, 0.0),
    "nn.silu": (SWISH, 1.0, 0.0),
}
BINARY = {"add": 131056, "multiply": 131057, "maximum": 131058, "minimum": 131059, "divide": 131060,
          "subtract": 131061}  # fmt: skip
#: From this x on, softplus(x) is x in f32: exp(-15) is lost when it is added to 15.
_LEAST_THRESHOLD = 15.0
_COMMUTATIVE = ("add", "multiply", "maximum", "minimum")


@converts(*PLAIN)
def plain(converter: Converter, node: FlatNode) -> None:
    converter.eltwise(node.operands[0], node.result, *PLAIN[node.operator])


@converts("nn.leakyrelu")
def leaky_relu(converter: Converter, node: FlatNode) -> None:
    converter.eltwise(node.operands[0], node.result, RELU, node.call.alpha, 0.0)


@converts("nn.selu")
def selu(converter: Converter, node: FlatNode) -> None:
    """Convert selu to elu and a scale."""
    dims = converter.sizes(node.result.dims)
    inner = converter.temporary(dims, node.result.info.dtype)
    attributes = {"algorithm": ELU, "alpha": SELU_ALPHA, "beta": 0.0}
    converter.step("eltwise", inner, {"src": converter.argument(node.operands[0])}, attributes=attributes)
    converter.eltwise(inner, node.result, LINEAR, SELU_SCALE, 0.0)


def is_far(threshold: float) -> bool:
    """Check whether softplus(x) is x in f32 for all x above the threshold."""
    return threshold >= _LEAST_THRESHOLD


def _refuse_softplus(op: Operation, call: Call) -> str:
    if not is_far(call.threshold):
        return f"oneDNN's softplus has no threshold: expected at least {_LEAST_THRESHOLD}, got {call.threshold}"
    return "" if call.beta > 0 else f"oneDNN needs a beta above 0, not {call.beta}"


@converts("nn.softplus", refuse=_refuse_softplus)
def softplus(converter: Converter, node: FlatNode) -> None:
    converter.eltwise(node.operands[0], node.result, SOFT_RELU, node.call.beta, 0.0)


@converts("clip", refuse=CHECKS.clip)
def clip(converter: Converter, node: FlatNode) -> None:
    lowest, highest = (float(node.call.operands[name].value) for name in ("min", "max"))
    converter.eltwise(node.operands[0], node.result, CLIP, lowest, highest)


def _refuse_binary(op: Operation, call: Call) -> str:
    """Return the reason to refuse an operator of two tensors.

    oneDNN broadcasts the second operand only. The operands of commutative operators may be swapped.
    """
    if (result := _broadcast(call.x1.shape, call.x2.shape)) is None:
        return "oneDNN needs to know at compile time which sizes are broadcast"
    if same(call.x1.shape, result):
        return ""
    if not same(call.x2.shape, result):
        return "oneDNN broadcasts one operand, not both"
    name = call.definition.name
    if name == "subtract" or (name == "divide" and splat(op.operands[0]) is not None):
        return ""
    return "" if name in _COMMUTATIVE else f"oneDNN broadcasts the second operand of {name}, not the first"


def _broadcast(one: Sequence[Dim], other: Sequence[Dim]) -> list[Dim] | None:
    rank = max(len(one), len(other))
    pairs = zip([1] * (rank - len(one)) + [*one], [1] * (rank - len(other)) + [*other], strict=True)
    sizes: list[Dim] = []
    for left, right in pairs:
        if left != 1 and right != 1 and equal(left, right) is not True:
            return None
        sizes.append(right if left == 1 else left)
    return sizes


@converts(*BINARY, refuse=_refuse_binary)
def binary(converter: Converter, node: FlatNode) -> None:
    name = node.operator
    one, other = node.operands
    result = node.result.dims
    if name in _COMMUTATIVE and _prefers_second(converter, node):
        one, other = other, one
    number = other.number
    linear = {"add": (1.0, number), "subtract": (1.0, None if number is None else -number), "multiply": (number, 0.0)}
    factors = linear.get(name, (None, None))
    if None not in factors and same(one.dims, result) and math.isfinite(number or 0.0):
        converter.eltwise(one, node.result, LINEAR, *(float(factor or 0.0) for factor in factors))
        return
    if not same(one.dims, result):
        _first_broadcast(converter, node)
        return
    argument, dims = _with_rank(converter, other, len(result))
    converter.binary(one, argument, dims, node.result, BINARY[name])


def _first_broadcast(converter: Converter, node: FlatNode) -> None:
    """Convert a subtraction or division with a broadcast first operand.

    `one - other` becomes `-other + one`. A number divided by a tensor becomes a power of the tensor.
    """
    one, other = node.operands
    number, result = one.number, node.result.dims
    if node.name == "relax.divide":
        assert number is not None
        converter.eltwise(other, node.result, POWER, number, -1.0)
    elif number is not None and math.isfinite(number):
        converter.eltwise(other, node.result, LINEAR, -1.0, number)
    else:
        inner = converter.temporary(converter.sizes(result), node.result.info.dtype)
        attributes = {"algorithm": LINEAR, "alpha": -1.0, "beta": 0.0}
        converter.step("eltwise", inner, {"src": converter.argument(other)}, attributes=attributes)
        added, _ = _with_rank(converter, one, len(result))
        converter.step("binary", node.result, {"src": inner, "src1": added}, attributes={"algorithm": BINARY["add"]})


def _prefers_second(converter: Converter, node: FlatNode) -> bool:
    """Check whether to swap the operands: the first is broadcast, or the second's step is better for a post-op."""
    (one, other), result = node.operands, node.result.dims
    if not same(other.dims, result):
        return False
    return not same(one.dims, result) or converter.prefers(other, one, node.result)


def _with_rank(converter: Converter, ref: Ref, rank: int) -> tuple[Argument, list[Dim]]:
    """Return an operand with the result's rank, and its sizes. Added leading dimensions have size 1."""
    shape = ref.dims
    dims = [1] * (rank - len(shape)) + [*shape]
    if len(shape) == rank:
        return converter.argument(ref), dims
    return converter.argument(ref, ("reshape", converter.sizes(dims))), dims


def _refuse_power(op: Operation, call: Call) -> str:
    return "" if splat(op.operands[1]) is not None else "oneDNN needs one constant exponent for all elements"


@converts("power", refuse=_refuse_power)
def power(converter: Converter, node: FlatNode) -> None:
    exponent = splat(node.operands[1].value)
    assert exponent is not None
    converter.eltwise(node.operands[0], node.result, POWER, 1.0, float(exponent))


def _refuse_prelu(op: Operation, call: Call) -> str:
    """Return the reason to refuse prelu.

    oneDNN multiplies slopes by 0 where x is above 0, and infinity times 0 is NaN.
    """
    import numpy

    if (slopes := floats_of(op.operands[1])) is None:
        return "oneDNN multiplies slopes by 0 where x is above 0: slopes have to be finite constants"
    return (
        ""
        if numpy.isfinite(slopes).all()
        else "a slope is not finite, and oneDNN multiplies slopes by 0 where x is above 0"
    )


@converts("nn.prelu", refuse=_refuse_prelu)
def prelu(converter: Converter, node: FlatNode) -> None:
    """Convert prelu with one slope per channel, or one slope for all channels."""
    data, slopes = node.operands
    rank = len(data.dims)
    sizes: list[Dim] = [1] * rank
    sizes[normal_axis(node.call.axis, rank)] = slopes.dims[0]
    arguments = {
        "src": converter.argument(data),
        "weights": converter.argument(slopes, ("reshape", converter.sizes(sizes))),
    }
    converter.step("prelu", node.result, arguments)
