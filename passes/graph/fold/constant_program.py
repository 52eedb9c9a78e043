# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant subgraphs as programs: outlined from a graph, and run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ....bindings.ir import Module, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, has_body, innermost, operations_in, symbol_name, text_in
from ....bindings.rewriting import copy_operation
from ....dialects.core.call_graph import references_of
from ....dialects.core.dialect import row_of
from ....dialects.core.ir_attributes import TIR_TARGET
from ....dialects.relax.known_constants import STORAGE_NAME, make_elements
from ....dialects.tir.prim_func import is_prim_func
from ...core.evaluating import Evaluator, NotComputed
from .constant_graph import CALL_TIR, ConstantGraph

if TYPE_CHECKING:
    from numpy import ndarray


class Functions:
    """PrimFuncs around a graph, and the check for functions that can run at compile time."""

    def __init__(self, root: Operation, target: str):
        """`target`: target of the compiled code."""
        self._target = target
        module = innermost(root, "builtin.module")
        self._named = {} if module is None else {symbol_name(function): function for function in functions_in(module)}
        self._callable: dict[str, bool] = {}

    def can_call(self, call: Operation) -> bool:
        """Check whether a relax.call_tir calls only functions of the module."""
        return all(self._is_callable(name) for name in references_of(call))

    def _is_callable(self, name: str) -> bool:
        if name not in self._callable:
            self._callable[name] = False  # recursive functions are not callable
            function = self._named.get(name)
            self._callable[name] = function is not None and has_body(function) and self._is_computed(function)
        return self._callable[name]

    def _is_computed(self, function: Operation) -> bool:
        for op in operations_in(function):
            if (row := row_of(op)) is not None and row.role == "call":
                return False  # call of an external function
            if not all(map(self._is_callable, references_of(op))):
                return False
        return is_prim_func(function) and text_in(function, TIR_TARGET, self._target) == self._target

    def called_by(self, operations: Sequence[Operation]) -> Iterator[Operation]:
        """Yield the functions that operations call, directly or indirectly."""
        pending = [name for op in operations if op.name == CALL_TIR for name in references_of(op)]
        seen: set[str] = set()
        while pending:
            if (name := pending.pop()) not in seen:
                seen.add(name)
                yield self._named[name]
                pending += [called for op in operations_in(self._named[name]) for called in references_of(op)]


def run_program(
    graph: ConstantGraph,
    functions: Functions,
    values: Sequence[Value],
    given: Mapping[Value, ndarray],
    evaluator: Evaluator,
) -> dict[Value, ndarray]:
    """Compute the values by one program.

    If it fails, each half is tried. Values that cannot be computed are left out.
    """
    operations = graph.needed_for(values, given)
    try:
        results = evaluator.run(_module(operations, functions, values, given))
    except NotComputed:
        if len(values) == 1:
            return {}
        halves = values[: len(values) // 2], values[len(values) // 2 :]
        one, other = (run_program(graph, functions, half, given, evaluator) for half in halves)
        return {**one, **other}
    return {value: _as_typed(array, value) for value, array in zip(values, results, strict=True)}


def _as_typed(array: ndarray, value: Value) -> ndarray:
    return array.view(STORAGE_NAME[str(value.type.element_type)]).reshape(value.type.shape)


def _module(
    operations: Sequence[Operation], functions: Functions, values: Sequence[Value], given: Mapping[Value, ndarray]
) -> Module:
    """Build a module with a function @main without parameters that returns the values."""
    with values[0].context, ir.Location.unknown():
        module = ir.Module.create()
        for function in functions.called_by(operations):
            function.clone(ip=ir.InsertionPoint(module.body))
        type_ = ir.FunctionType.get([], [value.type for value in values])
        attributes = {"sym_name": ir.StringAttr.get("main"), "function_type": ir.TypeAttr.get(type_)}
        with ir.InsertionPoint(module.body):
            main = ir.Operation.create("func.func", attributes=attributes, regions=1)
        main.regions[0].blocks.append()
        with ir.InsertionPoint(body_of(main)):
            _fill(operations, values, given)
    return module


def _fill(operations: Sequence[Operation], values: Sequence[Value], given: Mapping[Value, ndarray]) -> None:
    made: dict[Value, Value] = {}
    for op in operations:
        for operand in op.operands:
            if operand in given and operand not in made:
                made[operand] = _constant(given[operand], operand)
        copy_operation(op, made)
    ir.Operation.create("func.return", operands=[made[value] for value in values])


def _constant(array: ndarray, value: Value) -> Value:
    elements = make_elements(array, value.type)
    assert elements is not None, value
    return elements.results[0]
