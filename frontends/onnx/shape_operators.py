# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ONNX that are folded at import if their inputs are known (core/folding.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..core.folding import folding_where_known
from .onnx_node import OnnxNode

T = TypeVar("T")

#: Operators that exporters use in shape computations.
_OF_SHAPES = frozenset(
    "Abs Add And Cast CastLike Ceil Clip Concat ConstantOfShape Div Equal Expand Floor Gather Greater GreaterOrEqual "
    "Identity Less LessOrEqual Max Min Mod Mul Neg NonZero Not Or Range ReduceMax ReduceMin ReduceProd ReduceSum "
    "Reshape Scatter ScatterElements ScatterND Slice Split Squeeze Sub Sum Tile Transpose Unsqueeze Where".split()
)
# Number of inputs that must be known, if not all. Only the types of the other inputs are used.
_LOOKED_AT = {"CastLike": 1}


def converted(convert: Callable[[OnnxNode], T], node: OnnxNode) -> T:
    """Convert a node, with folding for operators of shape computations."""
    if node.op not in _OF_SHAPES or node.domain not in ("", "ai.onnx"):
        return convert(node)
    with folding_where_known(node.inputs[: _LOOKED_AT.get(node.op)]):
        return convert(node)
