# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and tensor helpers.

One line `from ..prelude import OnnxNode, Outputs, register_onnx, relax` replaces a line for each of them in each file.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects import relax
from ..core.tensors import along_axis, cast, const, from_front, info_of, joined, like, part, wide_float, with_first_at
from ..core.values import Outputs, Tensor, Value, known
from .onnx_node import OnnxNode
from .registry import Convert, register_onnx

__all__ = [
    "OnnxNode", "Outputs", "Tensor", "Value", "along_axis", "cast", "const", "from_front", "info_of", "joined",
    "known", "like", "part", "register_onnx", "register_rows", "relax", "wide_float", "with_first_at",
]  # fmt: skip


def register_rows(domain: str, rows: Mapping[str, Convert], since: int = 1) -> None:
    """Register converters from rows. A key is an operator's name."""
    for name, convert in rows.items():
        register_onnx(domain, name, since)(convert)
