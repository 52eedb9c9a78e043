# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searching, sorting and selecting."""

from __future__ import annotations

from ..core.attributes import Bool, DType, Int, Str
from .dialect import op
from .infer.search import (
    argsort,
    bucketize,
    clip,
    multinomial_from_uniform,
    nonzero,
    sort,
    topk,
    unique,
    where,
)

_ORDER = {"axis": Int(-1), "descending": Bool(False)}

op("where", "condition x1 x2", infer=where, doc="x1 where the condition is true, else x2; all are broadcast.")
op("clip", "x min:scalar max:scalar", infer=clip, doc="x, but not below min and not above max.")
op("sort", "data", attrs=_ORDER, infer=sort, doc="The elements in order along an axis.")
op("argsort", "data", attrs={**_ORDER, "dtype": DType("i32")}, infer=argsort,
   doc="The positions of the elements in their order along an axis.")  # fmt: skip
op("topk", "data",
   attrs={"k": Int(1, doc="how many; below 1: all"), "axis": Int(-1),
          "ret_type": Str("both", choices=("both", "values", "indices")),
          "largest": Bool(True, doc="else the smallest ones"),
          "dtype": DType("i32", doc="the element type of positions")},
   results="result indices?", infer=topk,
   doc="The k largest elements along an axis in order, and their positions.")  # fmt: skip
op("unique", "x sorted:scalar return_index:scalar return_inverse:scalar return_counts:scalar axis?:scalar",
   defaults={"sorted": True, "return_index": False, "return_inverse": False, "return_counts": False},
   results="values *others", infer=unique,
   doc="The unique elements, or slices along an axis; as constant flags ask, where they first are, which of "
       "them each element is, and how many there are of each.")  # fmt: skip
op("nonzero", "x", infer=nonzero, doc="Where elements are not zero: a row for each dimension.")
op("bucketize", "input_tensor boundaries",
   attrs={"out_int32": Bool(False, doc="positions as int32 instead of int64"),
          "right": Bool(False, doc="an element equal to a boundary goes into the bucket after it")},
   infer=bucketize, doc="Between which of the sorted boundaries each element lies.")  # fmt: skip
op("multinomial_from_uniform", "prob uniform_sample sample_indices", attrs={"dtype": DType("i64")},
   infer=multinomial_from_uniform,
   doc="For each uniform sample, the class it draws from the row of probabilities that its index names.")  # fmt: skip
