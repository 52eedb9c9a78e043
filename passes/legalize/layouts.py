# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in layouts such as "NHWC" or "NCHW16c", for rules written for "NCHW" without blocks."""

from __future__ import annotations

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo
from ...dialects.relax.infer.layouts import Layout
from ...emit import linalg, loops
from ..graph.layout.conversion import converted
from .call import LegalizeCall
from .known_sizes import by_name


def require_blocks(tensor: Value, layout: Layout) -> None:
    """Emit a check that raises ValueError if a tensor's blocks have other sizes than its layout states."""
    for axis, size in zip(layout.axes, linalg.sizes(tensor), strict=True):
        if axis.block is not None:
            loops.require_same(size, axis.block, f"blocks of {axis.dimension} in layout {layout.text}")


def in_plain_layout(call: LegalizeCall, data: Value, layout: Layout, out_layout: Layout) -> Value:
    """Apply the operation to its first operand without blocks, in the order of the dimensions.

    Convert the result back.
    """
    names = {name: None if name == "out_layout" else layout.dimensions for name in ("layout", "out_layout")}
    given = call.inferred.attributes
    attributes = {**given, **{key: text for key, text in names.items() if key in given}}
    operands = by_name(call.op, call.operands)
    blocked = _with_blocks(data, call, layout)
    operands[call.op.definition.operands[0].name] = converted(blocked, layout, layout.plain)
    result = converted(call.op.definition(**operands, **attributes), out_layout.plain, out_layout)
    return call.cast(result, call.result_infos[0])


def _with_blocks(data: Value, call: LegalizeCall, layout: Layout) -> Value:
    """Cast the tensor to a type with the layout's block sizes, which are checked at run time."""
    info = call.info(data)
    assert isinstance(info, TensorInfo) and info.shape is not None
    sizes = [size if axis.block is None else axis.block for axis, size in zip(layout.axes, info.shape, strict=True)]
    return call.cast(data, info.with_shape(sizes))
