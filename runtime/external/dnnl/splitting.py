# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that oneDNN does not do at once, not exactly, or not for some sizes, as several."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from .description import Argument, PostOp, Step
from .library import library

if TYPE_CHECKING:
    from .plan_builder import Builder

#: Instruction sets whose products of bytes are summed in 16 bits, which overflow.
_NARROW_SUMS = ("sse41", "avx", "avx2", "avx512_core")
_QUANTIZING = ("src", "weights")
#: What poolings and reductions give of no elements, by their algorithms; everything else gives 0.
_OF_NONE = {511: -math.inf, 196597: 1.0, 196598: math.nan}
_ADD = 131056


def split(builder: Builder, step: Step, fused: int) -> list[Step]:
    """The step with its first `fused` post-ops, then what is left of them, then a quantization of the result."""
    dims = builder.viewed_dims(step.result)[-1]
    dtype = "f32" if "dst" in step.quantized else builder.dtype(step.result)

    def value() -> Argument:
        return Argument(builder.new_value(dims, dtype))

    inner = {name: each for name, each in step.quantized.items() if name != "dst"}
    steps = [replace(step, result=value(), post_ops=step.post_ops[:fused], quantized=inner)]
    if fused < len(step.post_ops):
        steps.append(_alone(step.post_ops[fused], steps[-1].result, value(), step.post_ops[fused + 1 :]))
    if "dst" in step.quantized:
        quantized = {"dst": step.quantized["dst"]}
        steps.append(Step("reorder", {"src": steps[-1].result}, step.result, quantized=quantized))
    else:
        steps[-1] = replace(steps[-1], result=step.result)
    return steps


def _alone(post_op: PostOp, source: Argument, result: Argument, post_ops: tuple[PostOp, ...]) -> Step:
    """A post-op as a primitive."""
    if post_op.other is not None:
        attributes = {"algorithm": post_op.algorithm}
        return Step("binary", {"src": source, "src1": post_op.other}, result, attributes, post_ops)
    numbers = {"algorithm": post_op.algorithm, "alpha": post_op.alpha, "beta": post_op.beta}
    return Step("eltwise", {"src": source}, result, numbers, post_ops)


def is_exact(step: Step) -> bool:
    """Whether this machine sums the products of bytes without overflow."""
    return step.attributes["is_narrow"] or library().instructions not in _NARROW_SUMS


def in_floats(builder: Builder, step: Step) -> list[Step]:
    """The step on floats, what it reads dequantized before, what it gives quantized afterwards."""
    steps, arguments = [], dict(step.arguments)
    for name in _QUANTIZING:
        dims = builder.viewed_dims(step.arguments[name])[-1]
        arguments[name] = Argument(builder.new_value(dims, "f32"))
        scales = {"src": step.quantized[name]}
        steps.append(Step("reorder", {"src": step.arguments[name]}, arguments[name], quantized=scales))
    result = {name: each for name, each in step.quantized.items() if name == "dst"}
    whole = replace(step, arguments=arguments, quantized=result)
    return [*steps, *(split(builder, whole, len(step.post_ops)) if result else [whole])]


def of_none(builder: Builder, step: Step) -> list[Step]:
    """A step that reads no elements and gives some: a number, then the bias and what follows."""
    if step.post_ops or "dst" in step.quantized:
        return split(builder, step, 0)
    dims = builder.viewed_dims(step.result)[-1]
    number = _OF_NONE.get(step.attributes.get("algorithm", 0), 0.0)
    made = Argument(builder.filled(dims, builder.dtype(step.result), number))
    if "bias" not in step.arguments:
        return [Step("view", {"src": made}, step.result)]
    channel = 1 if "convolution" in step.kind else len(dims) - 1
    sizes = tuple(size if axis == channel else 1 for axis, size in enumerate(dims))
    bias = step.arguments["bias"]
    added = Argument(bias.value, (*bias.views, ("reshape", sizes)))
    return [Step("binary", {"src": made, "src1": added}, step.result, {"algorithm": _ADD})]


def of_one(builder: Builder, step: Step) -> list[Step]:
    """A reduction of one element each: the element, and what follows."""
    seen = replace(step, kind="view")
    return split(builder, seen, 0) if step.post_ops else [seen]
