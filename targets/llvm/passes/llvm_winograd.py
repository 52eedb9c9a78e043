# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of 3x3 taps by Winograd's minimal filtering, if the target's option asks for it.

Constant kernels are transformed at compile time, and take (m + 2)^2 / 9 of their memory. An addition to the result, and
a relu, become part of the convolution. If a kernel is large and has few tiles, reading it takes as long as the saved
products. Such convolutions stay unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ....bindings.ir import Operation, OpView, Value
from ....bindings.mlir import ir
from ....bindings.navigation import is_used_once, operations_named, users_of
from ....bindings.rewriting import replace_op
from ....dialects import relax
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.windows import windows_of
from ....dialects.relax.known_constants import elements_of
from ....dialects.relax.winograd import TAPS, TILES
from ....passes.core.registry import register_pass
from ....passes.graph.layout.conversion import constant_like
from ...core.machine import Machine
from ...core.machine_pass import MachinePass
from ...core.registry import parse_target
from ..objects.code_target import code_target
from ..winograd import transform_of_kernel

if TYPE_CHECKING:
    from numpy import ndarray

#: Vectors of a panel, if they divide the channels.
_VECTORS = 2
#: Limits of the tiles processed at once: for kernels that fit into a core's own cache, and for others, which each block
#: of tiles reads again.
_FEW_TILES, _MANY_TILES = 16, 49
#: Assumed tiles along a side of an image with dynamic sizes.
_ORDINARY_PLACES = 14
#: Products of a core per nanosecond and lane. Time to transform a tile of one vector of channels, per point. Bytes per
#: nanosecond that memory delivers to all cores.
_FLOPS, _TRANSFORM, _BYTES = 14.0, 1.0, 30.0
#: Largest fraction of the time of direct sums. Above it, the error is not worth the gain.
_MOST = 0.85


@register_pass
class Winograd(MachinePass):
    """Reduce the products of 3x3 convolutions, if the target's option asks for it."""

    name: ClassVar[str] = "llvm-winograd"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        if not (most := code_target(parse_target(self.target)).winograd):
            return
        kernels: _Kernels = {}
        processor = self.machine
        for operation in operations_named(op, "relax.nn.conv2d"):
            _rewrite(operation.opview, most, processor, kernels)


#: Transformed kernels, by the original, the side of a tile and the columns of a panel.
_Kernels = dict[tuple[Value, int, int], Value]


class _WinogradSizes(NamedTuple):
    """Sizes of a convolution. Dynamic image sizes are assumed."""

    channels: int
    outputs: int
    lanes: int
    batch: int
    places: tuple[int, ...]
    is_known: bool

    def tiles(self, step: int) -> int:
        return self.batch * math.prod(-(-size // step) for size in self.places)


def _rewrite(op: OpView, most: int, processor: Machine, kernels: _Kernels) -> None:
    sizes = _sizes(op, processor)
    step = None if sizes is None else _fastest(sizes, most, processor)
    if sizes is None or step is None:
        return
    bias, residual, relu, replaced = _epilogue(op)
    lanes = sizes.lanes
    columns = lanes * (_VECTORS if sizes.outputs % (_VECTORS * lanes) == 0 else 1)
    tiles, rows = _count_at_once(sizes, step, columns // lanes, processor)
    attributes = {"padding": _padding(op), "relu": relu, "rows": rows, "tiles": tiles}
    kernel = _kernel(op.weight, step + TAPS - 1, columns, kernels)
    location = ir.Location.fused([each.location for each in replaced], context=op.operation.context)
    with ir.InsertionPoint(replaced[-1]), location:
        added = None if bias is None else constant_like(op.weight, bias.reshape(-1, columns))
        made = relax.dialect.ops["nn.conv2d_winograd"](op.data, kernel, added, residual, **attributes)
    *before, last = replaced
    replace_op(last, [made])
    for operation in reversed(before):
        operation.erase()


def _padding(op: OpView) -> list[int]:
    windows = windows_of(call_of(op.definition, op.operation)).values()
    return [*(window.before for window in windows), *(window.after for window in windows)]


def _sizes(op: OpView, processor: Machine) -> _WinogradSizes | None:
    """Return the sizes, or None for a convolution that this method cannot compute."""
    lanes = processor.lanes(32)
    layouts = (f"NCHW{lanes}c", f"OHWI{lanes}i{lanes}o", f"NCHW{lanes}c")
    if (op.data_layout, op.kernel_layout, op.out_layout or op.data_layout) != layouts or op.groups != 1:
        return None
    infos = [decode(value.type) for value in (op.data, op.weight, op.result)]
    if any(not isinstance(info, TensorInfo) or info.dtype != "f32" or info.shape is None for info in infos):
        return None
    windows = windows_of(call_of(op.definition, op.operation)).values()
    is_plain = all((window.taps, window.stride, window.gap) == (TAPS, 1, 1) for window in windows)
    if not is_plain or any(side not in (0, 1) for side in _padding(op)):
        return None
    if (weight := elements_of(op.weight)) is None:
        return None
    outer, _, _, inner, *_ = weight.shape
    batch, _, *places, _ = infos[2].shape  # type: ignore[union-attr, misc]
    is_known = all(isinstance(size, int) for size in (batch, *places))
    known = tuple(size if isinstance(size, int) else _ORDINARY_PLACES for size in places)
    return _WinogradSizes(inner * lanes, outer * lanes, lanes, batch if isinstance(batch, int) else 1, known, is_known)


# ---- choice of the fastest method ----


def _fastest(sizes: _WinogradSizes, most: int, processor: Machine) -> int | None:
    """Return the results along a side of a tile, or None if direct sums are about as fast."""
    times = {step: _nanoseconds(sizes, step, processor) for step in TILES if step <= most}
    best = min(times, key=times.__getitem__)
    places = sizes.tiles(1)
    products = sizes.channels * sizes.outputs * TAPS * TAPS
    direct = max(2 * products * places / (_FLOPS * sizes.lanes) / processor.cores, 4 * products / _BYTES)
    return best if times[best] < _MOST * direct else None


def _nanoseconds(sizes: _WinogradSizes, step: int, processor: Machine) -> float:
    """Estimate the time: the arithmetic, or reading the kernel if that takes longer."""
    tiles, points = sizes.tiles(step), (step + TAPS - 1) ** 2
    products = sizes.channels * sizes.outputs * points
    vectors = (sizes.channels + sizes.outputs) // sizes.lanes
    computing = tiles * (2 * products / (_FLOPS * sizes.lanes) + _TRANSFORM * points * vectors)
    return max(computing / processor.cores, 4 * products / _BYTES)


def _count_at_once(sizes: _WinogradSizes, step: int, vectors: int, processor: Machine) -> tuple[int, int]:
    """Return the number of tiles processed at once, and the number of tiles multiplied in registers."""
    kernel = 4 * (step + TAPS - 1) ** 2 * sizes.channels * sizes.outputs
    wanted = _FEW_TILES if kernel <= processor.own_cache * 3 // 4 else _MANY_TILES
    most = max(processor.registers * 5 // 8 // vectors, 1)
    if not sizes.is_known:
        return -(-wanted // most) * most, most
    count = sizes.tiles(step)
    even = [index for index in range(_FEW_TILES // 2, _MANY_TILES + 1) if count % index == 0]
    tiles = min(even, key=lambda each: abs(each - wanted)) if even else _even_out(count, wanted)
    rows = next((position for position in range(most, most // 2, -1) if tiles % position == 0), _even_out(tiles, most))
    return tiles, rows


def _even_out(count: int, most: int) -> int:
    """Return at most `most`, reduced so that the last group is about as large as the others."""
    return max(-(-count // max(-(-count // most), 1)), 1)


# ---- epilogue ----


def _epilogue(op: OpView) -> tuple[ndarray | None, Value | None, bool, list[Operation]]:
    """Return the bias per channel, the tensor to add, True if a relu follows, and the operations of this epilogue."""
    bias, residual = None, None
    found = [op.operation]
    while (user := _next(found[-1])) is not None:
        if user.name == "relax.nn.relu":
            return bias, residual, True, [*found, user]
        (other,) = [operand for operand in user.operands if operand != found[-1].results[0]]
        if bias is None and residual is None and (channels := _read_channel_values(other, op)) is not None:
            bias = channels
        elif residual is None and other.type == op.result.type:
            residual = other
        else:
            break
        found.append(user)
    return bias, residual, False, found


def _next(operation: Operation) -> Operation | None:
    """Return the only user, if it may become part of the convolution."""
    (result,) = operation.results
    if not is_used_once(result):
        return None
    (user,) = users_of(result)
    is_in_place = user.name in ("relax.add", "relax.nn.relu") and user.results[0].type == result.type
    return user if is_in_place and user.block == operation.block else None


def _read_channel_values(value: Value, op: OpView) -> ndarray | None:
    """Return the elements of a constant with one element per channel, or None."""
    import numpy

    if (elements := elements_of(value)) is None:
        return None
    _, blocks, _, _, lanes = op.result.type.shape
    if elements.dtype != "float32" or elements.shape not in ((1, blocks, 1, 1, lanes), (blocks, 1, 1, lanes)):
        return None
    return numpy.ascontiguousarray(elements)


# ---- kernels ----


def _kernel(weight: Value, side: int, columns: int, kernels: _Kernels) -> Value:
    """Return the transformed kernel. All convolutions with this kernel share it."""
    key = weight, side, columns
    if key not in kernels:
        with ir.InsertionPoint.after(weight.owner), weight.owner.location:
            kernels[key] = constant_like(weight, _panels(weight, side, columns))
    return kernels[key]


def _panels(weight: Value, side: int, columns: int) -> ndarray:
    """Transform OHWI16i16o to [panels, points, channels, columns]; computed in f64."""
    import numpy

    elements = elements_of(weight)
    assert elements is not None
    outer, _, _, inner, lanes, _ = elements.shape
    transform = transform_of_kernel(side)
    taps = elements.transpose(0, 5, 3, 4, 1, 2).reshape(-1, TAPS * TAPS).astype("float64")
    points = (taps @ numpy.kron(transform, transform).T).astype("float32")
    panels = points.reshape(outer * lanes // columns, columns, inner * lanes, side * side)
    return numpy.ascontiguousarray(panels.transpose(0, 3, 2, 1))
