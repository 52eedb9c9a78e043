# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What steps are made of: the operation that is prepared, its blocks, and the frame of the call in which it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..bindings.diagnostics import error_at, failure, made_at
from ..bindings.ir import Block, Operation, Type, Value
from ..dialects.core.infos import Info, ShapeInfo, TensorInfo
from ..dialects.core.symbols import Dim, SymExpr
from ..support.errors import RefusalError
from .held_values import Numbers

#: What an operation does, of a frame and its operands' values: its result, a list of its results, or None.
Step = Callable[..., Any]


class Frame:
    """One call of a function: the values of its SSA values, by their slots, and of its symbols."""

    __slots__ = ("points", "symbols", "values")

    def __init__(self, count: int) -> None:
        self.values: list[Any] = [None] * count
        self.symbols: dict[str, int] = {}
        #: Where the structured operations are that run now, the innermost one last: numbers or arrays of them.
        self.points: list[list[Any]] = []

    def learn(self, info: Info, value: Any) -> str:
        """Learns the symbols that a value tells by its type; says what does not fit, or nothing."""
        if isinstance(info, TensorInfo):
            return self.bind(info.shape, value.shape)
        if isinstance(info, ShapeInfo):
            return self.bind(info.dims, value)
        return ""

    def bind(self, dims: Sequence[Dim] | None, sizes: Sequence[int]) -> str:
        """Learns the symbols that these sizes tell; says what does not fit, or nothing."""
        if dims is None:
            return ""
        if len(dims) != len(sizes):
            return f"has {len(sizes)} dimensions, not {len(dims)}"
        for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            if isinstance(dim, SymExpr) and str(dim) in dim.variables:
                dim = self.symbols.setdefault(str(dim), size)
            known = self.size(dim)
            if known is not None and known != size:
                return f"has size {size} along axis {axis}, not {known}"
        return ""

    def size(self, dim: Dim) -> int | None:
        """What a size is, None where a symbol in it is not known."""
        if not isinstance(dim, SymExpr):
            return dim
        return dim.evaluate(self.symbols) if all(name in self.symbols for name in dim.variables) else None


class Line(NamedTuple):
    """An operation of a block that is prepared."""

    run: Step
    operands: tuple[int, ...]
    results: tuple[int, ...]
    operation: Operation
    #: Results whose types say something of sizes.
    checked: tuple[tuple[int, Info], ...]


class Body:
    """A block that is prepared: of a function, or inside of an operation."""

    def __init__(self, arguments: tuple[int, ...], lines: list[Line], ends: tuple[int, ...], end: Operation | None):
        self._arguments = arguments
        self._lines = lines
        self._ends = ends
        self.end = end

    def run(self, frame: Frame, arguments: Sequence[Any]) -> list[Any]:
        """What the operation at its end is given."""
        values = frame.values
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        for line in self._lines:
            found = line.run(frame, *[values[slot] for slot in line.operands])
            if len(line.results) == 1:
                values[line.results[0]] = found[0] if type(found) is list else found
            else:
                for slot, each in zip(line.results, found or (), strict=True):
                    values[slot] = each
            for slot, info in line.checked:
                problem = frame.learn(info, values[slot])
                if problem:
                    raise ValueError(f"{made_at(line.operation.name, line.operation.location)}: its result {problem}")
        return [values[slot] for slot in self._ends]


def has_sizes(info: Info) -> bool:
    return isinstance(info, (TensorInfo, ShapeInfo))


def refusal(operation: Operation, reason: str) -> RefusalError:
    found = failure("reference", [error_at(operation.location, f"'{operation.name}': {reason}")], RefusalError)
    assert isinstance(found, RefusalError)
    return found


class Slots(dict[Value, int]):
    """Where a frame has a value."""

    def of(self, value: Value) -> int:
        return self.setdefault(value, len(self))


class Runner(Protocol):
    """What runs the functions of a module, see machine.py."""

    module: Operation
    numbers: Numbers
    #: What the module calls by name and does not have.
    functions: Mapping[str, Callable[..., Any]]
    #: What random numbers are made of, each once.
    keys: Iterator[int]

    def inside(self, name: str) -> Runner: ...

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]: ...

    def prepare(self, name: str) -> None: ...

    def prepared(self, block: Block, slots: Slots) -> Body: ...


class Site:
    """An operation while it is prepared."""

    def __init__(self, machine: Runner, operation: Operation, slots: Slots) -> None:
        self.machine = machine
        self.operation = operation
        self._slots = slots

    @property
    def numbers(self) -> Numbers:
        """What elements are computed with."""
        return self.machine.numbers

    @property
    def attributes(self) -> Any:
        return self.operation.attributes

    def operand_type(self, index: int = 0) -> Type:
        return self.operation.operands[index].type

    def result_type(self, index: int = 0) -> Type:
        return self.operation.results[index].type

    def body(self, region: int = 0) -> Body:
        """The block of a region, which has one. It is run in the frame that the operation is run in."""
        blocks = list(self.operation.regions[region].blocks)
        if len(blocks) != 1:
            raise self.refusal("it has regions of several blocks, which the reference does not run")
        return self.machine.prepared(blocks[0], self._slots)

    def has_body(self, region: int = 0) -> bool:
        return len(self.operation.regions) > region and len(list(self.operation.regions[region].blocks)) > 0

    @property
    def place(self) -> str:
        """The operation and where it stands, for errors of a call: `relax.take "node" at model.onnx:3:1`."""
        return made_at(self.operation.name, self.operation.location)

    def refusal(self, reason: str) -> RefusalError:
        """`raise site.refusal("...")`: it cannot be run, and why."""
        return refusal(self.operation, reason)
