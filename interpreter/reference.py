# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference implementation of a module's functions: `rx.reference(module)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from ..bindings.navigation import functions_in, is_private, symbol_name
from ..dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo
from ..dialects.core.ir_attributes import ENTRIES, INPUT_GROUPS, RESULT_GROUPS
from ..frontends.module import Module
from ..passes.core.pipeline import Pipeline
from ..passes.lower_calls.function_lowering import graph_functions
from ..passes.outline_tensors.plain_functions import is_plain
from ..runtime.arrays import to_numpy
from ..support.argument_types import types_checked
from ..support.callbacks import enters
from ..support.errors import OptionError, RefusalError
from ..support.suggest import suggest
from .argument_groups import flattened, grouped, groups_of
from .execution import Machine
from .held_values import HeldValue, stored
from .sites import IS_CODE

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.typing import ArrayLike


@types_checked
@enters
def reference(
    module: Module, *, wide: bool = False, functions: Mapping[str, Callable[..., object]] | None = None
) -> Reference:
    """Return a module's public functions, computed by NumPy: `rx.reference(module)["main"](x)`.

    Each operator has a reference function that defines it (rx.rules.register_reference), independent of code
    generation. Floats are computed in f64 and rounded to their types after each operator. With `wide` they are never
    rounded. `functions` are Python functions that the module calls by name
    (relax.call_dps_packed).

    The module may be lowered, by a target's stages up to 'parallel'. PrimFuncs and lowered functions are compiled for
    this machine at -O0, without this project's choice of loops. They round floats to their types even with `wide`.
    """
    operation = module._owner.operation
    if ENTRIES in operation.attributes:
        raise RefusalError(f"the module has host code: {IS_CODE}")
    if any(map(is_plain, graph_functions(operation))):
        module = module.copy()
        Pipeline("relax-outline-tensors").run(module)
    found = Reference(Machine(module._owner.operation, wide=wide, functions=functions))
    found.module = module
    return found


class Reference(Mapping[str, "ReferenceFunction"]):
    """The public functions by name."""

    #: Module of the functions, which stays alive with them.
    module: Module

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
    """An interpreted function. It accepts arrays of any framework, and returns NumPy's."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine = machine
        self.name = name
        operation = machine.operation(name)
        #: Parameter types.
        self.inputs = machine.inputs(name)
        self._taken = groups_of(operation, INPUT_GROUPS, len(self.inputs))
        self._operation = operation

    def __repr__(self) -> str:
        return f"<reference of {self.name}>"

    def __call__(self, *arguments: object) -> Any:
        results = self.run(flattened(self.name, self._taken, arguments))
        return grouped(groups_of(self._operation, RESULT_GROUPS, len(results)), results)

    def run(self, arguments: Sequence[object]) -> list[Any]:
        """Return the results for flat arguments, with list elements as separate arguments."""
        pairs = enumerate(zip(self.inputs, arguments, strict=True))
        return self._machine.call(self.name, [self._argument(index, *each) for index, each in pairs])

    def _argument(self, index: int, info: Info, argument: Any) -> HeldValue:
        if isinstance(info, ShapeInfo):
            return tuple(map(int, argument))
        if isinstance(info, TensorInfo):
            array = to_numpy(argument) if hasattr(argument, "__dlpack__") else _array(argument, info)
            if array.dtype != stored(info.dtype):
                raise OptionError(f"{self.name}: argument #{index} has elements of {array.dtype}, not {info.dtype}")
            return self._machine.numbers.held(array, info.dtype)
        if isinstance(info, ScalarInfo):
            return self._machine.numbers.held(argument, info.dtype)[()]
        return to_numpy(argument) if hasattr(argument, "__dlpack__") else argument


def _array(numbers: ArrayLike, info: TensorInfo) -> ndarray:
    """Convert a number, or nested lists of numbers."""
    return numpy.asarray(numbers, None if isinstance(numbers, numpy.generic) else stored(info.dtype))
