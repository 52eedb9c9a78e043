# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to the LLVM dialect. Each can be named, replaced or left out; see passes/core/stages.py."""

from __future__ import annotations

from ...passes.core.stages import Stage
from .build import build as build
from .lowering_passes import TO_LLVM

STAGES = (
    Stage("legalize", ("relax-legalize-ops{target=@target}",), "operators become calls of PrimFuncs"),
    Stage("fuse", ("relax-fuse-tir",), "calls of PrimFuncs become fewer"),
    Stage("intrinsics", ("tir-lower-intrinsics{target=@target}",), "functions like exp become arithmetic"),
    Stage("schedule", ("tir-schedule{target=@target}",), "loops become tiles and vectors"),
    Stage("bufferize", ("tir-bufferize", "relax-lower-calls"), "tensors become memory, in a planned arena"),
    Stage("small-types", ("tir-store-small-types",), "elements of less than a byte and f8 become bytes"),
    Stage(
        "errors",
        ("func.func(convert-linalg-to-loops)", "llvm-lower-packed", "llvm-lower-errors"),
        "what can fail returns a status",
    ),
    Stage(
        "memory",
        ("llvm-keep-arena", "llvm-place-constants"),
        "temporaries stay from call to call, large constants leave the code",
    ),
    Stage("to-llvm", (",".join(TO_LLVM),), "upstream's passes to the LLVM dialect"),
    Stage("entries", ("llvm-add-entries",), "the functions that callers see"),
)
