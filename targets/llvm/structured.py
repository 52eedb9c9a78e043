# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule has to know of a linalg.generic: its loops, and which elements each operand gives to a point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...bindings.mlir import ir
from ...bindings.patterns import defining_op
from ...bindings.rewriting import Decline
from ...emit import linalg

#: What no type can have as a size.
_TOO_MANY = 1 << 63
_DYNAMIC = ir.ShapedType.get_dynamic_size()
_WIDTHS = (8, 16, 32, 64)
_FLOATS = ("f16", "bf16", "f32", "f64")


class Linear(NamedTuple):
    """An index: a sum of loop dimensions times factors, and a constant."""

    factors: tuple[tuple[int, int], ...]
    constant: int = 0
    #: Whether the axis may go on where the loop ends: a convolution's input, when its filter has size 1.
    is_partial: bool = False

    @property
    def dim(self) -> int | None:
        """The dimension that it is, unless it is more than that."""
        plain = self.constant == 0 and len(self.factors) == 1 and self.factors[0][1] == 1
        return self.factors[0][0] if plain else None

    def factor(self, dim: int) -> int:
        return dict(self.factors).get(dim, 0)


@dataclass(frozen=True)
class StructuredOp:
    """A linalg.generic on tensors. Operands are the inputs, what an epilogue reads besides, and the outputs.

    There is one access, by axis, for each.
    """

    operation: Any
    operands: tuple[Any, ...]
    input_count: int
    accesses: tuple[tuple[Linear, ...], ...]
    #: The loops' sizes, None where they are known at run time only.
    sizes: tuple[int | None, ...]
    reductions: frozenset[int]

    @property
    def block(self) -> Any:
        return self.operation.regions[0].blocks[0]

    @property
    def output_start(self) -> int:
        """The number of the first output among the operands."""
        return len(self.operands) - len(self.operation.results)

    @property
    def outputs(self) -> tuple[Any, ...]:
        return self.operands[self.output_start :]

    @property
    def output_accesses(self) -> tuple[tuple[Linear, ...], ...]:
        return self.accesses[self.output_start :]

    @property
    def dims(self) -> list[int]:
        return list(range(len(self.sizes)))

    @property
    def parallels(self) -> list[int]:
        return [dim for dim in self.dims if dim not in self.reductions]

    def last_dim(self, operand: int) -> int | None:
        """The dimension along which an operand's elements lie side by side; those of size 1 do not count."""
        for axis, size in reversed(list(zip(self.accesses[operand], shape_of(self.operands[operand]), strict=True))):
            if size != 1:
                return axis.dim
        return None

    def uses(self, operand: int, dim: int) -> bool:
        return any(axis.factor(dim) for axis in self.accesses[operand])

    def is_contiguous(self, operand: int, dim: int, factor: int = 1) -> bool:
        """Whether steps along a dimension move through an operand's last axis alone, by `factor` elements."""
        *outer, last = self.accesses[operand] or (Linear(()),)
        return last.factor(dim) == factor and not any(axis.factor(dim) for axis in outer)

    def size(self, dim: int) -> Any:
        """A loop's size: a number, or an index computed here."""
        known = self.sizes[dim]
        if known is not None:
            return known
        operand, axis = next(self.places_of(dim))
        return linalg.size(self.operands[operand], axis).value

    def places_of(self, dim: int) -> Iterator[tuple[int, int]]:
        """Operands, and their axes that are as long as a loop; at least one, or Decline."""
        found = False
        for operand, access in enumerate(self.accesses):
            for axis, index in enumerate(access):
                if index.dim == dim and not index.is_partial:
                    found = True
                    yield operand, axis
        if not found:
            raise Decline(f"no operand says how far loop dimension {dim} goes")

    def reads_output(self, output: int) -> bool:
        """Whether the body uses what the output holds before."""
        argument = self.block.arguments[self.input_count + output]
        return next(iter(argument.uses), None) is not None


def structured_ops(function: Any, *, named: bool = False) -> list[Any]:
    """The linalg.generic operations of a function, or all of linalg's, that are in no other one; in order."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name != "linalg.generic" and not (named and op.name.startswith("linalg.")):
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.SKIP

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def analyze(operation: Any) -> StructuredOp:
    """Raises Decline where an operation is of no form that the schedules know."""
    input_count = next(iter(operation.attributes["operandSegmentSizes"]))
    operands = tuple(operation.operands)
    for value in operands:
        _check_operand(value.type)
    if len(operation.results) != len(operands) - input_count:
        raise Decline("it is on memrefs")
    iterators = [str(attribute) for attribute in operation.attributes["iterator_types"]]
    if any("window" in iterator for iterator in iterators):
        raise Decline("it has a window iterator")
    maps = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    accesses = [tuple(_linear(result) for result in map_.results) for map_ in maps]
    sizes = tuple(_size(dim, operands, accesses) for dim in range(len(iterators)))
    units = {dim for dim, size in enumerate(sizes) if size == 1}
    simple = tuple(
        tuple(_without(index, units, sizes, length) for index, length in zip(access, shape_of(value), strict=True))
        for access, value in zip(accesses, operands, strict=True)
    )
    reductions = frozenset(dim for dim, iterator in enumerate(iterators) if "reduction" in iterator)
    op = StructuredOp(operation, operands, input_count, simple, sizes, reductions)
    _check_outputs(op)
    return op


def _check_operand(type_: Any) -> None:
    if is_scalar(type_):
        return
    if not isinstance(type_, ir.RankedTensorType):
        raise Decline(f"an operand is a {type_}")
    if type_.encoding is not None:
        raise Decline(f"an operand has an encoding ({type_})")


def is_scalar(type_: Any) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))


def shape_of(value: Any) -> list[int]:
    """The sizes in a tensor's type; none for a scalar."""
    return [] if is_scalar(value.type) else list(value.type.shape)


def is_storable(element: Any) -> bool:
    """Whether a vector of such elements lies in memory as a tensor's elements do; bits are packed in vectors."""
    if isinstance(element, ir.IntegerType):
        return element.width in _WIDTHS
    return str(element) in _FLOATS


def _linear(expr: Any) -> Linear:
    factors, constant = _terms(expr)
    return Linear(tuple(sorted((dim, factor) for dim, factor in factors.items() if factor)), constant)


def _terms(expr: Any) -> tuple[dict[int, int], int]:
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position: 1}, 0
    if isinstance(expr, ir.AffineConstantExpr):
        return {}, expr.value
    if isinstance(expr, ir.AffineAddExpr):
        left, right = _terms(expr.lhs), _terms(expr.rhs)
        dims = {*left[0], *right[0]}
        return {dim: left[0].get(dim, 0) + right[0].get(dim, 0) for dim in dims}, left[1] + right[1]
    if isinstance(expr, ir.AffineMulExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        factors, constant = _terms(expr.lhs)
        by = expr.rhs.value
        return {dim: factor * by for dim, factor in factors.items()}, constant * by
    raise Decline(f"the index {expr} is no sum of loop dimensions")


def _size(dim: int, operands: Sequence[Any], accesses: Sequence[Sequence[Linear]]) -> int | None:
    """The size of a loop as far as the types tell. Raises Decline where no operand has it."""
    found = False
    for value, access in zip(operands, accesses, strict=True):
        for index, size in zip(access, shape_of(value), strict=True):
            if index.dim == dim:
                found = True
                if size != _DYNAMIC:
                    return int(size)
    if not found:
        raise Decline(f"no operand says how far loop dimension {dim} goes")
    return None


def _without(index: Linear, units: set[int], sizes: Sequence[int | None], length: int) -> Linear:
    """Loops of one step stay at 0."""
    simple = Linear(tuple(pair for pair in index.factors if pair[0] not in units), index.constant)
    is_exact = simple == index or simple.dim is None or sizes[simple.dim] == length
    return simple._replace(is_partial=not is_exact)


def _check_outputs(op: StructuredOp) -> None:
    expected = {dim for dim in op.parallels if op.sizes[dim] != 1}
    for access in op.output_accesses:
        dims = [index.dim for index in access if index != Linear(())]
        if None in dims or len(set(dims)) != len(dims) or set(dims) != expected:
            raise Decline("an output's elements are no permutation of the parallel loops")


# ---- dimensions that are one ----


@dataclass(frozen=True)
class Collapsed:
    """An operation with fewer loops, and how its results get their shapes back."""

    op: StructuredOp
    original: StructuredOp

    def discard(self) -> None:
        """Takes back what was created, which nobody uses."""
        pairs = zip(self.op.operands, self.original.operands, strict=True)
        for new in dict.fromkeys(new for new, old in pairs if new != old):
            new.owner.operation.erase()

    def restore(self, results: Sequence[Any]) -> list[Any]:
        pairs = zip(results, self.original.outputs, self.original.output_accesses, strict=True)
        chains = _chains(self.original)
        return [_expand(value, like, _groups(access, chains, like.type.shape)) for value, like, access in pairs]


def collapse(op: StructuredOp) -> Collapsed:
    """One loop for neighbours that every operand walks through without a gap."""
    chains = _chains(op)
    if all(len(chain) == 1 for chain in chains):
        return Collapsed(op, op)
    sizes = tuple(_product([op.sizes[dim] for dim in chain]) for chain in chains)
    if any(size is not None and size >= _TOO_MANY for size in sizes):
        return Collapsed(op, op)
    number = {dim: position for position, chain in enumerate(chains) for dim in chain}
    operands, accesses = [], []
    made: dict[Any, Any] = {}
    for value, access in zip(op.operands, op.accesses, strict=True):
        groups = _groups(access, chains, shape_of(value))
        # What is read and written in place stays one value.
        key = (value, str(groups))
        if key not in made:
            made[key] = _collapse(value, groups)
        operands.append(made[key])
        accesses.append(tuple(_merged([access[axis] for axis in group], number) for group in groups))
    new = replace(
        op,
        operands=tuple(operands),
        accesses=tuple(accesses),
        sizes=sizes,
        reductions=frozenset(number[dim] for dim in op.reductions),
    )
    return Collapsed(new, op)


def _chains(op: StructuredOp) -> list[list[int]]:
    """The loops in groups, each in order; most have one member."""
    asks_for_place = any(inner.operation.name in ("linalg.index", "tensor.extract") for inner in op.block.operations)
    if asks_for_place or 0 in op.sizes:
        return [[dim] for dim in op.dims]
    following = dict(_following(op))
    chains = []
    for start in op.dims:
        if start in following.values():
            continue
        chains.append([start])
        while chains[-1][-1] in following:
            chains[-1].append(following[chains[-1][-1]])
    return sorted(chains)


def _following(op: StructuredOp) -> Iterator[tuple[int, int]]:
    for left in op.dims:
        for right in op.dims:
            if left != right and _are_neighbours(op, left, right):
                yield left, right
                break


def _are_neighbours(op: StructuredOp, left: int, right: int) -> bool:
    if (left in op.reductions) != (right in op.reductions) or 1 in (op.sizes[left], op.sizes[right]):
        return False
    for value, access in zip(op.operands, op.accesses, strict=True):
        axes = [axis for axis, size in enumerate(shape_of(value)) if access[axis].factors or size != 1]
        used = [access[axis] for axis in axes]
        places = [place for place, index in enumerate(used) if index.factor(left) or index.factor(right)]
        if not places:
            continue
        if len(places) != 2 or places[1] != places[0] + 1:
            return False
        if used[places[0]].dim != left or used[places[1]].dim != right:
            return False
        if used[places[0]].is_partial or used[places[1]].is_partial:
            return False
        if not _is_whole_in(value, range(axes[places[0]] + 1, axes[places[1]] + 1)):
            return False
    return True


def _is_whole_in(value: Any, axes: Iterable[int]) -> bool:
    """Whether a tensor is known to be no part of another one in these axes: behind each row of a part is a gap."""
    slice_ = defining_op(value, "tensor.extract_slice")
    if slice_ is None:
        return True
    source = slice_.operation.operands[0].type
    sizes, steps = (list(slice_.operation.attributes[name]) for name in ("static_sizes", "static_strides"))
    is_whole = [
        size == known != _DYNAMIC and step == 1 for size, known, step in zip(sizes, source.shape, steps, strict=True)
    ]
    skipped = source.rank - value.type.rank
    return sizes[skipped:] == list(value.type.shape) and all(is_whole[skipped + axis] for axis in axes)


def _groups(access: Sequence[Linear], chains: Sequence[Sequence[int]], shape: Sequence[int]) -> list[list[int]]:
    """An operand's axes, those that become one together."""
    groups: list[list[int]] = []
    place = {index.dim: axis for axis, index in enumerate(access) if index.dim is not None}
    until = -1
    for axis in range(len(shape)):
        if axis <= until:
            continue
        chain = next((chain for chain in chains if chain[0] == access[axis].dim), [])
        until = place[chain[-1]] if len(chain) > 1 else axis
        groups.append(list(range(axis, until + 1)))
    return groups


def _merged(indices: Sequence[Linear], number: dict[int, int]) -> Linear:
    """The first one has the chain's first dimension; alone, it is renumbered."""
    first = indices[0]
    factors = {number[dim]: factor for dim, factor in first.factors}
    return Linear(tuple(sorted(factors.items())), first.constant)


def _product(sizes: Sequence[int | None]) -> int | None:
    total = 1
    for size in sizes:
        if size is None:
            return None
        total *= size
    return total


def _collapse(value: Any, groups: Sequence[Sequence[int]]) -> Any:
    if all(len(group) == 1 for group in groups):
        return value
    shape = list(value.type.shape)
    sizes = [_product([None if shape[axis] == _DYNAMIC else shape[axis] for axis in group]) for group in groups]
    type_ = ir.RankedTensorType.get([_DYNAMIC if size is None else size for size in sizes], value.type.element_type)
    attributes = {"reassociation": _reassociation(groups)}
    return ir.Operation.create("tensor.collapse_shape", results=[type_], operands=[value], attributes=attributes).result


def _expand(value: Any, like: Any, groups: Sequence[Sequence[int]]) -> Any:
    if value.type == like.type:
        return value
    dynamic = [size for size in linalg.sizes(like) if not isinstance(size, int)]
    attributes = {
        "reassociation": _reassociation(groups),
        "static_output_shape": ir.DenseI64ArrayAttr.get(list(like.type.shape)),
    }
    operands = [value, *dynamic]
    return ir.Operation.create(
        "tensor.expand_shape", results=[like.type], operands=operands, attributes=attributes
    ).result


def _reassociation(groups: Sequence[Sequence[int]]) -> Any:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, axis) for axis in group]) for group in groups])
