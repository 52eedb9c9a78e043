# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `example_npu`: convolutions, layers, pools and sums as instructions of a processor that NumPy emulates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from relax_mlir.bindings.ir import Operation, OpView
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.work import work_of
from relax_mlir.dialects.relax.known_constants import NUMPY_NAME
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.partition.codegen import Codegen, register_codegen
from relax_mlir.passes.graph.partition.options import CodegenOption
from relax_mlir.passes.graph.partition.pricing import estimate
from relax_mlir.passes.graph.partition.steps import PartStep, Steps
from relax_mlir.passes.graph.recipes.recipe import Op, Recipe, Share
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.operator_patterns import is_op
from relax_mlir.passes.patterns.tree import GraphPattern, is_const, wildcard
from relax_mlir.support.errors import RefusalError
from relax_mlir.support.external_bytes import PartFunction, packed
from relax_mlir.support.requantization import Requantize

from .runtime import Instruction

# The processor's floating-point operations per second, and its seconds per call.
_FLOPS_PER_S, _CALL_S = 1e12, 5e-6
_LARGEST_WINDOW = 7
_PRECISIONS = {"f32": "float32", "f16": "float16"}


def takes(match: Match) -> bool | str:
    """Return True if all tensors have a known rank and are f32, or of a layer on bytes; else the reason why not."""
    is_quantized = any(operation.name == "relax.dequantize" for operation in match.operations)
    dtypes = ("f32", "i8", "i32") if is_quantized else ("f32",)
    for value in (*match.inputs, *match.results):
        info = decode(value.type)
        if not isinstance(info, TensorInfo) or info.dtype not in dtypes or info.shape is None:
            return f"the processor supports {' and '.join(dtypes)} tensors of known rank, not {value.type}"
    return True


def takes_convolution(match: Match) -> bool | str:
    operation = next(each for each in match.operations if each.name == "relax.nn.conv2d").opview
    window = _window(operation)
    if operation.groups != 1:
        return f"the processor supports convolutions of 1 group, not {operation.groups}"
    if not 1 < max(window) <= _LARGEST_WINDOW:
        return f"the processor supports windows of 2 to {_LARGEST_WINDOW}, not {window[0]} by {window[1]}"
    return takes(match)


def takes_pool(match: Match) -> bool | str:
    operation = match.operations[0].opview
    if operation.operation.operands[0].type.rank != 4:
        return f"the processor does not support blocked channels, as in layout {operation.layout}"
    if operation.ceil_mode or set(operation.dilation) != {1} or operation.count_include_pad:
        return "the processor supports pools without ceil_mode, dilation and count_include_pad only"
    return takes(match)


def _window(operation: OpView) -> tuple[int, int]:
    sizes = dict(zip(operation.kernel_layout, operation.weight.type.shape, strict=True))
    return sizes["H"], sizes["W"]


def _layer(product: GraphPattern) -> GraphPattern:
    """Return the pattern of a product with the processor's epilogue: an optional bias and an optional relu."""
    biased = product.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    return biased.optional(lambda y: is_op("relax.nn.relu")(y))


_X, _W = wildcard().named("x"), is_const().named("w")
_CONV = _layer(is_op("relax.nn.conv2d")(_X, _W.has_rank(4)))
_DENSE = _layer(is_op("relax.matmul")(_X, _W.has_rank(2)))
#: Types of weights and biases of layers on bytes, and the step from their sums to bytes.
_WEIGHTS, _BIAS = "i8@channel symmetric narrow", "i32 derived"
_HOW = Requantize("q31>>shift", rounding="half_away")


@register_codegen("example_npu")
class ExampleNpu(Codegen):
    """Codegen for an imaginary image processor, emulated by NumPy."""

    patterns = (
        ("example_npu.conv2d", _CONV, takes_convolution),
        ("example_npu.dense", _DENSE, takes),
        # The recipe names these: they match the layers on bytes only.
        ("example_npu.conv2d_bytes", _CONV, takes_convolution),
        ("example_npu.dense_bytes", _DENSE, takes),
        ("example_npu.pool2d", is_op("relax.nn.max_pool2d", "relax.nn.avg_pool2d"), takes_pool),
        ("example_npu.add", is_op("relax.add")(wildcard(), wildcard()), takes),
    )
    recipe = Recipe(
        Op("example_npu.conv2d_bytes", x="i8", w=_WEIGHTS, bias=_BIAS, out=_HOW),
        Op("example_npu.dense_bytes", x="i8", w=_WEIGHTS, bias=_BIAS, out=_HOW),
        Share("relax.nn.max_pool2d", "relax.nn.avg_pool2d"),
    )
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "precision": CodegenOption(
            "element type of stored constants; f16 takes half of the bytes", Literal["f32", "f16"], "f32"
        )
    }
    # Inlining gives one function without calls, so consecutive convolutions pass NHWC tensors to each other.
    pipeline: ClassVar[str] = (
        "relax-inline{include-composites=true},relax-requantize{recipe=example_npu},"
        "relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI,relax.nn.max_pool2d:NHWC,relax.nn.avg_pool2d:NHWC},"
        "relax-fold-constant"
    )

    def compile(self, module: object, options: Mapping[str, Any]) -> bytes:
        """Return the bytes of a program per function.

        Raise RelaxError if the passes left an operator for which the processor has no instruction.
        """
        parts, precision = self.steps(module, whole=False), _PRECISIONS[options["precision"]]
        return packed("example_npu", {name: _program(part, precision) for name, part in parts.items()})

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        """Return the processor's time for a match in seconds."""
        del composite
        return sum(estimate(work_of(operation.opview).flops) for operation in operations) / _FLOPS_PER_S

    def call_cost(self) -> float:
        """Return the seconds that a call of a part costs. A part is one program with any number of instructions."""
        return _CALL_S


def _program(part: Steps, precision: str) -> PartFunction[Instruction]:
    constants = {
        number: array.astype(precision) if array.dtype == "float32" else array
        for number, array in part.constants.items()
    }
    return PartFunction(part.inputs, constants, [_instruction(step) for step in part.steps], part.outputs)


def _instruction(step: PartStep) -> Instruction:
    operation = step.operation
    if (name := operation.operation.name.rpartition(".")[2]) not in _SETTINGS:
        raise RefusalError(f"the processor has no instruction for {operation.operation.name}")
    return Instruction(name, _SETTINGS[name](operation), step.inputs, step.outputs[0], step.nodes)


def _convolution_settings(operation: OpView) -> dict[str, object]:
    return {**_window_settings(operation), "dilation": operation.dilation}


def _pool_settings(operation: OpView) -> dict[str, object]:
    return {**_window_settings(operation), "size": operation.pool_size}


def _window_settings(operation: OpView) -> dict[str, object]:
    """Return strides and the padding of all four sides.

    An operator has one padding for all sides, one per dimension, or the paddings before and after each dimension.
    """
    padding = tuple(operation.padding)
    return {"strides": operation.strides, "padding": padding * (4 // len(padding))}


def _permutation_settings(operation: OpView) -> dict[str, object]:
    return {"axes": operation.axes}


def _conversion_settings(operation: OpView) -> dict[str, object]:
    return {"dtype": NUMPY_NAME[dtype_of(operation.operation.results[0])]}


def _requantization_settings(operation: OpView) -> dict[str, object]:
    return {"rounding": operation.rounding, "axis": operation.axis, "dtype": operation.out_dtype}


def _no_settings(operation: OpView) -> dict[str, object]:
    del operation
    return {}


#: Functions that convert an operator's attributes to the settings of its instruction.
_SETTINGS: dict[str, Callable[[OpView], dict[str, object]]] = {
    "conv2d": _convolution_settings,
    "matmul": _no_settings,
    "add": _no_settings,
    "relu": _no_settings,
    "subtract": _no_settings,
    "maximum": _no_settings,
    "astype": _conversion_settings,
    "requantize": _requantization_settings,
    "max_pool2d": _pool_settings,
    "avg_pool2d": _pool_settings,
    "permute_dims": _permutation_settings,
}
