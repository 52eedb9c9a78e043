# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference implementation of a module's functions: `rx.reference(module)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir.bindings.navigation import functions_in, is_private, symbol_name
from relax_mlir.dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo
from relax_mlir.dialects.core.ir_attributes import ENTRIES, INPUT_GROUPS, RESULT_GROUPS
from relax_mlir.dialects.graph_functions import graph_functions
from relax_mlir.frontends.module import Module
from relax_mlir.passes.core.pipeline import Pipeline
from relax_mlir.passes.graph.outline_tensors.plain_functions import is_plain
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.manifest import parse_signature
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .argument_groups import flattened, grouped, groups_of
from .compiled import program_of_host_code
from .execution import Machine
from .held_values import HeldValue, stored

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.typing import ArrayLike


@types_checked
@enters
def reference(
    module: Module, *, wide: bool = False, functions: Mapping[str, Callable[..., object]] | None = None
) -> Mapping[str, Callable[..., Any]]:
    """Return a module's public functions, computed by NumPy: `rx.reference(module)["main"](x)`.

    Each operator has a reference function that defines it (rx.rules.register_reference), independent of code
    generation. Floats are computed in f64 and rounded to their types after each operator. With `wide` they are never
    rounded. `functions` are Python functions that the module calls by name
    (relax.call_dps_packed).

    The module may be lowered, by any stages of the target llvm. PrimFuncs and lowered functions are compiled for this
    machine at -O0, without this project's choice of loops. They round floats to their types even with `wide`.
    Instructions of other CPUs are emulated. An access to memory that leaves its buffer raises IndexError.
    """
    operation = module._owner.operation
    if ENTRIES in operation.attributes:
        return HostReference(program_of_host_code(operation, dict(functions or {})))
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
        self._names = [symbol_name(function) for function in functions_in(machine.module) if not is_private(function)]

    def __getitem__(self, name: str) -> ReferenceFunction:
        if name not in self._names:
            listed = ", ".join(self._names) or "none"
            raise OptionError(f"no function {name!r} in this module; there are {listed}{suggest(name, self._names)}")
        return ReferenceFunction(self._machine, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class HostReference(Mapping[str, "HostFunction"]):
    """Functions of host code by name: the entries of a program."""

    def __init__(self, program: Executable) -> None:
        self._program = program

    def __getitem__(self, name: str) -> HostFunction:
        self._program.signature(name)  # raises if there is no such function
        return HostFunction(self._program, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._program)

    def __len__(self) -> int:
        return len(self._program)


class HostFunction:
    """Compiled entry of host code. It accepts arrays of any framework, and returns NumPy's."""

    def __init__(self, program: Executable, name: str) -> None:
        self._program, self.name = program, name

    def __repr__(self) -> str:
        return f"<reference of {self.name}>"

    def __call__(self, *arguments: object) -> Any:
        outputs = parse_signature(self._program.signature(self.name)).outputs
        found = self._program.copying()[self.name](*arguments)
        return _as_numpy(found, iter([output.holds or None for output in outputs]))


def _as_numpy(value: Any, dtypes: Iterator[str | None]) -> Any:
    """Convert the tensors of nested results, which have these element types in order."""
    if isinstance(value, (list, tuple)):
        return type(value)(_as_numpy(each, dtypes) for each in value)
    dtype = next(dtypes)
    return to_numpy(value, dtype) if hasattr(value, "__dlpack__") else value


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
