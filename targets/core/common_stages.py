# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering stages shared by targets.

Each target's pipeline lists its stages with its options.

Functions take the options of a stage's pass as pipeline text, such as "columns=true".
"""

from __future__ import annotations

from ...passes.core.stages import TARGET_PLACE, Stage


def trusted(name: str, passes: tuple[str, ...], doc: str, level: int = 0) -> Stage:
    """Return a stage of this project's passes, whose result is verified only before code generation."""
    return Stage(name, passes, doc, verify="later", level=level)


def open_stage(name: str, passes: tuple[str, ...], doc: str) -> Stage:
    """Return a stage that calls registered extensions: rules, intrinsics, schedules."""
    return Stage(name, passes, doc, verify="end")


def _with(name: str, options: str) -> str:
    return f"{name}{{{options}}}" if options else name


# ---- graphs ----


def integers(options: str = "") -> Stage:
    # Runs before small constants are dequantized.
    passes = (_with("relax-propagate-quantization", options),)
    return trusted("integers", passes, "computes products of quantized numbers on bytes", level=2)


SIMPLIFY = trusted(
    "simplify",
    ("relax-canonicalize", "cse", "relax-dead-code-elimination"),
    "simplifies operators, removes dead and duplicate computations",
    level=1,
)


def blocks(options: str = "") -> Stage:
    passes = (_with("relax-fuse-dequantize-matmul", options),)
    return trusted("blocks", passes, "fuses the dequantization of weights into their products", level=2)


NORMS = trusted("norms", ("relax-fold-batch-norm",), "folds batch norms of inference into adjacent weights", level=2)
ATTENTION = trusted(
    "attention",
    ("relax-fuse-attention", "relax-canonicalize"),
    "fuses attention, so that the scores are never stored as a whole",
    level=2,
)
HEADS = trusted(
    "heads",
    ("relax-regroup-heads", "relax-canonicalize"),
    "merges heads that share keys and values into one product",
    level=2,
)


def combine_products(options: str = "") -> str:
    """Return the pass that merges products with a common operand, if this needs no copies at run time."""
    return _with("relax-combine-parallel-matmul", f"constants-only=true {options}".rstrip())


def products(options: str = "") -> Stage:
    """Return the stage for products, with options of `combine_products`."""
    return trusted(
        "products",
        (
            combine_products(options),
            "relax-reorder-matmul",
            "relax-reorder-permute-after-concat",
            "relax-canonicalize",
            "relax-fuse-transpose-matmul",
        ),
        "combines products of one operand, fuses transposes into products",
        level=3,
    )


FOLD = trusted("fold", ("relax-fold-constant",), "computes operators on constants at compile time")


# ---- from operators to functions on memory ----

LEGALIZE = open_stage(
    "legalize", (f"relax-legalize-ops{{target={TARGET_PLACE}}}",), "lowers operators to calls of PrimFuncs"
)


def fuse(options: str = "") -> Stage:
    # Dead code is removed first, functions without callers last.
    return trusted(
        "fuse",
        (
            "trivial-dce",
            "relax-annotate-op-pattern",
            _with("relax-fuse-ops", f"epilogues=true {options}".rstrip()),
            "tir-fuse",
            "tir-inline-constants",
            "symbol-dce",
        ),
        "fuses calls of PrimFuncs",
    )


INTRINSICS = open_stage(
    "intrinsics", (f"tir-lower-intrinsics{{target={TARGET_PLACE}}}",), "lowers functions like exp to arithmetic"
)


def bufferize(options: str = "", *, is_verified: bool = True) -> Stage:
    """Return the bufferization stage, with options of the memory plan.

    Accesses are verified statically, unless the code checks them itself.
    """
    verify = ("tir-verify-bounds",) if is_verified else ()
    passes = ("tir-bufferize", _with("relax-plan-memory", options), "relax-lower-calls", *verify)
    return trusted("bufferize", passes, "replaces tensors by memory in a planned arena")


SMALL_TYPES = trusted("small-types", ("tir-store-small-types",), "stores f8 and elements of less than a byte as bytes")


# ---- to the LLVM dialect ----

#: Lowers vector.mask and vector.multi_reduction, which only external functions contain. Both passes fail if upstream's
#: pattern driver does not settle within 10 rounds. Each round merges identical blocks, and a graph with nested loops
#: has hundreds of blocks once its control flow is cf (host-lower-errors). Therefore the passes run earlier, on scf.
LOWER_MASKS = "func.func(lower-vector-mask,lower-vector-multi-reduction{lowering-strategy=inner-parallel})"

# Run as many passes as possible per function: a function stays in the CPU cache for all passes, a module does not.
_FROM_VECTORS = (
    # Vectors first: this pass expands transfers that are not a single load or store (rank 2 and more, transposed), and
    # needs scf and memref.
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 and float8 have no arithmetic: compute in f32 and convert by integer operations. LLVM would lower the
    # conversions to calls into compiler-rt, which is not linked.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "arith-expand{include-bf16=1}",
    # Views become arithmetic on offsets and strides (affine.apply), so this pass precedes the lowering of affine.
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    # Without reassociation, LLVM sums the lanes of a vector sequentially.
    "convert-vector-to-llvm{reassociate-fp-reductions=1}",
    # LLVM intrinsics first. The rest of math becomes calls of the C library, lane by lane.
    "convert-math-to-llvm",
)

#: Runs after bufferization, convert-linalg-to-loops and LOWER_MASKS, for generated, scheduled and hand-written
#: functions.
TO_LLVM: tuple[str, ...] = (
    f"func.func({','.join(_FROM_VECTORS)})",
    "convert-math-to-libm",
    # Convert all dialects together, so that no casts between dialects are needed.
    "convert-to-llvm{filter-dialects=memref,ub,index,arith,func,cf}",
    "reconcile-unrealized-casts",
    # Folds extractions from newly built descriptors, a third of a graph's operations.
    "llvm.func(canonicalize{max-iterations=1 region-simplify=disabled})",
)


def to_llvm(*passes: str) -> Stage:
    """Return the stage that lowers to the LLVM dialect, with passes after upstream's."""
    return trusted("to-llvm", (",".join(TO_LLVM), *passes), "lowers to the LLVM dialect")
