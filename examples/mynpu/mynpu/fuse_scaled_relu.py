# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pass mynpu-fuse-scaled-relu: the accelerator's instruction for a product of a ReLU and a number."""

from dataclasses import dataclass
from typing import ClassVar

import relax_mlir as rx
from relax_mlir.patterns import is_filled, is_op, wildcard

from .ops import mynpu

x, scale = wildcard().named("x"), is_filled(lambda number, dtype: number > 0).named("scale")
scaled = is_op("relax.multiply")(is_op("relax.nn.relu")(x), scale)


def fuse(match):
    """Rewrite multiply(relu(x), c) to scaled_relu(x, c) for a positive number c. None if c changes the shape."""
    if match.op().result.type != match["x"].type:
        return None
    return mynpu.ops["scaled_relu"](match["x"], scale=match.number("scale"))


@rx.register_pass
@dataclass(frozen=True)
class FuseScaledRelu(rx.Pass):
    """Fuse relu and a multiplication by a positive number into mynpu.scaled_relu."""

    name: ClassVar[str] = "mynpu-fuse-scaled-relu"
    max_iterations: int = 10

    def run(self, op):
        rx.rewriting.apply_greedy(op, [rx.rewriting.rewrite(scaled, fuse)], max_iterations=self.max_iterations)
