# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptions of primitives in oneDNN for each kind of step and the layouts of its arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .description import PrimitiveStep
from .library import library
from .objects import ARGUMENTS, Attributes, Layout, PrimitiveDescription, numbers

_GIVEN_STATISTICS, _USE_SCALE, _USE_SHIFT = 1, 2, 4
#: Forward inference, algorithms of convolutions, and unused parameters.
_NUMBERS = {"inference": 96, "direct": 1, "transposed": 10, "zero": 0.0, "none": None}

Layouts = Mapping[str, Layout]


class PrimitiveKind(NamedTuple):
    """Kind of primitive: oneDNN's name, and the parameters of its description, before the attributes."""

    name: str
    arguments: str
    #: Arguments with layouts that oneDNN may choose.
    free: frozenset[str] = frozenset({"dst"})
    #: Arguments that must be row-major.
    plain: frozenset[str] = frozenset()

    def describe(self, step: PrimitiveStep, layouts: Layouts, attributes: Attributes) -> PrimitiveDescription:
        """Describe the primitive of a step for these layouts. Raise DnnlError if oneDNN has no such primitive."""
        arguments = (_argument(word, step, layouts) for word in self.arguments.split())
        return PrimitiveDescription(self.name, *arguments, attributes.handle)


def _argument(word: str, step: PrimitiveStep, layouts: Layouts) -> object:
    """Return the argument for a parameter: a number, a layout, a computed value, or an attribute of the step."""
    if word in _NUMBERS:
        return _NUMBERS[word]
    if word in ARGUMENTS:
        return layouts[word].handle if word in layouts else None
    if word in _COMPUTED:
        return _COMPUTED[word](step, layouts)
    found = step.attributes[word]
    return numbers(found) if isinstance(found, (list, tuple)) else found


def _padding_after(step: PrimitiveStep, over: Layout, windows: Layout) -> list[int]:
    """Return the padding at the end of each dimension, up to the end of the last window.

    Windows slide over a tensor with the layout `over`. A tensor with the layout `windows` has one element per window.
    """
    taps, strides, gaps, before = (step.attributes[name] for name in ("taps", "strides", "dilation", "before"))
    columns = zip(over.dims[2:], windows.dims[2:], taps, strides, gaps, before, strict=True)
    return [(count - 1) * stride + (tap - 1) * gap + 1 - size - pad for size, count, tap, stride, gap, pad in columns]


def _compute_padding(step: PrimitiveStep, layouts: Layouts) -> ctypes.Array[ctypes.c_int64]:
    return numbers([max(number, 0) for number in _padding_after(step, layouts["src"], layouts["dst"])])


def _parts(step: PrimitiveStep, layouts: Layouts) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(step.arguments))(*(layouts[name].handle for name in step.arguments))


def _flags(step: PrimitiveStep, layouts: Layouts) -> int:
    uses = {"scale": _USE_SCALE, "shift": _USE_SHIFT, "mean": _GIVEN_STATISTICS}
    return sum(flag for name, flag in uses.items() if name in step.arguments)


_COMPUTED: Mapping[str, Callable[[PrimitiveStep, Layouts], object]] = {
    "engine": lambda step, layouts: library().engine,
    # oneDNN's dilation counts the elements between taps, not the distance from tap to tap.
    "gaps": lambda step, layouts: numbers([gap - 1 for gap in step.attributes["dilation"]]),
    "after": _compute_padding,
    "spread": lambda step, layouts: numbers(_padding_after(step, layouts["dst"], layouts["src"])),
    "flags": _flags,
    "parts": _parts,
    "count": lambda step, layouts: len(step.arguments),
}


def reordering(source: Layout, result: Layout, attributes: Attributes) -> PrimitiveDescription:
    engine = library().engine
    return PrimitiveDescription("reorder", source.handle, engine, result.handle, engine, attributes.handle)


_ALL = frozenset({"src", "weights", "dst"})
_PARAMETERS = frozenset({"mean", "variance", "scale", "shift", "bias"})
_PRODUCT, _WINDOWS = "src weights bias dst", "strides gaps before"
# fmt: off
#: Kinds of primitives by the kinds of steps.
KINDS = {
    "convolution": PrimitiveKind(
        "convolution_forward", f"engine inference direct {_PRODUCT} {_WINDOWS} after", _ALL, _PARAMETERS),
    "deconvolution": PrimitiveKind(
        "deconvolution_forward", f"engine inference transposed {_PRODUCT} {_WINDOWS} spread", _ALL, _PARAMETERS),
    "inner_product": PrimitiveKind(
        "inner_product_forward", f"engine inference {_PRODUCT}", frozenset({"weights", "dst"}), _PARAMETERS),
    "matmul": PrimitiveKind("matmul", f"engine {_PRODUCT}", plain=_PARAMETERS),
    "pooling": PrimitiveKind("pooling_forward", "engine inference algorithm src dst strides taps gaps before after"),
    "batch_norm": PrimitiveKind(
        "batch_normalization_forward", "engine inference src dst epsilon flags", plain=_PARAMETERS),
    "layer_norm": PrimitiveKind(
        "layer_normalization_forward", "engine inference src dst none epsilon flags", plain=_PARAMETERS | {"src"}),
    "softmax": PrimitiveKind("softmax_forward", "engine inference algorithm src dst axis"),
    "eltwise": PrimitiveKind("eltwise_forward", "engine inference algorithm src dst alpha beta"),
    "binary": PrimitiveKind("binary", "engine algorithm src src1 dst"),
    "reduction": PrimitiveKind("reduction", "engine algorithm src dst zero zero"),
    "prelu": PrimitiveKind("prelu_forward", "engine inference src weights dst", plain=frozenset({"weights"})),
    "resampling": PrimitiveKind("resampling_forward", "engine inference algorithm none src dst"),
    "concat": PrimitiveKind("concat", "engine dst count axis parts"),
    "reorder": PrimitiveKind("reorder", "src engine dst engine", frozenset(), frozenset({"dst"})),
}
