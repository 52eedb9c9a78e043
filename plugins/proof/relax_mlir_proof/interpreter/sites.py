# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of steps: the prepared operation, its blocks, and the frame of the running call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from relax_mlir.bindings.diagnostics import error_at, failure, made_at
from relax_mlir.bindings.ir import Block, Operation, Region, Type, Value
from relax_mlir.dialects.core.infos import Info, ShapeInfo, TensorInfo
from relax_mlir.dialects.core.symbols import Dim, SymExpr
from relax_mlir.support.errors import RefusalError

from .held_values import HeldValue, Numbers

#: Callable of a frame and operand values that returns a result, a list of results, or None.
Step = Callable[..., Any]
Action = Callable[["Frame"], None]


class Frame:
    """One call of a function: SSA values by slot, and values of symbols."""

    __slots__ = ("symbols", "values")

    def __init__(self, count: int, constants: Mapping[int, HeldValue]) -> None:
        self.values: list[Any] = [None] * count
        for slot, value in constants.items():
            self.values[slot] = value
        self.symbols: dict[str, int] = {}

    def match(self, info: Info, value: Any) -> str:
        """Bind the symbols in a value's type. Return a description of a mismatch, or an empty text."""
        if isinstance(info, TensorInfo):
            return self.bind(info.shape, value.shape)
        if isinstance(info, ShapeInfo):
            return self.bind(info.dims, value)
        return ""

    def bind(self, dims: Sequence[Dim] | None, sizes: Sequence[int]) -> str:
        """Bind the symbols in dimensions to sizes. Return a description of a mismatch, or an empty text."""
        if dims is None:
            return ""
        if len(dims) != len(sizes):
            return f"has {len(sizes)} dimensions, not {len(dims)}"
        for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            if isinstance(dim, SymExpr) and (str(dim) in dim.variables or self.size(dim) is None):
                # An expression of unbound symbols acts like a symbol: equal expressions must agree.
                self.symbols.setdefault(str(dim), size)
            if (known := self.size(dim)) is not None and known != size:
                return f"has size {size} along axis {axis}, not {known}"
        return ""

    def learn(self, dim: object, value: object) -> None:
        """Bind a symbol to a value, if the size or number is a plain symbol."""
        if isinstance(dim, SymExpr) and str(dim) in dim.variables:
            self.symbols.setdefault(str(dim), int(value))  # type: ignore[call-overload]

    def size(self, dim: Dim) -> int | None:
        """Return the value of a size, or None if a symbol is unbound."""
        if not isinstance(dim, SymExpr):
            return dim
        if not all(name in self.symbols for name in dim.variables):
            return self.symbols.get(str(dim))
        return dim.evaluate(self.symbols)


class Line(NamedTuple):
    """A prepared operation of a block."""

    run: Step
    operands: tuple[int, ...]
    results: tuple[int, ...]
    operation: Operation
    #: Results with sizes in their types.
    checked: tuple[tuple[int, Info], ...]

    def action(self) -> Action:
        """Return the function that runs the operation in a frame."""
        if self.checked:
            return self._run_checked
        if len(self.results) != 1:
            return self._run
        run, (result,) = self.run, self.results

        def run_one(frame: Frame) -> None:
            values = frame.values
            found = run(frame, *[values[slot] for slot in operands])
            values[result] = found[0] if type(found) is list else found

        def run_binary(frame: Frame) -> None:
            values = frame.values
            found = run(frame, values[first], values[second])
            values[result] = found[0] if type(found) is list else found

        operands = self.operands
        if len(operands) != 2:
            return run_one
        first, second = operands
        return run_binary

    def _run(self, frame: Frame) -> None:
        values = frame.values
        found = self.run(frame, *[values[slot] for slot in self.operands])
        given = found if type(found) is list else [found] if len(self.results) == 1 else found or ()
        for slot, each in zip(self.results, given, strict=True):
            values[slot] = each

    def _run_checked(self, frame: Frame) -> None:
        self._run(frame)
        for slot, info in self.checked:
            if problem := frame.match(info, frame.values[slot]):
                raise ValueError(f"{made_at(self.operation.name, self.operation.location)}: its result {problem}")


class Body:
    """A prepared block of a function or of an operation."""

    def __init__(self, arguments: tuple[int, ...], lines: list[Line], ends: tuple[int, ...], end: Operation | None):
        self._arguments = arguments
        self._actions = [line.action() for line in lines]
        self._ends = ends
        self.end = end

    def run(self, frame: Frame, arguments: Sequence[HeldValue]) -> list[Any]:
        """Run the block and return the operands of its terminator."""
        values = frame.values
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        for action in self._actions:
            action(frame)
        return [values[slot] for slot in self._ends]


def has_sizes(info: Info) -> bool:
    return isinstance(info, (TensorInfo, ShapeInfo))


#: Control transfer at the end of a block: the next block's number, or None to leave the region, and its arguments.
Jump = tuple[int | None, Sequence[Any]]


class Flow:
    """A prepared region of several blocks."""

    def __init__(self, bodies: Sequence[Body], jumps: Sequence[Callable[[Sequence[Any]], Jump]]):
        self._bodies = bodies
        self._jumps = jumps

    def run(self, frame: Frame, arguments: Sequence[HeldValue]) -> Sequence[Any]:
        """Run the region and return the operands of the terminator that leaves it."""
        place: int | None = 0
        while place is not None:
            place, arguments = self._jumps[place](self._bodies[place].run(frame, arguments))
        return arguments


def jump_of(body: Body, blocks: Sequence[Block]) -> Callable[[Sequence[Any]], Jump]:
    """Return a function from a terminator's operands to the next block."""
    end = body.end
    places = [] if end is None else [blocks.index(block) for block in end.successors]
    if end is None or not places:
        return lambda given: (None, given)
    if end.name == "cf.br":
        return lambda given: (places[0], given)
    counts = list(end.attributes["operandSegmentSizes"])
    if end.name == "cf.cond_br":
        split = 1 + counts[1]
        return lambda given: (places[0], given[1:split]) if given[0] else (places[1], given[split:])
    return _switch(end, places, counts)


def _switch(end: Operation, places: Sequence[int], counts: Sequence[int]) -> Callable[[Sequence[Any]], Jump]:
    lengths = [counts[1], *end.attributes["case_operand_segments"]]
    numbers = [int(number) for number in end.attributes["case_values"]] if "case_values" in end.attributes else []

    def jump(given: Sequence[Any]) -> Jump:
        chosen = 1 + numbers.index(int(given[0])) if int(given[0]) in numbers else 0
        start = 1 + sum(lengths[:chosen])
        return places[chosen], given[start : start + lengths[chosen]]

    return jump


#: Reason for refusing code of a host or a device.
IS_CODE = "the reference runs no code of a device, only the stages before it and the stages of the target llvm"


def refusal(operation: Operation, reason: str) -> RefusalError:
    found = failure("reference", [error_at(operation.location, f"'{operation.name}': {reason}")], RefusalError)
    assert isinstance(found, RefusalError)
    return found


class Slots(dict[Value, int]):
    """Slots of values in a frame."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self.numbers = numbers
        #: Constants, by slot.
        self.constants: dict[int, HeldValue] = {}

    def of(self, value: Value) -> int:
        return self.setdefault(value, len(self))


class Runner(Protocol):
    """Interface of the interpreter of a module, see machine.py."""

    module: Operation
    numbers: Numbers
    #: Counter for random keys. Each key is used once.
    keys: Iterator[int]
    #: Python functions that the module calls by name.
    functions: Mapping[str, Callable[..., Any]]

    def inside(self, name: str) -> Runner: ...

    def call(self, name: str, arguments: Sequence[Any], site: Operation | None = None) -> list[Any]: ...

    def prepare(self, name: str) -> None: ...

    def prepared(self, region: Region, slots: Slots) -> Body | Flow: ...

    def operation(self, name: str) -> Operation: ...


class Site:
    """An operation that is being prepared."""

    def __init__(self, machine: Runner, operation: Operation, slots: Slots) -> None:
        self.machine = machine
        self.operation = operation
        self._slots = slots

    @property
    def numbers(self) -> Numbers:
        """Types in which elements are computed."""
        return self._slots.numbers

    @property
    def attributes(self) -> Any:
        return self.operation.attributes

    def operand_type(self, index: int = 0) -> Type:
        return self.operation.operands[index].type

    def result_type(self, index: int = 0) -> Type:
        return self.operation.results[index].type

    def body(self, region: int = 0) -> Body | Flow:
        """Prepare a region with blocks. It runs in the frame of the operation."""
        return self.machine.prepared(self.operation.regions[region], self._slots)

    def prepared(self, region: Region) -> Body | Flow:
        """Prepare a region of an operation nested in this one."""
        return self.machine.prepared(region, self._slots)

    def has_body(self, region: int = 0) -> bool:
        return len(self.operation.regions) > region and len(list(self.operation.regions[region].blocks)) > 0

    @property
    def place(self) -> str:
        """The operation and its location for errors of a call: `relax.take "node" at model.onnx:3:1`."""
        return made_at(self.operation.name, self.operation.location)

    def refusal(self, reason: str) -> RefusalError:
        """Return the error for an operation that cannot be run: `raise site.refusal("...")`."""
        return refusal(self.operation, reason)
