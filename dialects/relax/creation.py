# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made from shapes and numbers."""

from __future__ import annotations

from ..core.attributes import DType, Int
from .dialect import op
from .infer.creation import arange, eye, eye_like, filled, full, full_like, hamming_window, like, one_hot, triangle

_AS_X = {"dtype": DType(None, doc="the result's element type; absent: as x")}

op("full", "shape:shape fill_value", attrs={"dtype": DType(None, doc="absent: as fill_value")}, infer=full,
   doc="A tensor filled with the value of a 0-D tensor.")  # fmt: skip
op("full_like", "x fill_value", attrs=_AS_X, infer=full_like,
   doc="A tensor of x's shape, filled with the value of a 0-D tensor.")  # fmt: skip
op("ones", "shape:shape", attrs={"dtype": DType()}, infer=filled, doc="A tensor filled with 1.")
op("ones_like", "x", attrs=_AS_X, infer=like, doc="A tensor of x's shape, filled with 1.")
op("zeros", "shape:shape", attrs={"dtype": DType()}, infer=filled, doc="A tensor filled with 0.")
op("zeros_like", "x", attrs=_AS_X, infer=like, doc="A tensor of x's shape, filled with 0.")
op("arange", "start:scalar end?:scalar step?:scalar",
   attrs={"dtype": DType(None, doc="absent: int64 for integers, else float32")}, infer=arange,
   doc="From start up to before end in steps (1 if absent); without an end, from 0 up to before start.")  # fmt: skip
op("eye", "n:scalar m?:scalar k?:scalar", attrs={"dtype": DType("f32")}, infer=eye,
   doc="An n x m matrix (m is n if absent) with 1 on the k-th diagonal (0 if absent) and 0 elsewhere.")  # fmt: skip
op("eye_like", "x k?:scalar", attrs=_AS_X, infer=eye_like,
   doc="A matrix of x's shape with 1 on the k-th diagonal (0 if absent) and 0 elsewhere.")  # fmt: skip
op("tril", "x k?:scalar", infer=triangle,
   doc="Matrices with 0 above the k-th diagonal (0, the main one, if absent).")  # fmt: skip
op("triu", "x k?:scalar", infer=triangle,
   doc="Matrices with 0 below the k-th diagonal (0, the main one, if absent).")  # fmt: skip
op("one_hot", "indices on_value:scalar off_value:scalar",
   attrs={"depth": Int(doc="the size of the new axis"), "axis": Int(-1, doc="where the new axis goes")},
   infer=one_hot, doc="on_value at the place that each index names along a new axis, off_value elsewhere.")  # fmt: skip
op("hamming_window", "window_size:scalar periodic:scalar alpha:scalar beta:scalar", attrs={"dtype": DType()},
   infer=hamming_window, doc="The window alpha - beta * cos(2 * pi * i / N), N one smaller unless periodic.")  # fmt: skip
