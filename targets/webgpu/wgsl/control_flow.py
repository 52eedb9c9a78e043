# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, branches, checks, and what threads do together.

WGSL refuses barriers where it does not see that all threads of a block come there. Where a loop or branch with one
depends on what only the program knows to be the same for all, the first thread tells the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of
from ....support.errors import RefusalError
from .wgsl_types import element_of, register_type
from .writer import KernelWriter, Rule, holds_barrier

#: What a check shows.
_MOST_NUMBERS = 4


def _zero(type_: Type) -> str:
    return f"{register_type(type_)}()"


# ---- what is carried: a variable for each lane ----


def _variables(writer: KernelWriter, type_: Type, initial: Sequence[str] | None) -> list[str]:
    element = element_of(type_)
    count = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    return [writer.variable(register_type(element), each) for each in initial or [_zero(element)] * count]


def _carry(writer: KernelWriter, values: Sequence[Value], arguments: Sequence[Value]) -> list[list[str]]:
    made = [_variables(writer, value.type, writer.lanes(value)) for value in values]
    for argument, lanes in zip(arguments, made, strict=True):
        writer.know(argument, lanes)
    return made


def _assign(writer: KernelWriter, variables: Sequence[Sequence[str]], values: Sequence[Value]) -> None:
    """All at once: what one of them was before, another may become."""
    pairs = [
        (name, lane)
        for lanes, value in zip(variables, values, strict=True)
        for name, lane in zip(lanes, writer.lanes(value), strict=True)
        if name != lane
    ]
    others = {name for name, _ in pairs}
    pairs = [(name, writer.name(lane) if lane in others else lane) for name, lane in pairs]
    for name, lane in pairs:
        writer.line(f"{name} = {lane};")


def _leave(writer: KernelWriter, op: Operation, variables: Sequence[Sequence[str]]) -> None:
    """What comes behind sees the variables as they are then: nothing assigns to them any more."""
    for result, lanes in zip(op.results, variables, strict=True):
        writer.know(result, lanes)


# ---- scf ----


def _for(writer: KernelWriter, op: Operation) -> None:
    lower, upper, step, *initial = op.operands
    first, end, by = (writer.get(each) for each in (lower, upper, step))
    if register_type(lower.type) != "i32":
        raise RefusalError(f"it counts in {lower.type}")
    body = body_of(op)
    counter, *arguments = body.arguments
    variables = _carry(writer, initial, arguments)
    is_uniform = writer.is_uniform(lower, upper, step)
    index = writer.fresh("step")
    if holds_barrier(op) and not is_uniform:
        # As many steps for all, each with its own counter.
        steps = writer.agree(f"max(0, ({end} - {first} + {by} - 1) / {by})", "i32")
        with writer.braces(f"for (var {index} = 0; {index} < {steps}; {index}++)"):
            writer.know(counter, [writer.name(f"{first} + {index} * {by}")])
            _assign(writer, variables, list(writer.block(body).operands))
    else:
        with writer.braces(f"for (var {index} = {first}; {index} < {end}; {index} += {by})"):
            writer.know(counter, [index], is_uniform=is_uniform)
            _assign(writer, variables, list(writer.block(body).operands))
    _leave(writer, op, variables)


def _if(writer: KernelWriter, op: Operation) -> None:
    condition = writer.get(op.operands[0])
    if holds_barrier(op) and not writer.is_uniform(op.operands[0]):
        condition = writer.agree(condition, "bool")
    variables = [_variables(writer, result.type, None) for result in op.results]
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    for position, block in enumerate(blocks):
        with writer.braces(f"if ({condition})" if position == 0 else "else"):
            _assign(writer, variables, list(writer.block(block).operands))
    _leave(writer, op, variables)


def _while(writer: KernelWriter, op: Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    variables = _carry(writer, list(op.operands), list(before.arguments))
    results = [_variables(writer, result.type, None) for result in op.results]
    has_barrier = holds_barrier(op)
    with writer.braces("loop"):
        condition, *passed = writer.block(before).operands
        _assign(writer, results, passed)
        goes_on = writer.get(condition)
        if has_barrier:
            goes_on = writer.agree(goes_on, "bool")
        with writer.braces(f"if (!{goes_on})"):
            writer.line("break;")
        for argument, lanes in zip(after.arguments, results, strict=True):
            writer.know(argument, lanes)
        _assign(writer, variables, list(writer.block(after).operands))
    _leave(writer, op, results)


# ---- threads ----


def _thread_id(writer: KernelWriter, op: Operation) -> None:
    writer.know(op.results[0], ["thread" if _dimension(op) == "x" else "0"])


def _block_id(writer: KernelWriter, op: Operation) -> None:
    writer.know(op.results[0], ["block" if _dimension(op) == "x" else "0"], is_uniform=True)


def _dimension(op: Operation) -> str:
    return str(op.attributes["dimension"]).removesuffix(">").split()[-1]


def _barrier(writer: KernelWriter, op: Operation) -> None:
    writer.wait()


def _shuffle(writer: KernelWriter, op: Operation) -> None:
    """Each thread gets what another one has, through memory of the block."""
    value, lane, _ = op.operands
    if not str(op.attributes["mode"]).removesuffix(">").endswith("xor"):
        raise RefusalError("threads exchange values by xor of their numbers")
    type_ = register_type(value.type)
    array = f"exchanged_{type_.replace('<', '_').rstrip('>')}"
    writer.shared.setdefault(array, f"var<workgroup> {array}: array<{type_}, {writer.threads}>;")
    writer.line(f"{array}[thread] = {writer.get(value)};")
    writer.line("workgroupBarrier();")
    writer.know(op.results[0], [writer.name(f"{array}[thread ^ {writer.get(lane)}]")])
    writer.line("workgroupBarrier();")
    writer.know(op.results[1], ["true"])


def _assert(writer: KernelWriter, op: Operation) -> None:
    """A thread whose check fails ends; where others may wait for it, it writes nothing more."""
    condition, *numbers = op.operands
    place = len(writer.checks)
    writer.checks.append((str(op.attributes["kind"].value), str(op.attributes["message"].value)))
    if len(numbers) > _MOST_NUMBERS:
        raise RefusalError(f"it shows more than {_MOST_NUMBERS} numbers")
    shown = [_wide(writer, each) for each in numbers]
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
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "gpu.thread_id": _thread_id,
    "gpu.block_id": _block_id,
    "gpu.barrier": _barrier,
    "gpu.shuffle": _shuffle,
    "tir.assert": _assert,
}
