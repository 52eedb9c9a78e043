# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `example_npu`: convolutions, layers, pools and sums as instructions of a processor that is numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from ....bindings.ir import Operation, OpView
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.work import work_of
from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.partition.pricing import estimate
from ....passes.partition.steps import PartStep, Steps
from ....passes.patterns.matched import Match
from ....passes.patterns.operator_patterns import is_op
from ....passes.patterns.tree import GraphPattern, is_const, wildcard
from ....runtime.external.example_npu import Instruction
from ....support.errors import RefusalError
from ....support.external_bytes import Function, packed

# Of the processor: what it computes in a second, and what a call of it takes.
_FLOPS_PER_S, _CALL_S = 1e12, 5e-6
_LARGEST_WINDOW = 7
_PRECISIONS = {"f32": "float32", "f16": "float16"}


def takes(match: Match) -> bool | str:
    """What holds for all: floats of known rank."""
    for value in (*match.inputs, *match.results):
        info = decode(value.type)
        if not isinstance(info, TensorInfo) or info.dtype != "f32" or info.shape is None:
            return f"the processor computes tensors of f32, not {value.type}"
    return True


def takes_convolution(match: Match) -> bool | str:
    operation = match.operations[0].opview
    window = _window(operation)
    if operation.groups != 1:
        return f"the processor has no groups, here are {operation.groups}"
    if not 1 < max(window) <= _LARGEST_WINDOW:
        return f"the processor has windows of 2 to {_LARGEST_WINDOW}, not {window[0]} by {window[1]}"
    return takes(match)


def takes_pool(match: Match) -> bool | str:
    operation = match.operations[0].opview
    if operation.operation.operands[0].type.rank != 4:
        return f"the processor has no blocks of channels, here is {operation.layout}"
    if operation.ceil_mode or set(operation.dilation) != {1} or operation.count_include_pad:
        return "the processor has windows that lie inside, in one piece, and averages without padding"
    return takes(match)


def _window(operation: OpView) -> tuple[int, int]:
    sizes = dict(zip(operation.kernel_layout, operation.weight.type.shape, strict=True))
    return sizes["H"], sizes["W"]


def _layer(product: GraphPattern) -> GraphPattern:
    """A product with what the processor does on its way out: a bias, and an activation."""
    return product.optional(lambda y: is_op("relax.add")(y, is_const())).optional(lambda y: is_op("relax.nn.relu")(y))


@register_codegen("example_npu")
class ExampleNpu(Codegen):
    """A processor for images that numpy stands for."""

    patterns = (
        ("example_npu.conv2d", _layer(is_op("relax.nn.conv2d")(wildcard(), is_const().has_rank(4))), takes_convolution),
        ("example_npu.dense", _layer(is_op("relax.matmul")(wildcard(), is_const().has_rank(2))), takes),
        ("example_npu.pool2d", is_op("relax.nn.max_pool2d", "relax.nn.avg_pool2d"), takes_pool),
        ("example_npu.add", is_op("relax.add")(wildcard(), wildcard()), takes),
    )
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "precision": CodegenOption("of the constants; f16 is half of the bytes", Literal["f32", "f16"], "f32")
    }
    # One function without calls: convolutions that follow each other pass NHWC on.
    pipeline: ClassVar[str] = (
        "relax-inline{include-composites=true},"
        "relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI,relax.nn.max_pool2d:NHWC,relax.nn.avg_pool2d:NHWC},"
        "relax-fold-constant"
    )

    def compile(self, module: object, options: Mapping[str, Any]) -> bytes:
        """A program for each function. Raises RelaxError for what the passes have left that is no instruction."""
        parts, precision = self.steps(module, whole=False), _PRECISIONS[options["precision"]]
        return packed("example_npu", {name: _program(part, precision) for name, part in parts.items()})

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """The processor's time."""
        del composite
        return sum(estimate(work_of(each.opview).flops) for each in operations) / _FLOPS_PER_S

    def call_cost(self) -> float:
        """A part is one program, however many instructions it has."""
        return _CALL_S


def _program(part: Steps, precision: str) -> Function[Instruction]:
    constants = {number: array.astype(precision) for number, array in part.constants.items()}
    return Function(part.inputs, constants, [_instruction(step) for step in part.steps], part.outputs)


def _instruction(step: PartStep) -> Instruction:
    operation = step.operation
    name = operation.operation.name.rpartition(".")[2]
    if name not in _SETTINGS:
        raise RefusalError(f"the processor has no instruction for {operation.operation.name}")
    return Instruction(name, _SETTINGS[name](operation), step.inputs, step.outputs[0], step.nodes)


def _of_convolution(operation: OpView) -> dict[str, object]:
    return {**_of_windows(operation), "dilation": operation.dilation}


def _of_pool(operation: OpView) -> dict[str, object]:
    return {**_of_windows(operation), "size": operation.pool_size}


def _of_windows(operation: OpView) -> dict[str, object]:
    """Padding on all four sides: operators have one number, one for each dimension, or befores and afters."""
    padding = tuple(operation.padding)
    return {"strides": operation.strides, "padding": padding * (4 // len(padding))}


def _of_permutation(operation: OpView) -> dict[str, object]:
    return {"axes": operation.axes}


def _nothing(operation: OpView) -> dict[str, object]:
    del operation
    return {}


#: What instructions are given of operators' attributes.
_SETTINGS: dict[str, Callable[[OpView], dict[str, object]]] = {
    "conv2d": _of_convolution,
    "matmul": _nothing,
    "add": _nothing,
    "relu": _nothing,
    "max_pool2d": _of_pool,
    "avg_pool2d": _of_pool,
    "permute_dims": _of_permutation,
}
