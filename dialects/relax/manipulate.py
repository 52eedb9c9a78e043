# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that change the shape of tensors, move their elements, or join them."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, Int, Ints, Number, Str
from .dialect import op
from .infer import joining, manipulate
from .infer.index_map import IndexMap, layout_transform
from .infer.reshape import flatten, reshape, resolve_new_shape


class _IndicesOrSections(AttrKind):
    """An integer or a list of integers: what it is stays what it is."""

    expects = "an integer or a list of integers"
    label = "int or ints"

    def normalize(self, value: Any) -> int | tuple[int, ...]:
        try:
            return (Ints() if hasattr(value, "__iter__") else Int()).normalize(value)
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: int | tuple[int, ...], context: Any) -> Any:
        return Int().encode(value, context) if isinstance(value, int) else Ints().encode(value, context)

    def decode(self, attribute: Any) -> int | tuple[int, ...]:
        try:
            return (Int() if isinstance(attribute, ir.IntegerAttr) else Ints()).decode(attribute)
        except AttributeProblem:
            raise self.refuse(attribute) from None


# ---- shape ----
op("reshape", "x shape:shape", infer=reshape, prepare=resolve_new_shape, view="x", shaped_by="shape",
   doc="The same elements under a new shape. In a Python shape, one -1 is inferred and 0 copies a size.")  # fmt: skip
op("flatten", "x", infer=flatten, view="x", doc="The elements in row-major order as one dimension.")
op("expand_dims", "x", attrs={"axis": Ints(doc="where they stand in the result")}, infer=manipulate.expand_dims,
   view="x", doc="New dimensions of size 1.")  # fmt: skip
op("squeeze", "x", attrs={"axis": Ints(None, doc="absent: all of size 1")}, infer=manipulate.squeeze, view="x",
   doc="Without dimensions of size 1. An axis of another size is refused, as numpy and ONNX do.")  # fmt: skip
op("broadcast_to", "x shape:shape", infer=manipulate.broadcast_to, shaped_by="shape",
   doc="Copies along dimensions of size 1.")  # fmt: skip
op("collapse_sum_like", "data collapse_target", infer=manipulate.collapse_sum_like,
   doc="Sums over the dimensions that a broadcast from collapse_target's shape to data's made.")  # fmt: skip
op("collapse_sum_to", "data shape:shape", infer=manipulate.collapse_sum_to, shaped_by="shape",
   doc="Sums over the dimensions that a broadcast from the shape to data's made.")  # fmt: skip

# ---- order ----
op("permute_dims", "x", attrs={"axes": Ints(None, doc="absent: reversed")}, infer=manipulate.permute_dims,
   doc="The dimensions in another order.")  # fmt: skip
op("flip", "data", attrs={"axis": Int()}, infer=manipulate.flip, doc="The elements along an axis in reversed order.")
op("layout_transform", "x", attrs={"index_map": IndexMap(doc="from old indices to new ones"),
   "pad_value": Number(None, doc="absent: any")}, infer=layout_transform,
   doc="Each element at the place that the map gives for its indices; other places are padding.")  # fmt: skip

# ---- copies ----
op("repeat", "data", attrs={"repeats": Int(), "axis": Int(None, doc="absent: of the flattened tensor")},
   infer=manipulate.repeat, doc="Each element several times in a row.")  # fmt: skip
op("tile", "data", attrs={"repeats": Ints(doc="for the last dimensions")}, infer=manipulate.tile,
   doc="The whole tensor several times along each axis.")  # fmt: skip

# ---- several tensors ----
op("concat", "*tensors", attrs={"axis": Int(0)}, infer=joining.concat, doc="Tensors one after the other along an axis.")
op("stack", "*tensors", attrs={"axis": Int(0)}, infer=joining.stack, doc="Tensors of one shape along a new axis.")
op("split", "x", attrs={"indices_or_sections": _IndicesOrSections(doc="how many sections, or where they begin"),
   "axis": Int(0)}, results="*results", infer=joining.split, doc="The parts of a tensor along an axis.")  # fmt: skip
op("meshgrid", "*tensors", attrs={"indexing": Str("ij", choices=("ij", "xy"))}, results="*results",
   infer=joining.meshgrid, doc="For each 1-D tensor a grid that repeats it along all other axes.")  # fmt: skip
