# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes and scans along one."""

from __future__ import annotations

from ..core.attributes import Bool, DType, Int, Ints
from .dialect import op
from .infer.reduction import any_reduction, median, number_reduction, position_reduction, scan

_KEEPDIMS = Bool(False, doc="keep reduced dimensions, with size 1")
_AXES = {"axis": Ints(None, doc="the axes to reduce; absent: all of them"), "keepdims": _KEEPDIMS}
_AXIS = {"axis": Int(None, doc="the axis to search; absent: the flattened tensor"), "keepdims": _KEEPDIMS}
_SCAN = {
    "axis": Int(None, doc="the axis to go along; absent: the flattened tensor"),
    "dtype": DType(None, doc="the result's element type; absent: as data"),
    "exclusive": Bool(False, doc="leave each element out of its own result"),
}

op("sum", "x", attrs=_AXES, infer=any_reduction, doc="The sum over axes; of booleans, whether any is true.")
op("prod", "x", attrs=_AXES, infer=any_reduction, doc="The product over axes; of booleans, whether all are.")
op("max", "x", attrs=_AXES, infer=any_reduction, doc="The largest element over axes.")
op("min", "x", attrs=_AXES, infer=any_reduction, doc="The smallest element over axes.")
op("mean", "x", attrs=_AXES, infer=number_reduction, doc="The mean over axes, of x's element type.")
op("std", "x", attrs=_AXES, infer=number_reduction, doc="The square root of the variance over axes.")
op(
    "variance",
    "x",
    attrs=_AXES,
    infer=number_reduction,
    doc="The mean squared distance to the mean over axes.",
)
op("median", "data", attrs=_AXES, results="values indices?", infer=median,
   doc="The median over axes (the lower of two); over one axis also where it is, as int64.")  # fmt: skip
op("argmax", "x", attrs=_AXIS, infer=position_reduction, doc="Where the first largest element is, as int64.")
op("argmin", "x", attrs=_AXIS, infer=position_reduction, doc="Where the first smallest element is, as int64.")
op("cumsum", "data", attrs=_SCAN, infer=scan, doc="The sum of each element and all before it.")
op("cumprod", "data", attrs=_SCAN, infer=scan, doc="The product of each element and all before it.")
