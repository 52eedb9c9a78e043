# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to kernels for a GPU and the host's code that launches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...passes.core.stages import Stage
from ..core.code import stages_of
from .emit.threads import STATIC_SHARED

#: What the host's target has in common with it: all of the graph, and how it becomes functions over memory.
_COMMON = frozenset(
    "integers simplify blocks norms attention heads products fold legalize fuse intrinsics bufferize "
    "small-types".split()
)

_COMBINE = "relax-combine-parallel-matmul{constants-only=true}"
#: Options that passes of the host have here: a result lies over an operand only where each point reads what it writes,
#: as others run at the same time; weights are read as codes wherever they are some; launches take time. Products
#: are joined where no work behind them is torn from their kernels: slices of what they give would be read for it.
_OPTIONS = {
    "relax-plan-memory": "any-order=true",
    "relax-fuse-dequantize-matmul": "columns=true",
    _COMBINE: "constants-only=true convolutions=false keep-meeting=true",
    "relax-fuse-ops{epilogues=true}": "epilogues=true launched=true",
}


def _as_here(name: str) -> str:
    """A pass of the host with its options here."""
    return f"{name.partition('{')[0]}{{{_OPTIONS[name]}}}" if name in _OPTIONS else name


#: Not all of the host's stage of products: who asks for less work may have sums in another order.
_LAUNCHES = Stage(
    "launches",
    (
        _as_here(_COMBINE),
        "relax-fuse-rms-norm",
        "relax-reorder-reshape-after-elementwise",
        "relax-canonicalize",
        "cse",
    ),
    "what one kernel can do is one operator, or follows a product whose result it reads as it lies",
    verify="later",
    level=2,
)
_PLAN = Stage(
    "plan",
    ("tir-fuse-rows{target=@target}", "tir-plan{target=@target}", "tir-apply-schedule{threads=true}"),
    "rows become steps of a loop, products get plans, what has a schedule runs as that says",
    verify="end",
)


def gpu_stages(
    device: str,
    device_passes: Sequence[str],
    options: str = "",
    block_shared: int = STATIC_SHARED,
    launch_passes: Sequence[str] = (),
) -> tuple[Stage, ...]:
    """The stages for a kind of device; the passes take its kernels to what its code is made of.

    `options` are the target's, `{arch=sm_90a}`; `block_shared` the bytes of shared memory that a block may have;
    `launch_passes` have launches pass what kernels of the device need more.
    """
    of_host = tuple(stages_of("llvm", 3))
    # What computes an operator may be by an instruction that one device has.
    common = tuple(
        _with_options(stage.told(options) if stage.name == "legalize" else stage)
        for stage in of_host
        if stage.name in _COMMON
    )
    own = (
        Stage("constants", ("host-place-constants{all=true}",), "constants leave the code", verify="later"),
        Stage(
            "kernels",
            (f"gpu-outline-kernels{{device={device}}}", "gpu-merge-kernels"),
            "what works on memory becomes kernels",
        ),
        Stage(
            "threads",
            ("gpu-share-threads", f"gpu-place-shared{{most={block_shared}}}"),
            "kernels say what each thread does",
        ),
        Stage(
            "entries",
            ("host-name-functions", "host-profile-kernels", "host-add-entries"),
            "the functions that callers see",
        ),
        Stage(
            "errors",
            (
                *("host-lower-packed", "gpu-lower-asserts", *launch_passes, "gpu-lower-launches"),
                *("gpu-share-scratch", "host-check-memory", "host-lower-errors"),
            ),
            "what can fail returns a status",
            verify="later",
        ),
        Stage("memory", ("gpu-place-memory",), "host code's memory is the device's", verify="later"),
        Stage("device", tuple(device_passes), "upstream's passes to the dialects of the device"),
        _to_llvm(of_host),
    )
    names = [stage.name for stage in common]
    fold, bufferize = names.index("fold"), names.index("bufferize")
    return (*common[:fold], _LAUNCHES, *common[fold:bufferize], _PLAN.told(options), *common[bufferize:], *own)


def _with_options(stage: Stage) -> Stage:
    return replace(stage, passes=tuple(map(_as_here, map(str, stage.passes))))


def _to_llvm(of_host: Sequence[Stage]) -> Stage:
    """As the host's, but for what that does to whole modules behind upstream's passes: kernels are in there, too."""
    stage = next(each for each in of_host if each.name == "to-llvm")
    return replace(stage, passes=tuple(each for each in stage.passes if not str(each).startswith("llvm-")))
