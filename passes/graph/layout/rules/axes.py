# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout rules of operators that work along axes. Their axis attributes follow the layout."""

from __future__ import annotations

from .....dialects.relax.infer.layouts import Layout
from ..call import LayoutCall, Placement
from ..registry import register_layout
from ..relations import reduced

# ---- one axis ----


@register_layout(["relax.nn.softmax", "relax.nn.log_softmax", "relax.sort", "relax.argsort", "relax.topk"])
@register_layout(["relax.flip", "relax.repeat", "relax.cumsum", "relax.cumprod"])
@register_layout(["relax.gather_elements", "relax.scatter_elements", "relax.nn.prelu"])
def along_axis(call: LayoutCall, layout: Layout) -> Placement | None:
    axis = None if call.axis is None else layout.place(call.axis)
    return None if axis is None else call.follow(layout, axis=axis)


@register_layout(["relax.quantize", "relax.dequantize", "relax.requantize"])
def quantization(call: LayoutCall, layout: Layout) -> Placement | None:
    """Follow the layout. Single parameters make the axis irrelevant."""
    shapes = [info.shape for name, info in call.inferred.operands.items() if name != "data"]
    return call.follow(layout, axis=0) if all(shape in ((), (1,)) for shape in shapes) else along_axis(call, layout)


@register_layout(["relax.argmax", "relax.argmin"])
def position_along_axis(call: LayoutCall, layout: Layout) -> Placement | None:
    axis = None if call.axis is None else layout.place(call.axis)
    if axis is None:
        return None
    return call.placed({"x": layout}, reduced(layout, [call.axis], call.keepdims), axis=axis)


@register_layout("relax.reverse_sequence")
def reverse_sequence(call: LayoutCall, layout: Layout) -> Placement | None:
    axes = layout.places([call.seq_axis, call.batch_axis])
    return None if axes is None else call.follow(layout, seq_axis=axes[0], batch_axis=axes[1])


# ---- reductions ----


@register_layout([f"relax.{name}" for name in ("sum", "prod", "mean", "std", "variance")])
def rounding_reduction(call: LayoutCall, layout: Layout) -> Placement | None:
    """Reduce over whole dimensions. Blocks differ between CPUs, and with them the order and the bits of a sum."""
    axes = range(layout.rank) if call.axis is None else call.axis
    return None if layout.places(axes) is None else reduction(call, layout)


@register_layout(["relax.max", "relax.min"])
def reduction(call: LayoutCall, layout: Layout) -> Placement:
    """Reduce over all axes of each dimension, blocks included."""
    axes = range(layout.rank) if call.axis is None else call.axis
    left = reduced(layout, axes, call.keepdims)
    return call.placed({"x": layout}, left, axis=call.axis if call.axis is None else layout.axes_of(axes))


# ---- norms ----


@register_layout("relax.nn.batch_norm")
def batch_norm(call: LayoutCall, layout: Layout) -> Placement | None:
    axis = layout.place(call.axis)
    return None if axis is None else call.placed({"data": layout}, [layout, None, None], axis=axis)


@register_layout(["relax.nn.layer_norm", "relax.nn.rms_norm"])
def layer_norm(call: LayoutCall, layout: Layout) -> Placement | None:
    """Follow the layout. The parameters keep the order in which the attribute names the axes."""
    axes = layout.places(call.axes)
    return None if axes is None else call.placed({"data": layout}, layout, axes=axes)


@register_layout(["relax.nn.group_norm", "relax.nn.instance_norm"])
def channel_norm(call: LayoutCall, layout: Layout) -> Placement | None:
    if (channels := layout.place(call.channel_axis)) is None:
        return None
    return call.placed({"data": layout}, layout, channel_axis=channels, axes=layout.axes_of(call.axes))
