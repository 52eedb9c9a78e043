# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout transformations: splitting and merging of blocked dimensions, or a loop over single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import AffineExpr, OpView, Value
from ...bindings.mlir import ir
from ...dialects.core.symbols import Dim, dim_mod, equal
from ...emit import linalg, loops, tensors
from ...emit.numbers import Number, Size, constant
from ...emit.parallel import share_places
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


class _Block(NamedTuple):
    """Dimension, or a part of one: the quotient by a number, or the remainder."""

    axis: int
    kind: str = "whole"
    divisor: int = 1


@register_legalize("relax.layout_transform", by_types=True)
def layout_transform(call: LegalizeCall) -> Legalized:
    if (blocks := blocks_moved(call)) is not None:
        return call.prim(lambda x, output: _move_blocks(x, output, blocks))

    def write(x: Value, output: Value) -> None:
        fill_around(call.op, output)
        move = lambda *place: loops.store(loops.load(x, *place), output, *place_of(call.op, place))  # noqa: E731
        loops.nest(loops.sizes(x), move)

    return call.loops(write)


def blocks_moved(call: LegalizeCall) -> list[list[_Block]] | None:
    """Return the blocks of each dimension of the result, or None if elements do not move by blocks."""
    return _blocks(list(call.op.index_map.value.results), call.shape(call.operands[0]))


def fill_around(op: OpView, output: Value) -> None:
    """Fill the whole output with the padding value."""
    pad = constant(op.pad_value or 0, output.type.element_type)
    share_places(loops.sizes(output), lambda *place: loops.store(pad, output, *place))


def place_of(op: OpView, place: Sequence[Number]) -> list[Number]:
    """Return the place of an element in the result."""
    return [linalg.affine_value(result, place.__getitem__) for result in op.index_map.value.results]


def _move_blocks(x: Value, output: Value, blocks: Sequence[Sequence[_Block]]) -> Value:
    """Move blocks: both tensors are viewed with a dimension per block, which differ only in their order."""
    parts = _parts(x, blocks)
    old = [block for _, own in parts for block in own]
    new = [block for each in blocks for block in each]
    sizes = dict(zip(old, [size for own, _ in parts for size in own], strict=True))
    split = tensors.split_all(output, [[sizes[block] for block in each] for each in blocks])
    moved = linalg.copy(tensors.split_all(x, [own for own, _ in parts]), split, [new.index(block) for block in old])
    return tensors.merge_all(moved, [len(each) for each in blocks])


def _parts(x: Value, blocks: Sequence[Sequence[_Block]]) -> list[tuple[list[Size], list[_Block]]]:
    """Return the sizes and the blocks of each dimension of x, the outer block first."""
    divisors = {block.axis: block.divisor for each in blocks for block in each if block.kind != "whole"}
    parts: list[tuple[list[Size], list[_Block]]] = []
    for axis, size in enumerate(linalg.sizes(x)):
        if (divisor := divisors.get(axis)) is None:
            parts.append(([size], [_Block(axis)]))
            continue
        sizes = [size // divisor, divisor]
        parts.append((sizes, [_Block(axis, "outer", divisor), _Block(axis, "inner", divisor)]))
    return parts


# ---- analysis of the map ----


def _blocks(expressions: Sequence[AffineExpr], sizes: Sequence[Dim]) -> list[list[_Block]] | None:
    """Return the blocks of each result of the map, the outer block first; None for other maps.

    Each dimension must occur exactly once, whole or in two blocks without a remainder, so that nothing is lost or
    padded.
    """
    blocks = [_blocks_of(expression, sizes) for expression in expressions]
    found = sorted(block for each in blocks for block in each or ())
    divisors = {block.axis: block.divisor for block in found if block.kind != "whole"}
    wanted = []
    for axis, size in enumerate(sizes):
        if (divisor := divisors.get(axis)) is None:
            wanted.append(_Block(axis))
        elif equal(dim_mod(size, divisor), 0) is True:
            wanted += [_Block(axis, "inner", divisor), _Block(axis, "outer", divisor)]
    known = [block for block in blocks if block]
    return known if len(known) == len(blocks) and found == wanted else None


def _blocks_of(expression: AffineExpr, sizes: Sequence[Dim]) -> list[_Block] | None:
    if isinstance(expression := expression.maybe_downcast(), ir.AffineDimExpr):
        return [_Block(expression.position)]
    if isinstance(expression, ir.AffineAddExpr):
        return _join(expression.lhs.maybe_downcast(), expression.rhs.maybe_downcast(), sizes)
    kinds = ((ir.AffineFloorDivExpr, "outer"), (ir.AffineModExpr, "inner"))
    if (kind := next((name for class_, name in kinds if isinstance(expression, class_)), None)) is None:
        return None
    dim, divisor = expression.lhs.maybe_downcast(), expression.rhs.maybe_downcast()
    if not isinstance(dim, ir.AffineDimExpr) or not isinstance(divisor, ir.AffineConstantExpr):
        return None
    return [_Block(dim.position, kind, divisor.value)]


def _join(left: AffineExpr, right: AffineExpr, sizes: Sequence[Dim]) -> list[_Block] | None:
    """Match `outer * c + inner`, in either order, where inner has exactly c values."""
    for scaled, inner in ((left, right), (right, left)):
        if not isinstance(scaled, ir.AffineMulExpr):
            continue
        factor = scaled.rhs.maybe_downcast()
        outer_blocks, inner_blocks = _blocks_of(scaled.lhs, sizes), _blocks_of(inner, sizes)
        if not isinstance(factor, ir.AffineConstantExpr) or not outer_blocks or not inner_blocks:
            continue
        if len(inner_blocks) == 1 and equal(_extent(inner_blocks[0], sizes), factor.value) is True:
            return [*outer_blocks, *inner_blocks]
    return None


def _extent(block: _Block, sizes: Sequence[Dim]) -> Dim:
    return {"whole": sizes[block.axis], "inner": block.divisor, "outer": None}[block.kind]


# ---- blocks of pixels ----


@register_legalize("relax.nn.pixel_shuffle", by_types=True)
def pixel_shuffle(call: LegalizeCall) -> Legalized:
    """Shuffle pixels: (..., C * r * r, H, W) is (..., C, r, r, H, W), which becomes (..., C, H, r, W, r)."""
    factor = call.op.upscale_factor

    def shuffled(data: Value, output: Value) -> Value:
        *batch, all_channels, height, width = linalg.sizes(data)
        channels = linalg.sizes(output)[-3]
        loops.require_same(all_channels, channels * factor * factor, "channels to shuffle")
        outer = [[size] for size in batch]
        source = tensors.split_all(data, [*outer, [channels, factor, factor], [height], [width]])
        target = tensors.split_all(output, [*outer, [channels], [height, factor], [width, factor]])
        first = len(batch)
        order = [*range(first), *(first + step for step in (0, 2, 4, 1, 3))]
        return tensors.merge_all(linalg.copy(source, target, order), [*(1 for _ in batch), 1, 2, 2])

    return call.prim(shuffled)
