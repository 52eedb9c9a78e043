# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to the LLVM dialect. Each can be named, replaced or left out; see passes/core/stages.py."""

from __future__ import annotations

from dataclasses import replace

from ...passes.core.stages import TARGET_PLACE, Stage
from ..core.chosen import ChosenTarget
from .build import assembly as assembly
from .build import build as build
from .build import complete as complete
from .code_target import code_target
from .lowering_passes import TO_LLVM
from .native_code import prepare as prepare


def _stage(name: str, passes: tuple[str, ...], doc: str) -> Stage:
    """A stage of passes that are ours: what they make is verified before code is made of it, not again and again."""
    return Stage(name, passes, doc, verify="later")


def _open_stage(name: str, passes: tuple[str, ...], doc: str) -> Stage:
    """A stage that calls what others register: rules, intrinsics, schedules."""
    return Stage(name, passes, doc, verify="end")


STAGES = (
    _stage("fold", ("relax-fold-constant",), "what operators make of constants is a constant"),
    _open_stage("legalize", ("relax-legalize-ops{target=@target}",), "operators become calls of PrimFuncs"),
    _stage("fuse", ("relax-fuse-tir{epilogues=true}",), "calls of PrimFuncs become fewer"),
    _open_stage("intrinsics", ("tir-lower-intrinsics{target=@target}",), "functions like exp become arithmetic"),
    _open_stage("schedule", ("tir-schedule{target=@target}",), "loops become tiles and vectors"),
    _stage("bufferize", ("tir-bufferize", "relax-lower-calls"), "tensors become memory, in a planned arena"),
    _stage("small-types", ("tir-store-small-types",), "elements of less than a byte and f8 become bytes"),
    _stage("constants", ("host-place-constants",), "large constants leave the code; else they stay in it"),
    _stage(
        "entries",
        ("func.func(convert-linalg-to-loops)", "host-name-functions", "host-profile-kernels", "host-add-entries"),
        "the functions that callers see",
    ),
    _stage(
        "errors",
        ("host-lower-packed", "host-check-memory", "host-lower-errors"),
        "what can fail returns a status",
    ),
    _stage("memory", ("host-keep-arena",), "temporaries stay from call to call"),
    _stage("calls", ("llvm-pass-pointers",), "kernels take pointers and sizes"),
    _stage("to-llvm", (",".join(TO_LLVM), "llvm-store-narrow-floats"), "upstream's passes to the LLVM dialect"),
)


def stages(target: ChosenTarget) -> tuple[Stage, ...]:
    """The stages for a machine: its vectors are what loops are made of."""
    vector_bytes = code_target(target).vector_bytes
    if vector_bytes == 0:
        return STAGES
    schedule = f"tir-schedule{{target={TARGET_PLACE} vector-bytes={vector_bytes}}}"
    return tuple(replace(stage, passes=(schedule,)) if stage.name == "schedule" else stage for stage in STAGES)
