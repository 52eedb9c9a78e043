# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions of barriers in shared memory, and of bulk copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from .coder import Coder, emits, unknown
from .ptx import Instruction, split_operands

if TYPE_CHECKING:
    from .machine import Chunk

_COPY = ("shared::cluster", "global", "mbarrier::complete_tx::bytes")


def is_wait(instruction: Instruction) -> bool:
    return instruction.parts[:2] == ("mbarrier", "try_wait")


def copies_boxes(instruction: Instruction) -> bool:
    return instruction.parts[:3] == ("cp", "async", "bulk")


def waits(instruction: Instruction, numbers: dict[str, int]) -> tuple[Callable[[Chunk], Any], ...]:
    """Return functions for the address and the parity that a chunk's threads wait for."""
    _, address, parity = instruction.operands
    name, _, offset = address.strip("[] ").partition("+")
    return _value(name.strip(), int(offset or "0", 0), numbers), _value(parity, 0, numbers)


def _value(name: str, more: int, numbers: dict[str, int]) -> Callable[[Chunk], Any]:
    if name not in numbers:
        return lambda _: numpy.array([int(name, 0) + more])
    return lambda chunk: chunk.registers[numbers[name]].astype(numpy.int64) + more


def _check(instruction: Instruction) -> None:
    if not {"shared", "shared::cta"}.intersection(instruction.parts) or instruction.parts[-1] != "b64":
        raise unknown(instruction)


@emits("mbarrier.init")
def _init(coder: Coder, instruction: Instruction) -> None:
    _check(instruction)
    address, count = instruction.operands
    coder.emit(f"m.bulk.init({coder.address(address)}, {coder.use(count, 'u32')}, {instruction.line})")


@emits("mbarrier.arrive", "mbarrier.expect_tx")
def _arrive(coder: Coder, instruction: Instruction) -> None:
    _check(instruction)
    parts, operands = instruction.parts, list(instruction.operands)
    arrives = "arrive" in parts
    if arrives and operands.pop(0) != "_":
        raise unknown(instruction)
    if len(operands) != 1 + ("expect_tx" in parts):
        raise unknown(instruction)
    bytes_ = coder.use(operands[1], "u32") if "expect_tx" in parts else "None"
    coder.emit(f"m.bulk.arrive({coder.address(operands[0])}, {bytes_}, {arrives}, {instruction.line})")


@emits("mbarrier.try_wait.parity")
def _try_wait(coder: Coder, instruction: Instruction) -> None:
    _check(instruction)
    target, address, parity = instruction.operands
    call = f"m.bulk.try_wait({coder.address(address)}, {coder.use(parity, 'u32')}, {instruction.line})"
    coder.set(target, "pred", call)


@emits("cp.async.bulk.tensor")
def _copy(coder: Coder, instruction: Instruction) -> None:
    axes, *more = (part for part in instruction.parts[4:] if part != "tile")
    to, tensor, barrier = instruction.operands
    map_, places = split_operands(tensor.strip("[] "))
    elements = coder.elements(places)
    if tuple(more) != _COPY or axes != f"{len(elements)}d":
        raise unknown(instruction)
    at = ", ".join(coder.use(each, "s32") for each in elements)
    coder.emit(
        f"m.bulk.start({coder.address(to)}, {coder.use(map_, 'u64')}, ({at},), {coder.address(barrier)}, "
        f"{instruction.line})"
    )
