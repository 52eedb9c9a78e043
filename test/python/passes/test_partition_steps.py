# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part as a list of steps, whole matches or operations."""

from __future__ import annotations

from typing import Any

from partitioning import Native, built, codegen, product, relu

import relax_mlir as rx
from relax_mlir import relax


def test_steps_of_a_part() -> None:
    seen: dict[bool, Any] = {}

    class Told(Native):
        def compile(self, module: rx.Module, options: Any) -> bytes:
            for whole in (True, False):
                (seen[whole],) = self.steps(module, whole=whole).values()
            return super().compile(module, options)

    with codegen([("npu.layer", relu(product))], base=Told) as npu:
        rx.compile(built(lambda a, b: relax.nn.relu(relax.matmul(a, b))), partition=[npu], opt_level=0)
    (step,) = seen[True].steps
    assert (step.composite, step.inputs, step.outputs) == ("npu.layer", (0, 1), (3,))
    assert (seen[True].inputs, seen[True].outputs) == ((0, 1), (3,))
    assert [(each.inputs, each.outputs) for each in seen[False].steps] == [((0, 1), (2,)), ((2,), (3,))]
