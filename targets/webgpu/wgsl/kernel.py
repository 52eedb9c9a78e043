# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shader of a kernel.

Memory is one array of words, which all of a program's tensors are in: an address is a byte's place in it. Arguments are
words of a uniform buffer: first how many blocks there are, then the number of the launch, which a failed check writes
down, then 0, which compilers do not know, then the kernel's own, i64 and f64 as two words. Blocks are numbered along
two dimensions, as there may be more than one has room for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation, Type
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, symbol_name
from ....bindings.rewriting import located_error
from ....support.errors import RefusalError
from ...gpu.emit.threads import threads_of
from . import control_flow, formulas, memory_rules, vector_lanes
from .helpers import FAIL, RECORD, helpers_of, memory_of
from .program_data import ProgramData
from .steps import write_operations
from .wgsl_types import register_type
from .writer import KernelWriter, Rule

#: Words in front of a kernel's arguments.
FIRST_WORDS = 3
#: Arguments of two words.
PAIRS = ("i64", "f64")
_RULES: dict[str, Rule] = {**formulas.RULES, **vector_lanes.RULES, **memory_rules.RULES, **control_flow.RULES}


@dataclass(frozen=True)
class Shader:
    """A kernel's text, what it is passed, what it checks."""

    name: str
    threads: int
    #: Bytes of its blocks' memory.
    shared: int
    text: str
    #: Of each argument: index, i32, i64, f32, f64 or bool.
    arguments: tuple[str, ...]
    #: Kinds and messages.
    checks: tuple[tuple[str, str], ...]


def shader_of(kernel: Operation, shared: int, data: ProgramData, *, is_behind_checks: bool) -> Shader:
    """`shared`: the bytes of memory that its operations have for a block. Tables that it reads become part of `data`.

    `is_behind_checks`: kernels that were launched before may have found something wrong; then it does nothing."""
    threads = threads_of(kernel)
    writer = KernelWriter(kernel, threads, _RULES, write_operations, data)
    block = body_of(kernel)
    if len(kernel.regions[0].blocks) > 1:
        raise located_error(
            f"target 'webgpu': kernel '{symbol_name(kernel)}' has branches that are no scf's", kernel.location
        )
    arguments, word = [], FIRST_WORDS
    for argument in block.arguments:
        try:
            kind = _passed(argument.type)
        except RefusalError as error:
            text = f"target 'webgpu': kernel '{symbol_name(kernel)}' is passed a {argument.type}: {error.message}"
            raise located_error(text, kernel.location) from None
        arguments.append(kind)
        writer.know(argument, [writer.name(_argument(word, kind), "k")], is_uniform=True)
        word += 2 if kind in PAIRS else 1
    if is_behind_checks:
        _stop(writer)
    writer.block(block)
    # What threads exchange values through, too.
    shared += sum(threads * (8 if "vec2" in text else 4) for name, text in writer.shared.items() if "exchanged" in name)
    return Shader(symbol_name(kernel), threads, shared + 4, _text(writer, word), tuple(arguments), tuple(writer.checks))


def _passed(type_: Type) -> str:
    if isinstance(type_, ir.IndexType) or str(type_) == "f64":
        return str(type_)
    known = {"i32": "i32", "f32": "f32", "bool": "bool", "vec2<u32>": "i64"}
    found = register_type(type_)
    if found not in known:
        raise RefusalError("only numbers of 32 and 64 bits are")
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
    """What others found wrong may be what this kernel would go by."""
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
    # What reads and writes, for the helpers that it calls.
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
