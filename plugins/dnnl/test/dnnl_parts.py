# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for graphs that become one part for oneDNN: compilation, calls and comparison with the default path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import relax_mlir as rx
from before_after import changed, random_arrays, results_of
from external_parts import assert_close, built, is_left, main_of
from relax_mlir.bindings.navigation import last_of, operations_of
from relax_mlir.passes.graph.partition.options import option_values
from relax_mlir.support.external_bytes import unpacked
from relax_mlir_dnnl.codegen import Dnnl
from relax_mlir_dnnl.runtime.description import DnnlFunction, DnnlPart
from relax_mlir_dnnl.runtime.runtime import DnnlRuntime

__all__ = ["build_part", "built", "call_part", "compare_steps"]

PASSES = "relax-fuse-ops-by-pattern{codegen=dnnl},relax-merge-composite-functions"


class OnePart(NamedTuple):
    """Part that contains all operators of `main`."""

    function: DnnlFunction
    data: bytes
    #: Positions of the part's inputs in main's inputs, and of main's results in the part's outputs.
    inputs: list[int]
    results: list[int]


def build_part(module: rx.Module, **options: str) -> OnePart:
    apart = changed(module, PASSES)
    main = main_of(apart)
    (call,) = [op for op in operations_of(main) if not is_left(op)]
    assert call.name == "func.call", apart.script()
    inputs = [list(main.arguments).index(each) for each in call.operands]
    results = [list(call.results).index(each) for each in last_of(main).operands]
    data = Dnnl().compile(apart, option_values("dnnl", Dnnl.options, options.items()))
    part = unpacked("dnnl", memoryview(data), DnnlPart)
    (function,) = part.functions
    return OnePart(function, data, inputs, results)


def call_part(part: OnePart, arrays: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """Call a part. Return its results, which have the shapes and types of `outputs`."""
    (function,) = DnnlRuntime().load(memoryview(part.data)).values()
    like = {number: each for number, each in zip(part.results, outputs, strict=True)}
    made = [numpy.full_like(like[number], 99) for number in sorted(like)]
    tensors = [rx.runtime.tensor(each) for each in (*(arrays[number] for number in part.inputs), *made)]
    function(*tensors)
    return [rx.runtime.to_numpy(tensors[len(part.inputs) + number]) for number in part.results]


def compare_steps(
    module: rx.Module,
    arrays: Sequence[Any] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    tolerance: float = 2e-5,
) -> list[str]:
    """Compare oneDNN with the default path. Return the kinds of the part's steps, with their post-ops."""
    given = random_arrays(module, "main", sizes or {}) if arrays is None else arrays
    expected = results_of(module, given)
    part = build_part(module)
    assert_close(expected, call_part(part, given, expected), tolerance)
    return steps_of(part.function)


def steps_of(function: DnnlFunction) -> list[str]:
    """Return the kind of each step, such as `convolution+bias+eltwise+binary`."""
    kinds = []
    for step in function.steps:
        bias = ["bias"] if "bias" in step.arguments else []
        kinds.append("+".join([step.kind, *bias, *(each.kind for each in step.post_ops)]))
    return kinds
