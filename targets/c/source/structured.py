# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg.generic as loops: sums grow in a variable, and what lies row by row is gone through in one loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from ....bindings.ir import AffineExpr, AffineMap, Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, defining_op, last_of, operations_in, operations_of, use_count
from ....support.errors import RelaxError
from .control import loop
from .expressions import Expression, Size, binary, integer, of_size, plus, times
from .joining import chosen_dims, epilogues, filled_with, output_of, starts_sum
from .memory import dense_row, read
from .types import scalar_type
from .views import View
from .writer import FunctionWriter, Rule


@dataclass(frozen=True)
class Nest:
    """An operation, its operands as they lie in memory (None: a scalar), and how far its loops go."""

    op: Operation
    maps: tuple[AffineMap, ...]
    views: tuple[View | None, ...]
    input_count: int
    sizes: tuple[Size, ...]
    reductions: frozenset[int]

    @property
    def block(self) -> Block:
        return body_of(self.op)

    @property
    def outputs(self) -> range:
        """The numbers of the outputs among the operands."""
        return range(self.input_count, len(self.views))

    @property
    def carried(self) -> int:
        """How many of the last loops only add to elements that they do not choose."""
        chosen = {dim for output in self.outputs for dim in _dims_of(self.maps[output])}
        count = 0
        for dim in reversed(range(len(self.sizes))):
            if dim not in self.reductions or dim in chosen:
                break
            count += 1
        return count


def _dims_of(map_: AffineMap) -> set[int]:
    return {dim for result in map_.results for dim in _dims_in(result)}


def _dims_in(expression: AffineExpr) -> set[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return _dims_in(expression.lhs) | _dims_in(expression.rhs)
    return set()


def write_generic(writer: FunctionWriter, op: Operation) -> None:
    if len(op.results):
        raise RelaxError("it is on tensors: bufferize it first (tir-bufferize)")
    if starts_sum(op, writer.following):
        _keep_start(writer, op)
        return
    nest = _joined(_nest(writer, op))
    finishing = [_nest(writer, each) for each in epilogues(op, writer.following)]
    writer.written += [each.op for each in finishing]
    writer.settle()
    with ExitStack() as stack:
        outer, places = len(nest.sizes) - nest.carried, []
        for size in nest.sizes[:outer]:
            places.append(stack.enter_context(loop(writer, size)))
        sums = _begin_sums(writer, nest, places) if nest.carried else {}
        with ExitStack() as inner:
            for size in nest.sizes[outer:]:
                places.append(inner.enter_context(loop(writer, size)))
            _body(writer, nest, places, sums)
        for output, variable in sums.items():
            result = _finished(writer, nest, finishing, places, variable)
            writer.line(f"{_place(nest, output, places).text} = {result.text};")


def _keep_start(writer: FunctionWriter, op: Operation) -> None:
    memory, number = output_of(op), filled_with(op)
    assert memory is not None and number is not None
    writer.starts[memory] = writer.get(number)


def _finished(
    writer: FunctionWriter, nest: Nest, finishing: Sequence[Nest], places: Sequence[Expression], result: Expression
) -> Expression:
    """What becomes of a sum."""
    along = chosen_dims(nest.op) or []
    here = [places[dim] for dim in along]
    for each in finishing:
        taken = writer.atom(result, each.block.arguments[len(each.block.arguments) - 1].type)
        memory = output_of(each.op)
        for operand, argument in enumerate(each.block.arguments):
            if each.op.operands[operand] == memory:
                writer.know(argument, taken)
            else:
                _know_argument(writer, each, operand, argument, here, {})
        result = writer.get(writer.block(each.block).operands[0])
    return result


def _nest(writer: FunctionWriter, op: Operation) -> Nest:
    maps = tuple(attribute.value for attribute in op.attributes["indexing_maps"])
    iterators = [str(attribute) for attribute in op.attributes["iterator_types"]]
    views = tuple(_view(writer, value) for value in op.operands)
    sizes = tuple(_size(dim, maps, views) for dim in range(len(iterators)))
    reductions = frozenset(dim for dim, iterator in enumerate(iterators) if "reduction" in iterator)
    return Nest(op, maps, views, next(iter(op.attributes["operandSegmentSizes"])), sizes, reductions)


def _view(writer: FunctionWriter, value: Value) -> View | None:
    return writer.view(value) if isinstance(value.type, ir.MemRefType) else None


def _size(dim: int, maps: Sequence[AffineMap], views: Sequence[View | None]) -> Size:
    found: list[Size] = [
        view.sizes[axis]
        for map_, view in zip(maps, views, strict=True)
        if view is not None
        for axis, result in enumerate(map_.results)
        if isinstance(result, ir.AffineDimExpr) and result.position == dim
    ]
    if not found:
        raise RelaxError(f"no operand says how far loop {dim} goes")
    return next((size for size in found if isinstance(size, int)), found[0])


def _joined(nest: Nest) -> Nest:
    """With one loop where each operand's elements are gone through one after the other."""
    rank = len(nest.sizes)
    names = {op.name for op in operations_in(nest.op)}
    if rank < 2 or nest.reductions or "linalg.index" in names:
        return nest
    identity = ir.AffineMap.get_identity(rank, nest.op.context)
    for map_, view in zip(nest.maps, nest.views, strict=True):
        is_row = map_ == identity and view is not None and view.is_dense and view.sizes == nest.sizes
        if not is_row and (view is not None and len(view.sizes)):
            return nest
    count: Size = 1
    for size in nest.sizes:
        count = times(count, size)
    one = ir.AffineMap.get_identity(1, nest.op.context)
    none = ir.AffineMap.get(1, 0, [], nest.op.context)
    views = tuple(dense_row(view, count) if view is not None and len(view.sizes) else view for view in nest.views)
    maps = tuple(one if view is not None and len(view.sizes) else none for view in views)
    return Nest(nest.op, maps, views, nest.input_count, (count,), nest.reductions)


def _place(nest: Nest, operand: int, places: Sequence[Expression]) -> Expression:
    view = nest.views[operand]
    assert view is not None, operand
    return view.place([_index(result, places) for result in nest.maps[operand].results])


def _index(expression: AffineExpr, places: Sequence[Expression]) -> Expression:
    return of_size(_affine(expression, places))


def _affine(expression: AffineExpr, places: Sequence[Expression]) -> Size:
    if isinstance(expression, ir.AffineDimExpr):
        place = places[expression.position]
        return place if place.number is None else place.number
    if isinstance(expression, ir.AffineConstantExpr):
        return int(expression.value)
    if not isinstance(expression, ir.AffineBinaryExpr):
        raise RelaxError(f"the index {expression} is no formula of its loops")
    left, right = _affine(expression.lhs, places), _affine(expression.rhs, places)
    if isinstance(expression, ir.AffineAddExpr):
        return plus(left, right)
    if isinstance(expression, ir.AffineMulExpr):
        return times(left, right)
    if isinstance(left, int) and isinstance(right, int):
        return _divided(expression, left, right)
    operator = {ir.AffineFloorDivExpr: "/", ir.AffineModExpr: "%"}.get(type(expression))
    if operator is None:
        raise RelaxError(f"the index {expression} rounds up")
    return binary(operator, of_size(left), of_size(right))  # loops count from 0


def _divided(expression: AffineExpr, left: int, right: int) -> int:
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    return left // right if isinstance(expression, ir.AffineFloorDivExpr) else -(-left // right)


# ---- bodies ----


def _begin_sums(writer: FunctionWriter, nest: Nest, places: list[Expression]) -> dict[int, Expression]:
    """Variables for the outputs, with what these hold before."""
    sums = {}
    inner = [integer(0)] * nest.carried
    for output in nest.outputs:
        view = nest.views[output]
        assert view is not None
        argument = nest.block.arguments[output]
        memory = nest.op.operands[output]
        kept = writer.starts.pop(memory, None)
        start = kept if kept is not None else read(view, _place(nest, output, [*places, *inner]))
        sums[output] = writer.variable(scalar_type(argument.type), start, _sum_name(nest, output))
    return sums


def _sum_name(nest: Nest, output: int) -> str:
    yielded = last_of(nest.block).operands[output - nest.input_count]
    made = defining_op(yielded)
    names = {"addf": "sum", "addi": "sum", "maximumf": "most", "maxsi": "most", "minimumf": "least", "mulf": "product"}
    return names.get(made.operation.name.removeprefix("arith."), "result") if made is not None else "result"


def _body(writer: FunctionWriter, nest: Nest, places: list[Expression], sums: dict[int, Expression]) -> None:
    for operand, argument in enumerate(nest.block.arguments):
        _know_argument(writer, nest, operand, argument, places, sums)
    added = {} if len(nest.outputs) > 1 else _additions(nest)
    for op in operations_of(nest.block)[:-1]:
        if op.name == "linalg.index":
            writer.know(op.results[0], places[int(op.attributes["dim"].value)])
        elif op.results and op.results[0] in added:
            continue
        else:
            writer.operation(op)
    yielded = list(last_of(nest.block).operands)
    targets = [sums.get(output) or _place(nest, output, places) for output in nest.outputs]
    if added:
        operator, other = added[yielded[0]]
        writer.line(f"{targets[0].text} {operator}= {writer.get(other).text};")
        return
    values = writer.all(yielded)
    if len(values) > 1:
        values = [writer.atom(each, value.type) for each, value in zip(values, yielded, strict=True)]
    for target, value in zip(targets, values, strict=True):
        if target.text != value.text:
            writer.line(f"{target.text} = {value.text};")


def _know_argument(
    writer: FunctionWriter,
    nest: Nest,
    operand: int,
    argument: Value,
    places: list[Expression],
    sums: dict[int, Expression],
) -> None:
    view = nest.views[operand]
    if view is None:
        writer.know(argument, writer.get(nest.op.operands[operand]))
    elif operand in sums:
        writer.know(argument, sums[operand])
    else:
        writer.define(argument, read(view, _place(nest, operand, places)), "x")


def _additions(nest: Nest) -> dict[Value, tuple[str, Value]]:
    """Where the body ends with adding something to the output, or multiplying: what `+=` is for."""
    (yielded,) = last_of(nest.block).operands
    made = defining_op(yielded, "arith.addf", "arith.mulf")
    output = nest.block.arguments[nest.input_count]
    if made is None or use_count(yielded) != 1 or use_count(output) != 1:
        return {}
    operator = "+" if made.operation.name == "arith.addf" else "*"
    left, right = made.operation.operands
    if output not in (left, right):
        return {}
    return {yielded: (operator, right if left == output else left)}


RULES: dict[str, Rule] = {"linalg.generic": write_generic}
