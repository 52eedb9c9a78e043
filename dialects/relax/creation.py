# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made from shapes and numbers."""

from __future__ import annotations

from typing import Any

from ..core.attributes import DType, Int
from .dialect import op
from .infer.creation import (
    arange,
    eye,
    eye_like,
    filled,
    full,
    full_like,
    hamming_window,
    like,
    one_hot,
    triangle,
)


def _from_zero(arguments: dict[str, Any]) -> dict[str, Any]:
    """`arange(end)` is `arange(0, end)`."""
    if arguments["end"] is None and "start" in arguments:
        return {**arguments, "start": 0, "end": arguments["start"]}
    return arguments


def _square(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "m": arguments.get("n")} if arguments["m"] is None else arguments


_AS_X = {"dtype": DType(None, doc="the result's element type; absent: as x")}

op("full", "shape:shape fill_value", attrs={"dtype": DType(None, doc="absent: as fill_value")}, infer=full,
   shaped_by="shape", doc="A tensor filled with the value of a 0-D tensor.")  # fmt: skip
op("full_like", "x fill_value", attrs=_AS_X, infer=full_like,
   doc="A tensor of x's shape, filled with the value of a 0-D tensor.")  # fmt: skip
op("ones", "shape:shape", attrs={"dtype": DType()}, infer=filled, shaped_by="shape", doc="A tensor filled with 1.")
op("ones_like", "x", attrs=_AS_X, infer=like, doc="A tensor of x's shape, filled with 1.")
op("zeros", "shape:shape", attrs={"dtype": DType()}, infer=filled, shaped_by="shape", doc="A tensor filled with 0.")
op("zeros_like", "x", attrs=_AS_X, infer=like, doc="A tensor of x's shape, filled with 0.")
op("arange", "start:scalar end:scalar step:scalar", defaults={"end": None, "step": 1}, prepare=_from_zero,
   attrs={"dtype": DType(None, doc="absent: int64 for integers, else float32")}, infer=arange,
   doc="Numbers from start up to before end in steps; `arange(n)` is `arange(0, n, 1)`.")  # fmt: skip
op("eye", "n:scalar m:scalar k:scalar", defaults={"m": None, "k": 0}, prepare=_square,
   attrs={"dtype": DType("f32")}, infer=eye,
   doc="An n x m matrix (n x n if m is left out) with 1 on the k-th diagonal and 0 elsewhere.")  # fmt: skip
op("eye_like", "x k:scalar", defaults={"k": 0}, attrs=_AS_X, infer=eye_like,
   doc="A matrix of x's shape with 1 on the k-th diagonal and 0 elsewhere.")  # fmt: skip
op("tril", "x k:scalar", defaults={"k": 0}, infer=triangle, doc="Matrices with 0 above the k-th diagonal.")
op("triu", "x k:scalar", defaults={"k": 0}, infer=triangle, doc="Matrices with 0 below the k-th diagonal.")
op("one_hot", "indices on_value:scalar off_value:scalar",
   attrs={"depth": Int(doc="the size of the new axis"), "axis": Int(-1, doc="where the new axis goes")},
   infer=one_hot, doc="Along a new axis, on_value at the place that the index names, else off_value.")  # fmt: skip
op("hamming_window", "window_size:scalar periodic:scalar alpha:scalar beta:scalar", attrs={"dtype": DType()},
   infer=hamming_window,
   doc="alpha - beta * cos(2 * pi * i / N); N is window_size if periodic, else one less.")  # fmt: skip
