# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grains of parallel loops: the computation at run time agrees with the computation at compile time."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import defining_op, operations_in
from relax_mlir.dialects.core.ir_attributes import PARALLEL
from relax_mlir.emit import parallel
from relax_mlir.emit.numbers import as_index

import relax_mlir as rx

TEXT = "func.func private @grain(index)\nfunc.func @f() {\n  return\n}"


def of_run(cases: list[tuple[int, int]]) -> list[int]:
    """Return the grains for numbers of steps with durations in nanoseconds, by arithmetic on indices."""
    module = rx.Module.parse(TEXT)
    (end,) = (op for op in operations_in(module.operation) if op.name == "func.return")
    with module.context, ir.InsertionPoint(end), end.location:
        for steps, nanoseconds in cases:
            grain = parallel.grain_of(as_index(steps), as_index(nanoseconds * parallel.UNIT))
            callee = {"callee": ir.FlatSymbolRefAttr.get("grain")}
            ir.Operation.create("func.call", [], [grain.value], callee)
    rx.Pipeline("canonicalize").run(module)
    found = []
    for call in (op for op in operations_in(module.operation) if op.name == "func.call"):
        number = defining_op(call.operands[0], "arith.constant")
        assert number is not None
        found.append(int(number.operation.attributes["value"].value))
    return found


def test_the_run_shares_as_is_known() -> None:
    cases = [
        (steps, nanoseconds)
        for steps in (1, 2, 7, 100, 5000, 10**6, 2**40)
        for nanoseconds in (1, 3, 30, 199, 200, 1000, 4999, 5000, 10**5, 2**30)
    ]
    for (steps, nanoseconds), grain in zip(cases, of_run(cases), strict=True):
        known = parallel._known_grain(steps, nanoseconds) or steps
        # More than there are is all of them.
        assert min(grain, steps) == min(known, steps), (steps, nanoseconds)


@pytest.mark.parametrize(
    ("are_apart", "steps", "flops", "grain"), [(True, 4, 1, 1), (False, 4, 1, None), (False, 6400, 10**6, 200)]
)
def test_grains_of_steps(are_apart: bool, steps: int, flops: int, grain: int | None) -> None:
    """Make each step a grain inside of steps_apart, whatever its work. A loop without a grain is serial."""
    module = rx.Module.parse(TEXT)
    (end,) = (op for op in operations_in(module.operation) if op.name == "func.return")
    with module.context, ir.InsertionPoint(end), end.location, parallel.steps_apart(are_apart):
        parallel.share_steps(steps, flops, lambda index: None)
    (loop,) = (op for op in operations_in(module.operation) if op.name == "scf.for")
    found = loop.attributes[PARALLEL].value if PARALLEL in loop.attributes else None
    assert found == grain
