# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting of steps that no single primitive computes, or not exactly, or not for some sizes."""

from __future__ import annotations

import math
from dataclasses import replace

from .description import Argument, PostOp, PrimitiveStep
from .library import library
from .plan_values import PlanValues

#: Instruction sets that sum products of bytes in 16 bits, which may overflow.
_NARROW_SUMS = ("sse41", "avx", "avx2", "avx512_core")
_QUANTIZING = ("src", "weights")
#: Results of poolings and reductions over no elements, by algorithm. Other steps give 0.
_EMPTY_RESULTS = {511: -math.inf, 196597: 1.0, 196598: math.nan}
_ADD = 131056


def split(builder: PlanValues, step: PrimitiveStep, fused: int) -> list[PrimitiveStep]:
    """Return the step with its first `fused` post-ops, and steps for the rest.

    The rest is the other post-ops, and a quantization of the result.
    """
    dims = builder.viewed_dims(step.result)[-1]
    dtype = "f32" if "dst" in step.quantized else builder.dtype(step.result)

    def value() -> Argument:
        return Argument(builder.new_value(dims, dtype))

    inner = {name: each for name, each in step.quantized.items() if name != "dst"}
    steps = [replace(step, result=value(), post_ops=step.post_ops[:fused], quantized=inner)]
    if fused < len(step.post_ops):
        steps.append(_post_op_step(step.post_ops[fused], steps[-1].result, value(), step.post_ops[fused + 1 :]))
    if "dst" in step.quantized:
        quantized = {"dst": step.quantized["dst"]}
        steps.append(PrimitiveStep("reorder", {"src": steps[-1].result}, step.result, quantized=quantized))
    else:
        steps[-1] = replace(steps[-1], result=step.result)
    return steps


def _post_op_step(post_op: PostOp, source: Argument, result: Argument, post_ops: tuple[PostOp, ...]) -> PrimitiveStep:
    """Return a step that computes a post-op, followed by further post-ops."""
    if post_op.other is not None:
        attributes = {"algorithm": post_op.algorithm}
        return PrimitiveStep("binary", {"src": source, "src1": post_op.other}, result, attributes, post_ops)
    numbers = {"algorithm": post_op.algorithm, "alpha": post_op.alpha, "beta": post_op.beta}
    return PrimitiveStep("eltwise", {"src": source}, result, numbers, post_ops)


def is_exact(step: PrimitiveStep) -> bool:
    """Check whether this machine sums the step's products of bytes without overflow."""
    return step.attributes["is_narrow"] or library().instructions not in _NARROW_SUMS


def split_to_floats(builder: PlanValues, step: PrimitiveStep) -> list[PrimitiveStep]:
    """Return steps that dequantize the arguments, compute in floats, and quantize the result if it is quantized."""
    steps, arguments = [], dict(step.arguments)
    for name in _QUANTIZING:
        dims = builder.viewed_dims(step.arguments[name])[-1]
        arguments[name] = Argument(builder.new_value(dims, "f32"))
        scales = {"src": step.quantized[name]}
        steps.append(PrimitiveStep("reorder", {"src": step.arguments[name]}, arguments[name], quantized=scales))
    result = {name: each for name, each in step.quantized.items() if name == "dst"}
    whole = replace(step, arguments=arguments, quantized=result)
    return [*steps, *(split(builder, whole, len(step.post_ops)) if result else [whole])]


def split_empty(builder: PlanValues, step: PrimitiveStep) -> list[PrimitiveStep]:
    """Return the steps of a step on empty operands: the result is one number, plus the bias, then the post-ops."""
    if step.post_ops or "dst" in step.quantized:
        return split(builder, step, 0)
    dims = builder.viewed_dims(step.result)[-1]
    number = _EMPTY_RESULTS.get(step.attributes.get("algorithm", 0), 0.0)
    constant = Argument(builder.filled(dims, builder.dtype(step.result), number))
    if "bias" not in step.arguments:
        return [PrimitiveStep("view", {"src": constant}, step.result)]
    channel = 1 if "convolution" in step.kind else len(dims) - 1
    sizes = tuple(size if axis == channel else 1 for axis, size in enumerate(dims))
    bias = step.arguments["bias"]
    added = Argument(bias.value, (*bias.views, ("reshape", sizes)))
    return [PrimitiveStep("binary", {"src": constant, "src1": added}, step.result, {"algorithm": _ADD})]


def split_single_elements(builder: PlanValues, step: PrimitiveStep) -> list[PrimitiveStep]:
    """Return the steps of a reduction over single elements: a view of the elements, then the post-ops."""
    view = replace(step, kind="view")
    return split(builder, view, 0) if step.post_ops else [view]
