# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and tensor helpers.

`from ..prelude import Outputs, TorchNode, register_torch, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from relax_mlir.dialects import relax
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.elementwise import elementwise, intrinsic_of
from relax_mlir.frontends.core.tensors import (
    along_axis,
    const,
    from_front,
    info_of,
    joined,
    like,
    part,
    wide_float,
    with_first_at,
)
from relax_mlir.frontends.core.values import Outputs, Tensor, Value, known

from .element_conversions import cast
from .fx_node import TorchNode
from .registry import Convert, register_rows, register_torch
from .steps_back import backward_of, gradients_by

__all__ = [
    "Convert", "Outputs", "Tensor", "TorchNode", "Value", "along_axis", "backward_of", "cast", "const",
    "elementwise", "from_front", "gradients_by", "info_of", "intrinsic_of", "joined", "known", "like", "part",
    "register_rows", "register_torch", "relax", "sizes", "wide_float", "with_first_at",
]  # fmt: skip
