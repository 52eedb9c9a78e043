# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a part computes, as a list of steps: values and constants by number, calls of composites taken apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    operations_in,
    operations_of,
    symbol_name,
    text_in,
)
from ...dialects.core.attributes import AttributeProblem
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import TensorInfo
from ...dialects.core.ir_attributes import COMPOSITE
from ...dialects.core.verifier import segment_sizes
from ...dialects.relax.constants import array_of_attribute, storage_dtype
from ...dialects.relax.known_constants import CONSTANTS, elements_of
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..core.facts import origins_of
from .roles import NumberedRoles, Passage, numbered_roles


def node_names(*operations: Operation) -> tuple[str, ...]:
    """The names of the model's nodes that operations come from, each once; `file:line:column` where there are none. Of
    a function, a composite for instance, those of all that is in it.
    """
    inside = (op for each in operations for op in (operations_in(each) if len(each.regions) else (each,)))
    return tuple(dict.fromkeys(name for op in inside for name in origins_of(op) if op.name != "func.return"))


@dataclass(frozen=True)
class PartStep:
    """What a pattern has matched, or one operation of it. `step["x"]` is the number of the value that is called so: by
    the pattern, or where a step is an operation by itself, as the operator calls its operands.
    """

    #: The pattern's name; empty for what passes have added.
    composite: str
    #: Without constants, what others are made of first.
    operations: tuple[Operation, ...]
    #: The values that are read from outside, constants too, one for each part of the pattern that matched one, depth
    #: first, as the pattern was written: one part that stands in two places, `multiply(x, x)`, is one; two parts that
    #: matched one value are two. Of an operation its operands.
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    #: The numbers of values by their names, those inside of the step too.
    names: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: By names, the operations that made them.
    makers: Mapping[str, Operation] = field(default_factory=dict)
    #: Whether passes have changed what the pattern has matched.
    is_changed: bool = False

    @property
    def operation(self) -> Any:
        """The last one, with its attributes as Python has them."""
        return self.operations[-1].opview

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the model's nodes that it comes from: what it is to be called by in profiles and traces."""
        return node_names(*self.operations)

    def op(self, name: str) -> Any:
        """The operation that makes a named value, with its attributes as Python has them."""
        if name not in self.makers:
            raise RelaxError(f"{self._title}: no operation of it makes '{name}'{suggest(name, self.makers)}{self._why}")
        return self.makers[name].opview

    def __getitem__(self, name: str) -> int:
        """The number of a value that it reads from outside, or gives."""
        found = self.all(name)
        if found:
            return found[0]
        if name in self.names:
            raise RelaxError(f"{self._title}: '{name}' is inside of it: whole=False has a step for each operation")
        raise RelaxError(f"{self._title}: no value of it is called '{name}'{suggest(name, self.names)}{self._why}")

    def get(self, name: str) -> int | None:
        """As `step[name]`; None where what may be there is not."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> tuple[int, ...]:
        """The numbers of all values of a name, of lists and of what is repeated, in the pattern's order."""
        known = {*self.inputs, *self.outputs}
        return tuple(number for number in self.names.get(name, ()) if number in known)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.all(name))

    @property
    def _title(self) -> str:
        return f"step '{self.composite}'" if self.composite else f"step {self.operations[-1].name}"

    @property
    def _why(self) -> str:
        listed = f"it has {', '.join(sorted(self.names))}" if self.names else "it has no names"
        return f" ({listed}{'; passes have changed what the pattern has matched' if self.is_changed else ''})"


class Steps:
    """A function of a part. Its inputs, constants, and what its steps give have numbers, in this order of making."""

    #: By number: as the function has them, or a function that it calls.
    values: list[Value]
    inputs: tuple[int, ...]
    steps: list[PartStep]
    outputs: tuple[int, ...]

    def __init__(self, function: Operation, module: Operation, *, whole: bool):
        """`whole`: what a pattern has matched is one step, otherwise each operation."""
        self._functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
        self._whole = whole
        self.values = []
        self.constant_numbers: list[int] = []
        self.inputs = self._fresh(body_of(function).arguments)
        self.steps = []
        self.outputs = self._walk(function, self.inputs, self.steps)

    @cached_property
    def constants(self) -> dict[int, Any]:
        """By number, as numpy has them, of ml_dtypes where numpy has no such type; None where that is missing."""
        return {number: _constant(self.values[number]) for number in self.constant_numbers}

    def _fresh(self, values: Sequence[Value]) -> tuple[int, ...]:
        before = len(self.values)
        self.values += values
        return tuple(range(before, len(self.values)))

    def _walk(self, function: Operation, arguments: Sequence[int], steps: list[PartStep]) -> tuple[int, ...]:
        """The function's steps come to others'; the numbers of what it returns."""
        numbers = dict(zip(body_of(function).arguments, arguments, strict=True))
        returned: tuple[int, ...] = ()
        inside: list[PartStep] = []
        passages: list[Passage] = []
        for op in operations_of(body_of(function)):
            read = tuple(numbers[value] for value in op.operands)
            if op.name == "func.return":
                returned = read
                continue
            if op.name == "func.call":
                made = self._walk(self._functions[callee_of(op)], read, inside)
            else:
                made = self._fresh(op.results)
                if op.name in CONSTANTS:
                    self.constant_numbers += made
                else:
                    inside.append(_alone(text_in(function, COMPOSITE), op, read, made))
            passages.append(Passage(op, read, made))
            numbers.update(zip(op.results, made, strict=True))
        is_one = self._whole and bool(inside) and COMPOSITE in function.attributes
        steps += [_together(inside, returned, numbered_roles(function, arguments, passages))] if is_one else inside
        return returned


def _constant(value: Value) -> Any:
    import numpy

    known = elements_of(value)
    if known is not None:
        return known
    attribute = value.owner.attributes["value"]
    try:
        if isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr)):
            return numpy.array(attribute.value, storage_dtype(str(value.type)))
        info = decode(value.type)
        return array_of_attribute(attribute, info.dtype, value.type.shape) if isinstance(info, TensorInfo) else None
    except AttributeProblem:
        return None


def _alone(composite: str, op: Operation, read: tuple[int, ...], made: tuple[int, ...]) -> PartStep:
    """An operation: its operands are called as its row calls them."""
    row = row_of(op)
    if row is None:
        return PartStep(composite, (op,), read, made)
    groups = row.segment(read, segment_sizes(row, op, len(read)))
    names = {name: group if isinstance(group, tuple) else (group,) for name, group in groups.items()}
    return PartStep(composite, (op,), read, made, {name: group for name, group in names.items() if group != (None,)})


def _together(steps: Sequence[PartStep], outputs: tuple[int, ...], roles: NumberedRoles | None) -> PartStep:
    """What a pattern has matched; without roles in the order in which it is read."""
    composite = steps[0].composite
    operations = tuple(op for step in steps for op in step.operations)
    made = {number for step in steps for number in step.outputs}
    read = dict.fromkeys(number for step in steps for number in step.inputs if number not in made)
    if roles is None:
        return PartStep(composite, operations, tuple(read), outputs)
    known = tuple(number for number in roles.reads if number not in made)
    rest = tuple(number for number in read if number not in known)
    makers = {name: op for name, op in roles.makers.items() if op in operations}
    return PartStep(composite, operations, (*known, *rest), outputs, roles.names, makers, roles.is_changed)


def steps_of(functions: Mapping[str, Operation], module: Operation, *, whole: bool) -> dict[str, Steps]:
    """Of these functions of a part, with what they call."""
    return {name: Steps(function, module, whole=whole) for name, function in functions.items()}
