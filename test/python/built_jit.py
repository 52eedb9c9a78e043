# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what a test builds itself: operands that prim_jit.run_op cannot tell apart, scalars known at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from bf16_arrays import from_dlpack, to_dlpack
from prim_jit import dtype_name
from relax_mlir.dialects.core.infos import ScalarInfo

import relax_mlir as rx


def run_built(build: Callable[..., Any], *arguments: Any, symbols: Sequence[Sequence[str | int]] = ()) -> Any:
    """The array that `build(*parameters)` computes of these arguments: arrays, and numbers, which are i64 or f64.

    `symbols` are the arrays' shapes as the compiler is to see them, else as they are.
    """
    shapes = iter(symbols or [array.shape for array in arguments if isinstance(array, numpy.ndarray)])
    infos = [
        rx.tensor(next(shapes), dtype_name(argument))
        if isinstance(argument, numpy.ndarray)
        else ScalarInfo("f64" if isinstance(argument, float) else "i64")
        for argument in arguments
    ]
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(build(*f))
    passed = [to_dlpack(each) if isinstance(each, numpy.ndarray) else each for each in arguments]
    return from_dlpack(rx.compile(module, target="llvm")["main"](*passed))
