# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous products of a group of four warps, with a separate wait: the group computes other values meanwhile.

The registers of a request, factors as well as sums, are in use until the group has waited. The wait names all of them,
so that the compiler does not reuse them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....bindings.mlir import ir
from .warp_group_instructions import assembly

#: Words of a lane per 64 rows and instruction, and numbers of a lane per eight columns.
WORDS_OF_STEP, NUMBERS_OF_COLUMNS = 4, 4
_STEPS, _COLUMNS = 16, 8


class SumRequest(NamedTuple):
    """Request for sums of products of 16-bit numbers: 64 rows, some columns, some steps of 16."""

    #: PTX's name of the factors' element type.
    type: str
    columns: int
    #: A lane's words of the left factor, or its descriptor in shared memory.
    left: Sequence[Value] | Value
    #: Descriptor of the right factor, and True if its lines go along columns.
    right: Value
    is_turned: bool
    #: Offsets of both factors for each step; that of words is ignored.
    steps: Sequence[tuple[int, int]]
    #: Initial sums. Without them the sums start with the first products.
    sums: Sequence[Value] = ()

    @property
    def numbers(self) -> int:
        """Number of a lane's sums."""
        return self.columns // _COLUMNS * NUMBERS_OF_COLUMNS


def ask_for(*requests: SumRequest) -> list[list[Value]]:
    """Start the products of all requests. Return the sums, which are valid after a wait; waits proceed in order."""
    changed = [value for request in requests for value in request.sums]
    begun = [request for request in requests if not request.sums]
    values = [value for request in requests for value in _list_operands(request)]
    total = len(changed) + sum(request.numbers for request in begun)
    sums, operands = iter(range(len(changed))), iter(range(total + len(changed), total + len(changed) + len(values)))
    new = iter(range(len(changed), total))
    lines = [
        ".reg .pred adds, begins; .reg .b64 left, right;",
        "setp.eq.s32 adds, 0, 0; setp.ne.s32 begins, 0, 0;",
        "wgmma.fence.sync.aligned;",
    ]
    places = []
    for request in requests:
        own = [next(sums if request.sums else new) for _ in range(request.numbers)]
        lines += _instructions(request, own, [next(operands) for _ in _list_operands(request)])
        places.append(own)
    f32 = ir.F32Type.get()
    found = assembly("\n\t".join(["{", *lines, "}"]), changed, values, [f32] * (total - len(changed)))
    return [[found[place] for place in own] for own in places]


def wait_for(values: Sequence[Value], pending: int, factors: Sequence[Value] = ()) -> list[Value]:
    """Wait until at most `pending` requests are in flight and return the finished sums.

    The registers of `factors` are free afterwards.
    """
    return assembly(f"wgmma.wait_group.sync.aligned {pending};", values, factors)


def _list_operands(request: SumRequest) -> list[Value]:
    return [*([request.left] if isinstance(request.left, Value) else request.left), request.right]


def _instructions(request: SumRequest, sums: Sequence[int], operands: Sequence[int]) -> list[str]:
    kind, columns = request.type, request.columns
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{_STEPS}.f32.{kind}.{kind}"
    registers = ", ".join(f"${place}" for place in sums)
    *left, right = operands
    in_memory = isinstance(request.left, Value)
    turned = f"0, {int(request.is_turned)}" if in_memory else str(int(request.is_turned))
    lines = []
    for step, (left_far, right_far) in enumerate(request.steps):
        words = left[step * WORDS_OF_STEP : (step + 1) * WORDS_OF_STEP]
        if in_memory:
            lines.append(f"add.s64 left, ${left[0]}, {left_far};")
        factor = "left" if in_memory else f"{{{', '.join(f'${word}' for word in words)}}}"
        adds = "adds" if step or request.sums else "begins"
        lines += [
            f"add.s64 right, ${right}, {right_far};",
            f"{name} {{{registers}}}, {factor}, right, {adds}, 1, 1, {turned};",
        ]
    return [*lines, "wgmma.commit_group.sync.aligned;"]
