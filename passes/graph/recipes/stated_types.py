# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that a quantized layer has the types that an entry of a recipe states: scales, zero points and integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....bindings.ir import Operation
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.relax.known_constants import elements_of, is_constant
from ....support.suggest import counted
from ...patterns.matched import Match
from ...patterns.tree import Check
from .operand_types import OperandType
from .recipe import RESULT, Op

if TYPE_CHECKING:
    from numpy import ndarray

#: Name of the operand with a scale that is a factor of derived scales, beside the one of constant weights.
DATA = "x"
#: Relative tolerance of derived scales: products of f32 are rounded, by their makers in different ways.
_TOLERANCE = 1e-6


def has_stated_types(op: Op) -> Check:
    """Return a check that accepts layers if operands and result have types of an entry of a recipe."""

    def has_types(match: Match) -> bool | str:
        for name, types in op.types.items():
            if f"{name}_scale" not in match or any(type_.granularity == "mx" for type_ in types):
                continue  # an optional operand, a real result, or blocks, which have patterns of their own
            if reason := _refusal(match, name, types, op):
                return f"'{op.name}': {reason}"
        return True

    return has_types


def _refusal(match: Match, name: str, types: Sequence[OperandType], op: Op) -> str:
    """Return the reason why no type fits, from a type with the element type of the operand."""
    value = match.root.results[0] if name == RESULT else match[name]
    info = decode(value.type)
    dtype = info.dtype if isinstance(info, TensorInfo) else str(value.type)
    if not (alike := [type_ for type_ in types if type_.dtype == dtype]):
        return f"{name} has elements of {dtype}, and the recipe states {_show(types)}"
    reasons = [next(_problems(match, name, operand_type, op), "") for operand_type in alike]
    return "" if "" in reasons else f"{name} {reasons[0]}, and the recipe states {_show(types)}"


def _show(types: Sequence[OperandType]) -> str:
    return " or ".join(f"'{type_}'" for type_ in types)


def _problems(match: Match, name: str, type_: OperandType, op: Op) -> Iterator[str]:
    scale, zero_point = (elements_of(match[f"{name}_{text}"]) for text in ("scale", "zero_point"))
    if scale is None or zero_point is None:
        return  # f8 and f6, which have no zero points
    if type_.derived:
        yield from _problems_of_derived(match, scale, op)
    elif not _has_granularity(match, name, type_, scale):
        yield f"has {counted(scale.size, 'scale')}"
    if type_.derived and scale.size > 1 and not _is_along_channels(match, name, op):
        yield "has scales along another axis than the channels of the sums"
    if (type_.symmetric or type_.derived) and zero_point.any():
        yield f"has the zero point {zero_point.flat[abs(zero_point).argmax()]}"
    if type_.power_of_two and not _are_powers(scale):
        yield f"has the scale {scale.flat[0]:g}, which is no power of two"
    if type_.narrow or type_.reduced:
        yield from _problems_of_range(match, name, type_)


def _has_granularity(match: Match, name: str, type_: OperandType, scale: ndarray) -> bool:
    if type_.granularity != "channel" or name == RESULT or not is_constant(match[name]):
        return scale.size == 1  # tensors that are computed at run time have one scale, known beforehand
    shape, readers = list(match[name].type.shape), _readers(match, name)
    if readers is None or not shape:
        return scale.size == 1
    real, reader = readers
    axis = channel_axis(reader, len(shape))
    is_along = real.opview.axis % len(shape) == axis
    return scale.size == shape[axis] and (is_along or scale.size == 1)


def _is_along_channels(match: Match, name: str, op: Op) -> bool:
    """Check whether several scales of a bias count the channels that it is added to."""
    weights, bias = _weights(match, op), _readers(match, name)
    product = None if weights is None else _readers(match, weights)
    if bias is None or product is None:
        return False
    (real, add), (_, reader) = bias, product
    shape, result = list(match[name].type.shape), decode(add.results[0].type)
    if not isinstance(result, TensorInfo) or result.rank is None:
        return False
    axis = len(shape) - result.rank + channel_axis_of_result(reader, result.rank)
    return 0 <= axis == real.opview.axis % len(shape)


def _weights(match: Match, op: Op) -> str | None:
    """Return the name of the first constant without a derived scale. Its scale is a factor of derived ones."""
    return next((operand for operand in op.operands if _is_weight(match, operand, op)), None)


def _problems_of_derived(match: Match, scale: ndarray, op: Op) -> Iterator[str]:
    import numpy

    names = [each for each in (DATA, _weights(match, op)) if each is not None]
    factors = [elements_of(match[f"{name}_scale"]) for name in names if f"{name}_scale" in match]
    if len(factors) < 2 or factors[0] is None or factors[1] is None:
        return
    expected = (factors[0].astype(float) * factors[1].astype(float)).reshape(-1)
    fits = scale.size == expected.size and numpy.allclose(scale.reshape(-1), expected, rtol=_TOLERANCE, atol=0)
    if not fits:
        yield f"has other scales than the product of the scales of {' and '.join(names)}"


def _is_weight(match: Match, name: str, op: Op) -> bool:
    return name in match and is_constant(match[name]) and not op.types[name][0].derived


def _are_powers(scale: ndarray) -> bool:
    import numpy

    return bool((numpy.frexp(scale)[0] == 0.5).all())


def _problems_of_range(match: Match, name: str, type_: OperandType) -> Iterator[str]:
    """Yield a problem of constants only: a quantize saturates to all integers of its type."""
    numbers = elements_of(match[name]) if name in match else None
    least, most = type_.limits
    if numbers is not None and numbers.size and not least <= numbers.min() <= numbers.max() <= most:
        yield f"has numbers from {numbers.min()} to {numbers.max()}"


def _readers(match: Match, name: str) -> tuple[Operation, Operation] | None:
    """Return the dequantize of an operand, and the operation that reads its real numbers."""
    real = next((operation for operation in match.operations if match[name] in list(operation.operands)), None)
    if real is None:
        return None
    reader = next((operation for operation in match.operations if real.results[0] in list(operation.operands)), None)
    return None if reader is None else (real, reader)


def channel_axis(reader: Operation, rank: int) -> int:
    """Return the axis of constant weights that counts the output channels of their reader."""
    layout = getattr(reader.opview, "kernel_layout", None)
    return layout.index("O") if isinstance(layout, str) and "O" in layout else rank - 1


def channel_axis_of_result(product: Operation, rank: int) -> int:
    """Return the axis of a product's result that counts the output channels."""
    view = product.opview
    layout = getattr(view, "out_layout", None) or getattr(view, "data_layout", None)
    return layout.index("C") if isinstance(layout, str) and "C" in layout else rank - 1
