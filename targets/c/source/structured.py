# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg.generic as loops: sums grow in a variable, and contiguous dimensions are collapsed into one loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ....bindings.ir import Operation, Value
from ....bindings.navigation import defining_op, last_of, operations_of
from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.generic import GenericOp
from ....emit.groups import filled_with
from ....support.errors import RefusalError
from .control import loop, pieces, steps
from .expressions import Expression, Size, integer, name, of_size
from .joining import chosen_dims, epilogues, output_of, starts_sum
from .memrefs import read
from .nest import CNest, joined, nest_of, place_of
from .tiles import RegisterTile, tile_of
from .types import scalar_type
from .writer import FunctionWriter, Rule


def write_generic(writer: FunctionWriter, op: Operation) -> None:
    if len(op.results):
        raise RefusalError("it is on tensors: bufferize it first (tir-bufferize)")
    if starts_sum(op, writer.following):
        _keep_start(writer, op)
        return
    nest = joined(nest_of(writer, op))
    finishing = [nest_of(writer, each) for each in epilogues(op, writer.following)]
    writer.written += [each.op for each in finishing]
    writer.settle()
    is_sum = writer.program.options.is_tiled and nest.carried and len(nest.outputs) == 1 and _additions(nest)
    tile = tile_of(nest) if is_sum else None
    if tile is not None:
        _write_tiles(writer, nest, finishing, tile)
        return
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
            writer.line(f"{place_of(nest, output, places).text} = {result.text};")


def _keep_start(writer: FunctionWriter, op: Operation) -> None:
    memory, number = output_of(op), filled_with(op)
    assert memory is not None and number is not None
    writer.starts[memory] = writer.get(number)


def _finished(
    writer: FunctionWriter, nest: CNest, finishing: Sequence[CNest], places: Sequence[Expression], result: Expression
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


# ---- several sums at a time ----


def _write_tiles(writer: FunctionWriter, nest: CNest, finishing: Sequence[CNest], tile: RegisterTile) -> None:
    output = nest.input_count
    start = writer.starts.pop(nest.op.operands[output], None)
    for counts, first in _steps(writer, nest, tile, tile.outer, {}, {}):
        _write_tile(writer, nest, finishing, tile, _TileStep(counts, first, start))


@dataclass(frozen=True)
class _TileStep:
    """One tile: how many results along the loops that have several, where they begin, what sums start from."""

    counts: Mapping[int, int]
    first: Mapping[int, Size]
    start: Expression | None


def _steps(
    writer: FunctionWriter,
    nest: CNest,
    tile: RegisterTile,
    dims: Sequence[int],
    counts: Mapping[int, int],
    first: Mapping[int, Size],
) -> Iterator[tuple[Mapping[int, int], Mapping[int, Size]]]:
    """Writes the loops over tiles; inside of the innermost one it gives how large a tile is, and where."""
    if not dims:
        yield counts, first
        return
    dim, *rest = dims
    for piece in pieces(nest.sizes[dim], tile.step(dim)):
        with steps(writer, piece) as place:
            yield from _steps(writer, nest, tile, rest, {**counts, dim: piece.step}, {**first, dim: place})


def _write_tile(
    writer: FunctionWriter, nest: CNest, finishing: Sequence[CNest], tile: RegisterTile, step: _TileStep
) -> None:
    output = nest.input_count
    axes = [dim for dim in (tile.row, tile.column) if dim is not None and step.counts[dim] > 1]
    argument = nest.block.arguments[output]
    sums = writer.names.fresh("sums")
    writer.line(f"{scalar_type(argument.type)} {sums}{''.join(f'[{step.counts[dim]}]' for dim in axes)};")
    with _inside(writer, nest, tile, step, axes) as (places, chosen):
        start = step.start or _read_at(nest, output, [*places, *[integer(0)] * nest.carried])
        writer.line(f"{sums}{chosen} = {start.text};")
    with ExitStack() as stack:
        counters = {dim: stack.enter_context(loop(writer, nest.sizes[dim])) for dim in tile.reductions}
        with _inside(writer, nest, tile, step, axes) as (places, chosen):
            places = [*places, *(counters[dim] for dim in sorted(counters))]
            _body(writer, nest, places, {output: name(f"{sums}{chosen}")})
    with _inside(writer, nest, tile, step, axes) as (places, chosen):
        result = _finished(writer, nest, finishing, places, name(f"{sums}{chosen}"))
        writer.line(f"{place_of(nest, output, places).text} = {result.text};")


@contextmanager
def _inside(
    writer: FunctionWriter, nest: CNest, tile: RegisterTile, step: _TileStep, axes: Sequence[int]
) -> Iterator[tuple[list[Expression], str]]:
    """Loops over the results of a tile: the places of the loops that do not add up, and the indices of the sum."""
    with ExitStack() as stack:
        inner = {
            dim: stack.enter_context(loop(writer, step.counts[dim], "row" if dim == tile.row else "column"))
            for dim in axes
        }
        free = range(len(nest.sizes) - nest.carried)
        places = [of_size(step.first[dim] + inner[dim] if dim in inner else step.first[dim]) for dim in free]
        yield places, "".join(f"[{each.text}]" for each in inner.values())


def _read_at(nest: CNest, operand: int, places: Sequence[Expression]) -> Expression:
    view = nest.views[operand]
    assert view is not None, operand
    return read(view, place_of(nest, operand, places))


# ---- bodies ----


def _begin_sums(writer: FunctionWriter, nest: CNest, places: list[Expression]) -> dict[int, Expression]:
    """Variables for the outputs, with what these hold before."""
    sums = {}
    inner = [integer(0)] * nest.carried
    for output in nest.outputs:
        argument = nest.block.arguments[output]
        start = writer.starts.pop(nest.op.operands[output], None) or _read_at(nest, output, [*places, *inner])
        sums[output] = writer.variable(scalar_type(argument.type), start, _sum_name(nest, output))
    return sums


def _sum_name(nest: CNest, output: int) -> str:
    yielded = last_of(nest.block).operands[output - nest.input_count]
    made = defining_op(yielded)
    names = {"addf": "sum", "addi": "sum", "maximumf": "most", "maxsi": "most", "minimumf": "least", "mulf": "product"}
    return names.get(made.operation.name.removeprefix("arith."), "result") if made is not None else "result"


def _body(writer: FunctionWriter, nest: CNest, places: list[Expression], sums: dict[int, Expression]) -> None:
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
    targets = [sums.get(output) or place_of(nest, output, places) for output in nest.outputs]
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
    nest: CNest,
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
        writer.define(argument, read(view, place_of(nest, operand, places)), "x")


#: What `+=` is for, and its kind.
_SIGNS = {"arith.addf": "+", "arith.mulf": "*"}


def _additions(nest: CNest) -> dict[Value, tuple[str, Value]]:
    """Where the body ends with adding something to the output, or multiplying."""
    try:
        (combiner,) = combiners(GenericOp(nest.op))
    except Decline:
        return {}
    if combiner.operation.name not in _SIGNS:
        return {}
    left, right = combiner.operation.operands
    is_left = left == nest.block.arguments[nest.input_count]
    return {combiner.operation.results[0]: (_SIGNS[combiner.operation.name], right if is_left else left)}


RULES: dict[str, Rule] = {"linalg.generic": write_generic}
