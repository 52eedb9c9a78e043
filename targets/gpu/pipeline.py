# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to kernels for a GPU and the host's code that launches them."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.core.stages import Stage
from ..core import common_stages as common
from ..core.backend import Machine
from ..core.common_stages import trusted
from .emit.threads import STATIC_SHARED

#: Products are joined where no work behind them is torn from their kernels: slices of what they give would be read for
#: it.
_COMBINED = "convolutions=false keep-meeting=true"

#: Not all of the stage of products: who asks for less work may have sums in another order.
_LAUNCHES = trusted(
    "launches",
    (
        common.combine_products(_COMBINED),
        "relax-fuse-rms-norm",
        "relax-reorder-reshape-after-elementwise",
        "relax-canonicalize",
        "cse",
    ),
    "what one kernel can do is one operator, or follows a product whose result it reads in its layout",
    level=2,
)
_PLAN = Stage(
    "plan",
    (
        "tir-simplify-indices",
        "tir-fuse-rows{target=@target}",
        "tir-plan{target=@target threads=true}",
        "tir-apply-schedule{threads=true}",
    ),
    "rows become steps of a loop, products get plans, what has a schedule runs as that says",
    verify="end",
)


def kernel_stages(
    device: str,
    options: str = "",
    block_shared: int = STATIC_SHARED,
    block_threads: int = Machine.block_threads,
    between: tuple[Stage, ...] = (),
) -> tuple[Stage, ...]:
    """The stages from a graph to functions that launch kernels, which say what each thread does; `gpu_stages` has more
    of the arguments. `between` are stages in front of kernels, when tensors are memory.
    """
    return (
        common.integers(),
        common.SIMPLIFY,
        # Weights are read as codes wherever they are some.
        common.blocks("columns=true"),
        common.NORMS,
        common.ATTENTION,
        common.HEADS,
        common.products(_COMBINED),
        _LAUNCHES,
        common.FOLD,
        # What computes an operator may be by an instruction that one device has.
        common.LEGALIZE.with_options(options),
        # Launches take time.
        common.fuse("launched=true"),
        common.INTRINSICS,
        _PLAN.with_options(options),
        # A result aliases an operand only where each point reads what it writes, as others run at the same time.
        common.bufferize("any-order=true"),
        common.SMALL_TYPES,
        *between,
        Stage(
            "kernels",
            (
                f"gpu-outline-kernels{{device={device} threads={block_threads} shared={block_shared}}}",
                "gpu-merge-kernels",
            ),
            "what works on memory becomes kernels",
            verify="end",
        ),
        Stage(
            "threads",
            ("gpu-share-threads", f"gpu-place-shared{{most={block_shared}}}"),
            "kernels say what each thread does",
            verify="end",
        ),
    )


def gpu_stages(
    device: str,
    device_passes: Sequence[str],
    options: str = "",
    block_shared: int = STATIC_SHARED,
    launch_passes: Sequence[str] = (),
    block_threads: int = Machine.block_threads,
) -> tuple[Stage, ...]:
    """The stages for a kind of device; the passes take its kernels to what its code is made of.

    `options` are the target's, `{arch=sm_90a}`; a block may have so many bytes of shared memory and threads.
    `launch_passes` have launches pass what kernels of the device need more.
    """
    constants = trusted("constants", ("host-place-constants{all=true}",), "constants leave the code")
    return (
        *kernel_stages(device, options, block_shared, block_threads, (constants,)),
        trusted(
            "entries",
            (common.LOWER_MASKS, "host-name-functions", "host-profile-kernels", "host-add-entries"),
            "the functions that callers see",
        ),
        trusted(
            "errors",
            (
                *("host-lower-packed", "gpu-lower-asserts", *launch_passes, "gpu-lower-launches"),
                *("gpu-share-scratch", "host-check-memory", "host-lower-errors"),
            ),
            "what can fail returns a status",
        ),
        trusted("memory", ("gpu-place-memory",), "host code's memory is the device's"),
        Stage("device", tuple(device_passes), "passes to the dialects of the device", verify="end"),
        # Nothing that works on whole modules: kernels are in there, too.
        common.to_llvm(),
    )
