# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a part computes, as a list of steps: values and constants by number, calls of composites taken apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Operation
from ...bindings.navigation import body_of, callee_of, functions_in, has_body, operations_of, symbol_name, text_in
from ..canonicalize.constants import elements_of
from .functions import COMPOSITE


class Step(NamedTuple):
    """What a pattern has matched, or one operation of it."""

    #: The pattern's name; empty for what passes have put beside.
    composite: str
    #: Without constants, in the program's order.
    operations: tuple[Operation, ...]
    #: The values that they read from outside, constants too, in the order in which they are read.
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def operation(self) -> Any:
        """The last one, with its attributes as Python has them."""
        return self.operations[-1].opview


class Steps:
    """A function of a part. Its inputs, constants, and what its steps give have numbers, in this order of making."""

    def __init__(self, function: Operation, module: Operation, *, whole: bool):
        """`whole`: what a pattern has matched is one step, otherwise each operation."""
        self._functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
        self._whole, self._count = whole, 0
        #: By number, as numpy has them; None where it has no such elements.
        self.constants: dict[int, Any] = {}
        self.inputs = self._fresh(len(body_of(function).arguments))
        self.steps: list[Step] = []
        self.outputs = self._walk(function, self.inputs, self.steps)

    def _fresh(self, count: int) -> tuple[int, ...]:
        self._count += count
        return tuple(range(self._count - count, self._count))

    def _walk(self, function: Operation, arguments: Sequence[int], steps: list[Step]) -> tuple[int, ...]:
        """The function's steps come to others'; the numbers of what it returns."""
        numbers = dict(zip(body_of(function).arguments, arguments, strict=True))
        returned: tuple[int, ...] = ()
        for op in operations_of(body_of(function)):
            read = tuple(numbers[value] for value in op.operands)
            if op.name == "func.return":
                returned = read
                continue
            if op.name == "func.call":
                made = self._call(self._functions[callee_of(op)], read, steps)
            else:
                made = self._fresh(len(op.results))
                if op.name in ("arith.constant", "relax.constant"):
                    self.constants[made[0]] = elements_of(op.results[0])
                else:
                    steps.append(Step(text_in(function, COMPOSITE), (op,), read, made))
            numbers.update(zip(op.results, made, strict=True))
        return returned

    def _call(self, callee: Operation, arguments: Sequence[int], steps: list[Step]) -> tuple[int, ...]:
        inside: list[Step] = []
        outputs = self._walk(callee, arguments, inside)
        whole = self._whole and len(inside) > 1
        steps += [_together(inside, outputs)] if whole else inside
        return outputs


def _together(steps: Sequence[Step], outputs: tuple[int, ...]) -> Step:
    made = {number for step in steps for number in step.outputs}
    read = dict.fromkeys(number for step in steps for number in step.inputs if number not in made)
    return Step(steps[0].composite, tuple(op for step in steps for op in step.operations), tuple(read), outputs)


def steps_of(functions: Mapping[str, Operation], module: Operation, *, whole: bool) -> dict[str, Steps]:
    """Of these functions of a part, with what they call."""
    return {name: Steps(function, module, whole=whole) for name, function in functions.items()}
