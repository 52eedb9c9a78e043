# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for loops, branches, checks, barriers and exchanges between threads.

WGSL refuses a barrier unless its uniformity analysis proves that all threads of a block reach the barrier. A loop or
branch around a barrier may depend on a value that is the same for all threads without a proof. The first thread then
broadcasts its value to the others.
"""

from __future__ import annotations

from relax_mlir import RefusalError
from relax_mlir.rewriting import Operation, Value
from relax_mlir.targets.gpu.emit.threads import dimension_of
from relax_mlir.targets.text.structured_control import CONTROL_RULES

from .wgsl_types import register_type
from .writer import KernelWriter, Rule

#: Maximum number of values in a check's message.
_MOST_NUMBERS = 4


def _thread_id(writer: KernelWriter, op: Operation) -> None:
    writer.know(op.results[0], ["thread" if dimension_of(op) == "x" else "0"])


def _block_id(writer: KernelWriter, op: Operation) -> None:
    writer.know(op.results[0], ["block" if dimension_of(op) == "x" else "0"], is_uniform=True)


def _barrier(writer: KernelWriter, op: Operation) -> None:
    writer.wait()


def _shuffle(writer: KernelWriter, op: Operation) -> None:
    """Exchange values between threads through shared memory of the block."""
    value, lane, _ = op.operands
    if not str(op.attributes["mode"]).removesuffix(">").endswith("xor"):
        raise RefusalError("threads can only exchange values by xor of their indices")
    type_ = register_type(value.type)
    array = f"exchanged_{type_.replace('<', '_').rstrip('>')}"
    writer.shared.setdefault(array, f"var<workgroup> {array}: array<{type_}, {writer.threads}>;")
    writer.line(f"{array}[thread] = {writer.get(value)};")
    writer.line("workgroupBarrier();")
    writer.know(op.results[0], [writer.name(f"{array}[thread ^ {writer.get(lane)}]")])
    writer.line("workgroupBarrier();")
    writer.know(op.results[1], ["true"])


def _assert(writer: KernelWriter, op: Operation) -> None:
    """Write a check. If a check fails, its thread ends, or only stops writing if the kernel has barriers."""
    condition, *numbers = op.operands
    place = len(writer.checks)
    writer.checks.append((str(op.attributes["kind"].value), str(op.attributes["message"].value)))
    if len(numbers) > _MOST_NUMBERS:
        raise RefusalError(f"its message has more than {_MOST_NUMBERS} numbers")
    shown = [_wide(writer, number) for number in numbers]
    shown += ["vec2<u32>()"] * (_MOST_NUMBERS - len(shown))
    is_failed = f"!{writer.get(condition)}" + (" && !has_failed" if writer.has_barriers else "")
    with writer.braces(f"if ({is_failed})"):
        writer.line(f"fail(launch, {place}u, {', '.join(shown)});")
        writer.line("has_failed = true;" if writer.has_barriers else "return;")


def _wide(writer: KernelWriter, value: Value) -> str:
    text = writer.get(value)
    if str(value.type) == "i64":
        return text
    return f"wide_s(select(0, 1, {text}))" if str(value.type) == "i1" else f"wide_s({text})"


RULES: dict[str, Rule] = {
    **CONTROL_RULES,
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _block_id,
    "gpu.barrier": _barrier,
    "gpu.shuffle": _shuffle,
    "tir.assert": _assert,
}
