# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script's gradients, compared with differences of what it computes."""

from __future__ import annotations

from typing import Any

import numpy
from compiling import array

import relax_mlir as rx

_STEP = 1e-6


def compiled(source: str | rx.Module, **options: Any) -> tuple[Any, Any]:
    """A function @loss, a module's or a script's, and @loss_adjoint."""
    module = rx.Module.from_script(source) if isinstance(source, str) else source
    rx.grad(module, "loss", **options).verify()
    made = rx.compile(module, opt_level=0, jobs=1)
    return made["loss"], made["loss_adjoint"]


def check(functions: tuple[Any, Any], floats: list[Any], before: tuple[Any, ...] = ()) -> None:
    """The same loss, and gradients as differences tell them. What is not differentiated is passed before."""
    loss, adjoint = functions
    value, *made = map(array, adjoint(*before, *floats))
    numpy.testing.assert_array_equal(value, array(loss(*before, *floats)))
    for index, tensor in enumerate(floats):
        expected = numpy.empty_like(tensor)
        for place in numpy.ndindex(tensor.shape):
            near = []
            for step in (_STEP, -_STEP):
                moved = [each.copy() for each in floats]
                moved[index][place] += step
                near.append(float(array(loss(*before, *moved))))
            expected[place] = (near[0] - near[1]) / (2 * _STEP)
        numpy.testing.assert_allclose(made[index], expected, rtol=1e-5, atol=1e-6)


def script(signature: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    return f"""
@I.ir_module(ssa=True)
class Module:
    @R.function
    def loss({signature}) -> R.Tensor((), "float64"):
{lines}
"""
