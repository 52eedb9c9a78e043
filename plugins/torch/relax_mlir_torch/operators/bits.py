# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of bitwise operators, common divisors, and parts of floats."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import TensorInfo, is_float
from relax_mlir.emit import loops
from relax_mlir.emit.numbers import Number, constant

from ..prelude import (
    Convert,
    Outputs,
    Tensor,
    TorchNode,
    cast,
    elementwise,
    intrinsic_of,
    like,
    register_rows,
    register_torch,
    relax,
    sizes,
    wide_float,
)
from .elementwise import operands
from .reductions import axes_of

_BITS = {
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "__and__": "and", "__or__": "or", "__xor__": "xor"
}  # fmt: skip


def _bits(name: str) -> Convert:
    def convert(node: TorchNode) -> Tensor:
        kind = "logical" if node.dtype == "i1" else "bitwise"
        return relax.dialect.ops[f"{kind}_{name}"](*operands(node))

    return convert


register_rows({f"aten::{name}": _bits(ours) for name, ours in _BITS.items()})
register_rows(
    {
        "aten::bitwise_not": lambda node: relax.bitwise_not(node.tensor(0)),
        "aten::__lshift__ aten::bitwise_left_shift": lambda node: relax.left_shift(*operands(node)),
        "aten::__rshift__ aten::bitwise_right_shift": lambda node: relax.right_shift(*operands(node)),
        "aten::gcd": lambda node: intrinsic_of(node, "gcd", operands(node)),
        "aten::lcm": lambda node: relax.abs(intrinsic_of(node, "lcm", operands(node))),
        "aten::copysign": lambda node: intrinsic_of(node, "copysign", operands(node)),
        "aten::ldexp": lambda node: _times_power_of_two(node),
        "aten::nextafter": lambda node: intrinsic_of(node, "nextafter", operands(node)),
    }
)


def _times_power_of_two(node: TorchNode) -> Tensor:
    left, right = operands(node)
    return relax.multiply(left, relax.power(like(right, 2), right))


@register_torch("aten::frexp")
def frexp(node: TorchNode) -> Outputs:
    """Return mantissa, of magnitude in [0.5, 1), and exponent. The exponent of 0, infinity and NaN is 0."""
    x = node.tensor(0, wide_float(node.value(0).dtype))
    mantissa = cast(elementwise(node, _mantissa, [x]), node.value(0).dtype)
    return [mantissa, elementwise(node, _exponent, [x], dtype="i32")]


def _mantissa(x: Number) -> Number:
    return _parts(x)[0]


def _exponent(x: Number) -> Number:
    return _parts(x)[1]


def _parts(x: Number) -> tuple[Number, Number]:
    from relax_mlir.dialects.tir import dialect as tir

    mantissa, exponent = tir.ops["frexp"](x)
    return Number(mantissa), Number(exponent)


@register_torch("aten::hash_tensor")
def hash_tensor(node: TorchNode) -> Outputs:
    """Return the exclusive or of all elements' bits: floats as f64, integers as i64."""
    x, axes = node.tensor("self"), axes_of(node)
    bits = relax.bitcast(cast(x, "f64"), dtype="i64") if is_float(node.value("self").dtype) else cast(x, "i64")
    own = sizes.sizes_of(node.value("self"))
    kept = [axis for axis in range(len(own)) if axis not in axes]
    rows = sizes.product([own[axis] for axis in kept])
    count = sizes.product([own[axis] for axis in axes])
    flat = sizes.reshaped(relax.permute_dims(bits, axes=[*kept, *axes]) if kept else bits, [rows, count])
    found = relax.bitcast(node.call_tir(_hash_kernel, [flat], TensorInfo((rows,), "i64")), dtype="ui64")
    return sizes.reshaped(found, node.sizes_of_result)


def _hash_kernel(x: Tensor, tensor: Tensor) -> None:
    rows, count = loops.sizes(x)

    def row(i: Number) -> None:
        both = loops.for_range(0, count, lambda j, bits: bits ^ loops.load(x, i, j), constant(0, "i64"))
        loops.store(both[0], tensor, i)

    loops.for_range(0, rows, row, grain=0)
