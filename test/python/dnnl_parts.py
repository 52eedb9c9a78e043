# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that become one part for oneDNN: compiled, loaded, called and compared with the default path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from before_after import changed, random_arrays, results_of
from external_parts import assert_close, built, is_left, main_of
from relax_mlir.bindings.navigation import last_of, operations_of
from relax_mlir.passes.partition.options import option_values
from relax_mlir.runtime.external.dnnl.description import Function, Part
from relax_mlir.runtime.external.dnnl.runtime import DnnlRuntime
from relax_mlir.support.external_bytes import unpacked
from relax_mlir.targets.external.dnnl.codegen import Dnnl

import relax_mlir as rx

__all__ = ["agrees", "built", "called", "the_part"]

PASSES = "relax-fuse-ops-by-pattern{codegen=dnnl},relax-merge-composite-functions"


class OnePart(NamedTuple):
    """The one part that all of `main` becomes."""

    function: Function
    data: bytes
    #: Which of main's inputs it takes, and which of its outputs are main's results.
    inputs: list[int]
    results: list[int]


def the_part(module: rx.Module, **options: str) -> OnePart:
    apart = changed(module, PASSES)
    main = main_of(apart)
    (call,) = [op for op in operations_of(main) if not is_left(op)]
    assert call.name == "func.call", apart.script()
    inputs = [list(main.arguments).index(each) for each in call.operands]
    results = [list(call.results).index(each) for each in last_of(main).operands]
    data = Dnnl().compile(apart, option_values("dnnl", Dnnl.options, options.items()))
    part = unpacked("dnnl", memoryview(data), Part)
    (function,) = part.functions
    return OnePart(function, data, inputs, results)


def called(part: OnePart, arrays: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """Main's results, which are like these, by the part."""
    (function,) = DnnlRuntime().load(memoryview(part.data)).values()
    like = {number: each for number, each in zip(part.results, outputs, strict=True)}
    made = [numpy.full_like(like[number], 99) for number in sorted(like)]
    tensors = [rx.runtime.tensor(each) for each in (*(arrays[number] for number in part.inputs), *made)]
    function(*tensors)
    return [rx.runtime.to_numpy(tensors[len(part.inputs) + number]) for number in part.results]


def agrees(
    module: rx.Module,
    arrays: Sequence[Any] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    tolerance: float = 2e-5,
) -> list[str]:
    """Whether oneDNN computes what the default path does; the kinds of its steps, with their post-ops."""
    given = random_arrays(module, "main", sizes or {}) if arrays is None else arrays
    expected = results_of(module, given)
    part = the_part(module)
    assert_close(expected, called(part, given, expected), tolerance)
    return steps_of(part.function)


def steps_of(function: Function) -> list[str]:
    """`convolution+bias+eltwise+binary` for each step."""
    kinds = []
    for step in function.steps:
        bias = ["bias"] if "bias" in step.arguments else []
        kinds.append("+".join([step.kind, *bias, *(each.kind for each in step.post_ops)]))
    return kinds
