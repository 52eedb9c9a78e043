# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of TFLite (LiteRT) models: `rx.from_tflite`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relax_mlir import Module
from relax_mlir.frontends.core.converters import Function
from relax_mlir.frontends.front_end import front_end_named
from relax_mlir.support.argument_types import types_checked


@types_checked
def from_tflite(
    source: str | Path | bytes | bytearray | memoryview, *, signature: str | None = None, keep_states: bool = False
) -> Module:
    """Import a TFLite model, given as the path of a file or as its bytes.

    The module has one function, `main`. `main` is the first subgraph of the model, or the subgraph of `signature`.

    By default, variables start from zero in each call. With `keep_states`, each variable is an argument after the
    model's own arguments, and a result after the model's own results.
    Raises one RelaxError that lists every operator that cannot be imported, with the tensor that the operator computes.
    """
    return front_end_named("tflite").read(source, signature=signature, keep_states=keep_states)


@types_checked
def register_tflite(*names: str) -> Callable[[Function], Function]:
    """Register a converter for operators; use this function as a decorator.

    The converter gets a node, and returns the values of its results. The name of a custom operator is its own, such as
    "MyOperator".
    """
    return front_end_named("tflite").load().register(*names)
