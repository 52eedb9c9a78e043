# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and tensor helpers.

One line `from ..prelude import Node, Outputs, register_torch, relax` replaces a line for each of them in each file.
"""

from __future__ import annotations

from ...dialects import relax
from ..core import sizes
from ..core.elementwise import elementwise, intrinsic_of
from ..core.tensors import along_axis, const, from_front, info_of, joined, like, part, wide_float, with_first_at
from ..core.values import Outputs, Tensor, Value, known
from .element_conversions import cast
from .fx_node import Node
from .registry import Convert, register_rows, register_torch
from .steps_back import backward_of, gradients_by

__all__ = [
    "Convert", "Node", "Outputs", "Tensor", "Value", "along_axis", "backward_of", "cast", "const", "elementwise",
    "from_front", "gradients_by", "info_of", "intrinsic_of", "joined", "known", "like", "part", "register_rows",
    "register_torch", "relax", "sizes", "wide_float", "with_first_at",
]  # fmt: skip
