# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages from a graph to GPU kernels and the host code that launches them."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.core.options import split_options
from ...passes.core.stages import Stage
from ...support.errors import OptionError
from ..core import common_stages as common
from ..core.common_stages import trusted
from ..core.machine import Machine
from .emit.threads import STATIC_SHARED

#: Products are merged unless this separates later work from their kernels, which would then read slices of the merged
#: result.
_COMBINED = "convolutions=false keep-meeting=true"

#: A stage of its own, because it runs at a lower level than the product stage: the order of sums may change.
_LAUNCHES = trusted(
    "launches",
    (
        common.combine_products(_COMBINED),
        "relax-fuse-rms-norm",
        "relax-reorder-reshape-after-elementwise",
        "relax-canonicalize",
        "cse",
    ),
    "merges operators, to launch fewer kernels",
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
    "fuses loops over rows, plans products, applies schedules",
    verify="end",
)


def kernel_stages(
    device: str,
    options: str = "",
    block_shared: int = STATIC_SHARED,
    block_threads: int = Machine.block_threads,
    between: tuple[Stage, ...] = (),
) -> tuple[Stage, ...]:
    """Return the stages from a graph to functions that launch kernels, with the work assigned to threads.

    `gpu_stages` documents the arguments. The stages `between` run before the outlining of kernels, on memrefs.

    Raise RelaxError for an option that kernels cannot follow.
    """
    _refuse_options_of_cpus(device, options)
    return (
        common.integers(),
        common.SIMPLIFY,
        # Weights are read as codes wherever possible.
        common.blocks("columns=true"),
        common.NORMS,
        common.ATTENTION,
        common.HEADS,
        common.products(_COMBINED),
        _LAUNCHES,
        common.FOLD,
        # The target may legalize operators with device-specific instructions.
        common.LEGALIZE.with_options(options),
        # Launches take time.
        common.fuse("launched=true"),
        common.INTRINSICS,
        _PLAN.with_options(options),
        # A result may alias an operand only if each point reads only the element that it writes, since points run in
        # parallel.
        common.bufferize("any-order=true"),
        common.SMALL_TYPES,
        *between,
        Stage(
            "kernels",
            (
                f"gpu-outline-kernels{{device={device} threads={block_threads} shared={block_shared}}}",
                "gpu-merge-kernels",
            ),
            "outlines operations on memory into kernels",
            verify="end",
        ),
        Stage(
            "threads",
            ("gpu-share-threads", f"gpu-place-shared{{most={block_shared}}}", "tir-verify-bounds"),
            "assigns the work of kernels to threads",
            verify="end",
        ),
    )


#: Options of the host's code that kernels of a device would not keep.
_OF_CPUS = {"denormals": "flush", "numerics": "same"}


def _refuse_options_of_cpus(device: str, options: str) -> None:
    given = dict(split_options(options[1:-1]))
    for name, value in _OF_CPUS.items():
        if given.get(name) == value:
            raise OptionError(
                f"target '{device}{options}': {name}={value} applies to the code of CPUs, and this target's kernels "
                f"run on a device; leave the option out"
            )


def gpu_stages(
    device: str,
    device_passes: Sequence[str],
    options: str = "",
    block_shared: int = STATIC_SHARED,
    launch_passes: Sequence[str] = (),
    block_threads: int = Machine.block_threads,
) -> tuple[Stage, ...]:
    """Return the stages for a kind of device.

    `device_passes` lower kernels to the device's dialects. `options` are the target's options, such as `{arch=sm_90a}`.
    `block_shared` and `block_threads` are the limits of a block. `launch_passes` add further operands that the device's
    kernels need to their launches.
    """
    constants = trusted(
        "constants", ("host-place-constants{all=true}",), "moves constants from the code into the artifact"
    )
    return (
        *kernel_stages(device, options, block_shared, block_threads, (constants,)),
        trusted(
            "entries",
            (common.LOWER_MASKS, "host-name-functions", "host-profile-kernels", "host-add-entries"),
            "adds entry functions for callers",
        ),
        trusted(
            "errors",
            (
                *("host-lower-packed", "gpu-lower-asserts", *launch_passes, "gpu-lower-launches"),
                *("gpu-share-scratch", "host-check-memory", "host-lower-errors"),
            ),
            "makes functions that can fail return a status",
        ),
        trusted("memory", ("gpu-place-memory",), "allocates memory on the device"),
        Stage("device", tuple(device_passes), "lowers kernels to the dialects of the device", verify="end"),
        # No pass over whole modules may run here, because they contain the kernels, too.
        common.to_llvm(),
    )
