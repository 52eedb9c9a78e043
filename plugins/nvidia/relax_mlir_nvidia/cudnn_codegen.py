# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `cudnn`: selects convolutions with epilogues, pools and softmax for NVIDIA's cuDNN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from relax_mlir.codegens import Codegen, CodegenOption, PatternRow, Steps, register_codegen
from relax_mlir.codegens import PartStep as Matched
from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.relax.infer.layouts import layouts_of
from relax_mlir.dialects.relax.infer.windows import windows_of
from relax_mlir.dialects.relax.values import tensor_info
from relax_mlir.passes.graph.parts.operator_checks import call_at, refuse_quantized
from relax_mlir.patterns import Match, is_op, wildcard
from relax_mlir.rewriting import Operation, operations_in
from relax_mlir.runtime import packed

from .cudnn_runtime import CudnnStep, Windows
from .libraries import WORKSPACE

CONVOLUTIONS = tuple(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))
POOLS = tuple(f"relax.nn.{kind}_pool{rank}d" for kind in ("max", "avg") for rank in (1, 2, 3))
SOFTMAX = ("relax.nn.softmax", "relax.nn.log_softmax")
ELEMENTS = ("f32", "f16", "bf16")
#: Element types of convolutions with a bias.
_BIASED = ("f32", "f16")
_MOST_DIMENSIONS = 8


def _refuse_elements(match: Match, elements: Sequence[str] = ELEMENTS) -> str:
    dtype = tensor_info(match["data"]).dtype
    return (
        ""
        if dtype in elements
        else f"cuDNN supports this operator with elements of {', '.join(elements)}, not of {dtype}"
    )


def _refuse_layouts(call: Call) -> str:
    """Return the reason to refuse layouts, or an empty text. All tensors are channels-first, or all channels-last."""
    texts = {name: layout.text for name, layout in layouts_of(call).items()}
    spatial = call.definition.windows.letters
    for images, weight in ((f"NC{spatial}", f"OI{spatial}"), (f"N{spatial}C", f"O{spatial}I")):
        if {"weight": weight, **texts} == {"data": images, "weight": weight, "result": images}:
            return ""
    listed = ", ".join(f"{name} {text}" for name, text in texts.items())
    return f"cuDNN needs all tensors channels-first, or all tensors channels-last, not {listed}"


def _refuse_padding(call: Call) -> str:
    for letter, window in windows_of(call).items():
        if window.before != window.after:
            return f"cuDNN pads both sides equally, not by {window.before} and {window.after} along {letter}"
    return ""


def _call(found: Match | Matched, name: str) -> Call:
    return call_at(found.op(name).operation)


def check_convolution(match: Match) -> bool | str:
    """Return True if cuDNN can compute a convolution, else the reason why not."""
    call = _call(match, "product")
    if call.out_dtype not in (None, call.data.dtype) or call.weight.dtype != call.data.dtype:
        types = f"{call.data.dtype}, {call.weight.dtype} and {call.out_dtype or call.data.dtype}"
        return f"cuDNN needs data, weight and result of one type, not {types}"
    quantized = refuse_quantized(match.op("product").operation)
    return quantized or _refuse_elements(match) or _refuse_layouts(call) or _refuse_padding(call) or True


def check_biased(match: Match) -> bool | str:
    """Return True if cuDNN can compute a convolution with a bias, residual and relu, else the reason why not."""
    refused = check_convolution(match)
    return refused if refused is not True else _refuse_elements(match, _BIASED) or _refuse_addends(match) or True


def _refuse_addends(match: Match) -> str:
    out, bias = tensor_info(match["product"]), tensor_info(match["bias"])
    shape, sizes = out.shape or (), bias.shape
    channel = len(shape) - 1 if _is_last(_call(match, "product")) else 1
    wanted = [size if axis == channel else 1 for axis, size in enumerate(shape)]
    is_bias = sizes is not None and len(sizes) >= len(shape) - channel and list(sizes) == wanted[-len(sizes) :]
    if not is_bias:
        return f"a bias has one number per channel, not the shape of {bias}"
    if "residual" in match and tensor_info(match["residual"]) != out:
        return f"a residual has the type of the result, {out}, not {tensor_info(match['residual'])}"
    return ""


def check_pool(match: Match) -> bool | str:
    """Return True if cuDNN can compute a pool, else the reason why not."""
    call = _call(match, "pool")
    for letter, window in windows_of(call).items():
        if window.gap != 1:
            return f"cuDNN's pools have no dilation, got {window.gap} along {letter}"
        if window.before >= window.taps:
            return f"padding {window.before} along {letter} is not smaller than the window of {window.taps}"
    if call.ceil_mode:
        return "cuDNN's windows do not extend past the end (ceil_mode)"
    return _refuse_elements(match) or _refuse_layouts(call) or _refuse_padding(call) or True


def check_softmax(match: Match) -> bool | str:
    """Return True if cuDNN can compute a softmax, else the reason why not."""
    info = tensor_info(match["data"])
    if not info.shape or len(info.shape) > _MOST_DIMENSIONS:
        return f"cuDNN needs a known rank of 1 to {_MOST_DIMENSIONS}, got {info}"
    return _refuse_elements(match) or True


def _is_last(call: Call) -> bool:
    return layouts_of(call)["data"].text.endswith("C")


_DATA = wildcard().named("data")
_CONVOLUTION = is_op(*CONVOLUTIONS)(_DATA, wildcard().named("weight")).named("product")
_SUM = is_op("relax.add")(_CONVOLUTION.used_inside_only(), wildcard().named("bias"))
_WHOLE = _SUM.optional(lambda y: is_op("relax.add")(y.used_inside_only(), wildcard().named("residual")))
_LAYER = _WHOLE.optional(lambda y: is_op("relax.nn.relu")(y.used_inside_only()).named("relu"))
ROWS = [
    PatternRow("cudnn.conv_bias", _LAYER, check_biased),
    PatternRow("cudnn.conv", _CONVOLUTION, check_convolution),
    PatternRow("cudnn.pool", is_op(*POOLS)(_DATA).named("pool"), check_pool),
    PatternRow("cudnn.softmax", is_op(*SOFTMAX)(_DATA).named("softmax"), check_softmax),
]


@register_codegen("cudnn")
class Cudnn(Codegen):
    """Codegen for operators of cuDNN, which only the machine that runs the program needs."""

    patterns = ROWS
    devices: ClassVar[tuple[str, ...]] = ("cuda",)
    separate: ClassVar[bool] = True
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "tf32": CodegenOption(
            "compute f32 convolutions on tensor cores, which read 10 bits of the fraction", bool, False
        )
    }

    def workspace(self, function: Operation) -> int:
        """Return the bytes for convolutions: cuDNN's faster algorithms store transformed data there. Else return 0."""
        part = operations_in(function.parent.operation)
        return WORKSPACE if any(op.name in CONVOLUTIONS for op in part) else 0

    def compile(self, module: object, options: Mapping[str, Any]) -> bytes:
        """Return the bytes of one step per function."""
        parts = self.steps(module)
        return packed("cudnn", {name: _step(part, options["tf32"]) for name, part in parts.items()})


def _step(part: Steps, tf32: bool) -> CudnnStep:
    """Return the step for a part's only match. The part's second output is the workspace."""
    found = part.steps[0]
    info = tensor_info(found.operations[0].operands[0])
    common = len(part.inputs), info.dtype, found["data"]
    if "softmax" in found:
        op = found.op("softmax")
        return CudnnStep(op.name.removeprefix("relax.nn."), *common, axis=op.axis % len(info.shape or ()))
    call = _call(found, "product" if "product" in found.names else "pool")
    step = CudnnStep(_kind(call), *common, channels_last=_is_last(call), windows=_windows(call))
    if step.kind != "convolution":
        return step
    return replace(
        step,
        weight=found["weight"],
        bias=found.get("bias"),
        residual=found.get("residual"),
        relu="relu" in found,
        groups=call.groups,
        tf32=tf32,
        workspace=len(part.outputs) > 1,
    )


def _kind(call: Call) -> str:
    name = call.definition.name
    if name.startswith("nn.conv"):
        return "convolution"
    if name.startswith("nn.max"):
        return "max"
    return "mean" if call.count_include_pad else "mean_inside"


def _windows(call: Call) -> list[Windows]:
    """Return the windows of a convolution or pool.

    The runtime takes a convolution's window sizes from the weight, so a dynamic size is 0 here.
    """
    values = windows_of(call).values()
    return [
        Windows(value.taps if isinstance(value.taps, int) else 0, value.stride, value.gap, value.before)
        for value in values
    ]
