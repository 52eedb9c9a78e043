# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchange between the threads of a warp."""

from __future__ import annotations

from ..registry import register_step
from ..sites import Site, Step


@register_step(
    ["tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_xor",
     "tir.tvm_warp_activemask"]
)  # fmt: skip
def refuse(site: Site) -> Step:
    raise site.refusal("the reference runs one thread, which has no others to exchange with")
