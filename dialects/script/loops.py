# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scf and affine: loops and branches as Python's. What is carried from one iteration to the next is assigned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import AffineMap, Operation, Value
from ...bindings.navigation import last_of
from .buffers import index_text, mixed, slice_text
from .expr import Expr, Level, affine, affine_values, call
from .printer import Printer
from .rules import expression, statement


def range_text(low: str, high: str, step: str) -> str:
    if step != "1":
        return f"range({low}, {high}, {step})"
    return f"range({high})" if low == "0" else f"range({low}, {high})"


def carry(printer: Printer, op: Operation, initial: Sequence[Value], arguments: Sequence[Value]) -> None:
    """Gives results and the region's arguments for them one name each, which starts as the initial value."""
    for value, argument, result in zip(initial, arguments, op.results, strict=True):
        printer.bind(argument, printer.destination(op, value, result))


def assign(printer: Printer, op: Operation, names: Sequence[str], values: Sequence[Value]) -> None:
    """`a, b = c, d` at once, without what would be assigned to itself; `op` hands the values on."""
    pairs = [
        (name, printer.owned(op, value))
        for name, value in zip(names, values, strict=True)
        if printer.names.get(value) != name
    ]
    notes = printer.notes(op)
    if pairs:
        targets, texts = (", ".join(part) for part in zip(*pairs, strict=True))
        printer.emit(f"{targets} = {texts}{notes}", effect=False)
    elif notes:
        printer.emit(f"pass{notes}")


def assign_yield(printer: Printer, names: Sequence[str]) -> Callable[[Operation], None]:
    """Writes a terminator that hands on its operands as assignments to these names."""
    return lambda op: assign(printer, op, names, list(op.operands))


@statement("scf.for")
def _for(printer: Printer, op: Operation) -> bool:
    low, high, step, *initial = op.operands
    return write_for(printer, op, range_text(printer.text(low), printer.text(high), printer.text(step)), initial)


def write_for(printer: Printer, op: Operation, header: str, initial: Sequence[Value]) -> bool:
    region = op.regions[0]
    index, *carried = region.blocks[0].arguments
    carry(printer, op, initial, carried)
    names = printer.texts(carried)
    with printer.scope():
        printer.emit(f"for {printer.bind(index, printer.names.index())} in {header}:", printer.header_comment(op))
        printer.suite(region, assign_yield(printer, names))
    return True


@statement("scf.if")
def _if(printer: Printer, op: Operation) -> bool:
    condition = printer.text(op.operands[0])
    return write_if(printer, op, condition, printer.result_names(op))


def write_if(printer: Printer, op: Operation, condition: str, names: Sequence[str]) -> bool:
    printer.emit(f"if {condition}:", printer.header_comment(op))
    printer.suite(op.regions[0], assign_yield(printer, names))
    if len(op.regions[1].blocks):
        printer.writer.line("else:")
        printer.suite(op.regions[1], assign_yield(printer, names))
    return True


@statement("scf.while")
def _while(printer: Printer, op: Operation) -> bool:
    before, after = op.regions
    if len(before.blocks) != 1 or len(after.blocks) != 1:
        return False
    names = [printer.started(op, value, lambda: printer.names.numbered("state_")) for value in op.operands]
    for name, argument in zip(names, before.blocks[0].arguments, strict=True):
        printer.bind(argument, name)
    _while_body(printer, op, names)
    return True


def _while_body(printer: Printer, op: Operation, names: Sequence[str]) -> None:
    """What the condition passes on are the loop's results; mostly that is the state itself."""
    before, after = (region.blocks[0] for region in op.regions)
    condition = last_of(before)
    same = list(condition.operands)[1:] == list(before.arguments)
    passed = list(names) if same else printer.result_names(op)
    for result, argument, name in zip(op.results, after.arguments, passed, strict=True):
        printer.bind(result, name)
        printer.bind(argument, name)
    test: list[str] = []

    def decide(end: Operation) -> None:
        test.append(printer.value(end.operands[0]).at(Level.NOT))
        assign(printer, end, passed, list(end.operands)[1:])

    with printer.writer.captured() as lines, printer.writer.indented():
        printer.block(before, decide)
    comment = printer.header_comment(op)
    if not lines and test:
        printer.emit(f"while {test[0]}:", comment)
    else:
        printer.emit("while True:", comment)
        printer.writer.lines.extend(lines)
        with printer.writer.indented():
            printer.emit(f"if not {test[0]}: break")
    printer.suite(op.regions[1], assign_yield(printer, names))


# ---- parallel loops ----


@statement("scf.parallel")
def _parallel(printer: Printer, op: Operation) -> bool:
    if len(op.results):
        return False
    count = op.attributes["operandSegmentSizes"][0]
    operands = printer.texts(op.operands)
    bounds = [operands[start : start + count] for start in (0, count, 2 * count)]
    _parallel_loops(printer, op, "parallel", bounds)
    return True


def _parallel_loops(printer: Printer, op: Operation, word: str, bounds: Sequence[Sequence[str]]) -> None:
    """`for i, j in parallel(8, range(0, n, 4)):`, from lower bounds, upper bounds and steps."""
    extents = [
        high if (low, step) == ("0", "1") else range_text(low, high, step)
        for low, high, step in zip(*bounds, strict=True)
    ]
    region = op.regions[0]
    with printer.scope():
        indices = list(region.blocks[0].arguments)[: len(extents)]
        names = [printer.bind(index, printer.names.index()) for index in indices]
        target = f"for {', '.join(names)} in " if names else "with "
        printer.emit(f"{target}{word}({', '.join(extents)}):", printer.header_comment(op))
        printer.suite(region, lambda end: _parallel_end(printer, end))


def _parallel_end(printer: Printer, op: Operation) -> None:
    if op.name == "scf.forall.in_parallel":
        printer.block(op.regions[0].blocks[0])
    elif len(op.operands) or op.name not in ("scf.reduce", "scf.yield"):
        printer.operation(op)


@statement("scf.forall", shown="staticLowerBound staticUpperBound staticStep")
def _forall(printer: Printer, op: Operation) -> bool:
    counts = list(op.attributes["operandSegmentSizes"])
    values = list(op.operands)
    dynamic = iter([printer.value(value) for value in values[: sum(counts[:3])]])
    bounds = [
        [mixed(item, dynamic).text for item in op.attributes[name]]
        for name in ("staticLowerBound", "staticUpperBound", "staticStep")
    ]
    arguments = list(op.regions[0].blocks[0].arguments)
    carry(printer, op, values[sum(counts[:3]) :], arguments[len(bounds[0]) :])
    _parallel_loops(printer, op, "forall", bounds)
    return True


@statement("tensor.parallel_insert_slice", shown="static_offsets static_sizes static_strides")
def _parallel_insert(printer: Printer, op: Operation) -> bool:
    source, target, *rest = op.operands
    printer.emit(f"{slice_text(printer, op, target, rest, source.type)} = {printer.text(source)}{printer.notes(op)}")
    return True


# ---- affine: bounds, indices and conditions by maps ----


def map_results(printer: Printer, map_: AffineMap, operands: Sequence[Value]) -> list[Expr]:
    """The results of an affine map of these values."""
    values = [printer.value(operand) for operand in operands]
    by_name = affine_values(values[: map_.n_dims], values[map_.n_dims :])
    return [affine(str(result), by_name) for result in map_.results]


@expression("affine.apply", shown="map")
def _apply(printer: Printer, op: Operation) -> Expr | None:
    return map_results(printer, op.attributes["map"].value, op.operands)[0]


@expression("affine.min", "affine.max", shown="map")
def _extremum(printer: Printer, op: Operation) -> Expr | None:
    return _bound(printer, op.attributes["map"].value, op.operands, op.name.rpartition(".")[2])


def _bound(printer: Printer, map_: AffineMap, operands: Sequence[Value], word: str) -> Expr:
    results = map_results(printer, map_, operands)
    return results[0] if len(results) == 1 else call(word, *(result.text for result in results))


@expression("affine.load", shown="map", reads=True)
def _load(printer: Printer, op: Operation) -> Expr | None:
    base, *indices = op.operands
    results = map_results(printer, op.attributes["map"].value, indices)
    return Expr(index_text(printer, base, [result.text for result in results]))


@statement("affine.store", shown="map")
def _store(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    results = map_results(printer, op.attributes["map"].value, indices)
    target = index_text(printer, base, [result.text for result in results])
    return printer.emit_op(op, f"{target} = {printer.text(value)}")


@statement("affine.for", shown="lowerBoundMap upperBoundMap step")
def _affine_for(printer: Printer, op: Operation) -> bool:
    low_count, high_count = list(op.attributes["operandSegmentSizes"])[:2]
    operands = list(op.operands)
    low = _bound(printer, op.attributes["lowerBoundMap"].value, operands[:low_count], "max")
    initial = operands[low_count + high_count :]
    high = _bound(printer, op.attributes["upperBoundMap"].value, operands[low_count:][:high_count], "min")
    return write_for(printer, op, range_text(low.text, high.text, str(op.attributes["step"].value)), initial)


@statement("affine.if", shown="condition")
def _affine_if(printer: Printer, op: Operation) -> bool:
    names = printer.result_names(op)
    return write_if(printer, op, _condition(printer, op), names)


def _condition(printer: Printer, op: Operation) -> str:
    """The constraints of an integer set: `affine_set<(d0)[s0] : (d0 >= 0, s0 == 0)>`."""
    text = str(op.attributes["condition"]).removeprefix("affine_set<").removesuffix(">")
    spaces, _, constraints = text.partition(" : ")
    values = [printer.value(value) for value in op.operands]
    dims = spaces.partition(")")[0].count("d")
    by_name = affine_values(values[:dims], values[dims:])
    return affine(constraints.removeprefix("(").removesuffix(")"), by_name).text.replace(", ", " and ")
