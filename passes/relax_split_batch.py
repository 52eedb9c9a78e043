# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of a batch go through a graph of convolutions one after the other.

What one kernel writes for an image the next one finds in the cache; what it writes for all images of a batch comes back
from memory. Kernels of one image have known sizes, and need room for one, however many there are. From a convolution on
whose weights are much larger than what it makes of an image, all images stay together: they are read once for all.
"""

from __future__ import annotations

from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, has_body
from ..dialects.tir.prim_func import is_prim_func
from ..targets.core.machine_pass import MachinePass
from .core.registry import register_pass
from .images.image_loop import part_of, write


@register_pass
class SplitBatch(MachinePass):
    """Makes a loop over the images of a batch of the convolutions and what is between them, where these are large."""

    name: ClassVar[str] = "relax-split-batch"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in [each for each in functions_in(op) if has_body(each) and not is_prim_func(each)]:
            with function.context:
                part = part_of(function)
                if part is not None and part.is_worth_it(self.machine):
                    write(part)
