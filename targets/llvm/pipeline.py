# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages from a graph to the LLVM dialect. Each can be named, replaced or left out; see passes/core/stages.py."""

from __future__ import annotations

import os
from functools import cache

from ...passes.core.stages import Stage
from ..core import common_stages as common
from ..core.backend import ChosenTarget
from ..core.common_stages import open_stage, trusted
from ..core.machine import Machine
from .objects.code_target import CodeTarget, code_target, machine

_LAYOUTS = trusted(
    "layouts",
    (
        "relax-decompose-ops{ops=nn.conv1d_transpose,nn.conv2d_transpose,nn.conv3d_transpose}",
        "relax-round-once",
        "llvm-widen-convolutions{target=@target}",
        "relax-fold-constant",
        "llvm-block-channels{target=@target}",
        "llvm-turn-weights{target=@target}",
        "relax-canonicalize",
        "relax-fold-constant",
        "llvm-pack-nbits{target=@target}",
        "llvm-winograd{target=@target}",
        "relax-split-batch{target=@target}",
    ),
    "blocks channels, packs weights of few bits, splits batches",
    level=2,
)
_APPLY = trusted(
    "apply",
    ("tir-apply-schedule{target=@target}", "llvm-fuse-multiply-add{target=@target}", "tir-apply-plan{target=@target}"),
    "tiles and vectorizes loops",
)
_SMALL_LOOPS = trusted(
    "small-loops", ("tir-inline-into-loops", "symbol-dce"), "inlines functions on small tensors into loops", level=1
)
_OF_HOST = (
    trusted("constants", ("host-place-constants",), "moves large constants from the code into the artifact"),
    trusted("parallel", ("tir-outline-parallel",), "outlines parallel loops into functions of a range"),
)
_LAST_OF_HOST = (
    trusted(
        "errors",
        ("host-lower-packed", "host-check-memory", "host-lower-errors"),
        "makes functions that can fail return a status",
    ),
    trusted("memory", ("host-keep-arena",), "keeps memory for temporaries between calls"),
)
_WIDEN_F16 = "func.func(arith-emulate-unsupported-floats{source-types=f16 target-type=f32})"


def _entries(code: CodeTarget) -> Stage:
    checks = ("tir-check-bounds",) if code.checks_bounds else ()
    return trusted(
        "entries",
        (
            *("func.func(convert-linalg-to-loops)", common.LOWER_MASKS, *checks),
            *("host-name-functions", "host-profile-kernels", "host-add-entries"),
        ),
        "adds entry functions for callers",
    )


def _calls(code: CodeTarget) -> Stage:
    flush = (f"host-flush-denormals{{architecture={code.architecture}}}",) if code.flushes_denormals else ()
    # Without fullfp16, Arm only converts f16: LLVM would convert the elements of vectors one by one.
    widen = (_WIDEN_F16,) if code.architecture == "aarch64" and "fullfp16" not in code.enabled else ()
    return trusted(
        "calls",
        (*widen, "llvm-pass-pointers", "host-call-parallel", *flush),
        "passes pointers and sizes to kernels, distributes ranges over threads",
    )


@cache
def _tuned_machines(folder: str) -> frozenset[str]:
    """Return the machines for which a folder has tuned kernels, such as x86_64-256, by the names of the files."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return frozenset("-".join(name.split("-")[-3:-1]) for name in names)


def _plan(machine: Machine, tuned_folder: str) -> Stage:
    """Return the stage that chooses plans. It looks for tuned kernels only if there are any for the machine."""
    has_tuned = f"{machine.architecture}-{machine.vector_bytes * 8}" in _tuned_machines(tuned_folder)
    return open_stage(
        "plan",
        (
            "tir-split-reductions{target=@target}",
            "llvm-order-reductions{target=@target}",
            "tir-simplify-indices",
            "tir-cut-padding{target=@target}",
            "tir-fuse-rows{target=@target}",
            *(("tir-use-tuned{target=@target}",) if has_tuned else ()),
            "tir-plan{target=@target}",
            "tir-pack-constants{target=@target}",
            "relax-outline-branches",
        ),
        "chooses tiles, vectors and loop order, packs constant weights",
    )


def stages(target: ChosenTarget, tuned_folder: str) -> tuple[Stage, ...]:
    """Return the stages for the machine that the target's options describe, with a folder of tuned kernels.

    Stages that plan loops receive the target.
    """
    facts, code, options = machine(target), code_target(target), target.options_text
    has_bytes, has_tiles = any(dot.total == "i32" for dot in facts.dots), any(dot.rows > 1 for dot in facts.dots)
    return (
        # Without dot products of bytes, products of dequantized bytes stay products of floats.
        common.integers("" if has_bytes else "products=false"),
        common.SIMPLIFY,
        common.blocks(),
        common.NORMS,
        common.ATTENTION,
        common.HEADS,
        common.products(),
        common.FOLD,
        _LAYOUTS.with_options(options),
        common.LEGALIZE.with_options(options),
        common.fuse(),
        common.INTRINSICS,
        _plan(facts, tuned_folder).with_options(options),
        _APPLY.with_options(options),
        common.bufferize(is_verified=not code.checks_bounds),
        common.SMALL_TYPES,
        _SMALL_LOOPS,
        *_OF_HOST,
        _entries(code),
        *_LAST_OF_HOST,
        _calls(code),
        common.to_llvm("llvm-store-narrow-floats", *(("llvm-load-tiles",) if has_tiles else ())),
    )
