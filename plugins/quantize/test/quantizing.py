# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes and measures of the tests of quantization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_const, quantized_conv, quantized_linear
from relax_mlir.recipes import Op
from relax_mlir.runtime import to_numpy


def recipe(w: str, x: str | None = "i8", bias: str | None = "i32 derived") -> rx.Recipe:
    """Return a recipe of convolutions and linear layers."""
    types = {name: text for name, text in (("x", x), ("w", w), ("bias", bias if x else None)) if text}
    return rx.Recipe(
        Op("conv", pattern=quantized_conv(w=is_const(), real_results=True), **types),  # type: ignore[arg-type]
        Op("linear", pattern=quantized_linear(w=is_const(), real_results=True), **types),  # type: ignore[arg-type]
    )


def module_of(build: Callable[[Any], Any], shape: Sequence[int | str]) -> rx.Module:
    """Return a module with a @main that computes `build(x)`."""
    with rx.Module() as module, module.function("main", {"x": rx.tensor(tuple(shape))}) as f:
        (x,) = f
        f.returns(build(x))
    return module


def run(module: rx.Module, array: Any, target: str = "llvm") -> Any:
    return to_numpy(rx.compile(module, target)["main"](array))


def snr(expected: Any, found: Any) -> float:
    return float(10 * numpy.log10((expected**2).sum() / max(((expected - found) ** 2).sum(), 1e-30)))


def biased(value: Any, bias: Any) -> Any:
    return relax.add(value, relax.const(bias))


def accuracy(scores: Any, labels: Any) -> float:
    """Return the share of right answers in percent."""
    return float((scores.argmax(1) == labels).mean() * 100)
