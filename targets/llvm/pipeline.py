# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to the LLVM dialect. Each can be named, replaced or left out; see passes/core/stages.py."""

from __future__ import annotations

from dataclasses import replace

from ...passes.core.stages import Stage
from ..core.backend import ChosenTarget
from .objects.code_target import machine

# Function by function as far as that goes: a function stays in the cache for all of its passes, a module does not.
_FROM_VECTORS = (
    # Vectors first: this needs the regions of vector.mask gone, and makes loops or straight code of transfers that are
    # no single load or store (of rank 2 and more, transposing); hence before scf and memref go.
    "lower-vector-mask",
    "lower-vector-multi-reduction{lowering-strategy=inner-parallel}",
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 and float8 have no arithmetic of their own: computed in f32, converted by integer operations, because what
    # LLVM makes of the conversions are calls into compiler-rt, which nobody links.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "arith-expand{include-bf16=1}",
    # Views become arithmetic of offsets and strides, which is affine.apply: before affine goes.
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    # Without an order that is asked for, LLVM sums a vector's lanes one after the other.
    "convert-vector-to-llvm{reassociate-fp-reductions=1}",
    # What is an LLVM intrinsic first; the rest of math is a call of the C library, lane by lane.
    "convert-math-to-llvm",
)
_SCALARS = ("convert-ub-to-llvm", "convert-index-to-llvm", "convert-arith-to-llvm")

#: After bufferization and convert-linalg-to-loops; right for generated, scheduled and hand-written functions alike.
TO_LLVM: tuple[str, ...] = (
    f"func.func({','.join(_FROM_VECTORS)})",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    f"func.func({','.join(_SCALARS)})",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
    # What is taken out of descriptors that were just made: a third of a graph's operations.
    "llvm.func(canonicalize{max-iterations=1 region-simplify=disabled})",
)


def _stage(name: str, passes: tuple[str, ...], doc: str, level: int = 0) -> Stage:
    """A stage of passes that are ours: what they make is verified before code is made of it, not again and again."""
    return Stage(name, passes, doc, verify="later", level=level)


def _open_stage(name: str, passes: tuple[str, ...], doc: str) -> Stage:
    """A stage that calls what others register: rules, intrinsics, schedules."""
    return Stage(name, passes, doc, verify="end")


_INTEGERS = "relax-propagate-quantization"

STAGES = (
    # Before small constants are dequantized.
    _stage("integers", (_INTEGERS,), "products of quantized numbers are of bytes", level=2),
    _stage(
        "simplify",
        ("relax-canonicalize", "cse", "relax-dead-code-elimination"),
        "what needs not be computed, or not twice, is not",
        level=1,
    ),
    _stage("blocks", ("relax-fuse-dequantize-matmul",), "products read weights of few bits as they are", level=2),
    _stage("norms", ("relax-fold-batch-norm",), "norms of inference go into weights before or after them", level=2),
    _stage(
        "attention",
        ("relax-fuse-attention", "relax-canonicalize"),
        "products with a softmax between them need no room for all scores",
        level=2,
    ),
    _stage(
        "heads",
        ("relax-regroup-heads", "relax-canonicalize"),
        "heads that share keys and values are rows of one product",
        level=2,
    ),
    _stage(
        "products",
        (
            "relax-combine-parallel-matmul{constants-only=true}",
            "relax-reorder-matmul",
            "relax-reorder-permute-after-concat",
            "relax-canonicalize",
            "relax-fuse-transpose-matmul",
        ),
        "products of one operand become one, and read transposed operands",
        level=3,
    ),
    _stage("fold", ("relax-fold-constant",), "what operators make of constants is a constant"),
    _stage(
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
        "convolutions work on blocks of channels and one image, weights of few bits lie as vectors read them",
        level=2,
    ),
    _open_stage("legalize", ("relax-legalize-ops{target=@target}",), "operators become calls of PrimFuncs"),
    _stage(
        "fuse",
        # What nobody reads goes first, at last the functions that nobody calls any more.
        (
            "trivial-dce",
            "relax-annotate-op-pattern",
            "relax-fuse-ops{epilogues=true}",
            "tir-fuse",
            "tir-inline-constants",
            "symbol-dce",
        ),
        "calls of PrimFuncs become fewer",
    ),
    _open_stage("intrinsics", ("tir-lower-intrinsics{target=@target}",), "functions like exp become arithmetic"),
    _open_stage(
        "plan",
        (
            "tir-split-reductions{target=@target}",
            "tir-cut-padding{target=@target}",
            "tir-fuse-rows{target=@target}",
            "tir-plan{target=@target}",
            "tir-pack-constants",
            "relax-outline-branches",
        ),
        "how loops run is chosen: tiles, vectors, order; weights lie as they are read",
    ),
    _stage(
        "apply",
        ("tir-apply-schedule{target=@target}", "tir-apply-plan{target=@target}"),
        "loops become tiles and vectors",
    ),
    _stage(
        "bufferize",
        ("tir-bufferize", "relax-plan-memory", "relax-lower-calls"),
        "tensors become memory, in a planned arena",
    ),
    _stage("small-types", ("tir-store-small-types",), "elements of less than a byte and f8 become bytes"),
    _stage("constants", ("host-place-constants",), "large constants leave the code; else they stay in it"),
    _stage("parallel", ("tir-outline-parallel",), "loops that threads share become functions of a range"),
    _stage(
        "entries",
        ("func.func(convert-linalg-to-loops)", "host-name-functions", "host-profile-kernels", "host-add-entries"),
        "the functions that callers see",
    ),
    _stage("errors", ("host-lower-packed", "host-check-memory", "host-lower-errors"), "what can fail returns a status"),
    _stage("memory", ("host-keep-arena",), "temporaries stay from call to call"),
    _stage(
        "calls",
        ("llvm-pass-pointers", "host-call-parallel"),
        "kernels take pointers and sizes, threads share the ranges of loops",
    ),
    _stage("to-llvm", (",".join(TO_LLVM), "llvm-store-narrow-floats"), "upstream's passes to the LLVM dialect"),
)


def stages(target: ChosenTarget) -> tuple[Stage, ...]:
    """The stages for a machine, which those that plan loops are told: it is described by the target's options."""
    dots = machine(target).dots
    has_bytes, has_tiles = any(dot.total == "i32" for dot in dots), any(dot.rows > 1 for dot in dots)
    options = str(target).removeprefix(target.name)
    stages = [
        stage.told(options) if stage.name in ("layouts", "legalize", "plan", "apply") else stage for stage in STAGES
    ]
    if has_tiles:
        stages[-1] = replace(stages[-1], passes=(*stages[-1].passes, "llvm-load-tiles"))
    return tuple(stages if has_bytes else map(_of_real_numbers, stages))


def _of_real_numbers(stage: Stage) -> Stage:
    """Products of dequantized bytes stay those of real numbers."""
    return replace(stage, passes=(f"{_INTEGERS}{{products=false}}",)) if stage.name == "integers" else stage
