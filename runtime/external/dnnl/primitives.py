# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of step as oneDNN's description of a primitive, for given layouts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .description import Step
from .library import library
from .objects import (
    BIAS,
    DST,
    MEAN,
    PART,
    SCALE,
    SHIFT,
    SRC,
    SRC_1,
    VARIANCE,
    WEIGHTS,
    Attributes,
    Description,
    Layout,
    numbers,
)

#: What steps call arguments, as oneDNN numbers them.
ARGUMENTS = {"src": SRC, "src1": SRC_1, "dst": DST, "weights": WEIGHTS, "bias": BIAS,
             "mean": MEAN, "variance": VARIANCE, "scale": SCALE, "shift": SHIFT,
             **{f"part{number}": PART + number for number in range(64)}}  # fmt: skip
_INFERENCE = 96
_DIRECT, _TRANSPOSED_DIRECT = 1, 10
_GIVEN_STATISTICS, _USE_SCALE, _USE_SHIFT = 1, 2, 4

Layouts = Mapping[str, Layout]


class PrimitiveKind(NamedTuple):
    """What a kind of primitive is made by, and what it may choose the layouts of."""

    describe: Callable[[Step, Layouts, Attributes], Description]
    free: frozenset[str] = frozenset({"dst"})
    #: Arguments that have to be row-major.
    plain: frozenset[str] = frozenset()


def _handle(layouts: Layouts, name: str) -> int | None:
    return layouts[name].handle if name in layouts else None


def _padding_after(sizes: Sequence[int], reached: Sequence[int], step: Step) -> list[int]:
    """As much as the last window needs; `reached` windows slide over `sizes`, or are spread from the others."""
    taps, strides, gaps, before = (step.attributes[name] for name in ("taps", "strides", "dilation", "before"))
    columns = zip(sizes, reached, taps, strides, gaps, before, strict=True)
    return [(count - 1) * stride + (tap - 1) * gap + 1 - size - pad for size, count, tap, stride, gap, pad in columns]


def _windows(step: Step, *names: str) -> list[ctypes.Array[ctypes.c_int64]]:
    """Windows' attributes; oneDNN counts what is between taps, not from one to the next."""
    attributes = {**step.attributes, "dilation": [gap - 1 for gap in step.attributes["dilation"]]}
    return [numbers(attributes[name]) for name in names]


def _convolution(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    needed = _padding_after(layouts["src"].dims[2:], layouts["dst"].dims[2:], step)
    after = numbers([max(each, 0) for each in needed])
    return _convolved("convolution_forward", _DIRECT, step, layouts, after, attributes)


def _deconvolution(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    after = numbers(_padding_after(layouts["dst"].dims[2:], layouts["src"].dims[2:], step))
    return _convolved("deconvolution_forward", _TRANSPOSED_DIRECT, step, layouts, after, attributes)


def _convolved(
    name: str, algorithm: int, step: Step, layouts: Layouts, after: ctypes.Array[ctypes.c_int64], attributes: Attributes
) -> Description:
    handles = [_handle(layouts, each) for each in ("src", "weights", "bias", "dst")]
    windows = _windows(step, "strides", "dilation", "before")
    return Description(name, library().engine, _INFERENCE, algorithm, *handles, *windows, after, attributes.handle)


def _inner_product(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    handles = [_handle(layouts, each) for each in ("src", "weights", "bias", "dst")]
    return Description("inner_product_forward", library().engine, _INFERENCE, *handles, attributes.handle)


def _matmul(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    handles = [_handle(layouts, each) for each in ("src", "weights", "bias", "dst")]
    return Description("matmul", library().engine, *handles, attributes.handle)


def _pooling(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    needed = _padding_after(layouts["src"].dims[2:], layouts["dst"].dims[2:], step)
    after = numbers([max(each, 0) for each in needed])
    ends = layouts["src"].handle, layouts["dst"].handle
    windows = _windows(step, "strides", "taps", "dilation", "before")
    algorithm = step.attributes["algorithm"]
    return Description(
        "pooling_forward", library().engine, _INFERENCE, algorithm, *ends, *windows, after, attributes.handle
    )


def _flags(step: Step) -> int:
    uses = {"scale": _USE_SCALE, "shift": _USE_SHIFT, "mean": _GIVEN_STATISTICS}
    return sum(flag for name, flag in uses.items() if name in step.arguments)


def _batch_norm(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    ends = layouts["src"].handle, layouts["dst"].handle
    parameters = step.attributes["epsilon"], _flags(step), attributes.handle
    return Description("batch_normalization_forward", library().engine, _INFERENCE, *ends, *parameters)


def _layer_norm(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    ends = layouts["src"].handle, layouts["dst"].handle, None
    parameters = step.attributes["epsilon"], _flags(step), attributes.handle
    return Description("layer_normalization_forward", library().engine, _INFERENCE, *ends, *parameters)


def _softmax(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    ends = layouts["src"].handle, layouts["dst"].handle
    parameters = step.attributes["axis"], attributes.handle
    return Description(
        "softmax_forward", library().engine, _INFERENCE, step.attributes["algorithm"], *ends, *parameters
    )


def _eltwise(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    algorithm, alpha, beta = (step.attributes[name] for name in ("algorithm", "alpha", "beta"))
    ends = layouts["src"].handle, layouts["dst"].handle
    return Description(
        "eltwise_forward", library().engine, _INFERENCE, algorithm, *ends, alpha, beta, attributes.handle
    )


def _binary(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    handles = [layouts[name].handle for name in ("src", "src1", "dst")]
    return Description("binary", library().engine, step.attributes["algorithm"], *handles, attributes.handle)


def _reduction(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    ends = layouts["src"].handle, layouts["dst"].handle
    return Description("reduction", library().engine, step.attributes["algorithm"], *ends, 0.0, 0.0, attributes.handle)


def _prelu(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    handles = [layouts[name].handle for name in ("src", "weights", "dst")]
    return Description("prelu_forward", library().engine, _INFERENCE, *handles, attributes.handle)


def _resampling(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    ends = None, layouts["src"].handle, layouts["dst"].handle
    return Description(
        "resampling_forward", library().engine, _INFERENCE, step.attributes["algorithm"], *ends, attributes.handle
    )


def _concat(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    parts = [layouts[name].handle for name in step.arguments]
    parameters = len(parts), step.attributes["axis"], (ctypes.c_void_p * len(parts))(*parts)
    return Description("concat", library().engine, layouts["dst"].handle, *parameters, attributes.handle)


def _reorder(step: Step, layouts: Layouts, attributes: Attributes) -> Description:
    return reordering(layouts["src"], layouts["dst"], attributes)


def reordering(source: Layout, result: Layout, attributes: Attributes) -> Description:
    engine = library().engine
    return Description("reorder", source.handle, engine, result.handle, engine, attributes.handle)


_ALL = frozenset({"src", "weights", "dst"})
_PARAMETERS = frozenset({"mean", "variance", "scale", "shift", "bias"})
KINDS = {
    "convolution": PrimitiveKind(_convolution, _ALL, _PARAMETERS),
    "deconvolution": PrimitiveKind(_deconvolution, _ALL, _PARAMETERS),
    "inner_product": PrimitiveKind(_inner_product, frozenset({"weights", "dst"}), _PARAMETERS),
    "matmul": PrimitiveKind(_matmul, plain=_PARAMETERS),
    "pooling": PrimitiveKind(_pooling),
    "batch_norm": PrimitiveKind(_batch_norm, plain=_PARAMETERS),
    "layer_norm": PrimitiveKind(_layer_norm, plain=_PARAMETERS | {"src"}),
    "softmax": PrimitiveKind(_softmax),
    "eltwise": PrimitiveKind(_eltwise),
    "binary": PrimitiveKind(_binary),
    "reduction": PrimitiveKind(_reduction),
    "prelu": PrimitiveKind(_prelu, plain=frozenset({"weights"})),
    "resampling": PrimitiveKind(_resampling),
    "concat": PrimitiveKind(_concat),
    "reorder": PrimitiveKind(_reorder, frozenset(), frozenset({"dst"})),
}
