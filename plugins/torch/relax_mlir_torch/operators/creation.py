# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that create tensors: constants, ranges, windows."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import is_float

from ..model_constants import constant
from ..prelude import Outputs, Tensor, TorchNode, cast, const, register_torch, relax, sizes


def _fill(node: TorchNode, value: Tensor) -> Tensor:
    return sizes.full(node.sizes_of_result, value)


@register_torch(
    "aten::zeros", "aten::zeros_like", "aten::new_zeros", "aten::empty", "aten::empty_like", "aten::new_empty",
    "aten::empty_strided", "aten::new_empty_strided", "aten::empty_permuted", "aten::zero",
    "aten::_efficientzerotensor",
)  # fmt: skip
def zeros(node: TorchNode) -> Outputs:
    """Return zeros, also for elements that torch leaves undefined."""
    return _fill(node, const(0, node.dtype))


@register_torch("aten::ones", "aten::ones_like", "aten::new_ones")
def ones(node: TorchNode) -> Outputs:
    return _fill(node, const(1, node.dtype))


@register_torch("aten::full", "aten::full_like", "aten::new_full")
def full(node: TorchNode) -> Outputs:
    return _fill(node, node.operand("fill_value", node.dtype))


@register_torch("aten::fill")
def fill(node: TorchNode) -> Outputs:
    return _fill(node, node.operand("value", node.dtype))


@register_torch("aten::scalar_tensor")
def scalar_tensor(node: TorchNode) -> Outputs:
    return node.operand(0, node.dtype)


@register_torch("aten::copy")
def copy(node: TorchNode) -> Outputs:
    """Return `src` in the type and shape of `self`."""
    return sizes.broadcast(node.tensor("src", node.dtype), node.sizes_of_result)


# ---- windows and ranges ----


@register_torch(
    "aten::bartlett_window", "aten::blackman_window", "aten::hamming_window", "aten::hann_window", "aten::kaiser_window"
)
def window(node: TorchNode) -> Outputs:
    """Return torch's own numbers. The length of a window is always known."""
    node.take_table("a window", node.int("window_length"))
    return constant(node.fx.target(*node.fx.args, **node.fx.kwargs), node.fx.name)


@register_torch("aten::arange")
def arange(node: TorchNode) -> Outputs:
    """Convert arange: `start + index * step`. Narrow floats are computed in f64. torch knows the length."""
    dtype = node.dtype
    start, step = node.get("start", 0), node.get("step", 1)
    (count,) = node.sizes_of_result
    if start == 0 and step == 1 and not is_float(dtype):
        return sizes.count_up(count, dtype)
    wide = "f64" if is_float(dtype) else "i64"
    start, step = (int(each) if isinstance(each, float) and wide == "i64" else each for each in (start, step))
    steps = sizes.count_up(count, wide)
    return cast(relax.add(relax.multiply(steps, sizes.as_scalar(step, wide)), sizes.as_scalar(start, wide)), dtype)


@register_torch("aten::linspace")
def linspace(node: TorchNode) -> Outputs:
    """Convert linspace as torch does: from the nearer end. For integers, the ends are integers."""
    (count,) = node.sizes_of_result
    start, end = (cast(cast(node.operand(name, "f64"), node.dtype), "f64") for name in ("start", "end"))
    steps = sizes.count_up(count, "f64")
    last = sizes.as_scalar(sizes.larger(sizes.minus(count, 1), 1), "f64")
    step = relax.divide(relax.subtract(end, start), last)
    from_start = relax.add(start, relax.multiply(steps, step))
    from_end = relax.subtract(end, relax.multiply(relax.subtract(last, steps), step))
    is_near_start = relax.less(steps, sizes.as_scalar(sizes.larger(sizes.divided(count, 2), 1), "f64"))
    return cast(relax.where(is_near_start, from_start, from_end), node.dtype)
