# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes implied by a function's operations: equations between symbols, and sizes that types leave open."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.navigation import users_of
from ....dialects.core.codec import TypeProblem, decode
from ....dialects.core.dialect import row_of
from ....dialects.core.equalities import reporting_to
from ....dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo
from ....dialects.core.opdef import Call, OpDef, OpProblem
from ....dialects.core.operands import operand_info
from ....dialects.core.substitute import dims_of, symbols_of_operation, with_dims
from ....dialects.core.symbols import Dim, Size, SymbolError, SymExpr, equal
from ....dialects.core.verifier import call_of, compatible, items_of
from ...legalize.known_sizes import by_name
from .equations import Equation, Equations
from .scopes import Scopes

# Answers make operations imply more. Each round walks the function once.
_MOST_ROUNDS = 8


class _Said(NamedTuple):
    """Facts implied by an operation: equal sizes, types of its results, and an error text."""

    equalities: list[tuple[Size, Size]]
    results: list[Info]
    problem: str


class FunctionShapes:
    """Known sizes in a function that returns. Raise RelaxError if the function can never return.

    An operation in the body's first block determines sizes for the whole function. An operation in a branch or a loop
    body determines only symbols that are known there. An unused operation that may be erased determines nothing.
    """

    def __init__(self, function: Operation):
        self._scopes = Scopes(function)
        kept: set[str] = set()
        while True:
            self.equations = Equations(self._scopes.places, kept, self._scopes.may_tell)
            #: Values with types that leave known sizes open.
            self.refined: dict[Value, Info] = {}
            self._said: dict[object, _Said] = {}
            conflicts = self._learn()
            if not conflicts - kept:
                break
            # A branch that contradicts general facts is never taken, and its types stay unchanged.
            kept |= conflicts

    def _learn(self) -> set[str]:
        """Visit all operations until none implies more. Return the symbols with different values in a branch."""
        operations = [(each, row) for each in self._scopes.operations if (row := row_of(each)) is not None]
        for _ in range(_MOST_ROUNDS):
            before = len(self.equations.answers), len(self.refined)
            conflicts: set[str] = set()
            for operation, row in operations:
                conflicts |= self._ask(operation, row)
            if conflicts or before == (len(self.equations.answers), len(self.refined)):
                return conflicts
        return set()

    def _ask(self, operation: Operation, row: OpDef) -> set[str]:
        if (said := self._said_by(operation, row)) is None:
            return set()
        if not (is_certain := self._scopes.is_always_run(operation)) and not self._may_hold(said):
            return {name for name in symbols_of_operation(operation) if name in self.equations.answers}
        self._learn_from(operation, said, is_certain)
        for result, inferred in zip(operation.results, said.results or (), strict=False):
            stated = self.refined.get(result) or decode(result.type)
            if (merged := merge(stated, inferred)) != stated:
                self.refined[result] = merged
        return set()

    def _said_by(self, operation: Operation, row: OpDef) -> _Said | None:
        """Return the facts implied by an operation, or None if all its sizes are numbers."""
        written = [operand_info(value) for value in operation.operands]
        stated = [decode(type_) for type_ in operation.results.types]
        if all(map(_is_known, written)) and all(map(_is_known, stated)):
            return None
        infos = [self.resolved(self.refined.get(*each)) for each in zip(operation.operands, written, strict=True)]
        key = (row, *infos, None, *stated, *items_of(operation.attributes))
        if (said := self._said.get(key)) is None:
            said = self._said[key] = self._say(operation, row, infos, stated)
        return said

    def _learn_from(self, operation: Operation, said: _Said, is_certain: bool) -> None:
        if operation not in self._live:
            return
        for one, other in said.equalities:
            self.equations.add(Equation(one, other, operation, is_certain))
        if said.problem:
            raise self.equations.error(operation, f"'{operation.name}' op can never run: {said.problem}")

    @cached_property
    def _live(self) -> set[Operation]:
        """Operations with effects, and all operations that they depend on."""
        live: set[Operation] = set()
        for operation in reversed(list(self._scopes.operations)):
            row = row_of(operation)
            users = (user for result in operation.results for user in users_of(result))
            if row is None or not row.pure or any(user in live for user in users):
                live.add(operation)
        return live

    def _say(self, operation: Operation, row: OpDef, infos: list[Info], stated: list[Info]) -> _Said:
        equalities: list[tuple[Size, Size]] = []
        results: list[Info] = []

        def listen(one: Dim, other: Dim) -> None:
            if one is not None and other is not None and one != other:
                equalities.append((one, other))

        attributes = {name: self._resolve(value) for name, value in call_of(row, operation).attributes.items()}
        call = Call(row, by_name(operation.opview, infos), attributes)
        try:
            with reporting_to(listen):
                if row.infer is not None:
                    results = row.infer_results(call)
                    # Stated and inferred types are compared at run time.
                    for pair in zip(results, stated, strict=True):
                        compatible(*pair)
                elif row.role == "shape" and row.verify is not None:
                    row.verify(operation, call)
        except (OpProblem, TypeProblem, SymbolError) as problem:
            return _Said(equalities, [], str(problem))
        return _Said(equalities, results, "")

    def _may_hold(self, said: _Said) -> bool:
        resolve = self.equations.resolve
        return not said.problem and all(
            equal(resolve(one), resolve(other)) is not False for one, other in said.equalities
        )

    def _resolve(self, value: object) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._resolve, value))
        return self.equations.resolve(value) if isinstance(value, SymExpr) else value

    def resolved(self, info: Info) -> Info:
        """Return a type, or a scalar's value, with known values in place of symbols."""
        if isinstance(info, ScalarInfo):
            return info._replace(value=self._resolve(info.value))
        return with_dims(info, tuple(map(self.equations.resolve, dims_of(info))))


def merge(stated: Info, inferred: Info) -> Info:
    """Return the stated type with its open sizes filled in."""
    if isinstance(stated, TensorInfo) and isinstance(inferred, TensorInfo):
        if stated.shape is None or inferred.shape is None:
            return stated if stated.shape is not None else stated.with_shape(inferred.shape)
        return stated.with_shape(_fill_dims(stated.shape, inferred.shape))
    if isinstance(stated, ShapeInfo) and isinstance(inferred, ShapeInfo):
        if stated.dims is None or inferred.dims is None:
            return stated if stated.dims is not None else inferred
        return ShapeInfo(_fill_dims(stated.dims, inferred.dims))
    return stated


def _fill_dims(dims: tuple[Dim, ...], others: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return tuple(other if dim is None else dim for dim, other in zip(dims, others, strict=True))


def _is_known(info: Info) -> bool:
    """Check whether a type has only numbers as sizes."""
    if isinstance(info, TensorInfo):
        return info.shape is not None and all(isinstance(dim, int) for dim in info.shape)
    if isinstance(info, ShapeInfo):
        return info.dims is not None and all(isinstance(dim, int) for dim in info.dims)
    return not isinstance(getattr(info, "value", None), SymExpr)
