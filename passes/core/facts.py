# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The facts that front ends, passes and targets note in a journal.

`origins` are places in the model: the names of its nodes, or file:line:column where a location has no name.
Shapes and types are text, as they are shown to people; sizes in bytes are numbers, or text over symbols.
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
    """A model as it was read."""

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
    """A node of a model, and what it became."""

    name: str
    op: str
    domain: str
    version: int
    inputs: Sequence[str]
    #: name and type of each
    outputs: Sequence[Mapping[str, str]]
    #: name, type and bytes of each input that is a constant
    constants: Sequence[Mapping[str, object]]
    #: As text; large ones are described.
    attributes: Mapping[str, str]
    #: "operators", "constant" (known when it is imported), "input" (it hands one on), "nodes" (of its own graph)
    became: str
    #: The node whose function or graph holds it.
    within: str = ""


@dataclass(eq=False, repr=False)
class OperatorFact(Fact):
    """A relax operator before it is legalized. Inputs are numbers of operators, or the names of the graph's inputs."""

    index: int
    function: str
    operator: str
    origins: Sequence[str]
    inputs: Sequence[int | str]
    results: Sequence[str]
    #: As a script.
    text: str = ""


@dataclass(eq=False, repr=False)
class LegalizedFact(Fact):
    """The rule that took an operator. `index` is its number, None for one that a rule has made."""

    index: int | None
    operator: str
    origins: Sequence[str]
    rule: str
    target: str
    place: str
    #: The PrimFuncs that are called in its place.
    kernels: Sequence[str]


@dataclass(eq=False, repr=False)
class KernelFact(Fact):
    """A PrimFunc before it is scheduled."""

    name: str
    operator: str
    pattern: str
    text: str


@dataclass(eq=False, repr=False)
class FusedFact(Fact):
    """Calls that became one. Each member has the name of its PrimFunc and its origins."""

    kernel: str
    origins: Sequence[str]
    members: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class NotFusedFact(Fact):
    """Two calls, one reading of the other, that stayed apart, and why."""

    producer: Mapping[str, object]
    consumer: Mapping[str, object]
    reason: str


@dataclass(eq=False, repr=False)
class CallFact(Fact):
    """An operation of the program that works on memory, in the program's order.

    Inputs and outputs have a type and where they are: `buffer` with its number, `input` with its name, `constant`.
    """

    function: str
    position: int
    operation: str
    #: A PrimFunc, a packed function, another function; empty for what calls nothing.
    callee: str
    origins: Sequence[str]
    inputs: Sequence[Mapping[str, object]]
    outputs: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class MemoryFact(Fact):
    """The memory that a function's tensors have. A buffer is in use from position `first` to `last`.

    It has an offset in the arena, a slot among those of symbolic size, in which it begins after `shift` bytes, or
    `output`: the result that it is.
    """

    function: str
    fixed_bytes: int
    slots: Sequence[str]
    buffers: Sequence[Mapping[str, object]]


@dataclass(eq=False, repr=False)
class ScheduleFact(Fact):
    """The schedule that took a kernel, and why others did not."""

    kernel: str
    schedule: str
    place: str
    declined: Sequence[Mapping[str, str]] = ()
    #: Where a journal asks for them: lines of a schedule that do the same, or a comment that says why there are none.
    steps: Sequence[str] = ()
    #: The operators that the kernel computes.
    operator: str = ""
    #: Where a journal asks for them: the tensor intrinsics that are used, and the `name` and `reason` of each rule and
    #: intrinsic that was registered from outside and is not used.
    intrinsics: Sequence[str] = ()
    unused: Sequence[Mapping[str, str]] = ()


@dataclass(eq=False, repr=False)
class LoopsFact(Fact):
    """How the loops of one operation of a kernel run; `reason` where they stay plain loops."""

    kernel: str
    plan: str
    #: Of each loop. Text where dynamic: a product of numbers and of the parameters' sizes, "0.1*4" with
    #: that of the first parameter's second axis; None where it is another one.
    sizes: Sequence[int | str | None]
    reductions: Sequence[int] = ()
    order: Sequence[int] = ()
    vector: int | None = None
    lanes: int = 1
    #: Points (vectors, of the vector loop) in one step, by the loop's number.
    tile: Mapping[str, int] = field(default_factory=dict)
    #: (loop, points in a block)
    blocks: Sequence[Sequence[int]] = ()
    packs: bool = False
    #: Operations on numbers for one element of what is done with the results in registers; None where nothing is.
    epilogue: int | None = None
    #: Operations on numbers in the body, for one point of the loops.
    flops: int = 0
    reason: str = ""


@dataclass(eq=False, repr=False)
class PartitionFact(Fact):
    """What a codegen was given of a model."""

    codegen: str
    #: All that there are.
    operators: int
    #: Those that each of its patterns has matched.
    matched: Mapping[str, int]
    #: The external modules.
    parts: Sequence[str]
    #: Their inputs and outputs, text over symbols where dynamic; None where unknown.
    bytes_in: int | str | None
    bytes_out: int | str | None
    #: `matched` of each part, by its name.
    of_parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class PriceFact(Fact):
    """What a plan by cost has counted for a match, in seconds."""

    codegen: str
    pattern: str
    origins: Sequence[str]
    #: Whether it went to the codegen.
    taken: bool
    #: What the codegen asks for it, and the target.
    seconds: float
    host_seconds: float
    #: What more crosses if it goes to the codegen, in addition to what else went there, and calls of parts; less than 0
    #: where it is between such.
    border_seconds: float


@dataclass(eq=False, repr=False)
class KeptFact(Fact):
    """An operator that no codegen was given, with the pattern that came nearest, and what kept it from matching."""

    operator: str
    origins: Sequence[str]
    codegen: str
    pattern: str
    reason: str
    #: A name that the operators of one match share; empty where the pattern does not match.
    match: str = ""


@dataclass(eq=False, repr=False)
class ExternalFact(Fact):
    """What a codegen has made of an external module; `reason` where it did not, and the target took it over."""

    name: str
    codegen: str
    functions: Sequence[str]
    origins: Sequence[str]
    bytes: int = 0
    seconds: float | None = None
    reason: str = ""
    #: What the machine that compiles lacks to run it.
    missing: str = ""
    #: Whether its code was found in the cache.
    cached: bool = False
    #: Where there is a reason, what the codegen did: "declined", or "failed to compile", which is a bug as a rule.
    verb: str = "declined"


@dataclass(eq=False, repr=False)
class CodeFact(Fact):
    """Machine code: of a kernel, or of the whole program where `name` is empty."""

    name: str
    bytes: int
    seconds: float | None = None
    cached: bool = False


def origins_of(operation: OperationBase) -> list[str]:
    """The model's nodes that an operation's location names, each once; file:line:column where it names none."""
    return list(dict.fromkeys(origin.name for origin in origins(operation.location) if origin.name))


def types_of(values: Iterable[Value]) -> list[str]:
    """What values are, for people: `f32[1,64,n]`."""
    return [type_text(decode(value.type)) for value in values]


def type_text(info: Info) -> str:
    """`f32[n,4]`; other types as MLIR writes them."""
    if not isinstance(info, TensorInfo):
        return describe(info)
    if info.shape is None:
        return f"{info.dtype}[...]"
    return f"{info.dtype}[{','.join('?' if dim is None else str(dim) for dim in info.shape)}]"


def note_code(name: str, bytes_: int, seconds: float | None = None, *, cached: bool = False) -> None:
    """Notes machine code that has been made, if a journal is active."""
    journal = Journal.active()
    if journal is not None:
        journal.add(CodeFact(name, bytes_, seconds, cached))
