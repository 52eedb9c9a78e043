# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`rx.reference(module)`: a module's functions, interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from ..bindings.navigation import functions_in, is_private, symbol_name
from ..dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo
from ..dialects.core.ir_attributes import ENTRIES, INPUT_GROUPS, RESULT_GROUPS
from ..frontends.module import Module
from ..runtime.arrays import to_numpy
from ..support.argument_types import types_checked
from ..support.callbacks import enters
from ..support.errors import OptionError, RefusalError
from ..support.suggest import suggest
from .argument_groups import flattened, grouped, groups_of
from .held_values import stored
from .lowered import LoweredFunction, call_with_memory, is_lowered
from .machine import Machine
from .sites import IS_CODE


@types_checked
@enters
def reference(
    module: Module, *, wide: bool = False, functions: Mapping[str, Callable[..., object]] | None = None
) -> Reference:
    """A module's public functions as numpy computes them, operation by operation: `rx.reference(module)["main"](x)`.

    It is slow and right, and has nothing to do with what makes code: each operator has a function that says what it
    means (rx.rules.register_reference). Floats are computed in f64 and rounded to their types after each operator; with
    `wide` they are never rounded. `functions` are what the module calls by name (relax.call_dps_packed).

    The module may be lowered: also what a target's stages leave is run, up to 'parallel'. Functions that look at bits
    of floats round them to their types with `wide` too.
    """
    operation = module._owner.operation
    if ENTRIES in operation.attributes:
        raise RefusalError(f"the module has host code: {IS_CODE}")
    return Reference(Machine(operation, wide=wide, functions=functions))


class Reference(Mapping[str, "ReferenceFunction"]):
    """The public functions by name."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._names = [symbol_name(each) for each in functions_in(machine.module) if not is_private(each)]

    def __getitem__(self, name: str) -> ReferenceFunction:
        if name not in self._names:
            listed = ", ".join(self._names) or "none"
            raise OptionError(f"no function {name!r} in this module; there are {listed}{suggest(name, self._names)}")
        return ReferenceFunction(self._machine, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ReferenceFunction:
    """A function that is interpreted: it takes arrays of any framework, and gives numpy's."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine = machine
        self.name = name
        operation = machine.operation(name)
        lowered = LoweredFunction(machine, name, operation) if is_lowered(operation) else None
        #: What it takes, one by one.
        self.inputs = machine.inputs(name) if lowered is None else lowered.inputs
        self._run = partial(call_with_memory, machine, operation) if lowered is None else lowered.call
        self._taken = groups_of(operation, INPUT_GROUPS, len(self.inputs))
        self._operation = operation

    def __repr__(self) -> str:
        return f"<reference of {self.name}>"

    def __call__(self, *arguments: object) -> Any:
        results = self.run(flattened(self.name, self._taken, arguments))
        return grouped(groups_of(self._operation, RESULT_GROUPS, len(results)), results)

    def run(self, arguments: Sequence[object]) -> list[Any]:
        """The results, one by one, as arguments are given: those of lists too."""
        pairs = enumerate(zip(self.inputs, arguments, strict=True))
        return self._run([self._argument(index, *each) for index, each in pairs])

    def _argument(self, index: int, info: Info, argument: Any) -> Any:
        if isinstance(info, ShapeInfo):
            return tuple(map(int, argument))
        if isinstance(info, TensorInfo):
            array = to_numpy(argument) if hasattr(argument, "__dlpack__") else _array(argument, info)
            if array.dtype != stored(info.dtype):
                raise OptionError(f"{self.name}: argument #{index} has elements of {array.dtype}, not {info.dtype}")
            return self._machine.numbers.held(array, info.dtype)
        if isinstance(info, ScalarInfo):
            return self._machine.numbers.held(argument, info.dtype)[()]
        return argument


def _array(numbers: Any, info: TensorInfo) -> Any:
    """Of a number, or lists of them."""
    return numpy.asarray(numbers, None if isinstance(numbers, numpy.generic) else stored(info.dtype))
