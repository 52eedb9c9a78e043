# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mynpu-fuse-scaled-relu: the accelerator's instruction for a product of a ReLU and a number."""

from dataclasses import dataclass
from typing import ClassVar

import relax_mlir as rx

from .ops import mynpu


def fuse(multiply, rewriter):
    """multiply(relu(x), c) -> scaled_relu(x, c) for a positive number c. None: the pattern does not apply."""
    relu = rx.defining_op(multiply.x1, "relax.nn.relu")
    constant = rx.defining_op(multiply.x2, "arith.constant")
    if relu is None or constant is None or not constant.value.is_splat:
        return None
    scale = constant.value.get_splat_value().value
    if not scale > 0 or multiply.result.type != relu.x.type:
        return None
    return mynpu.ops["scaled_relu"](relu.x, scale=scale)


@rx.register_pass
@dataclass(frozen=True)
class FuseScaledRelu(rx.Pass):
    """Fuses relu and a multiplication by a positive number into mynpu.scaled_relu."""

    name: ClassVar[str] = "mynpu-fuse-scaled-relu"
    max_iterations: int = 10

    def run(self, op):
        rx.apply_greedy(op, [rx.Pattern("relax.multiply", fuse)], max_iterations=self.max_iterations)
