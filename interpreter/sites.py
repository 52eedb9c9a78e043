# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What steps are made of: the operation that is prepared, its blocks, and the frame of the call in which it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..bindings.diagnostics import error_at, failure, made_at
from ..bindings.ir import Attribute, Block, Operation, Region, Type, Value
from ..dialects.core.infos import Info, ShapeInfo, TensorInfo
from ..dialects.core.symbols import Dim, SymExpr
from ..support.errors import RefusalError
from .held_values import Numbers
from .memory import Memory

#: What an operation does, of a frame and its operands' values: its result, a list of its results, or None.
Step = Callable[..., Any]
Action = Callable[["Frame"], None]


class Frame:
    """One call of a function: the values of its SSA values, by their slots, and of its symbols."""

    __slots__ = ("points", "symbols", "values")

    def __init__(self, count: int, constants: Mapping[int, Any]) -> None:
        self.values: list[Any] = [None] * count
        for slot, value in constants.items():
            self.values[slot] = value
        self.symbols: dict[str, int] = {}
        #: Where the structured operations are that run now, the innermost one last: numbers or arrays of them.
        self.points: list[list[Any]] = []

    def match(self, info: Info, value: Any) -> str:
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
            if isinstance(dim, SymExpr) and (str(dim) in dim.variables or self.size(dim) is None):
                # An expression whose symbols nothing tells is as good as one: equal ones agree.
                self.symbols.setdefault(str(dim), size)
            known = self.size(dim)
            if known is not None and known != size:
                return f"has size {size} along axis {axis}, not {known}"
        return ""

    def learn(self, dim: object, value: object) -> None:
        """The symbol that a size or a number is has this value."""
        if isinstance(dim, SymExpr) and str(dim) in dim.variables:
            self.symbols.setdefault(str(dim), int(value))  # type: ignore[call-overload]

    def size(self, dim: Dim) -> int | None:
        """What a size is, None where a symbol in it is not known."""
        if not isinstance(dim, SymExpr):
            return dim
        if not all(name in self.symbols for name in dim.variables):
            return self.symbols.get(str(dim))
        return dim.evaluate(self.symbols)


class Line(NamedTuple):
    """An operation of a block that is prepared."""

    run: Step
    operands: tuple[int, ...]
    results: tuple[int, ...]
    operation: Operation
    #: Results whose types say something of sizes.
    checked: tuple[tuple[int, Info], ...]

    def action(self) -> Action:
        """What runs it in a frame."""
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
            problem = frame.match(info, frame.values[slot])
            if problem:
                raise ValueError(f"{made_at(self.operation.name, self.operation.location)}: its result {problem}")


class Body:
    """A block that is prepared: of a function, or inside of an operation."""

    def __init__(self, arguments: tuple[int, ...], lines: list[Line], ends: tuple[int, ...], end: Operation | None):
        self._arguments = arguments
        self._actions = [line.action() for line in lines]
        self._ends = ends
        self.end = end

    def run(self, frame: Frame, arguments: Sequence[Any]) -> list[Any]:
        """What the operation at its end is given."""
        values = frame.values
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        for action in self._actions:
            action(frame)
        return [values[slot] for slot in self._ends]


def has_sizes(info: Info) -> bool:
    return isinstance(info, (TensorInfo, ShapeInfo))


#: Where control goes at the end of a block: to the block of a number, with these arguments; None: out of the region.
Jump = tuple[int | None, Sequence[Any]]


class Flow:
    """A region of several blocks that is prepared."""

    def __init__(self, bodies: Sequence[Body], jumps: Sequence[Callable[[Sequence[Any]], Jump]]):
        self._bodies = bodies
        self._jumps = jumps

    def run(self, frame: Frame, arguments: Sequence[Any]) -> Sequence[Any]:
        """What the operation that leaves the region is given."""
        place: int | None = 0
        while place is not None:
            place, arguments = self._jumps[place](self._bodies[place].run(frame, arguments))
        return arguments


def jump_of(body: Body, blocks: Sequence[Block]) -> Callable[[Sequence[Any]], Jump]:
    """Where control goes at the end of a block: what its end is given says it."""
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


#: Why code of a host or of a device is refused.
IS_CODE = "the reference runs what is no code of a host or a device yet: llvm's stages up to 'parallel'"


def refusal(operation: Operation, reason: str) -> RefusalError:
    found = failure("reference", [error_at(operation.location, f"'{operation.name}': {reason}")], RefusalError)
    assert isinstance(found, RefusalError)
    return found


class Slots(dict[Value, int]):
    """Where a frame has a value."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__()
        self.numbers = numbers
        #: What is the same in each call, by slot.
        self.constants: dict[int, Any] = {}

    def of(self, value: Value) -> int:
        return self.setdefault(value, len(self))


class Runner(Protocol):
    """What runs the functions of a module, see machine.py."""

    module: Operation
    numbers: Numbers
    memory: Memory
    #: What random numbers are made of, each once.
    keys: Iterator[int]
    #: What the module calls by name and does not have.
    functions: Mapping[str, Callable[..., Any]]

    def inside(self, name: str) -> Runner: ...

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]: ...

    def prepare(self, name: str) -> None: ...

    def prepared(self, region: Region, slots: Slots) -> Body | Flow: ...

    def operation(self, name: str) -> Operation: ...

    def call_from_graph(self, name: str, arguments: Sequence[Any], operation: Operation) -> list[Any]: ...

    def place(self) -> str: ...

    def globals(self) -> Mapping[str, Attribute]: ...


class Site:
    """An operation while it is prepared."""

    def __init__(self, machine: Runner, operation: Operation, slots: Slots) -> None:
        self.machine = machine
        self.operation = operation
        self._slots = slots

    @property
    def numbers(self) -> Numbers:
        """What elements are computed with."""
        return self._slots.numbers

    @property
    def attributes(self) -> Any:
        return self.operation.attributes

    def operand_type(self, index: int = 0) -> Type:
        return self.operation.operands[index].type

    def result_type(self, index: int = 0) -> Type:
        return self.operation.results[index].type

    def body(self, region: int = 0) -> Body | Flow:
        """A region, which has blocks. It is run in the frame that the operation is run in."""
        return self.machine.prepared(self.operation.regions[region], self._slots)

    def prepared(self, region: Region) -> Body | Flow:
        """A region of an operation inside of this one."""
        return self.machine.prepared(region, self._slots)

    def has_body(self, region: int = 0) -> bool:
        return len(self.operation.regions) > region and len(list(self.operation.regions[region].blocks)) > 0

    @property
    def place(self) -> str:
        """The operation and where it stands, for errors of a call: `relax.take "node" at model.onnx:3:1`."""
        return made_at(self.operation.name, self.operation.location)

    def refusal(self, reason: str) -> RefusalError:
        """`raise site.refusal("...")`: it cannot be run, and why."""
        return refusal(self.operation, reason)
