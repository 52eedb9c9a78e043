# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of ONNX's operators are folded at import where their inputs are known (core/folding.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..core.folding import folding_where_known
from .onnx_node import Node

T = TypeVar("T")

#: The operators that exporters compute shapes with.
_OF_SHAPES = frozenset(
    "Abs Add And Cast CastLike Ceil Clip Concat ConstantOfShape Div Equal Expand Floor Gather Greater GreaterOrEqual "
    "Identity Less LessOrEqual Max Min Mod Mul Neg NonZero Not Or Range ReduceMax ReduceMin ReduceProd ReduceSum "
    "Reshape Scatter ScatterElements ScatterND Slice Split Squeeze Sub Sum Tile Transpose Unsqueeze Where".split()
)
# How many inputs have to be known where it is not all of them: of the others the types are looked at.
_LOOKED_AT = {"CastLike": 1}


def converted(convert: Callable[[Node], T], node: Node) -> T:
    """What a converter makes of a node."""
    if node.op not in _OF_SHAPES or node.domain not in ("", "ai.onnx"):
        return convert(node)
    with folding_where_known(node.inputs[: _LOOKED_AT.get(node.op)]):
        return convert(node)
