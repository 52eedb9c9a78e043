# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of the attributes by which frontends, passes and targets exchange facts about operations.

Each row states the carrier, the type, the writer and reader, and the last passes of an attribute. The verifier checks
carrier and type, and the pass manager checks the last passes. docs/attributes.md shows the rows and the comments above
them (`make generate`). Attributes of operators are in the operators' rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ...bindings.ir import Attribute
from ...bindings.mlir import ir
from ...support.suggest import suggest
from .facts import OpPattern

#: Prefix of attributes that must be in the table. Users and upstream also use other prefixes.
PREFIX = "tir."


class AttributePlace(NamedTuple):
    """Carriers of an attribute: operations by name, all operations of a dialect, or any operation."""

    text: str
    names: frozenset[str] = frozenset()
    dialect: str = ""
    #: True for an attribute in the dictionary of a function's argument.
    is_argument: bool = False

    def has(self, operation: str) -> bool:
        if self.is_argument:
            return False
        return (
            operation in self.names or operation.partition(".")[0] == self.dialect or not (self.names or self.dialect)
        )


class AttributeKind(NamedTuple):
    """Type of an attribute."""

    text: str
    fits: Callable[[Attribute], bool]


class IRAttribute(NamedTuple):
    name: str
    on: AttributePlace
    kind: AttributeKind
    #: Writer and reader: "relax-fuse-ops -> tir-fuse".
    flow: str
    #: Passes that leave no such attribute behind: "tir-apply-plan, gpu-share-threads". Empty for the lifetime of the
    #: carrier.
    until: str
    #: Version of the codegen contract that introduced the attribute; empty for an internal attribute.
    contract: str = ""


#: Rows by attribute name.
TABLE: dict[str, IRAttribute] = {}


def _row(name: str, on: AttributePlace, kind: AttributeKind, flow: str, until: str = "", contract: str = "") -> str:
    TABLE[name] = IRAttribute(name, on, kind, flow, until, contract)
    return name


def _place(text: str, *names: str, dialect: str = "") -> AttributePlace:
    return AttributePlace(text, frozenset(names), dialect)


# Functions of graphs and PrimFuncs keep their attributes when they become LLVM functions.
_FUNCTIONS = _place("functions", "func.func", "llvm.func")
_OPERATORS = _place("functions and assertions", "func.func", "llvm.func", "tir.assert")
_ARGUMENTS = AttributePlace("arguments of functions", is_argument=True)
_KERNELS = _place("kernels", "gpu.func", "llvm.func")
_MODULES = _place("modules", "builtin.module")
_PARTS = _place("functions and modules", "func.func", "builtin.module")
_PRIM_CALLS = _place("calls of PrimFuncs", "relax.call_tir")
_CALLS = _place("calls of functions", "func.call", "tir.packed")
_PACKED = _place("calls of packed functions", "tir.packed")
_CONSTANTS = _place("constants", "arith.constant", "relax.constant")
_LOOPS = _place("loops", "scf.for", "scf.while")
_SHARED = _place("loops, and calls of outlined loops", "scf.for", "func.call")
_STRUCTURED = _place("structured operations", dialect="linalg")
_ROWS = AttributePlace("loops and structured operations", frozenset({"scf.for"}), "linalg")
_ALLOCATIONS = _place("allocations", "memref.alloc")
_ANY = AttributePlace("any operation")


def _is_list(attribute: Attribute, *types: type) -> bool:
    return isinstance(attribute, ir.ArrayAttr) and all(isinstance(each, types) for each in attribute)


def _is_schedule(attribute: Attribute) -> bool:
    return _is_list(attribute, ir.StringAttr) or isinstance(attribute, (ir.FlatSymbolRefAttr, ir.SymbolRefAttr))


def _has_text(attribute: Attribute) -> bool:
    return isinstance(attribute, ir.StringAttr) and attribute.value != ""


_PATTERNS = [pattern.attribute_text for pattern in OpPattern]
_UNIT = AttributeKind("a unit attribute", lambda it: isinstance(it, ir.UnitAttr))
_TEXT = AttributeKind("a string", lambda it: isinstance(it, ir.StringAttr))
_TARGET = AttributeKind("the name of a target", _has_text)
_PATTERN = AttributeKind(
    "one of " + ", ".join(f'"{pattern}"' for pattern in _PATTERNS), lambda it: _has_text(it) and it.value in _PATTERNS
)
_SCHEDULE = AttributeKind("a symbol or lines of text", _is_schedule)
_LINES = AttributeKind("lines of text", lambda it: _is_list(it, ir.StringAttr))
_TEXTS = AttributeKind("an array of strings", _LINES.fits)
_INTEGER = AttributeKind("an integer", lambda it: isinstance(it, ir.IntegerAttr))
_INTEGERS = AttributeKind("an array<i64>", lambda it: isinstance(it, ir.DenseI64ArrayAttr))
_GRAIN = AttributeKind("a number of steps, a unit attribute on calls", lambda it: _INTEGER.fits(it) or _UNIT.fits(it))
_TYPES = AttributeKind("an array of types", lambda it: _is_list(it, ir.TypeAttr))
_DICTIONARY = AttributeKind("a dictionary", lambda it: isinstance(it, ir.DictAttr))
_DICTIONARIES = AttributeKind("an array of dictionaries", lambda it: _is_list(it, ir.DictAttr))


# ---- PrimFuncs ----

#: Marks a PrimFunc: a function in destination-passing style.
PRIM_FUNC = _row(
    "tir.prim_func", _FUNCTIONS, _UNIT, "TVMScript, relax-legalize-ops -> passes on PrimFuncs", contract="1.0"
)
#: Fusion class of a PrimFunc.
OP_PATTERN = _row(
    "tir.op_pattern",
    _FUNCTIONS,
    _PATTERN,
    "relax-legalize-ops, relax-annotate-op-pattern, tir-fuse -> relax-fuse-ops, tir-plan",
)
#: No two buffers of a PrimFunc overlap.
NOALIAS = _row("tir.noalias", _FUNCTIONS, _UNIT, "TVMScript -> relax-plan-memory")
#: Target of a PrimFunc, if it differs from the module's target.
TIR_TARGET = _row(
    "tir.target", _FUNCTIONS, _TARGET, "TVMScript, relax-legalize-ops -> tir-fuse, tir-lower-intrinsics, tir-plan"
)
#: Schedule of a PrimFunc: the lines of a schedule, or the name of a transform.named_sequence.
SCHEDULE = _row("tir.schedule", _FUNCTIONS, _SCHEDULE, "rx.Schedule, TVMScript -> tir-plan, tir-apply-schedule")
#: File location of each of these lines, for messages.
SCHEDULE_PLACES = _row("tir.schedule_places", _FUNCTIONS, _LINES, "tir-use-schedules -> tir-apply-schedule")
#: Loops around the blocks in a PrimFunc's text (passes/kernels/loops/text_loops.py), with which schedules begin.
LOOPS = _row("tir.loops", _FUNCTIONS, _LINES, "TVMScript -> rx.Schedule, tir-apply-schedule", "tir-apply-schedule")
#: Operator that a function computes, for messages; several are joined by +. On an assertion, the operator of the
#: inlined function.
OPERATOR = _row(
    "relax.operator",
    _OPERATORS,
    _TEXT,
    "relax-legalize-ops, tir-fuse, tir-inline-into-loops, host-add-entries -> relax-lower-calls, host-lower-errors",
)
#: Main operator of a fused function.
MAIN_OPERATOR = _row("relax.main_operator", _FUNCTIONS, _TEXT, "tir-fuse -> tir-plan, relax-lower-calls")

#: Kinds of a PrimFunc's instructions, for profiles: "AMX+AVX-512".
ENGINE = _row("tir.engine", _FUNCTIONS, _TEXT, "llvm, tir-apply-plan -> relax-lower-calls")
#: Facts about a separately compiled kernel that the rest of the program needs, on the kernel's stub.
CONTRACT = _row(
    "relax.contract", _FUNCTIONS, _DICTIONARY, "llvm -> relax-plan-memory, relax-lower-calls, host-lower-errors, llvm"
)

# ---- functions of graphs, as callers see them ----

#: Name of an argument, in errors, for callers and in printed IR.
ARGUMENT_NAME = _row("relax.name", _ARGUMENTS, _TEXT, "frontends -> relax-lower-calls, --print-script")
#: Names of a function's results, from a model that names them.
RESULT_NAMES = _row(
    "relax.result_names",
    _FUNCTIONS,
    _TEXTS,
    "rx.from_onnx, relax-lift-transform-params -> host-add-entries, rx.to_onnx",
)
#: Strings by result name. The elements of such a result are indices into its strings.
RESULT_LABELS = _row("relax.result_labels", _FUNCTIONS, _DICTIONARY, "rx.from_onnx -> host-add-entries")
#: Arguments of callers, if they differ from the function's arguments.
INPUT_GROUPS = _row(
    "relax.input_groups", _FUNCTIONS, _DICTIONARIES, "rx.from_onnx, relax-bundle-params -> host-add-entries"
)
#: Results for callers, if they differ from the function's results.
RESULT_GROUPS = _row(
    "relax.result_groups",
    _FUNCTIONS,
    _DICTIONARIES,
    "rx.from_onnx, relax-lift-transform-params -> host-add-entries, rx.to_onnx",
)
#: Call structure of the model, if it does not take plain tensors: JSON in the format of runtime/call_structure.py.
STRUCTURE = _row("relax.structure", _FUNCTIONS, _TEXT, "rx.from_torch -> host-add-entries")
#: Arguments that are buffers which a call grows.
GROWN = _row("relax.grown", _FUNCTIONS, _DICTIONARIES, "relax-donate -> host-add-entries")
#: `{n = array<i64: 1, 64>}`: the smallest and largest value of a symbol in the parameters.
SYMBOL_RANGES = _row(
    "relax.symbol_ranges", _FUNCTIONS, _DICTIONARY, "relax-bind-symbolic-vars -> relax-plan-memory, relax-lower-calls"
)
#: `{n = array<i64: 0, 16>}`: the smallest and largest value that a model allows for a symbol in the parameters. Calls
#: with other values are rejected. Unlike ranges, limits do not enlarge the memory plan.
SYMBOL_LIMITS = _row(
    "relax.symbol_limits", _FUNCTIONS, _DICTIONARY, "rx.from_torch -> relax-bind-symbolic-vars, relax-lower-calls"
)
#: Target that selects the rules of the operators in a function or in an operation with regions, if it differs from the
#: module's target.
RELAX_TARGET = _row("relax.target", _ANY, _TARGET, "frontends -> relax-legalize-ops")
#: Calls of the function are not inlined.
NO_INLINE = _row("relax.no_inline", _FUNCTIONS, _UNIT, "users -> relax-inline")
#: Declaration of a C function: the package with the function, or "" for libraries that the target names.
C_FUNCTION = _row("relax.c_function", _FUNCTIONS, _TEXT, "tir-lower-intrinsics, host-add-entries -> rx.compile")

# ---- external codegens ----

#: Name of the codegen pattern that matched a function's body, `<codegen>.<what>`.
COMPOSITE = _row(
    "relax.composite",
    _FUNCTIONS,
    _TEXT,
    "relax-fuse-ops-by-pattern -> relax-merge-composite-functions, relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: Composite function that justifies a codegen's call only together with others.
NEVER_ALONE = _row(
    "relax.never_alone",
    _FUNCTIONS,
    _UNIT,
    "relax-fuse-ops-by-pattern -> relax-merge-composite-functions",
    "relax-merge-composite-functions",
)
#: Roles of a composite function's values in the pattern.
PATTERN_ROLES = _row(
    "relax.pattern",
    _FUNCTIONS,
    _DICTIONARY,
    "relax-fuse-ops-by-pattern -> relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: Number of an operator, while a journal tracks its fate.
PART_NUMBER = _row("relax.number", _ANY, _INTEGER, "relax-partition -> relax-partition", "relax-partition")
#: Reason why an operator that a pattern matched is not offloaded.
PART_REFUSED = _row("relax.refused", _ANY, _TEXT, "relax-fuse-ops-by-pattern -> relax-partition", "relax-partition")
#: Codegen that compiles a module, or a function that will become a module.
CODEGEN = _row(
    "relax.codegen",
    _PARTS,
    _TEXT,
    "relax-fuse-ops-by-pattern, relax-merge-composite-functions -> relax-outline-external, relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: Bytes of workspace that a function of an external module needs. Without the attribute, the compiler queries the
#: codegen.
WORKSPACE = _row(
    "relax.workspace",
    _FUNCTIONS,
    _INTEGER,
    "users -> relax-allocate-workspace",
    "relax-allocate-workspace",
    contract="1.0",
)
#: Results of codegens for a module.
EXTERNAL_MODS = _row(
    "relax.external_mods", _MODULES, _DICTIONARIES, "relax-run-codegen -> host-lower-packed, rx.compile"
)

# ---- notes of passes on graphs ----

#: Number of a constant in the module. Copies of the function keep the number.
WEIGHT_NUMBER = _row(
    "relax.weight", _CONSTANTS, _INTEGER, "relax-unbind-params -> relax-unbind-params", "relax-unbind-params"
)
#: Marks a loop that is a part of another loop.
PART_OF_LOOP = _row("relax.part_of_loop", _LOOPS, _UNIT, "relax-gradient -> relax-gradient")
#: Operands that a call writes to, and that were the graph's own memory in the source program.
OWN_MEMORY = _row(
    "relax.own", _ANY, _INTEGERS, "relax-canonicalize -> relax-plan-memory, relax-lower-calls", "relax-lower-calls"
)
#: Operands that a call writes into, and that are copied first.
COPIED = _row(
    "relax.copied",
    _ANY,
    _INTEGERS,
    "relax-plan-memory, relax-lower-calls -> relax-plan-memory, relax-lower-calls",
    "relax-lower-calls",
)
#: Calls of a block with the same number become one call.
GROUP = _row("relax.group", _PRIM_CALLS, _INTEGER, "relax-fuse-ops -> tir-fuse", "tir-fuse")
#: Reason why a call is not in a group with one of its producers, for people.
APART = _row("relax.apart", _PRIM_CALLS, _TEXTS, "relax-fuse-ops -> people", "tir-fuse")
#: Number of a series of adjacent calls that may run at the same time.
CONCURRENT = _row(
    "relax.concurrent",
    _CALLS,
    _INTEGER,
    "relax-outline-branches -> relax-plan-memory, relax-lower-calls, tir-outline-parallel",
    "tir-outline-parallel",
)

# ---- memory of graphs ----

#: Kernels may run their points in any order and at the same time, as on a GPU.
ANY_ORDER = _row("relax.any_order", _MODULES, _UNIT, "relax-plan-memory -> relax-plan-memory, relax-lower-calls")
#: Memory of each result of an operation: "arena 64; 128 bytes; live 3 to 5".
MEMORY = _row("relax.memory", _ANY, _TEXTS, "relax-plan-memory -> relax-lower-calls", "relax-lower-calls")
#: Bytes of the arena and sizes of the slots. For people, also the largest sum of live bytes (`peak`) and the sum of all
#: bytes (`sum`).
MEMORY_PLAN = _row(
    "relax.memory_plan",
    _FUNCTIONS,
    _DICTIONARY,
    "relax-plan-memory -> relax-lower-calls, host-add-entries",
    "host-lower-errors",
)
#: Name of the memref.global that contains a constant's elements.
GLOBAL = _row("relax.global", _CONSTANTS, _TEXT, "relax-lower-calls -> relax-lower-calls", "relax-lower-calls")
#: Marks the allocation of a function's temporaries.
ARENA = _row(
    "relax.arena",
    _ALLOCATIONS,
    _UNIT,
    "relax-lower-calls, gpu-share-scratch -> host-check-memory, host-keep-arena, gpu-share-scratch",
    "host-keep-arena, gpu-place-memory",
)
#: Marks an allocation whose byte count was checked for overflow.
COUNTED = _row("relax.counted", _ALLOCATIONS, _UNIT, "relax-lower-calls -> host-check-memory", "host-check-memory")
#: Marks an allocation that another block receives and frees.
PASSED_ON = _row("relax.passed", _ANY, _UNIT, "tir-bufferize -> tir-bufferize", "tir-bufferize")

#: Indices of the parameters that a scheduled function only reads. Calls of C functions do not show this.
READ_ONLY = _row("tir.read_only", _FUNCTIONS, _INTEGERS, "tir-apply-schedule -> backends that write source files")
#: Device memory that an allocation occupies completely, by its name.
DEVICE_MEMORY = _row("tir.memory", _ALLOCATIONS, _TEXT, "tir-apply-schedule -> backends of devices")

# ---- functions of graphs, lowered ----

#: Types of a lowered function's inputs in the graph.
GRAPH_INPUTS = _row(
    "relax.inputs",
    _FUNCTIONS,
    _TYPES,
    "relax-lower-calls -> host-add-entries, host-profile-kernels, host-lower-errors, the target webgpu",
    "host-lower-errors",
)
#: Types of a lowered function's results in the graph.
GRAPH_RESULTS = _row("relax.results", _FUNCTIONS, _TYPES, "relax-lower-calls -> host-add-entries", "host-lower-errors")
#: Names of a lowered function's inputs.
INPUT_NAMES = _row(
    "relax.input_names", _FUNCTIONS, _TEXTS, "relax-lower-calls -> host-add-entries", "host-lower-errors"
)
#: Origins of a lowered function's results, for messages.
RESULT_MAKERS = _row(
    "relax.result_makers", _FUNCTIONS, _TEXTS, "relax-lower-calls -> host-add-entries", "host-lower-errors"
)
#: Inputs that a call may write to. Callers must not pass data that must stay unchanged.
WRITTEN = _row("relax.written", _FUNCTIONS, _INTEGERS, "relax-lower-calls -> host-add-entries", "host-lower-errors")
#: Facts about a kernel call in a graph, for profiles. `nodes` and `node_operators`: origin of the call (node names in a
#: model with "onnx.Conv", or places in a file with ""). `operators` and `main`: the computed operators, and the main
#: one. `inputs` and `outputs`: types as "f32[n,4]". `bytes`: bytes of all tensors, each counted once, only if every
#: size is known. `engine`: the PrimFunc's `tir.engine`.
SITE = _row("relax.site", _CALLS, _DICTIONARY, "relax-lower-calls -> host-profile-kernels", "host-profile-kernels")
#: Element types of the operands with signedness, which memrefs lack.
PACKED_DTYPES = _row("tir.dtypes", _PACKED, _TEXTS, "relax-lower-calls -> host-lower-packed", "host-lower-packed")
#: Expected types of the results.
PACKED_TYPES = _row("tir.types", _PACKED, _TYPES, "relax-lower-calls -> host-lower-packed", "host-lower-packed")
#: Text that is passed before the operands, such as the text of relax.print.
PACKED_TEXT = _row("tir.text", _PACKED, _TEXT, "relax-lower-calls -> host-lower-packed", "host-lower-packed")

# ---- loops ----

#: Order in which a floating-point reduction adds: loops, and virtual lanes. Plans keep it.
ORDER = _row(
    "tir.order",
    _STRUCTURED,
    _TEXT,
    "llvm-order-reductions -> tir-plan, tir-apply-plan, tir-apply-schedule",
    "tir-apply-plan",
)
#: Order of floating-point reductions in a module: "same" or "fast", then kernels in which the order is the CPU's.
NUMERICS = _row("tir.numerics", _MODULES, _TEXTS, "llvm-order-reductions -> rx.compile")
#: Plan of a structured operation's loops.
PLAN = _row(
    "tir.plan",
    _STRUCTURED,
    _TEXT,
    "tir-plan -> tir-apply-plan, gpu-outline-kernels",
    "tir-apply-plan, gpu-share-threads",
)
#: Reason why a structured operation becomes plain loops.
UNPLANNED = _row(
    "tir.unplanned", _STRUCTURED, _TEXT, "tir-plan -> tir-apply-plan", "host-add-entries, gpu-share-threads"
)
#: Input with rows that are read once, in order.
STREAM = _row("tir.stream", _STRUCTURED, _INTEGER, "relax-legalize-ops -> tir-apply-plan")
#: Steps per task of a loop that threads may share; 0 lets the pool decide. Later the attribute is on a call of a
#: function for a range.
PARALLEL = _row(
    "tir.parallel",
    _SHARED,
    _GRAIN,
    "emit/loops -> tir-outline-parallel, host-call-parallel, gpu-share-threads",
    "host-call-parallel, gpu-share-threads",
)
#: Threads per step of such a loop on a device. The loop's code defines the work of each thread.
THREADS = _row("tir.threads", _LOOPS, _INTEGER, "relax-legalize-ops, tir-apply-schedule -> gpu-outline-kernels")

# ---- programs ----

#: Entries of the table of constants, {name, value}.
PLACED_CONSTANTS = _row("relax.constants", _MODULES, _DICTIONARIES, "host-place-constants -> rx.compile")
#: Names of the functions that a program calls, in the order of its function table.
CALLS = _row("relax.calls", _MODULES, _TEXTS, "host-lower-packed -> rx.compile")
#: Manifest entry of each entry function, as JSON.
ENTRIES = _row("relax.entries", _MODULES, _TEXTS, "host-add-entries -> rx.compile")
#: Kind of device of a program: "cuda".
DEVICE = _row(
    "relax.device",
    _MODULES,
    _TEXT,
    "gpu-outline-kernels, host-use-device -> host-add-entries, host-check-memory, host-lower-packed, "
    "host-profile-kernels, rx.compile",
)
#: Number of 64-bit words that a kernel takes. On a module, the numbers of its kernels.
WORDS = _row(
    "relax.words",
    _place("kernels, and modules with kernels", "gpu.func", "builtin.module"),
    _INTEGERS,
    "spirv-take-words -> spirv-convert, opencl-write-kernels, rx.compile",
)
#: Kernels of a program as text, for drivers that compile text.
KERNELS_TEXT = _row("relax.kernels_text", _MODULES, _TEXT, "opencl-write-kernels -> rx.compile")
#: Names of a program's kernels.
KERNELS = _row(
    "relax.kernels",
    _MODULES,
    _TEXTS,
    "gpu-outline-kernels, gpu-merge-kernels -> gpu-lower-launches, cuda-make-tensor-maps, rx.compile",
)
#: Marks functions that report the location of their errors themselves: entries and lowered functions of the graph.
ENTRY = _row("relax.entry", _FUNCTIONS, _UNIT, "host-add-entries, host-lower-errors -> host-lower-errors")
#: Manifest entry of the kernels that a call of a graph function may reach, as JSON.
PROFILE = _row("relax.profile", _FUNCTIONS, _TEXT, "host-profile-kernels -> host-add-entries", "host-lower-errors")
#: Function that releases a value, on the operation that creates the value.
ENDED_BY = _row("relax.ended_by", _ANY, _TEXT, "host-add-entries, host-lower-packed -> host-lower-errors")
#: Number of the exit, on operations that can fail and on the operations that free memory for them.
EXIT = _row("relax.exit", _ANY, _INTEGER, "host-lower-errors -> host-lower-errors", "host-lower-errors")

# ---- kernels of GPUs ----

#: Plan for few rows, in addition to the plan for any number of rows.
FEW_ROWS = _row("gpu.few_rows", _STRUCTURED, _TEXT, "tir-plan -> gpu-outline-kernels", "gpu-merge-kernels")
#: Work distribution among a kernel's blocks and threads.
FORM = _row("gpu.form", _KERNELS, _TEXT, "gpu-outline-kernels -> gpu-share-threads", "gpu-share-threads")
#: Points per thread, on the main operation of a kernel.
LANES = _row("gpu.lanes", _STRUCTURED, _INTEGER, "gpu-outline-kernels -> gpu-share-threads", "gpu-share-threads")
#: For an operation of a row kernel: threads per row, elements per read of a thread, and the number of reads, 0 for a
#: loop.
TEAM = _row("gpu.team", _ROWS, _INTEGERS, "gpu-outline-kernels -> gpu-share-threads", "gpu-share-threads")
#: Marks a combination of parts that own their memory.
IS_TOGETHER = _row(
    "gpu.together", _STRUCTURED, _UNIT, "gpu-outline-kernels -> gpu-outline-kernels", "gpu-share-threads"
)
#: Bytes of dynamic shared memory that a kernel's launches request, if it needs more than every block has.
DYNAMIC_SHARED = _row("gpu.dynamic_shared", _KERNELS, _INTEGER, "gpu-place-shared -> gpu-lower-launches")
#: For each argument, the bytes that launches pass by value from its address; 0 for a plain argument.
BY_VALUE = _row("gpu.by_value", _KERNELS, _INTEGERS, "cuda-make-tensor-maps -> gpu-lower-launches, rx.compile")


# ---- verification ----

ON_ARGUMENTS = [row.name for row in TABLE.values() if row.on.is_argument]


def attribute_problems(operation: str, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """Yield the problems of an operation's attributes, or of an argument's attributes if the name is empty."""
    for name in attributes:
        if name not in TABLE:
            if name.startswith(PREFIX):
                prefix = name.partition(".")[0] + "."
                known = [ir_attribute for ir_attribute in TABLE.values() if ir_attribute.name.startswith(prefix)]
                here = [
                    attribute.name
                    for attribute in known
                    if (attribute.on.has(operation) if operation else attribute.on.is_argument)
                ]
                listed = f" (known: {', '.join(here)})" if here else ""
                yield f"has unknown attribute '{name}'{suggest(name, here)}{listed}"
            continue
        row = TABLE[name]
        if row.on.is_argument if not operation else row.on.has(operation):
            if not row.kind.fits(attributes[name]):
                yield f"has attribute '{name}' that must be {row.kind.text}, got {attributes[name]}"
        else:
            named = f" ({', '.join(sorted(row.on.names))})" if row.on.names else ""
            yield f"has attribute '{name}', which belongs on {row.on.text}{named}"
