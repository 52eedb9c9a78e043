# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices."""

from __future__ import annotations

from ..core.attributes import Bool, Int, Ints, Str
from .dialect import op
from .infer import indexing, scatter

# ---- read ----
op("take", "x indices:any", attrs={"axis": Int(None, doc="absent: of the flattened tensor"),
   "mode": Str("fast", choices=("fast", "nan", "wrap", "clip"), doc="what an index out of bounds does")},
   infer=indexing.take, doc="The slices of x along an axis at the indices.")  # fmt: skip
op("strided_slice", "x", attrs={"axes": Ints(), "begin": Ints(), "end": Ints(doc="open: 2**63 - 1 or its negation"),
   "strides": Ints(None, doc="absent: all 1"), "assume_inbound": Bool(False, doc="no bound lies outside")},
   infer=indexing.strided_slice, doc="x[begin:end:strides] along the named axes, by Python's rules.")  # fmt: skip
op("dynamic_strided_slice", "x begin end strides", infer=indexing.dynamic_strided_slice,
   doc="x[begin:end:strides] with bounds and strides known at run time only, one for each dimension.")  # fmt: skip
op("gather_elements", "data indices", attrs={"axis": Int(0)}, infer=indexing.gather_elements,
   doc="At each place the element whose index along the axis stands there.")  # fmt: skip
op("gather_nd", "data indices", attrs={"batch_dims": Int(0)}, infer=indexing.gather_nd,
   doc="The elements or slices at the index tuples in the last dimension of indices.")  # fmt: skip
op("index_tensor", "data *indices", infer=indexing.index_tensor, doc="data[indices[0], indices[1], ...].")
op("reverse_sequence", "data seq_lengths", attrs={"seq_axis": Int(1), "batch_axis": Int(0)},
   infer=indexing.reverse_sequence, doc="Reverses the first seq_lengths elements of each batch.")  # fmt: skip

# ---- write ----
op("index_put", "data *indices values", attrs={"accumulate": Bool(False, doc="add instead of replacing")},
   infer=scatter.index_put, doc="data with data[indices[0], indices[1], ...] = values.")  # fmt: skip
op("scatter_elements", "data indices updates", attrs={"axis": Int(0),
   "reduction": Str("update", choices=("update", "add", "mul", "mean", "max", "min"))}, infer=scatter.scatter_elements,
   doc="data with each update at the place whose index along the axis stands there.")  # fmt: skip
op("scatter_nd", "data indices updates", attrs={
   "reduction": Str("update", choices=("update", "add", "mul", "max", "min"))}, infer=scatter.scatter_nd,
   doc="data with updates at the index tuples in the last dimension of indices.")  # fmt: skip
op("slice_scatter", "input src start:scalar end:scalar step:scalar", attrs={"axis": Int(0)},
   infer=scatter.slice_scatter, doc="input with input[start:end:step] along the axis = src.")  # fmt: skip
