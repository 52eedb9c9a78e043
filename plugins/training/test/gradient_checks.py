# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of a script's gradients with differences of its results."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import relax_mlir as rx
from compiling import array
from example_counts import is_drawn

_STEP = 1e-6


def functions_of(module: rx.Module) -> Mapping[str, Callable[..., Any]]:
    """Return compiled functions in full runs and for drawn tests, and functions of the reference in other runs.

    The reference takes a tenth of the time. Derivatives do not depend on the generated code, which other tests check.
    """
    if is_drawn(os.environ["PYTEST_CURRENT_TEST"]):
        return rx.compile(module, opt_level=0, jobs=1)
    return rx.reference(module)


def compiled(source: str | rx.Module, **options: Any) -> tuple[Any, Any]:
    """Return the function @loss of a module or a script, and @loss_adjoint."""
    module = rx.Module.from_script(source) if isinstance(source, str) else source
    rx.grad(module, "loss", **options).verify()
    made = functions_of(module)
    return made["loss"], made["loss_adjoint"]


def check(functions: tuple[Any, Any], floats: list[Any], before: tuple[Any, ...] = ()) -> None:
    """Check the loss, and the gradients against differences. `before` are leading arguments without a gradient."""
    loss, adjoint = functions
    value, *made = map(array, adjoint(*before, *floats))
    numpy.testing.assert_array_equal(value, array(loss(*before, *floats)))
    wanted = differences(lambda *moved: loss(*before, *moved), floats, _STEP)
    for found, expected in zip(made, wanted, strict=True):
        numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def differences(loss: Callable[..., Any], arrays: Sequence[Any], step: float) -> list[Any]:
    """Return the derivative of a number by each element of the arrays, by differences."""
    found = [numpy.empty_like(each) for each in arrays]
    for index, tensor in enumerate(arrays):
        for place in numpy.ndindex(tensor.shape):
            near = []
            for moved_by in (step, -step):
                moved = [each.copy() for each in arrays]
                moved[index][place] += moved_by
                near.append(float(array(loss(*moved))))
            found[index][place] = (near[0] - near[1]) / (2 * step)
    return found


def script(signature: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    return f"""
@I.ir_module(ssa=True)
class Module:
    @R.function
    def loss({signature}) -> R.Tensor((), "float64"):
{lines}
"""
