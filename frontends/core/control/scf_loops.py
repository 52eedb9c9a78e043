# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over tensors: scf.for where only a count ends them, else scf.while.

A loop carries states, whose sizes may change on the way, and gathers rows. Rows are appended to a tensor that grows,
which a counted loop does not copy in the end (passes/lower_calls/gathering.py);
where the sizes of a row are unknown, its elements are appended and its shape is carried along.
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
    """What one turn of a loop makes. `goes_on` is None where only the count ends the loop.

    States are tensors, in `forms.build_any_loop` sequences and optionals too.
    """

    states: list[Any]
    rows: Sequence[Any]
    goes_on: Held | None = None


#: `step(operation, index, states)`: builds a turn in a region of the operation, or without one where it stands.
Step = Callable[[Any, Value, list[Any]], Turn]


class LoopSpec(NamedTuple):
    """A loop to build: at most `count` turns (a scalar; None: any number), none at all unless `starts` (a scalar).

    `is_open` where each turn says whether there is another.
    """

    node: Node
    step: Step
    count: Any
    starts: Tensor | None = None
    is_open: bool = False
    #: Which of the node's inputs is the first state.
    first_state: int = 0

    @property
    def is_counted(self) -> bool:
        return self.count is not None and self.starts is None and not self.is_open


def build_loop(loop: LoopSpec, states: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """The states after the last turn, and the rows of all turns as one tensor each."""
    carried = [info_of(loop.node, state) for state in states]
    rows: list[_Rows] | None = None
    while True:
        # What a turn makes decides the types that it gets, so it is built until both agree.
        attempt = _Attempt(loop, states, carried, rows or [])
        made = [info_of(loop.node, state, attempt.symbols) for state in attempt.turn.states]
        pairs = enumerate(zip(carried, made, strict=True))
        joined = [common_info(loop.node, old, new, _changes(loop, index)) for index, (old, new) in pairs]
        row_infos = [info_of(loop.node, row, attempt.symbols) for row in attempt.turn.rows]
        gathered = [_Rows(info) for info in row_infos]
        if joined == carried and (rows or []) == gathered:
            return attempt.finish(rows or [])
        attempt.operation.erase()
        carried, rows = joined, gathered


#: `goes_on(states, operation)`, `body(states, operation)`: built in a region of the operation, or where that stands.
GoesOn = Callable[[Sequence[Any], Operation | None], Value]
Body = Callable[[Sequence[Any], Operation | None], list[Any]]


def run_while(node: Node, states: Sequence[Value], goes_on: GoesOn, body: Body) -> list[Value]:
    """The states behind a loop whose condition is asked before the first turn, and after each for the next."""

    def step(operation: Operation | None, index: Value, held: list[Any]) -> Turn:
        after = body(held, operation)
        return Turn(after, [], goes_on(after, operation))

    starts = scalar_of(node, goes_on(states, None))
    return build_loop(LoopSpec(node, step, None, starts, is_open=True), states)[0]


def _changes(loop: LoopSpec, index: int) -> str:
    """What is wrong with a state that is of another type after a turn."""
    place, names = index + loop.first_state, loop.node.input_names
    name = f"'{names[place]}'" if place < len(names) else f"#{index}"
    return f"state {name} goes into its body as {{}} and comes out as {{}}"


def unrolled(loop: LoopSpec, count: int, states: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]] | None:
    """Loop unrolling: the states after all turns, without an operation around, and the rows of each output.

    None where the trip count is dynamic.
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
    """Rows of a loop whose number of turns the graph knows: a number or an expression; None where it does not."""
    if turns is None:
        return list(rows)
    infos = [row.info.with_shape((turns, *(row.shape or ())[1:])) for row in rows]
    return [Value(ssa=as_info(row.ssa, info)) for row, info in zip(rows, infos, strict=True)]


class _Rows(NamedTuple):
    """How the rows of one output are gathered."""

    info: TensorInfo

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """Those of one row."""
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

    def appended(self, held: Sequence[Tensor], row: Tensor) -> list[Tensor]:
        if not self.is_flat:
            rows = relax.expand_dims(row, axis=[0])
            return [as_info(relax.concat([held[0], rows], axis=0), self.types()[0])]
        flat = relax.concat([held[0], relax.flatten(row)], axis=0)
        return [as_info(flat, self.types()[0]), relax.shape_to_tensor(relax.shape_of(row))]

    def result(self, held: Sequence[Tensor], turns: Tensor) -> Value:
        if not self.is_flat:
            return Value(ssa=held[0])
        count = relax.reshape(tensor_of(turns).ssa, (1,))
        shape = relax.tensor_to_shape(relax.concat([count, held[1]], axis=0))
        return Value(ssa=relax.reshape(held[0], shape))


def _by_row(rows: Sequence[_Rows], held: Sequence[Tensor]) -> list[list[Tensor]]:
    """What a loop carries for its rows, for each of them."""
    rest = iter(held)
    return [list(islice(rest, len(each.types()))) for each in rows]


class _Attempt:
    """A loop that is built for certain types of what it carries."""

    def __init__(self, loop: LoopSpec, states: Sequence[Value], carried: list[TensorInfo], rows: list[_Rows]):
        self.loop = loop
        self.carried = carried
        infos = [*carried, *(info for each in rows for info in each.types())]
        self.types = [type_of(info) for info in infos]
        given = [as_info(state.ssa, info) for state, info in zip(states, carried, strict=True)]
        initial = [*given, *(value for each in rows for value in each.initial())]
        create = self._for if loop.is_counted else self._while
        self.operation = create(initial)
        symbols = loop.node.graph.symbols
        known_symbols = len(symbols.given)
        try:
            arguments = list(self._block.arguments)
            held = [Value(ssa=value) for value in arguments[2 : 2 + len(carried)]]
            with ir.InsertionPoint(self._block):
                self.turn = self.loop.step(self.operation, tensor_of(arguments[0]), held)
            #: Those that a turn defines.
            self.symbols = symbols.given[known_symbols:]
        except BaseException:
            self.operation.erase()
            raise

    def _for(self, initial: list[Tensor]) -> Operation:
        bounds = [integer(0), self.loop.count, integer(1)]
        # The number of turns is carried for rows, whose shape it is a part of.
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
            held = _by_row(rows, arguments[2 + len(self.carried) :])
            for each, own, row in zip(rows, held, self.turn.rows, strict=True):
                values += each.appended(own, row.ssa)
            ir.Operation.create("scf.yield", operands=[*self._progress(arguments), *values])
        return self._results(rows)

    def _progress(self, arguments: list[Tensor]) -> list[Tensor]:
        """The number of turns so far, and in scf.while whether there is another."""
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
        states, held = results[: len(self.carried)], _by_row(rows, results[len(self.carried) :])
        gathered = [each.result(own, turns) for each, own in zip(rows, held, strict=True)]
        return [Value(ssa=state) for state in states], gathered
