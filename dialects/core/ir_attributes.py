# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of the attributes by which frontends, passes and targets exchange facts about operations.

One row each: on what it stands, of what type, who writes and who reads it, and until when it may stand. The verifier
checks place and type; docs/attributes.md shows the rows and the comments above them (`make generate`). Attributes of
operators are in the operators' rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ...bindings.ir import Attribute
from ...bindings.mlir import ir
from ...support.suggest import suggest
from .facts import OpPattern

#: All attributes that begin so are in the table; what others begin with, users and upstream use as well.
PREFIX = "tir."


class AttributePlace(NamedTuple):
    """What an attribute can be on: operations by name, all of a dialect, or, where nothing is named, any."""

    text: str
    names: frozenset[str] = frozenset()
    dialect: str = ""
    #: Of a function: in the dictionary of an argument.
    is_argument: bool = False

    def has(self, operation: str) -> bool:
        if self.is_argument:
            return False
        return (
            operation in self.names or operation.partition(".")[0] == self.dialect or not (self.names or self.dialect)
        )


class AttributeKind(NamedTuple):
    """What an attribute can be."""

    text: str
    fits: Callable[[Attribute], bool]


class IRAttribute(NamedTuple):
    name: str
    on: AttributePlace
    kind: AttributeKind
    #: Who writes it, and who reads it: "relax-fuse-ops -> tir-fuse".
    flow: str
    #: The last stage or pass behind which it may stand; empty: as long as what it is on.
    until: str
    #: The version of the codegen contract since which it is in it; empty: internal.
    contract: str = ""


#: By name.
TABLE: dict[str, IRAttribute] = {}


def _row(name: str, on: AttributePlace, kind: AttributeKind, flow: str, until: str = "", contract: str = "") -> str:
    TABLE[name] = IRAttribute(name, on, kind, flow, until, contract)
    return name


def _place(text: str, *names: str, dialect: str = "") -> AttributePlace:
    return AttributePlace(text, frozenset(names), dialect)


# Functions, graphs' and PrimFuncs, keep what is on them when they become LLVM's.
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
_SHARED = _place("loops, and calls of what was one", "scf.for", "func.call")
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
    "tir.prim_func",
    _FUNCTIONS,
    _UNIT,
    "TVMScript, relax-legalize-ops -> whoever looks for tensor programs",
    contract="1.0",
)
#: How a PrimFunc can be fused.
OP_PATTERN = _row(
    "tir.op_pattern",
    _FUNCTIONS,
    _PATTERN,
    "relax-legalize-ops, relax-annotate-op-pattern, tir-fuse -> relax-fuse-ops, tir-plan",
)
#: No two buffers of a PrimFunc overlap.
NOALIAS = _row("tir.noalias", _FUNCTIONS, _UNIT, "TVMScript -> relax-plan-memory")
#: The target that a PrimFunc is compiled for, where that is not the module's.
TIR_TARGET = _row(
    "tir.target", _FUNCTIONS, _TARGET, "TVMScript, relax-legalize-ops -> tir-fuse, tir-lower-intrinsics, tir-plan"
)
#: How a PrimFunc's loops run: the lines of a schedule, or the transform.named_sequence that says it.
SCHEDULE = _row("tir.schedule", _FUNCTIONS, _SCHEDULE, "rx.Schedule, TVMScript -> tir-plan, tir-apply-schedule")
#: Where in a file each of these lines stands, as messages name it.
SCHEDULE_PLACES = _row("tir.schedule_places", _FUNCTIONS, _LINES, "tir-use-schedules -> tir-apply-schedule")
#: The loops that a PrimFunc's text had around its blocks (passes/loops/text_loops.py), which schedules begin with.
LOOPS = _row("tir.loops", _FUNCTIONS, _LINES, "TVMScript -> rx.Schedule")
#: The operator that a function computes, several joined by +, for messages; on an assertion the operator of the
#: function that was inlined.
OPERATOR = _row(
    "relax.operator",
    _OPERATORS,
    _TEXT,
    "relax-legalize-ops, tir-fuse, tir-inline-into-loops, host-add-entries -> relax-lower-calls, host-lower-errors",
)
#: Of several operators, that which the others were fused with.
MAIN_OPERATOR = _row("relax.main_operator", _FUNCTIONS, _TEXT, "tir-fuse -> tir-plan, relax-lower-calls")

#: On the stub of a kernel that is compiled apart, what the rest of the program must know of its code.
CONTRACT = _row(
    "relax.contract",
    _FUNCTIONS,
    _DICTIONARY,
    "llvm -> relax-plan-memory, relax-lower-calls, host-lower-errors, llvm",
)

# ---- functions of graphs, as callers see them ----

#: An argument's name, in errors, for callers and in print-outs.
ARGUMENT_NAME = _row("relax.name", _ARGUMENTS, _TEXT, "frontends -> relax-lower-calls, --print-script")
#: The names of a function's results, where it comes from a model that has names for them.
RESULT_NAMES = _row(
    "relax.result_names",
    _FUNCTIONS,
    _TEXTS,
    "rx.from_onnx, relax-lift-transform-params -> host-add-entries, rx.to_onnx",
)
#: By the name of a result that stands for strings, these; its elements are places among them.
RESULT_LABELS = _row("relax.result_labels", _FUNCTIONS, _DICTIONARY, "rx.from_onnx -> host-add-entries")
#: What callers pass, where that is not the arguments one by one.
INPUT_GROUPS = _row(
    "relax.input_groups", _FUNCTIONS, _DICTIONARIES, "rx.from_onnx, relax-bundle-params -> host-add-entries"
)
#: What callers get, where that is not the results one by one.
RESULT_GROUPS = _row(
    "relax.result_groups",
    _FUNCTIONS,
    _DICTIONARIES,
    "rx.from_onnx, relax-lift-transform-params -> host-add-entries, rx.to_onnx",
)
#: How the model is called, where that is not with tensors one by one: JSON, as runtime/call_structure.py has it.
STRUCTURE = _row("relax.structure", _FUNCTIONS, _TEXT, "rx.from_torch -> host-add-entries")
#: The arguments that are buffers which a call grows.
GROWN = _row("relax.grown", _FUNCTIONS, _DICTIONARIES, "relax-donate -> host-add-entries")
#: `{n = array<i64: 1, 64>}`: the least and the most that a symbol of the parameters stands for.
SYMBOL_RANGES = _row(
    "relax.symbol_ranges", _FUNCTIONS, _DICTIONARY, "relax-bind-symbolic-vars -> relax-plan-memory, relax-lower-calls"
)
#: `{n = array<i64: 0, 16>}`: the least and the most that a model allows a symbol of the parameters to be. Calls with
#: others are refused; unlike ranges, limits do not make the plan of memory larger.
SYMBOL_LIMITS = _row(
    "relax.symbol_limits",
    _FUNCTIONS,
    _DICTIONARY,
    "rx.from_torch -> relax-bind-symbolic-vars, relax-lower-calls",
)
#: On a function, or on an operation in one that has regions: the target whose rules say what the operators in there
#: become, where that is not the one that the module is compiled for.
RELAX_TARGET = _row("relax.target", _ANY, _TARGET, "frontends -> relax-legalize-ops")
#: Calls of the function stay calls.
NO_INLINE = _row("relax.no_inline", _FUNCTIONS, _UNIT, "users -> relax-inline")
#: A declaration that tir.call_extern needs: it may be of a C library that the target names.
C_FUNCTION = _row("relax.c_function", _FUNCTIONS, _UNIT, "tir-lower-intrinsics -> rx.compile")

# ---- external codegens ----

#: The name of the pattern of a codegen that a function's body was matched by, `<codegen>.<what>`.
COMPOSITE = _row(
    "relax.composite",
    _FUNCTIONS,
    _TEXT,
    "relax-fuse-ops-by-pattern -> relax-merge-composite-functions, relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: A composite function that is worth a codegen's call only together with others.
NEVER_ALONE = _row(
    "relax.never_alone",
    _FUNCTIONS,
    _UNIT,
    "relax-fuse-ops-by-pattern -> relax-merge-composite-functions",
    "relax-merge-composite-functions",
)
#: What a composite function's values were in the pattern.
PATTERN_ROLES = _row(
    "relax.pattern",
    _FUNCTIONS,
    _DICTIONARY,
    "relax-fuse-ops-by-pattern -> relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: An operator's number, while a journal wants to know what became of it.
PART_NUMBER = _row("relax.number", _ANY, _INTEGER, "relax-partition -> relax-partition", "relax-partition")
#: Why an operator stays that a pattern has matched.
PART_REFUSED = _row("relax.refused", _ANY, _TEXT, "relax-fuse-ops-by-pattern -> relax-partition", "relax-partition")
#: On a module, or a function that is to become one: the codegen that makes its code.
CODEGEN = _row(
    "relax.codegen",
    _PARTS,
    _TEXT,
    "relax-fuse-ops-by-pattern, relax-merge-composite-functions -> relax-outline-external, relax-run-codegen",
    "relax-run-codegen",
    contract="1.0",
)
#: On a function of an external module: the bytes that it needs; without it the codegen is asked.
WORKSPACE = _row(
    "relax.workspace",
    _FUNCTIONS,
    _INTEGER,
    "users -> relax-allocate-workspace",
    "relax-allocate-workspace",
    contract="1.0",
)
#: What codegens have made for a module.
EXTERNAL_MODS = _row(
    "relax.external_mods", _MODULES, _DICTIONARIES, "relax-run-codegen -> host-lower-packed, rx.compile"
)

# ---- what passes on graphs note ----

#: A constant's number in the module, which it keeps in copies of the function that it is in.
WEIGHT_NUMBER = _row(
    "relax.weight", _CONSTANTS, _INTEGER, "relax-unbind-params -> relax-unbind-params", "relax-unbind-params"
)
#: A loop that is one of the parts of another.
PART_OF_LOOP = _row("relax.part_of_loop", _LOOPS, _UNIT, "relax-gradient -> relax-gradient")
#: On a call: the operands that it writes to and that were the graph's own memory when the program was written.
OWN_MEMORY = _row(
    "relax.own", _ANY, _INTEGERS, "relax-canonicalize -> relax-plan-memory, relax-lower-calls", "bufferize"
)
#: On a call that writes into operands: those that are copied first.
COPIED = _row(
    "relax.copied",
    _ANY,
    _INTEGERS,
    "relax-plan-memory, relax-lower-calls -> relax-plan-memory, relax-lower-calls",
    "bufferize",
)
#: The calls of a block with this number become one.
GROUP = _row("relax.group", _PRIM_CALLS, _INTEGER, "relax-fuse-ops -> tir-fuse", "fuse")
#: Why a call is in no group with one that it reads, for people.
APART = _row("relax.apart", _PRIM_CALLS, _TEXTS, "relax-fuse-ops -> people", "fuse")
#: On calls in a row that may run at the same time: the number of the row.
CONCURRENT = _row(
    "relax.concurrent",
    _CALLS,
    _INTEGER,
    "relax-outline-branches -> relax-plan-memory, relax-lower-calls, tir-outline-parallel",
    "parallel",
)

# ---- memory of graphs ----

#: The kernels' points run in any order and at the same time: a GPU's.
ANY_ORDER = _row("relax.any_order", _MODULES, _UNIT, "relax-plan-memory -> relax-plan-memory, relax-lower-calls")
#: For each result of an operation, where its memory is: "arena 64; 128 bytes; live 3 to 5".
MEMORY = _row("relax.memory", _ANY, _TEXTS, "relax-plan-memory -> relax-lower-calls", "bufferize")
#: The arena's bytes, the sizes of the slots, and for people the largest sum of what is alive at a time (`peak`) and the
#: sum of all (`sum`).
MEMORY_PLAN = _row(
    "relax.memory_plan", _FUNCTIONS, _DICTIONARY, "relax-plan-memory -> relax-lower-calls, host-add-entries", "entries"
)
#: The name of the memref.global that holds a constant's elements.
GLOBAL = _row("relax.global", _CONSTANTS, _TEXT, "relax-lower-calls -> relax-lower-calls", "bufferize")
#: On the allocation that holds a function's temporaries.
ARENA = _row(
    "relax.arena",
    _ALLOCATIONS,
    _UNIT,
    "relax-lower-calls, gpu-share-scratch -> host-check-memory, host-keep-arena, gpu-share-scratch",
    "errors",
)
#: On an allocation whose sizes make bytes that can be counted: that has been checked.
COUNTED = _row("relax.counted", _ALLOCATIONS, _UNIT, "relax-lower-calls -> host-check-memory", "errors")
#: On an allocation: another block gets it, and gives it back.
PASSED_ON = _row("relax.passed", _ANY, _UNIT, "tir-bufferize -> tir-bufferize", "bufferize")

#: The numbers of the parameters that a scheduled function only reads: calls of C functions do not say it themselves.
READ_ONLY = _row("tir.read_only", _FUNCTIONS, _INTEGERS, "tir-apply-schedule -> backends that write source files")
#: On an allocation: the memory of a device that it is all of, by its name.
DEVICE_MEMORY = _row("tir.memory", _ALLOCATIONS, _TEXT, "tir-apply-schedule -> backends of devices")

# ---- functions of graphs, lowered ----

#: The types of a lowered function's inputs in the graph.
GRAPH_INPUTS = _row(
    "relax.inputs",
    _FUNCTIONS,
    _TYPES,
    "relax-lower-calls -> host-add-entries, host-profile-kernels, host-lower-errors, webgpu-make-program",
    "errors",
)
#: The types of a lowered function's results in the graph.
GRAPH_RESULTS = _row("relax.results", _FUNCTIONS, _TYPES, "relax-lower-calls -> host-add-entries", "errors")
#: The names of a lowered function's inputs.
INPUT_NAMES = _row("relax.input_names", _FUNCTIONS, _TEXTS, "relax-lower-calls -> host-add-entries", "errors")
#: Where the results of a lowered function come from, for messages.
RESULT_MAKERS = _row("relax.result_makers", _FUNCTIONS, _TEXTS, "relax-lower-calls -> host-add-entries", "errors")
#: The inputs that a call may write to: callers must not pass what is to stay as it is.
WRITTEN = _row("relax.written", _FUNCTIONS, _INTEGERS, "relax-lower-calls -> host-add-entries", "errors")
#: What is known of a place where a graph calls a kernel, for profiles: `nodes` and `node_operators`, where the call
#: comes from (names in a model with "onnx.Conv"; else places in a file with ""); `operators` and `main`, what it
#: computes, and the one to file it under; `inputs` and `outputs`, their types as "f32[n,4]"; `bytes` of all tensors,
#: each once, only where every size is known.
SITE = _row("relax.site", _CALLS, _DICTIONARY, "relax-lower-calls -> host-profile-kernels", "entries")
#: The operands' element types, with the signs that memrefs have not.
PACKED_DTYPES = _row("tir.dtypes", _PACKED, _TEXTS, "relax-lower-calls -> host-lower-packed", "errors")
#: What is expected of the results.
PACKED_TYPES = _row("tir.types", _PACKED, _TYPES, "relax-lower-calls -> host-lower-packed", "errors")
#: A text that is passed before the operands: what relax.print prints.
PACKED_TEXT = _row("tir.text", _PACKED, _TEXT, "relax-lower-calls -> host-lower-packed", "errors")

# ---- loops ----

#: How a structured operation is to run.
PLAN = _row("tir.plan", _STRUCTURED, _TEXT, "tir-plan -> tir-apply-plan, gpu-outline-kernels", "threads")
#: Why a structured operation becomes plain loops.
UNPLANNED = _row("tir.unplanned", _STRUCTURED, _TEXT, "tir-plan -> tir-apply-plan", "entries")
#: The input whose rows are read once, one after the other.
STREAM = _row("tir.stream", _STRUCTURED, _INTEGER, "relax-legalize-ops -> tir-apply-plan")
#: A loop that threads may share: how many of its steps one takes at a time, 0 where that is the pool's to say. Then a
#: call of a function of a range.
PARALLEL = _row(
    "tir.parallel",
    _SHARED,
    _GRAIN,
    "emit/loops -> tir-outline-parallel, host-call-parallel, gpu-share-threads",
    "memory",
)
#: On such a loop for a device: how many threads run each step, whose code says what each of them does.
THREADS = _row("tir.threads", _LOOPS, _INTEGER, "relax-legalize-ops, tir-apply-schedule -> gpu-outline-kernels")

# ---- programs ----

#: What the places of the table of constants hold, {name, value}.
PLACED_CONSTANTS = _row("relax.constants", _MODULES, _DICTIONARIES, "host-place-constants -> rx.compile")
#: The names of the functions that a program calls, in the order of its table of them.
CALLS = _row("relax.calls", _MODULES, _TEXTS, "host-lower-packed -> rx.compile")
#: For each entry what the manifest says of it, as JSON.
ENTRIES = _row("relax.entries", _MODULES, _TEXTS, "host-add-entries -> rx.compile")
#: What kind of device a program is for: "cuda".
DEVICE = _row(
    "relax.device",
    _MODULES,
    _TEXT,
    "gpu-outline-kernels -> host-add-entries, host-check-memory, host-lower-packed, host-profile-kernels",
)
#: How many 64-bit words a kernel takes; on a module that of each of its kernels.
WORDS = _row(
    "relax.words",
    _place("kernels, and modules with kernels", "gpu.func", "builtin.module"),
    _INTEGERS,
    "spirv-take-words -> spirv-convert, opencl-write-kernels, rx.compile",
)
#: A program's kernels as text, for drivers that compile such.
KERNELS_TEXT = _row("relax.kernels_text", _MODULES, _TEXT, "opencl-write-kernels -> rx.compile")
#: The names of a program's kernels.
KERNELS = _row(
    "relax.kernels",
    _MODULES,
    _TEXTS,
    "gpu-outline-kernels, gpu-merge-kernels -> gpu-lower-launches, cuda-make-tensor-maps, rx.compile",
)
#: On what says itself where its errors come from: entries and, once lowered, functions of the graph.
ENTRY = _row("relax.entry", _FUNCTIONS, _UNIT, "host-add-entries, host-lower-errors -> host-lower-errors")
#: What the manifest says of the kernels that a call of a graph function may reach, as JSON.
PROFILE = _row("relax.profile", _FUNCTIONS, _TEXT, "host-profile-kernels -> host-add-entries", "errors")
#: On what makes a value: the function that ends it.
ENDED_BY = _row("relax.ended_by", _ANY, _TEXT, "host-add-entries, host-lower-packed -> host-lower-errors")
#: On what can fail, and on what gives memory back for it: the number of the way out.
EXIT = _row("relax.exit", _ANY, _INTEGER, "host-lower-errors -> host-lower-errors", "errors")

# ---- kernels of GPUs ----

#: The plan for few rows, in addition to that for any number.
FEW_ROWS = _row("gpu.few_rows", _STRUCTURED, _TEXT, "tir-plan -> gpu-outline-kernels", "kernels")
#: Of an operation that becomes a step of a loop over rows: which of these loops, and its own loops that are rows.
ROW_LOOPS = _row("gpu.row_loops", _STRUCTURED, _INTEGERS, "tir-plan -> tir-plan")
#: What a kernel's blocks and threads share.
FORM = _row("gpu.form", _KERNELS, _TEXT, "gpu-outline-kernels -> gpu-share-threads", "kernels")
#: On the main operation of a kernel: how many points a thread does.
LANES = _row("gpu.lanes", _STRUCTURED, _INTEGER, "gpu-outline-kernels -> gpu-share-threads", "kernels")
#: On what a kernel of rows is: threads of a row, elements that one reads at once, and how many times one does, 0 where
#: a loop does.
TEAM = _row("gpu.team", _ROWS, _INTEGERS, "gpu-outline-kernels -> gpu-share-threads", "kernels")
#: It puts parts together, whose memory is for it alone.
IS_TOGETHER = _row("gpu.together", _STRUCTURED, _UNIT, "gpu-outline-kernels -> gpu-outline-kernels", "kernels")
#: The bytes of shared memory that a kernel's launches ask for, where it needs more than any block has.
DYNAMIC_SHARED = _row("gpu.dynamic_shared", _KERNELS, _INTEGER, "gpu-place-shared -> gpu-lower-launches")
#: Of each argument the bytes that launches pass, of what it points to; 0 where they pass it itself.
BY_VALUE = _row("gpu.by_value", _KERNELS, _INTEGERS, "cuda-make-tensor-maps -> gpu-lower-launches, rx.compile")


# ---- verification ----

ON_ARGUMENTS = [row.name for row in TABLE.values() if row.on.is_argument]


def attribute_problems(operation: str, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """What is wrong with attributes of an operation of this name, or with those of an argument where it is empty."""
    for name in attributes:
        if name not in TABLE:
            if name.startswith(PREFIX):
                yield _unknown(name, operation)
            continue
        row = TABLE[name]
        if row.on.is_argument if not operation else row.on.has(operation):
            if not row.kind.fits(attributes[name]):
                yield f"has attribute '{name}' that must be {row.kind.text}, got {attributes[name]}"
        else:
            named = f" ({', '.join(sorted(row.on.names))})" if row.on.names else ""
            yield f"has attribute '{name}', which belongs on {row.on.text}{named}"


def _unknown(name: str, operation: str) -> str:
    prefix = name.partition(".")[0] + "."
    known = [each for each in TABLE.values() if each.name.startswith(prefix)]
    here = [each.name for each in known if (each.on.has(operation) if operation else each.on.is_argument)]
    listed = f" (known: {', '.join(here)})" if here else ""
    return f"has unknown attribute '{name}'{suggest(name, here)}{listed}"
