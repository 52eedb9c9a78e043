# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir, string_value
from ..core.attributes import AttributeProblem, AttrKind, Bool, Int, Ints, Str
from ..core.symbols import Size, SymbolError, SymExpr, parse
from .dialect import op
from .infer import indexing, scatter


def _bound(item: Any) -> Size:
    if isinstance(item, SymExpr):
        return item
    return parse(item) if isinstance(item, str) else Int().normalize(item)


class _Bounds(AttrKind):
    """Integers and expressions over symbols. In the IR plain integers unless there is an expression, as its text."""

    expects = "a list of integers and expressions over symbols"
    label = "bounds"
    hint = "Sequence[BoundLike]"

    def normalize(self, value: Any) -> tuple[Size, ...]:
        if isinstance(value, (bytes, str, SymExpr)) or not hasattr(value, "__iter__"):
            value = (value,)
        try:
            return tuple(_bound(item) for item in value)
        except SymbolError as error:
            raise AttributeProblem(f"expects {self.expects}: {error}") from None
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: tuple[Size, ...], context: Any) -> Any:
        if all(isinstance(bound, int) for bound in value):
            return Ints().encode(value, context)
        i64 = ir.IntegerType.get_signless(64, context)
        return ir.ArrayAttr.get(
            [
                ir.IntegerAttr.get(i64, bound) if isinstance(bound, int) else ir.StringAttr.get(str(bound), context)
                for bound in value
            ],
            context,
        )

    def decode(self, attribute: Any) -> tuple[Size, ...]:
        if not isinstance(attribute, ir.ArrayAttr):
            return Ints().decode(attribute)
        try:
            return tuple(
                parse(string_value(item)) if isinstance(item, ir.StringAttr) else Int().decode(item)
                for item in attribute
            )
        except (AttributeProblem, SymbolError, UnicodeDecodeError):
            raise self.refuse(attribute) from None


# ---- read ----
op("take", "x indices:tensor_or_scalar", attrs={"axis": Int(None, doc="absent: of the flattened tensor"),
   "mode": Str("fast", choices=("fast", "nan", "wrap", "clip"), doc="what an index out of bounds does")},
   infer=indexing.take, doc="The slices of x along an axis at the indices.")  # fmt: skip
op("strided_slice", "x", attrs={
   "axes": Ints(), "begin": _Bounds(), "end": _Bounds(doc="open: 2**63 - 1 or its negation"),
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
