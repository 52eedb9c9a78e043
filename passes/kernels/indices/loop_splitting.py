# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops split by the divisors in their index: `co // 32` becomes an index of its own, that of the outer loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....bindings.affine import plain_dim
from ....bindings.ir import AffineMap, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_in, users_of
from ....bindings.rewriting import replace_op
from ....dialects.core.indices import regrouped
from ....dialects.core.symbols_expr import Size, SymbolError, sole_atom, substituted, terms_of
from ....emit import linalg, tensors
from ....emit.generic import GENERIC, GenericOp
from ....emit.groups import fill_of
from .affine_sizes import dim_of, is_divided, is_linear, loop_indices, size_of
from .maps import is_candidate, simplify_maps

#: Splits of the loops of one operation: more divisors than grouped and blocked layouts have.
_MOST_SPLITS = 8


class LoopSplit(NamedTuple):
    """A loop that becomes two: the inner one has this number of steps."""

    dim: int
    inner: int


def loop_splits(op: GenericOp) -> list[LoopSplit]:
    """Return splits after which each index is a sum of loops; none if there are no such splits."""
    sizes = list(op.known_sizes)
    divided = [
        size_of(result, loop_indices(sizes)) for map_ in op.maps for result in map_.results if is_divided(result)
    ]
    indices = [index for index in divided if index is not None]
    splits: list[LoopSplit] = []
    if len(indices) != len(divided):
        return []
    while (split := next(_candidates(indices, sizes), None)) is not None and len(splits) < _MOST_SPLITS:
        try:
            indices = _split_indices(indices, split, sizes)
        except SymbolError:
            return []
        splits.append(split)
    return (
        splits
        if all(map(is_linear, indices)) and all(_has_exact_axes(op, loop_split.dim) for loop_split in splits)
        else []
    )


def _candidates(indices: Sequence[Size], sizes: Sequence[int | None]) -> Iterator[LoopSplit]:
    """Yield divisors of single loops, the smallest of a loop first."""
    splits = {
        LoopSplit(dim_of(loop), by)
        for index in indices
        for monomial in terms_of(index)
        for atom in monomial
        if atom.kind in ("//", "%") and isinstance(by := atom.args[1], int) and (loop := sole_atom(atom.args[0]))
        if loop.kind == "variable"
    }
    for dim, by in sorted(splits):
        size = sizes[dim]
        if size is not None and 1 < by < size and size % by == 0:
            yield LoopSplit(dim, by)


def _split_indices(indices: Sequence[Size], split: LoopSplit, sizes: list[int | None]) -> list[Size]:
    """Return the indices over the loops after a split. The sizes of the new loops replace the old ones in `sizes`."""
    before = loop_indices(sizes)
    size = sizes[split.dim]
    assert size is not None
    sizes[split.dim : split.dim + 1] = [size // split.inner, split.inner]
    after = loop_indices(sizes)
    whole = split.inner * after[split.dim] + after[split.dim + 1]
    others = [*after[: split.dim], whole, *after[split.dim + 2 :]]
    values = {str(old): new for old, new in zip(before, others, strict=True) if not isinstance(old, int)}
    return [regrouped(substituted(index, values)) for index in indices]


def _has_exact_axes(op: GenericOp, dim: int) -> bool:
    """Check that the axes along a loop are as long as the loop."""
    return all(value.type.shape[axis] in (op.known_size(dim), -1) for value, axis in op.axes_along(dim))


# ---- rewriting ----


def split_loops(operation: Operation, splits: Sequence[LoopSplit]) -> None:
    """Split loops of an operation, and the same loops of the fill before and of elementwise operations behind it."""
    for split in splits:
        for number, output in enumerate(GenericOp(operation).outputs):
            fill = fill_of(output)
            dim = None if fill is None else _dim_in_common(operation, number, split.dim, fill, output)
            if fill is not None and dim is not None:
                _split_loop(fill, dim, split.inner)
        followers = _followers(operation, split.dim)
        operation = _split_loop(operation, split.dim, split.inner)
        for follower, dim in followers:
            _split_loop(follower, dim, split.inner)
    if splits:
        simplify_maps(operation)


def _dim_in_common(operation: Operation, number: int, dim: int, other: Operation, value: Value) -> int | None:
    """Return the loop of another operation along the axis of an output that a loop runs along."""
    if (axis := _axis_of(GenericOp(operation).output_maps[number], dim)) is None:
        return None
    generic = GenericOp(other)
    positions = [place for place, input_ in enumerate((*generic.inputs, *other.results)) if input_ == value]
    maps = [generic.maps[place] for place in positions]
    dims = {plain_dim(map_.results[axis]) for map_ in maps}
    found = next(iter(dims)) if len(dims) == 1 else None
    return found if found is not None and _has_exact_axes(generic, found) else None


def _axis_of(map_: AffineMap, dim: int) -> int | None:
    return next((axis for axis, result in enumerate(map_.results) if plain_dim(result) == dim), None)


def _followers(operation: Operation, dim: int) -> list[tuple[Operation, int]]:
    """Return the chain of elementwise operations, each the only reader of the one before, and their loops."""
    followers: list[tuple[Operation, int]] = []
    while len(operation.results) == 1:
        value = operation.results[0]
        users = set(users_of(value))
        user = users.pop() if len(users) == 1 else None
        if user is None or user.name != GENERIC or not _is_elementwise(GenericOp(user), value):
            break
        if (shared := _dim_in_common(operation, 0, dim, user, value)) is None:
            break
        followers.append((user, shared))
        operation, dim = user, shared
    return followers


def _is_elementwise(op: GenericOp, value: Value) -> bool:
    """Check whether an operation only reads a value, in loops that are split for nothing else."""
    return not op.reductions and value not in op.outputs and not is_candidate(op)


def _split_loop(operation: Operation, dim: int, inner: int) -> Operation:
    """Replace an operation by one with two loops for one. Its operands are views with one more axis."""
    op = GenericOp(operation)
    size = op.known_size(dim)
    assert size is not None
    axes = [[axis for axis, result in enumerate(map_.results) if plain_dim(result) == dim] for map_ in op.maps]
    parts = [size // inner, inner]
    with operation.context, ir.InsertionPoint(operation), operation.location:
        operands = [_split_axes(value, each, parts) for value, each in zip(op.operands, axes, strict=True)]
        split = _with_operands(op, operands)
        maps = [_split_map(map_, dim, inner) for map_ in op.maps]
        split.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
        kind = op.kinds[dim]
        split.attributes["iterator_types"] = linalg.iterator_types((*op.kinds[:dim], kind, *op.kinds[dim:]))
        _renumber_indices(split, dim, inner)
        results = [
            _merge_axes(value, each, old.type)
            for value, each, old in zip(split.results, axes[op.input_count :], operation.results, strict=True)
        ]
    before = op.operands
    replace_op(operation, results)
    _erase_unused_views(before)
    return split


def _with_operands(op: GenericOp, operands: Sequence[Value]) -> Operation:
    copy = op.operation.clone().operation
    for number, value in enumerate(operands):
        copy.operands[number] = value
    for result, output in zip(copy.results, operands[op.input_count :], strict=True):
        result.set_type(output.type)
    return copy


def _split_map(map_: AffineMap, dim: int, inner: int) -> AffineMap:
    dims = [ir.AffineExpr.get_dim(position) for position in range(map_.n_dims + 1)]
    whole = dims[dim] * inner + dims[dim + 1]
    values = ir.AffineMap.get(len(dims), 0, [*dims[:dim], whole, *dims[dim + 2 :]])
    results = [
        affine_map
        for old in map_.results
        for affine_map in ((dims[dim], dims[dim + 1]) if plain_dim(old) == dim else (old.compose(values),))
    ]
    return ir.AffineMap.get(len(dims), 0, results)


def _split_axes(value: Value, axes: Sequence[int], parts: Sequence[int]) -> Value:
    """Return a tensor with axes split into parts. The split of a merged axis is the original tensor."""
    for axis in reversed(axes):
        merged = made_by(value, "tensor.collapse_shape")
        shape = list(value.type.shape)
        apart = [*shape[:axis], *parts, *shape[axis + 1 :]]
        if merged is not None and list(merged.operands[0].type.shape) == apart:
            value = merged.operands[0]
        elif made_by(value, "tensor.empty") is not None and -1 not in shape:
            value = linalg.empty(apart, value.type.element_type)
        else:
            value = tensors.split(value, axis, parts)
    return value


def _merge_axes(value: Value, axes: Sequence[int], type_: ir.Type) -> Value:
    for axis in axes:
        value = tensors.merge(value, axis, 2)
    return tensors.cast(value, list(type_.shape))


def _renumber_indices(operation: Operation, dim: int, inner: int) -> None:
    for index in [each for each in operations_in(operation) if each.name == "linalg.index"]:
        if (number := index.attributes["dim"].value) < dim:
            continue
        with ir.InsertionPoint(index), index.location:
            shifted = linalg.index(number + 1)
            whole = shifted if number > dim else linalg.index(dim) * inner + shifted
        replace_op(index, [whole])


def _erase_unused_views(values: Sequence[Value]) -> None:
    for value in set(values):
        view = made_by(value, "tensor.collapse_shape", "tensor.empty")
        if view is not None and not any(True for _ in value.uses):
            view.erase()
