# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computation of a part as a list of steps: values and constants have numbers, and calls of composites are expanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    operations_in,
    operations_of,
    symbol_name,
    text_in,
)
from ....dialects.core.attributes import AttributeProblem
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import COMPOSITE
from ....dialects.core.verifier import segment_sizes
from ....dialects.relax.constants import array_of_attribute, storage_dtype
from ....dialects.relax.known_constants import CONSTANTS, elements_of
from ....support.errors import RefusalError, RelaxError
from ....support.suggest import suggest
from ...core.facts import origins_of
from .roles import NumberedRoles, Passage, numbered_roles


def node_names(*operations: Operation) -> tuple[str, ...]:
    """Return the names of the model's nodes that operations come from, without duplicates.

    An operation without a node gives `file:line:column`. A function, such as a composite, gives the names of all
    operations in it.
    """
    inside = (op for each in operations for op in (operations_in(each) if len(each.regions) else (each,)))
    return tuple(dict.fromkeys(name for op in inside for name in origins_of(op) if op.name != "func.return"))


class StepRefusal(RefusalError):
    """Refusal of one step by its codegen. The other steps of the part stay with the codegen."""

    def __init__(self, function: str, message: str):
        super().__init__(message)
        #: Composite function of the step in its part.
        self.function = function


@dataclass(frozen=True)
class PartStep:
    """Match of a pattern, or one of its operations. `step["x"]` is the number of a named value.

    The pattern defines the names. In a step of one operation they are the operator's names of its operands.
    """

    #: Name of the pattern, or "" for operations that passes have added.
    composite: str
    #: The operations without constants, operands before their readers.
    operations: tuple[Operation, ...]
    #: Values that are read from outside, constants too: one for each part of the pattern that matched one, depth first,
    #: as the pattern was written. A part in two places, `multiply(x, x)`, counts once. Two parts that matched one value
    #: count twice. For a single operation these are its operands.
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    #: Numbers of values by name, including values inside of the step.
    names: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Operations that define the named values.
    makers: Mapping[str, Operation] = field(default_factory=dict)
    #: True if passes have changed the operations that the pattern matched.
    is_changed: bool = False
    #: Composite function of the part that the step comes from, or "" if passes have inlined it.
    _function: str = ""

    def refuse(self, reason: str) -> RelaxError:
        """Return an error for `compile` to raise: the target takes this step, and the codegen the rest of the part.

            raise step.refuse("the unit has 64 output channels")

        If passes have inlined the functions of matches, the target takes the whole part.
        """
        if not isinstance(reason, str) or not reason:
            raise RelaxError(f"{self._title}: refuse() takes the reason as text, got {reason!r:.60}")
        nodes = ", ".join(self.nodes)
        message = f"{self._title}{f' ({nodes})' if nodes else ''}: {reason}"
        return StepRefusal(self._function, message) if self._function else RefusalError(message)

    @property
    def operation(self) -> Any:
        """The last operation, with its attributes as Python values."""
        return self.operations[-1].opview

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the model's nodes that the step comes from. Use them in profiles and traces."""
        return node_names(*self.operations)

    def op(self, name: str) -> Any:
        """Return the operation that defines a named value, with its attributes as Python values."""
        if name not in self.makers:
            raise RelaxError(f"{self._title}: no operation defines '{name}'{suggest(name, self.makers)}{self._why}")
        return self.makers[name].opview

    def __getitem__(self, name: str) -> int:
        """Return the number of a named value that the step reads from outside, or of a result."""
        if found := self.all(name):
            return found[0]
        if name in self.names:
            raise RelaxError(
                f"{self._title}: '{name}' is an inner value of the step: whole=False gives a step for each operation"
            )
        raise RelaxError(f"{self._title}: no value is named '{name}'{suggest(name, self.names)}{self._why}")

    def get(self, name: str) -> int | None:
        """Return `step[name]`, or None if an optional value is absent."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> tuple[int, ...]:
        """Return the numbers of all values of a name, for lists and repeated patterns, in the pattern's order."""
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
        return f" ({listed}{'; passes have changed the matched operations' if self.is_changed else ''})"


class Steps:
    """Function of a part. Its inputs, constants and the results of its steps have numbers, in order of definition."""

    #: Values by number, in this function or in functions that it calls.
    values: list[Value]
    inputs: tuple[int, ...]
    steps: list[PartStep]
    outputs: tuple[int, ...]

    def __init__(self, function: Operation, module: Operation, *, whole: bool):
        """With `whole`, a match of a pattern is one step. Otherwise each operation is one."""
        self._functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
        self._whole = whole
        self.values = []
        self.constant_numbers: list[int] = []
        self.inputs = self._fresh(body_of(function).arguments)
        self.steps = []
        self.outputs = self._walk(function, self.inputs, self.steps)

    @cached_property
    def constants(self) -> dict[int, Any]:
        """Constants by number, as NumPy arrays, or None for missing values. ml_dtypes adds types to NumPy."""
        return {number: _constant(self.values[number]) for number in self.constant_numbers}

    def _fresh(self, values: Sequence[Value]) -> tuple[int, ...]:
        before = len(self.values)
        self.values += values
        return tuple(range(before, len(self.values)))

    def _walk(self, function: Operation, arguments: Sequence[int], steps: list[PartStep]) -> tuple[int, ...]:
        """Append the steps of a function, and return the numbers of its results."""
        numbers = dict(zip(body_of(function).arguments, arguments, strict=True))
        returned: tuple[int, ...] = ()
        composite = symbol_name(function) if COMPOSITE in function.attributes else ""
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
                    inside.append(replace(_alone(text_in(function, COMPOSITE), op, read, made), _function=composite))
            passages.append(Passage(op, read, made))
            numbers.update(zip(op.results, made, strict=True))
        is_one = self._whole and bool(inside) and COMPOSITE in function.attributes
        if is_one:
            together = _together(inside, returned, numbered_roles(function, arguments, passages))
            inside = [replace(together, _function=composite)]
        steps += inside
        return returned


def _constant(value: Value) -> Any:
    import numpy

    if (known := elements_of(value)) is not None:
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
    """Return the step of one operation, with the operator's names for its operands."""
    if (row := row_of(op)) is None:
        return PartStep(composite, (op,), read, made)
    groups = row.segment(read, segment_sizes(row, op, len(read)))
    names = {name: group if isinstance(group, tuple) else (group,) for name, group in groups.items()}
    return PartStep(composite, (op,), read, made, {name: group for name, group in names.items() if group != (None,)})


def _together(steps: Sequence[PartStep], outputs: tuple[int, ...], roles: NumberedRoles | None) -> PartStep:
    """Return the step of a match. Without roles the inputs are in the order of their reads."""
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
    """Return the steps of these functions of a part, with the functions that they call."""
    return {name: Steps(function, module, whole=whole) for name, function in functions.items()}
