# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch splitting: the images of a batch go through a graph of convolutions one after the other.

The next kernel finds what a kernel wrote for one image in the cache. What a kernel wrote for all images of a batch
comes back from memory. Kernels of one image have known sizes, and need memory for one image only. Once a convolution's
weights are much larger than its result for one image, the images stay together: the weights are read once for all.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.navigation import functions_in, has_body
from ...dialects.tir.prim_func import is_prim_func
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .images.image_loop import part_of, write


@register_pass
class SplitBatch(MachinePass):
    """Add a loop over the images of a batch around convolutions and operations between them, if results are large."""

    name: ClassVar[str] = "relax-split-batch"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in [each for each in functions_in(op) if has_body(each) and not is_prim_func(each)]:
            with function.context:
                part = part_of(function)
                if part is not None and part.is_worth_it(self.machine):
                    write(part)
