# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over tensors: scf.for if only a count ends the loop, else scf.while.

A loop carries states and gathers rows. The sizes of states may change between iterations. Rows are appended to a
growing tensor, which a counted loop does not copy at the end (passes/memory/lower_calls/gathering.py). If the sizes of
a row are unknown, the loop appends the elements of the row and carries its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ....bindings.ir import Block, Operation
from ....bindings.mlir import ir
from ....dialects import relax
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim
from ....emit.numbers import number
from ..node import Node
from ..sizes import as_tensor
from ..values import Held, Tensor, Value, known
from .scf_regions import as_info, common_info, info_of, integer, known_truth, scalar_of, tensor_of, truth, type_of


class Turn(NamedTuple):
    """Results of one iteration. `goes_on` is None if only the count ends the loop.

    States are tensors; in `flattening.build_any_loop`, sequences and optionals too.
    """

    states: list[Any]
    rows: Sequence[Any]
    goes_on: Held | None = None


#: `step(operation, index, states)` builds an iteration in a region of the operation, or inline without one.
Step = Callable[[Any, Value, list[Any]], Turn]


class LoopSpec(NamedTuple):
    """Description of a loop to build.

    The loop runs at most `count` iterations (a scalar; None: no limit), and none unless `starts` (a scalar) is true.
    `is_open` is True if each iteration decides whether another one follows.
    """

    node: Node
    step: Step
    count: Any
    starts: Tensor | None = None
    is_open: bool = False
    #: Index of the node's input that is the first state.
    first_state: int = 0

    @property
    def is_counted(self) -> bool:
        return self.count is not None and self.starts is None and not self.is_open


def build_loop(loop: LoopSpec, states: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Return the states after the last iteration, and the rows of all iterations as one tensor each."""
    carried = [info_of(loop.node, state) for state in states]
    rows: list[_Rows] | None = None
    while True:
        # The results of an iteration decide the types of its arguments, so the body is rebuilt until both agree.
        attempt = _Attempt(loop, states, carried, rows or [])
        infos = [info_of(loop.node, state, attempt.symbols) for state in attempt.turn.states]
        pairs = enumerate(zip(carried, infos, strict=True))
        joined = [common_info(loop.node, old, new, _changes(loop, index)) for index, (old, new) in pairs]
        row_infos = [info_of(loop.node, row, attempt.symbols) for row in attempt.turn.rows]
        gathered = [_Rows(info) for info in row_infos]
        if joined == carried and (rows or []) == gathered:
            return attempt.finish(rows or [])
        attempt.operation.erase()
        carried, rows = joined, gathered


#: `goes_on(states, operation)` and `body(states, operation)` build in a region of the operation, or inline.
GoesOn = Callable[[Sequence[Any], Operation | None], Value]
Body = Callable[[Sequence[Any], Operation | None], list[Any]]


def run_while(node: Node, states: Sequence[Value], goes_on: GoesOn, body: Body) -> list[Value]:
    """Return the states after a while loop. The condition is evaluated before every iteration."""

    def step(operation: Operation | None, index: Value, held: list[Any]) -> Turn:
        after = body(held, operation)
        return Turn(after, [], goes_on(after, operation))

    starts = scalar_of(node, goes_on(states, None))
    return build_loop(LoopSpec(node, step, None, starts, is_open=True), states)[0]


def _changes(loop: LoopSpec, index: int) -> str:
    """Return the message for a state that changes its type in an iteration."""
    place, names = index + loop.first_state, loop.node.input_names
    name = f"'{names[place]}'" if place < len(names) else f"#{index}"
    return f"state {name} goes into its body as {{}} and comes out as {{}}"


def unrolled(loop: LoopSpec, count: int, states: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]] | None:
    """Unroll a loop: return the states after all iterations, and the rows of each output.

    Return None if the trip count is dynamic. No operation encloses the unrolled iterations.
    """
    turns = []
    for index in range(count):
        states, rows, goes_on = loop.step(None, known(index), list(states))
        turns.append(rows)
        decided = goes_on is None or known_truth(goes_on)
        if decided is None:
            return None
        if not decided:
            break
    return states, [list(rows) for rows in zip(*turns, strict=True)]


def of_length(rows: Sequence[Value], turns: Dim) -> list[Value]:
    """Give the rows the trip count, a number or an expression, as first dimension. None: the count is unknown."""
    if turns is None:
        return list(rows)
    infos = [row.info.with_shape((turns, *(row.shape or ())[1:])) for row in rows]
    return [Value(ssa=as_info(row.ssa, info)) for row, info in zip(rows, infos, strict=True)]


class _Rows(NamedTuple):
    """Method of gathering the rows of one output."""

    info: TensorInfo

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """Return the sizes of one row."""
        return tuple(self.info.shape or ())

    @property
    def is_flat(self) -> bool:
        return None in self.sizes

    def types(self) -> list[TensorInfo]:
        if self.is_flat:
            return [TensorInfo((None,), self.info.dtype), TensorInfo((len(self.sizes),), "i64")]
        return [TensorInfo((None, *self.sizes), self.info.dtype)]

    def initial(self) -> list[Tensor]:
        if not self.is_flat:
            return [as_info(relax.dialect.ops["zeros"]((0, *self.sizes), dtype=self.info.dtype), self.types()[0])]
        empty = relax.zeros((0,), dtype=self.info.dtype)
        return [as_info(empty, self.types()[0]), as_tensor([size or 0 for size in self.sizes])]

    def appended(self, tensors: Sequence[Tensor], row: Tensor) -> list[Tensor]:
        if not self.is_flat:
            rows = relax.expand_dims(row, axis=[0])
            return [as_info(relax.concat([tensors[0], rows], axis=0), self.types()[0])]
        flat = relax.concat([tensors[0], relax.flatten(row)], axis=0)
        return [as_info(flat, self.types()[0]), relax.shape_to_tensor(relax.shape_of(row))]

    def result(self, tensors: Sequence[Tensor], turns: Tensor) -> Value:
        if not self.is_flat:
            return Value(ssa=tensors[0])
        count = relax.reshape(tensor_of(turns).ssa, (1,))
        shape = relax.tensor_to_shape(relax.concat([count, tensors[1]], axis=0))
        return Value(ssa=relax.reshape(tensors[0], shape))


def _split_by_row(rows: Sequence[_Rows], tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """Split the values that a loop carries for rows by output."""
    rest = iter(tensors)
    return [list(islice(rest, len(row.types()))) for row in rows]


class _Attempt:
    """Loop that is built for certain types of its carried values."""

    def __init__(self, loop: LoopSpec, states: Sequence[Value], carried: list[TensorInfo], rows: list[_Rows]):
        self.loop = loop
        self.carried = carried
        self.types = [type_of(info) for info in [*carried, *(info for row in rows for info in row.types())]]
        tensors = [as_info(state.ssa, info) for state, info in zip(states, carried, strict=True)]
        initial = [*tensors, *(value for row in rows for value in row.initial())]
        create = self._build_for if loop.is_counted else self._while
        self.operation = create(initial)
        symbols = loop.node.graph.symbols
        known_symbols = len(symbols.given)
        try:
            arguments = list(self._block.arguments)
            values = [Value(ssa=value) for value in arguments[2 : 2 + len(carried)]]
            with ir.InsertionPoint(self._block):
                self.turn = self.loop.step(self.operation, tensor_of(arguments[0]), values)
            #: Symbols that an iteration defines.
            self.symbols = symbols.given[known_symbols:]
        except BaseException:
            self.operation.erase()
            raise

    def _build_for(self, initial: list[Tensor]) -> Operation:
        bounds = [integer(0), self.loop.count, integer(1)]
        # The trip count is carried because the shape of the gathered rows contains the count.
        i64 = bounds[0].type
        types = [i64, *self.types]
        made = ir.Operation.create("scf.for", results=types, operands=[*bounds, bounds[0], *initial], regions=1)
        made.regions[0].blocks.append(i64, *types)
        return made

    def _while(self, initial: list[Tensor]) -> Operation:
        zero, starts = integer(0), truth(True) if self.loop.starts is None else self.loop.starts
        types = [zero.type, starts.type, *self.types]
        made = ir.Operation.create("scf.while", results=types, operands=[zero, starts, *initial], regions=2)
        block = made.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            turns, goes_on = block.arguments[0], block.arguments[1]
            if self.loop.count is not None:
                goes_on = ((number(turns) < number(self.loop.count)) & number(goes_on)).value
            ir.Operation.create("scf.condition", operands=[goes_on, *block.arguments])
        made.regions[1].blocks.append(*types)
        return made

    @property
    def _block(self) -> Block:
        return self.operation.regions[-1].blocks[0]

    def finish(self, rows: list[_Rows]) -> tuple[list[Value], list[Value]]:
        arguments = list(self._block.arguments)
        with ir.InsertionPoint(self._block):
            values = [as_info(state.ssa, info) for state, info in zip(self.turn.states, self.carried, strict=True)]
            tensors = _split_by_row(rows, arguments[2 + len(self.carried) :])
            for each, own, row in zip(rows, tensors, self.turn.rows, strict=True):
                values += each.appended(own, row.ssa)
            ir.Operation.create("scf.yield", operands=[*self._progress(arguments), *values])
        return self._results(rows)

    def _progress(self, arguments: list[Tensor]) -> list[Tensor]:
        """Return the number of iterations so far and, for scf.while, the condition for another iteration."""
        turns = (number(arguments[0]) + 1).value
        if self.loop.is_counted:
            return [turns]
        goes_on = self.turn.goes_on
        return [
            turns,
            truth(True) if goes_on is None else scalar_of(self.loop.node, goes_on, "the condition that its body gives"),
        ]

    def _results(self, rows: list[_Rows]) -> tuple[list[Value], list[Value]]:
        turns, *results = self.operation.results
        results = results if self.loop.is_counted else results[1:]
        states, held = results[: len(self.carried)], _split_by_row(rows, results[len(self.carried) :])
        gathered = [row.result(own, turns) for row, own in zip(rows, held, strict=True)]
        return [Value(ssa=state) for state in states], gathered
