# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts that front ends, passes and targets record in a journal.

`origins` are places in the model: node names, or file:line:column for locations without a name. Shapes and types are
text for people. Sizes in bytes are numbers, or text with symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...bindings.diagnostics import origins
from ...bindings.ir import OperationBase, Value
from ...dialects.core.codec import decode
from ...dialects.core.infos import Info, TensorInfo, describe
from .journal import Fact, Journal


@dataclass(eq=False, repr=False)
class ModelFact(Fact):
    """Model as read by a front end."""

    name: str
    producer: str
    opsets: Mapping[str, int]
    #: name and type of each
    inputs: Sequence[Mapping[str, str]]
    outputs: Sequence[str]
    weights: int
    weight_bytes: int


@dataclass(eq=False, repr=False)
class NodeFact(Fact):
    """Node of a model with its translation."""

    name: str
    op: str
    domain: str
    version: int
    inputs: Sequence[str]
    #: name and type of each
    outputs: Sequence[Mapping[str, str]]
    #: name, type and bytes of each input that is a constant
    constants: Sequence[Mapping[str, object]]
    #: As text; large attributes are described.
    attributes: Mapping[str, str]
    #: "operators", "constant" (known at import), "input" (passes an input on), "nodes" (of its subgraph)
    became: str
    #: Node whose function or graph contains this node.
    within: str = ""


@dataclass(eq=False, repr=False)
class OperatorFact(Fact):
    """Operator before legalization. Inputs are operator numbers, or names of the graph's inputs."""

    index: int
    function: str
    operator: str
    origins: Sequence[str]
    inputs: Sequence[int | str]
    results: Sequence[str]
    #: Operator as a script.
    text: str = ""


@dataclass(eq=False, repr=False)
class LegalizedFact(Fact):
    """Legalization rule that was applied to an operator. `index` is its number, or None for a rule's own operator."""

    index: int | None
    operator: str
    origins: Sequence[str]
    rule: str
    target: str
    place: str
    #: PrimFuncs that are called in place of the operator.
    kernels: Sequence[str]


@dataclass(eq=False, repr=False)
class KernelFact(Fact):
    """PrimFunc before scheduling."""

    name: str
    operator: str
    pattern: str
    text: str


@dataclass(eq=False, repr=False)
class FusedFact(Fact):
    """Calls that were fused. Each member has its PrimFunc's name and its origins."""

    kernel: str
    origins: Sequence[str]
    members: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class NotFusedFact(Fact):
    """Producer and consumer that were not fused, with the reason."""

    producer: Mapping[str, object]
    consumer: Mapping[str, object]
    reason: str


@dataclass(eq=False, repr=False)
class CallFact(Fact):
    """Operation of the lowered program on memory, in program order.

    Inputs and outputs have a type and a location: `buffer` with its number, `input` with its name, or `constant`.
    """

    function: str
    position: int
    operation: str
    #: PrimFunc, packed function or other function; empty for operations without a callee.
    callee: str
    origins: Sequence[str]
    inputs: Sequence[Mapping[str, object]]
    outputs: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class MemoryFact(Fact):
    """Memory of a function's tensors.

    A buffer is live from position `first` to `last`.

    A buffer has an offset in the arena, or a slot of symbolic size with an offset of `shift` bytes. A result has an
    `output` number instead.
    """

    function: str
    fixed_bytes: int
    slots: Sequence[str]
    buffers: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class ScheduleFact(Fact):
    """Schedule that was chosen for a kernel, and the reasons against other schedules."""

    kernel: str
    schedule: str
    place: str
    declined: Sequence[Mapping[str, str]] = ()
    #: On request: an equivalent schedule line by line, or a comment with the reason why none exists.
    steps: Sequence[str] = ()
    #: Operators that the kernel computes.
    operator: str = ""
    #: On request: the tensor intrinsics in use, and the `name` and `reason` of each unused rule and intrinsic that was
    #: registered from outside.
    intrinsics: Sequence[str] = ()
    unused: Sequence[Mapping[str, str]] = ()


@dataclass(eq=False, repr=False)
class DeclinedPlansFact(Fact):
    """On request: the plan rules that declined a reduction of a kernel before another rule chose its plan."""

    kernel: str
    declined: Sequence[Mapping[str, str]]


@dataclass(eq=False, repr=False)
class LoopsFact(Fact):
    """Loop plan of one operation of a kernel. `reason` explains plain loops."""

    kernel: str
    plan: str
    #: Size of each loop. A dynamic size is text, a product of numbers and parameter sizes: "0.1*4" refers to the first
    #: parameter's second axis. None for other sizes.
    sizes: Sequence[int | str | None]
    reductions: Sequence[int] = ()
    order: Sequence[int] = ()
    vector: int | None = None
    lanes: int = 1
    #: Points (or vectors, for the vector loop) per step, by loop number.
    tile: Mapping[str, int] = field(default_factory=dict)
    #: (loop, points in a block)
    blocks: Sequence[Sequence[int]] = ()
    packs: bool = False
    #: Arithmetic operations per element that consume the results in registers, or None without an epilogue.
    epilogue: int | None = None
    #: Arithmetic operations in the body per point of the loops.
    flops: int = 0
    reason: str = ""


@dataclass(eq=False, repr=False)
class PartitionFact(Fact):
    """Parts of a model that a codegen received."""

    codegen: str
    #: Number of all operators.
    operators: int
    #: Number of operators matched by each pattern.
    matched: Mapping[str, int]
    #: Names of the external modules.
    parts: Sequence[str]
    #: Total size of the parts' inputs and outputs: text with symbols if dynamic, None if unknown.
    bytes_in: int | str | None
    bytes_out: int | str | None
    #: `matched` for each part by name.
    of_parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class PriceFact(Fact):
    """Costs that a cost-based plan has estimated for a match, in seconds."""

    codegen: str
    pattern: str
    origins: Sequence[str]
    #: True if the codegen received the match.
    taken: bool
    #: Estimated costs of the codegen and of the target.
    seconds: float
    host_seconds: float
    #: Additional cost of transfers and calls if the codegen receives the match, given the other decisions. Negative
    #: between matches of the codegen.
    border_seconds: float


@dataclass(eq=False, repr=False)
class KeptFact(Fact):
    """Operator that no codegen received, with the closest pattern and the reason for the mismatch."""

    operator: str
    origins: Sequence[str]
    codegen: str
    pattern: str
    reason: str
    #: Name shared by the operators of one match; empty if the pattern does not match.
    match: str = ""


@dataclass(eq=False, repr=False)
class ExternalFact(Fact):
    """Result of compiling an external module by a codegen. `reason` states why the target took the module over."""

    name: str
    codegen: str
    functions: Sequence[str]
    origins: Sequence[str]
    bytes: int = 0
    seconds: float | None = None
    reason: str = ""
    #: Requirements that the compiling machine does not meet.
    missing: str = ""
    #: True if the code was found in the cache.
    cached: bool = False
    #: Kind of failure: "declined", or "failed to compile", which usually is a bug.
    verb: str = "declined"


@dataclass(eq=False, repr=False)
class CodeFact(Fact):
    """Machine code of a kernel, or of the whole program if `name` is empty."""

    name: str
    bytes: int
    seconds: float | None = None
    cached: bool = False


def origins_of(operation: OperationBase) -> list[str]:
    """Return the distinct model nodes that an operation's location names, or file:line:column without names."""
    return list(dict.fromkeys(origin.name for origin in origins(operation.location) if origin.name))


def types_of(values: Iterable[Value]) -> list[str]:
    """Return the types of values as short text: `f32[1,64,n]`."""
    return [type_text(decode(value.type)) for value in values]


def type_text(info: Info) -> str:
    """Format a tensor type as `f32[n,4]`, and other types as in MLIR."""
    if not isinstance(info, TensorInfo):
        return describe(info)
    if info.shape is None:
        return f"{info.dtype}[...]"
    return f"{info.dtype}[{','.join('?' if dim is None else str(dim) for dim in info.shape)}]"


def note_code(name: str, bytes_: int, seconds: float | None = None, *, cached: bool = False) -> None:
    """Record compiled machine code if a journal is active."""
    if (journal := Journal.active()) is not None:
        journal.add(CodeFact(name, bytes_, seconds, cached))
