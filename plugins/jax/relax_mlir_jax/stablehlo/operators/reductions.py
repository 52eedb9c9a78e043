# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over dimensions: known bodies are relax reductions, other bodies combine pairs until one element
remains."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Block, Operation
from relax_mlir.bindings.ir import Value as IRValue
from relax_mlir.frontends.core.complex_numbers import each_part
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.tensors import all_of, any_of
from relax_mlir.frontends.core.values import ComplexValue, Held

from ..hlo_attributes import value_of
from ..prelude import HloNode, Outputs, Pair, Tensor, Value, cast, joined, register_stablehlo, relax, sizes
from .bodies import combined, is_neutral

#: Operators that combine two elements.
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": relax.add,
    "prod": relax.multiply,
    "max": relax.maximum,
    "min": relax.minimum,
    "any": relax.logical_or,
    "all": relax.logical_and,
}
_OF_BOOLEANS = {"any": any_of, "all": all_of}


def of_parts(held: Held, function: Callable[[Tensor], Tensor]) -> Held:
    """Apply a function that moves elements to a tensor, or to both parts of complex numbers."""
    if isinstance(held, ComplexValue):
        return each_part(Pair(held.real.ssa, held.imag.ssa), function).value()
    if not isinstance(held, Value):
        raise Unsupported("an operand is not a tensor")
    return Value(ssa=function(held.ssa))


def shape_of(held: Held) -> list[sizes.Size]:
    if isinstance(held, ComplexValue):
        return sizes.sizes_of(held.real)
    if not isinstance(held, Value):
        raise Unsupported("an operand is not a tensor")
    return sizes.sizes_of(held)


@register_stablehlo("stablehlo.reduce")
def reduce(node: HloNode) -> Outputs:
    count, axes = len(node.inputs) // 2, node.attr("dimensions")
    operands = [node.held(index) for index in range(count)]
    initial = [node.held(count + index) for index in range(count)]
    kinds = [combined(node.body(), index, count) for index in range(count)]
    if not axes:
        return node.on_tensors([*initial, *operands])
    if all(kind not in ("", "update") for kind in kinds) and not _is_complex_reduction(operands, kinds):
        return [_reduce_whole(*each, axes) for each in zip(kinds, operands, initial, strict=True)]
    place = _extreme_and_place(node, operands, axes)
    return place if place is not None else _reduce_pairs(node, operands, initial, axes)


def _is_complex_reduction(operands: Sequence[Held], kinds: Sequence[str]) -> bool:
    """Check whether combining complex numbers needs more than their parts."""
    return any(
        isinstance(operand, ComplexValue) and kind != "sum" for operand, kind in zip(operands, kinds, strict=True)
    )


def _reduce_whole(kind: str, operand: Held, initial: Held, axes: Sequence[int]) -> Held:
    made = of_parts(operand, lambda x: whole(kind, x, axes))
    if is_neutral(kind, initial):
        return made
    if isinstance(made, ComplexValue) and isinstance(initial, ComplexValue):
        real, imag = relax.add(made.real.ssa, initial.real.ssa), relax.add(made.imag.ssa, initial.imag.ssa)
        return Pair(real, imag).value()
    assert isinstance(made, Value) and isinstance(initial, Value)
    return Value(ssa=BINARY[kind](made.ssa, initial.ssa))


def whole(kind: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Reduce with relax's operator, and drop the dimensions."""
    if kind in _OF_BOOLEANS:
        return _OF_BOOLEANS[kind](x, axes)
    return relax.dialect.ops[kind](x, axis=list(axes))


# ---- the extreme element and its index ----

#: Bodies that jax emits for argmax and argmin, for floats and for integers.
_ARG_BODIES = (
    "compare compare or compare compare and or select select return",
    "compare compare compare and or select select return",
)


def _extreme_and_place(node: HloNode, operands: Sequence[Held], axes: Sequence[int]) -> list[Held] | None:
    """Return the first extreme element and its index if the second operand counts along the only dimension, else
    None."""
    operations = [view.operation for view in node.body().operations]
    names = " ".join(operation.name.removeprefix("stablehlo.") for operation in operations)
    if names not in _ARG_BODIES or len(operands) != 2 or len(axes) != 1 or not _counts(node, axes[0]):
        return None
    direction = value_of(operations[0].attributes["comparison_direction"])
    (values, places), axis = operands, axes[0]
    if direction not in ("GT", "LT") or not isinstance(values, Value) or not isinstance(places, Value):
        return None
    if (values.shape or ())[axis] == 0:
        return None
    kind = "max" if direction == "GT" else "min"
    place = cast(relax.dialect.ops[f"arg{kind}"](values.ssa, axis=axis), places.dtype)
    return [Value(ssa=whole(kind, values.ssa, axes)), Value(ssa=place)]


def _counts(node: HloNode, axis: int) -> bool:
    """Check whether the second operand is the index along an axis."""
    made, place = maker_of(node.operation.operands[1]), axis
    while made is not None and made.name in ("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim"):
        places = value_of(made.attributes["broadcast_dimensions"])
        if place not in places:
            return False
        made, place = maker_of(made.operands[0]), places.index(place)
    is_count = made is not None and made.name in ("stablehlo.iota", "stablehlo.dynamic_iota")
    return made is not None and is_count and value_of(made.attributes["iota_dimension"]) == place


def maker_of(value: IRValue) -> Operation | None:
    """Return the operation that defines a value, or None for an argument."""
    owner = value.owner
    return None if isinstance(owner, Block) else owner


# ---- any body ----


def _reduce_pairs(node: HloNode, operands: Sequence[Held], initial: Sequence[Held], axes: Sequence[int]) -> list[Held]:
    """Reduce the leading dimensions as one: neighbors are combined until one element remains."""
    shape = shape_of(operands[0])
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rest = [shape[axis] for axis in kept]
    if not isinstance(count := sizes.product([shape[axis] for axis in axes]), int):
        raise node.fail("a body that is not a known reduction needs dimensions that are known at import")
    if count == 0:
        return [of_parts(each, lambda x: sizes.broadcast(x, rest)) for each in initial]

    def in_front(x: Tensor) -> Tensor:
        return sizes.reshaped(relax.permute_dims(x, axes=[*axes, *kept]), [count, *rest])

    held = [of_parts(operand, in_front) for operand in operands]
    while count > 1:
        held, count = _halve(node, held, count)
    last = [of_parts(each, lambda x: relax.squeeze(x, axis=[0])) for each in held]
    first = [of_parts(each, lambda x: sizes.broadcast(x, rest)) for each in initial]
    return node.on_tensors([*first, *last])


def _halve(node: HloNode, held: Sequence[Held], count: int) -> tuple[list[Held], int]:
    half = count // 2

    def every_other(start: int) -> list[Held]:
        return [
            of_parts(each, lambda x: relax.strided_slice(x, axes=[0], begin=[start], end=[2 * half], strides=[2]))
            for each in held
        ]

    made = node.on_tensors([*every_other(0), *every_other(1)])
    if count % 2 == 0:
        return made, half
    rest = [of_parts(each, lambda x: relax.strided_slice(x, axes=[0], begin=[count - 1], end=[count])) for each in held]
    return [_join(*pair) for pair in zip(made, rest, strict=True)], half + 1


def _join(one: Held, other: Held) -> Held:
    if isinstance(one, ComplexValue) and isinstance(other, ComplexValue):
        return Pair(joined([one.real.ssa, other.real.ssa]), joined([one.imag.ssa, other.imag.ssa])).value()
    assert isinstance(one, Value) and isinstance(other, Value)
    return Value(ssa=joined([one.ssa, other.ssa]))
