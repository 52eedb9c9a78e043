# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes that only the run tells: each element is added to its place in the result."""

from __future__ import annotations

from typing import Any

from ....dialects.core.infos import is_bool, is_float
from ....dialects.relax import const, dialect
from ..graph_tensors import cast
from ..node import Node
from ..shapes.sizes import shape_tensor
from ..values import Value

relax = dialect.ops

_SCATTER = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class RunTimeAxes:
    """As StaticAxes, with axes from the second input of a node.

    With `strides` of the result, 0 along reduced axes, an element at (i, j, ...) goes to the place
    i * strides[0] + j * strides[1] + ... of the flattened result, whose shape is made last.
    """

    def __init__(self, node: Node):
        self._node = node
        self._rank = node.rank(0)
        x = node.tensor(0)
        self._is_reduced = self._mask()
        sizes = shape_tensor(x)
        kept = relax["where"](self._is_reduced, const(1, "i64"), sizes)
        self._count = relax["prod"](kept, axis=[0], keepdims=True)
        self._shape = self._result_shape(kept)
        self._places = self._flat_places(x, kept)

    def _mask(self) -> Any:
        """Which axes are reduced."""
        node, zero = self._node, const(0, "i64")
        axes = relax["astype"](node.tensor(1), dtype="i64")
        axes = relax["where"](relax["less"](axes, zero), relax["add"](axes, const(self._rank, "i64")), axes)
        own = const([[axis] for axis in range(self._rank)], "i64")
        mask = relax["sum"](relax["equal"](own, relax["expand_dims"](axes, axis=[0])), axis=[1])
        if self._listed or node.int("noop_with_empty_axes", 0):
            return mask
        return relax["logical_or"](mask, relax["logical_not"](relax["sum"](mask)))

    @property
    def _listed(self) -> int | None:
        """How many axes are listed; None where only the run tells."""
        shape = self._node.value(1).shape
        return shape[0] if shape and isinstance(shape[0], int) else None

    def _result_shape(self, kept: Any) -> Any:
        """The result's shape as a value. Without reduced dimensions, their number must be known."""
        if self._node.int("keepdims", 1):
            return relax["tensor_to_shape"](kept)
        if self._listed is None:
            raise self._node.fail("the rank of the result is unknown: the axes must be constants", "keepdims")
        # Kept axes come first in the order of (is it reduced, axis).
        order = relax["multiply"](relax["astype"](self._is_reduced, dtype="i64"), const(self._rank, "i64"))
        order = relax["argsort"](relax["add"](order, const(list(range(self._rank)), "i64")), axis=0, dtype="i64")
        first = relax["strided_slice"](order, axes=[0], begin=[0], end=[self._rank - self._listed])
        return relax["tensor_to_shape"](relax["take"](kept, first, axis=0))

    def _flat_places(self, x: Any, kept: Any) -> Any:
        """For each element of the flattened operand its place in the flattened result."""
        strides = relax["flip"](relax["cumprod"](relax["flip"](kept, axis=0), axis=0, exclusive=True), axis=0)
        strides = relax["where"](self._is_reduced, const(0, "i64"), strides)
        ones, total = relax["ones_like"](x, dtype="i64"), relax["zeros_like"](x, dtype="i64")
        for axis in range(self._rank):
            stride = relax["strided_slice"](strides, axes=[0], begin=[axis], end=[axis + 1])
            along = relax["cumsum"](ones, axis=axis, exclusive=True)
            total = relax["add"](total, relax["multiply"](along, relax["reshape"](stride, ())))
        return relax["flatten"](total)

    def fold(self, name: str, x: Any) -> Any:
        return relax["reshape"](self._folded(name, x), self._shape)

    def spread_fold(self, name: str, x: Any) -> tuple[Any, Any]:
        """The result, and for each element the one that it went into."""
        flat = self._folded(name, x)
        spread = relax["reshape"](relax["take"](flat, self._places, axis=0), relax["shape_of"](x))
        return relax["reshape"](flat, self._shape), spread

    def _folded(self, name: str, x: Any) -> Any:
        dtype = Value(ssa=x).dtype
        if name == "mean":
            return self._mean(x, dtype)
        wide = "f32" if dtype in ("f16", "bf16") else "ui8" if is_bool(dtype) else dtype
        name = {"sum": "max", "prod": "min"}.get(name, name) if is_bool(dtype) else name
        flat = relax["flatten"](cast(x, wide))
        start = relax["full"](relax["tensor_to_shape"](self._count), _start(name, wide))
        folded = relax["scatter_elements"](start, self._places, flat, axis=0, reduction=_SCATTER[name])
        return cast(folded, dtype)

    def _mean(self, x: Any, dtype: str) -> Any:
        count = relax["divide"](relax["size"](x), relax["reshape"](self._count, ()))
        if dtype not in ("f16", "bf16"):
            return relax["divide"](self._folded("sum", x), relax["astype"](count, dtype=dtype))
        total = self._folded("sum", relax["astype"](x, dtype="f32"))
        return relax["astype"](relax["divide"](total, relax["astype"](count, dtype="f32")), dtype=dtype)


def _start(name: str, dtype: str) -> Any:
    """What changes no other number."""
    import numpy

    if name in ("sum", "prod"):
        return const(int(name == "prod"), dtype)
    if is_float(dtype):
        return const(-numpy.inf if name == "max" else numpy.inf, dtype)
    limits = numpy.iinfo(f"{'uint' if dtype.startswith('u') else 'int'}{dtype.lstrip('ui')}")
    return const(limits.min if name == "max" else limits.max, dtype)
