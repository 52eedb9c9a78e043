# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of a function's operations in a module of their own, for replay elsewhere, also in another context.

Values that only the destination knows are holes: a loop index, or an element of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...bindings.ir import Block, Operation, Type, Value
from ...bindings.mlir import ir, parse_attribute, parse_type
from ...dialects.core.infos import signless
from ...dialects.verification import verify_ir
from ...support.errors import RelaxError
from ..arithmetic import element
from .scalar_expressions import Scalar

_HOLE = "builtin.unrealized_conversion_cast"
#: Operations with side effects, which are replayed even if their results are unused.
_DO_MORE = ("tir.assert", "tir.call_extern", "tir.call_packed", "memref.store")


@dataclass(frozen=True, eq=False)
class Hole:
    """Value that the replay supplies: `fill(body, *operands)` returns it."""

    fill: Callable[..., Value]
    #: Predicate: True if the body supplies the value without operands.
    is_had: Callable[[Any], bool] = lambda body: False


class Recording:
    """Operations of a function in a module; `replay` emits them again."""

    def __init__(self) -> None:
        self.module = ir.Module.create()
        self._holes: dict[Value, Hole] = {}
        self._known: set[Value] = set()

    def hole(self, dtype: str, hole: Hole, *operands: Value) -> Scalar:
        """Return a number whose value only the hole knows."""
        op = ir.Operation.create(_HOLE, results=[element(signless(dtype))], operands=list(operands))
        self._holes[ir.Value(op.result)] = hole
        return Scalar(op.result).of(dtype)

    def finish(self) -> None:
        """Raise RelaxError if the recorded operations are invalid."""
        blocks = list(_blocks(self.module.operation))
        self._known = {value for block in blocks for value in _values_of(block)}
        for block in blocks:
            for op in block.operations:
                if any(operand not in self._known for operand in op.operation.operands):
                    raise RelaxError("a number of another function is used: what it is only that one knows")
        verify_ir(self.module.operation, "what the function of places computes")

    def holds(self, value: Value) -> bool:
        return ir.Value(value) in self._known

    def needed(self, results: Sequence[Value], body: object = None, *, whole: bool = True) -> list[Operation]:
        """Return the operations that the results depend on, in order.

        With `whole`, include operations with side effects.
        """
        values = {ir.Value(result) for result in results}
        kept = []
        for view in reversed(list(self.module.body.operations)):
            op = view.operation
            if (whole and _does_more(op)) or any(result in values for result in op.results):
                kept.append(op)
                values.update(value for inner in (op, *_within(op)) for value in self._operands(inner, body))
        return kept[::-1]

    def _operands(self, op: Operation, body: object) -> list[Value]:
        return [] if op.name == _HOLE and self._holes[op.results[0]].is_had(body) else list(op.operands)

    def holes(self, results: Sequence[Value], *, whole: bool = True) -> set[Hole]:
        """Return the holes that the results depend on."""
        inner = (each for op in self.needed(results, whole=whole) for each in (op, *_within(op)))
        return {self._holes[each.results[0]] for each in inner if each.name == _HOLE}

    def replay(self, results: Sequence[Value], body: object, *, whole: bool = True) -> list[Value]:
        """Emit the operations at the insertion point and return the results."""
        self._body, self._context = body, ir.Context.current
        values: dict[Value, Value] = {}
        for op in self.needed(results, body, whole=whole):
            self._do(op, values)
        return [values[ir.Value(result)] for result in results]

    def _do(self, op: Operation, values: dict[Value, Value]) -> None:
        operands = [values[operand] for operand in self._operands(op, self._body)]
        if op.name == _HOLE:
            values[op.results[0]] = self._holes[op.results[0]].fill(self._body, *operands)
            return
        attributes = {name: parse_attribute(str(attribute), self._context) for name, attribute in op.attributes.items()}
        types = list(map(self._type, op.results))
        regions = len(op.regions)
        made = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes, regions=regions)
        values.update(zip(op.results, made.results, strict=True))
        for source, target in zip(op.regions, made.regions, strict=True):
            for block in source.blocks:
                new = target.blocks.append(*map(self._type, block.arguments))
                values.update(zip(block.arguments, new.arguments, strict=True))
                with ir.InsertionPoint(new):
                    for inner in block.operations:
                        self._do(inner.operation, values)

    def _type(self, value: Value) -> Type:
        return parse_type(str(value.type), self._context)


def _does_more(op: Operation) -> bool:
    return any(operation.name.startswith(_DO_MORE) for operation in (op, *_within(op)))


def _within(op: Operation) -> list[Operation]:
    return [inner.operation for block in _blocks(op) for inner in block.operations]


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                yield from _blocks(inner.operation)


def _values_of(block: Block) -> list[Value]:
    return [*block.arguments, *(result for op in block.operations for result in op.operation.results)]
