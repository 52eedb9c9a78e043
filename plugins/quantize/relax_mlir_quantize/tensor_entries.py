# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of a recipe for single tensors of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from relax_mlir.bindings.diagnostics import origins
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import body_of, made_by, operations_of
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.recipes.recipe import RESULT, Recipe, Tensor
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.suggest import suggest


class TensorEntries:
    """Entries `Tensor` of a recipe, found by the names that a function's tensors have."""

    def __init__(self, recipe: Recipe, function: Operation):
        self._entries = recipe.tensors
        self._inputs = _inputs(function) if recipe.tensors else {}

    def types(self, match: Match, names: Iterable[str]) -> dict[str, OperandType]:
        """Return the types that entries give a layer's operands and result."""
        found = {name: self._entry(match, name, lambda entry: entry.type is not None) for name in names}
        return {name: entry.type for name, entry in found.items() if entry is not None and entry.type is not None}

    def type(self, value: Value) -> OperandType | None:
        """Return the type that an entry gives a tensor."""
        entry = self._entries.get(self.name(value)) if self._entries else None
        return None if entry is None else entry.type

    def constants(self, match: Match, types: Mapping[str, OperandType]) -> dict[str, Tensor]:
        """Return the entries with scales or ranges of a layer's constants."""
        made = {}
        for name, type_ in types.items():
            value = match.get(name)
            if name == RESULT or value is None or not is_constant(value):
                continue
            entry = self._entry(match, name, lambda entry: entry.is_fixed)
            if entry is not None:
                entry.check_type(type_)
                made[name] = entry
        return made

    def fixed(self, values: Iterable[Value], type_: OperandType) -> Tensor | None:
        """Return the entry with the scale or the range of one of several tensors that share a scale."""
        for value in values if self._entries else ():
            entry = self._entries.get(self.name(value))
            if entry is not None and entry.is_fixed and entry.type in (None, type_):
                entry.check_type(type_)
                return entry
        return None

    def name(self, value: Value) -> str:
        """Return the name of a tensor: of its node, its input, or its constant."""
        maker = made_by(value)
        return self._inputs.get(value, "") if maker is None else node_of(maker)

    def _entry(self, match: Match, name: str, is_asked: Callable[[Tensor], bool]) -> Tensor | None:
        """Return the entry for a layer's operand: the one of this layer, or else the one of the tensor."""
        if not self._entries:
            return None
        value = match.root.results[0] if name == RESULT else match[name]
        names = (f"{node_of(match.root)}.{name}", self.name(value))
        entries = [self._entries[text] for text in names if text in self._entries]
        return next((entry for entry in entries if is_asked(entry)), None)


def node_of(operation: Operation) -> str:
    """Return the node of the model that an operation computes, or its name if the model has no names."""
    found = origins(operation.location)
    return found[-1].name if found else operation.name


def _inputs(function: Operation) -> dict[Value, str]:
    """Return the names of a function's arguments."""
    return dict(zip(body_of(function).arguments, argument_names(function), strict=True))


def check_tensors(recipe: Recipe, function: Operation) -> None:
    """Raise RelaxError if an entry names a tensor that a function does not have."""
    if not recipe.tensors:
        return
    nodes = set(map(node_of, operations_of(body_of(function))))
    known = nodes | set(argument_names(function))
    for name, entry in recipe.tensors.items():
        if name not in known and name.rpartition(".")[0] not in nodes:
            hint = suggest(name, sorted(known))
            raise RelaxError(f"recipe: {entry!r}: no node, input or constant of the model has this name{hint}")
