# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shader of a kernel.

Memory is one array of words that contains all tensors of a program. An address is the offset of a byte in the array.
Arguments are words of a uniform buffer, in this order:

- the number of blocks
- the number of the launch, which a failed check records
- 0, which compilers do not know to be constant
- the kernel's own arguments; i64 and f64 take two words

Blocks are numbered along two dimensions, because one dimension may be too small for all blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.navigation import body_of, symbol_name
from relax_mlir.rewriting import Operation, located_error
from relax_mlir.targets.gpu.emit.threads import threads_of

from . import control_flow, formulas, memory_rules, vector_lanes
from .helpers import FAIL, RECORD, helpers_of, memory_of
from .program_data import ProgramData
from .steps import write_operations
from .wgsl_types import register_type
from .writer import KernelWriter, Rule

#: Number of words before a kernel's own arguments.
FIRST_WORDS = 3
#: Types of arguments that take two words.
PAIRS = ("i64", "f64")
_RULES: dict[str, Rule] = {**formulas.RULES, **vector_lanes.RULES, **memory_rules.RULES, **control_flow.RULES}


@dataclass(frozen=True)
class Shader:
    """Text of a kernel, with its arguments and checks."""

    name: str
    threads: int
    #: Bytes of shared memory of a block.
    shared: int
    text: str
    #: Type of each argument: index, i32, i64, f32, f64 or bool.
    arguments: tuple[str, ...]
    #: Kind and message of each check.
    checks: tuple[tuple[str, str], ...]


def shader_of(kernel: Operation, shared: int, data: ProgramData, *, is_behind_checks: bool) -> Shader:
    """Write the shader of a kernel. Tables that the kernel reads are added to `data`.

    `shared` is the bytes of shared memory that the kernel's operations allocate for a block. With `is_behind_checks`,
    the shader does nothing if a check has failed in an earlier launch.
    """
    threads = threads_of(kernel)
    writer = KernelWriter(kernel, threads, _RULES, write_operations, data)
    block = body_of(kernel)
    if len(kernel.regions[0].blocks) > 1:
        raise located_error(
            f"target 'webgpu': kernel '{symbol_name(kernel)}' has several blocks: use scf operations for branches",
            kernel.location,
        )
    arguments, word = [], FIRST_WORDS
    for argument in block.arguments:
        try:
            kind = _choose_type(argument.type)
        except RefusalError as error:
            text = f"target 'webgpu': kernel '{symbol_name(kernel)}' is passed a {argument.type}: {error.message}"
            raise located_error(text, kernel.location) from None
        arguments.append(kind)
        writer.know(argument, [writer.name(_argument(word, kind), "k")], is_uniform=True)
        word += 2 if kind in PAIRS else 1
    if is_behind_checks:
        _stop(writer)
    writer.block(block)
    # The arrays through which threads exchange values are shared memory, too.
    shared += sum(threads * (8 if "vec2" in text else 4) for name, text in writer.shared.items() if "exchanged" in name)
    return Shader(symbol_name(kernel), threads, shared + 4, _text(writer, word), tuple(arguments), tuple(writer.checks))


def _choose_type(type_: Type) -> str:
    if isinstance(type_, ir.IndexType) or str(type_) == "f64":
        return str(type_)
    known = {"i32": "i32", "f32": "f32", "bool": "bool", "vec2<u32>": "i64"}
    if (found := register_type(type_)) not in known:
        raise RefusalError("only numbers of 32 and 64 bits are supported")
    return known[found]


def _word(place: int) -> str:
    return f"arguments[{place // 4}].{'xyzw'[place % 4]}"


def _argument(word: int, kind: str) -> str:
    low = _word(word)
    return {
        **dict.fromkeys(("index", "i32"), f"i32({low})"),
        **dict.fromkeys(PAIRS, f"vec2<u32>({low}, {_word(word + 1)})"),
        "f32": f"bitcast<f32>({low})",
        "bool": f"(({low} & 1u) != 0u)",
    }[kind]


def _stop(writer: KernelWriter) -> None:
    """Write an early return for the case that a check has failed: this kernel may depend on the checked values."""
    found = "atomicLoad(&record[0]) != 0u"
    if writer.has_barriers:
        found = writer.agree(found, "bool")
    with writer.braces(f"if ({found})"):
        writer.line("return;")


def _text(writer: KernelWriter, words: int) -> str:
    is_guarded = writer.has_barriers and writer.may_fail
    body = "\n".join(writer.lines)
    declared = [f"@group(0) @binding(1) var<uniform> arguments: array<vec4<u32>, {-(-words // 4)}>;"]
    if "record" in body or writer.may_fail:
        declared.append(RECORD.rstrip())
    declared += writer.shared.values()
    if is_guarded:
        declared.append("var<private> has_failed: bool = false;")
    # Functions that access memory: the helpers call these functions.
    access = memory_of(body, is_guarded=is_guarded)
    fail = FAIL if writer.may_fail else ""
    helpers = helpers_of(body)
    launch = ["    let launch = arguments[0].y;"] if writer.may_fail else []
    launch += ["    let zero = arguments[0].z;"] if "zero)" in body else []
    main = [
        f"@compute @workgroup_size({writer.threads})",
        "fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>,",
        "        @builtin(num_workgroups) groups: vec3<u32>) {",
        "    let thread = i32(local);",
        "    let block = i32(group.y * groups.x + group.x);",
        "    if (u32(block) >= arguments[0].x) { return; }",
        *launch,
        body,
        "}",
    ]
    parts = ["\n".join(declared), access.strip(), fail.strip(), helpers, "\n".join(main)]
    return "\n\n".join(part for part in parts if part) + "\n"
