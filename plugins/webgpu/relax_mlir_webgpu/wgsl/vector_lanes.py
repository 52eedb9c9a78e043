# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that combine vectors from lanes and extract lanes. Each lane is a scalar."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import RefusalError
from relax_mlir.rewriting import Operation

from .writer import KernelWriter, Rule


def _from_elements(writer: KernelWriter, op: Operation) -> None:
    lanes = [writer.get(operand) for operand in op.operands]
    writer.know(op.results[0], lanes, is_uniform=writer.is_uniform(*op.operands))


def _broadcast(writer: KernelWriter, op: Operation) -> None:
    lanes, (count,) = writer.lanes(op.operands[0]), op.results[0].type.shape
    writer.know(op.results[0], lanes * (count // len(lanes)), is_uniform=writer.is_uniform(op.operands[0]))


def _position(op: Operation) -> int:
    places = list(op.attributes["static_position"])
    if len(places) != 1 or len(op.operands) > (2 if op.name == "vector.insert" else 1):
        raise RefusalError("it accesses a lane that is only known at run time")
    return int(places[0])


def _extract(writer: KernelWriter, op: Operation) -> None:
    lane = writer.lanes(op.operands[0])[_position(op)]
    writer.know(op.results[0], [lane], is_uniform=writer.is_uniform(op.operands[0]))


def _insert(writer: KernelWriter, op: Operation) -> None:
    lanes = list(writer.lanes(op.operands[1]))
    lanes[_position(op)] = writer.get(op.operands[0])
    writer.know(op.results[0], lanes, is_uniform=writer.is_uniform(*op.operands))


def _shuffle(writer: KernelWriter, op: Operation) -> None:
    lanes = [*writer.lanes(op.operands[0]), *writer.lanes(op.operands[1])]
    chosen: Sequence[int] = list(op.attributes["mask"])
    writer.know(op.results[0], [lanes[number] for number in chosen], is_uniform=writer.is_uniform(*op.operands))


RULES: dict[str, Rule] = {
    "vector.from_elements": _from_elements,
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
}
