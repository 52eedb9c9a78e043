# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches: scf's as C's. What a region yields is a variable that is assigned at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, use_count
from ....support.errors import RefusalError
from .expressions import Expression, Size, binary, integer, name, of_size
from .memref_views import MemrefView, dense
from .types import INDEX, literal, scalar_type
from .writer import FunctionWriter, Rule


@contextmanager
def loop(writer: FunctionWriter, size: Size) -> Iterator[Expression]:
    """A loop over 0 to a size; what has one step is none."""
    if isinstance(size, int) and size == 1:
        yield integer(0)
        return
    with _counted(writer, integer(0), of_size(size), integer(1)) as index:
        yield name(index, is_place=True)


@contextmanager
def _counted(
    writer: FunctionWriter, start: Expression, end: Expression, step: Expression, type_: str = INDEX
) -> Iterator[str]:
    """C's loop, by the name of what counts."""
    writer.settle()
    index = writer.names.free(f"i{writer.depth - 1}")
    goes_on = binary("<", name(index), end)
    move = f"{index}++" if step.number == 1 else f"{index} += {step.text}"
    with writer.braces(f"for ({type_} {index} = {start.text}; {goes_on.text}; {move})"):
        yield index


# ---- what is carried ----


class _Variable:
    """What a region's results are assigned to."""

    def __init__(
        self, writer: FunctionWriter, type_: Type, initial: Expression | MemrefView | None, wanted: str
    ) -> None:
        self._type = type_
        if isinstance(type_, ir.MemRefType):
            self._declare_pointer(writer, type_, initial, wanted)
        else:
            assert not isinstance(initial, MemrefView)
            start = initial if initial is not None else _zero(type_)
            self.held: Expression | MemrefView = writer.variable(scalar_type(type_), start, wanted)

    def _declare_pointer(
        self, writer: FunctionWriter, type_: Type, initial: Expression | MemrefView | None, wanted: str
    ) -> None:
        if not type_.has_static_shape:
            raise RefusalError(f"memory whose size may change ({type_}) is handed on by it")
        element = type_.element_type
        made = dense(name(writer.names.fresh(wanted)), element, list(type_.shape))
        start = initial.address().text if isinstance(initial, MemrefView) else "0"
        writer.line(f"{made.memory_type} *{made.pointer.text} = {start};")
        self.held = made

    def text(self, value: Expression | MemrefView) -> str:
        """What is assigned."""
        if isinstance(value, MemrefView):
            if not value.is_dense:
                raise RefusalError("it hands on memory that is a part of other memory")
            return value.address().text
        return value.text

    @property
    def name(self) -> str:
        return self.held.pointer.text if isinstance(self.held, MemrefView) else self.held.text

    @property
    def c_type(self) -> str:
        return f"{self.held.memory_type} *" if isinstance(self.held, MemrefView) else f"{scalar_type(self._type)} "


def _zero(type_: Type) -> Expression:
    return literal(0, "index" if isinstance(type_, ir.IndexType) else str(type_))


def _held(writer: FunctionWriter, value: Value) -> Expression | MemrefView:
    return writer.view(value) if isinstance(value.type, ir.MemRefType) else writer.get(value)


#: None stands for an unused one.
_Variables = Sequence[_Variable | None]


def _carry(writer: FunctionWriter, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> _Variables:
    """What a loop begins with, for those that it reads or leaves."""
    left: list[Value | None] = [*op.results] if op.name == "scf.for" else [None] * len(arguments)
    made: list[_Variable | None] = []
    for value, argument, result in zip(values, arguments, left, strict=True):
        held = _held(writer, value)
        is_read = use_count(argument) > 0 or (result is not None and use_count(result) > 0)
        made.append(_Variable(writer, value.type, held, "carried") if is_read else None)
    return made


def _left(writer: FunctionWriter, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> _Variables:
    """What an operation leaves, and hands to arguments of a region of its own."""
    others: list[Value | None] = [*arguments] or [None] * len(op.results)
    return [
        _Variable(writer, result.type, None, wanted)
        if use_count(result) or (other is not None and use_count(other))
        else None
        for result, other in zip(op.results, others, strict=True)
    ]


def _assign(writer: FunctionWriter, variables: _Variables, values: Sequence[Value]) -> None:
    """All at once: what one of them was before, another may become."""
    kept = [(each, value) for each, value in zip(variables, values, strict=True) if each is not None]
    found = [(variable, variable.text(_held(writer, value))) for variable, value in kept]
    pairs = [(variable, text) for variable, text in found if variable.name != text]
    if len(pairs) > 1:
        for place, (variable, text) in enumerate(pairs):
            chosen = writer.names.fresh(f"next_{variable.name}")
            writer.line(f"{'' if variable.c_type.endswith('*') else 'const '}{variable.c_type}{chosen} = {text};")
            pairs[place] = (variable, chosen)
    for variable, text in pairs:
        writer.line(f"{variable.name} = {text};")


def _know_all(writer: FunctionWriter, values: Sequence[Value], variables: _Variables) -> None:
    for value, variable in zip(values, variables, strict=True):
        if variable is not None:
            writer.know(value, variable.held)


# ---- scf ----


def _for(writer: FunctionWriter, op: Operation) -> None:
    lower, upper, step, *initial = op.operands
    first, bound, by = writer.all([lower, upper, step])
    body = body_of(op)
    counter, *arguments = body.arguments
    variables = _carry(writer, op, initial, arguments)
    bound, by = (writer.atom(each, lower.type) for each in (bound, by))
    with _counted(writer, first, bound, by, scalar_type(counter.type)) as index:
        is_place = isinstance(counter.type, ir.IndexType)
        writer.know(counter, name(index, is_place=is_place, is_natural=is_place and first.is_natural))
        _know_all(writer, arguments, variables)
        _assign(writer, variables, list(writer.block(body).operands))
    _know_all(writer, list(op.results), variables)


def _if(writer: FunctionWriter, op: Operation) -> None:
    condition = writer.get(op.operands[0])
    variables = _left(writer, op, "chosen")
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    writer.settle()
    for position, block in enumerate(blocks):
        head = f"if ({condition.text})" if position == 0 else "else"
        with writer.braces(head, follows=position > 0):
            end = writer.block(block)
            _assign(writer, variables, list(end.operands))
    _know_all(writer, list(op.results), variables)


def _while(writer: FunctionWriter, op: Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    variables = _carry(writer, op, list(op.operands), list(before.arguments))
    results = _left(writer, op, "left", list(after.arguments))
    writer.settle()
    with writer.braces("for (;;)"):
        _know_all(writer, list(before.arguments), variables)
        end = writer.block(before)
        condition, *passed = end.operands
        kept = writer.get(condition)
        _assign(writer, results, passed)
        with writer.braces(f"if (!{kept.atom})"):
            writer.line("break;")
        _know_all(writer, list(after.arguments), results)
        _assign(writer, variables, list(writer.block(after).operands))
    _know_all(writer, list(op.results), results)


def _parallel(writer: FunctionWriter, op: Operation) -> None:
    """One step after the other."""
    counts = list(op.attributes["operandSegmentSizes"])
    if len(op.results):
        raise RefusalError("it reduces over steps in any order")
    body = body_of(op)
    bounds = writer.all(list(op.operands))
    rank = counts[0]
    starts, ends, steps = bounds[:rank], bounds[rank : 2 * rank], bounds[2 * rank : 3 * rank]
    with ExitStack() as loops:
        for counter, start, end, step in zip(body.arguments, starts, ends, steps, strict=True):
            index = loops.enter_context(_counted(writer, start, end, step))
            writer.know(counter, name(index, is_place=True))
        writer.block(body)


def _execute(writer: FunctionWriter, op: Operation) -> None:
    if len(op.regions[0].blocks) > 1:
        raise RefusalError("it has several blocks: write branches as scf's")
    variables = _left(writer, op, "left")
    end = writer.block(body_of(op))
    _assign(writer, variables, list(end.operands))
    _know_all(writer, list(op.results), variables)


RULES: dict[str, Rule] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.parallel": _parallel,
    "scf.execute_region": _execute,
    "memref.alloca_scope": _execute,
}
