# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages that targets have in common; each target's pipeline lists those that it has, with options of its own.

Functions take options of the stage's pass as a pipeline's text has them, "columns=true".
"""

from __future__ import annotations

from ...passes.core.stages import TARGET_PLACE, Stage


def trusted(name: str, passes: tuple[str, ...], doc: str, level: int = 0) -> Stage:
    """A stage of passes that are ours: what they make is verified before code is made of it, not again and again."""
    return Stage(name, passes, doc, verify="later", level=level)


def open_stage(name: str, passes: tuple[str, ...], doc: str) -> Stage:
    """A stage that calls what others register: rules, intrinsics, schedules."""
    return Stage(name, passes, doc, verify="end")


def _with(name: str, options: str) -> str:
    return f"{name}{{{options}}}" if options else name


# ---- graphs ----


def integers(options: str = "") -> Stage:
    # Before small constants are dequantized.
    passes = (_with("relax-propagate-quantization", options),)
    return trusted("integers", passes, "products of quantized numbers are of bytes", level=2)


SIMPLIFY = trusted(
    "simplify",
    ("relax-canonicalize", "cse", "relax-dead-code-elimination"),
    "what needs not be computed, or not twice, is not",
    level=1,
)


def blocks(options: str = "") -> Stage:
    passes = (_with("relax-fuse-dequantize-matmul", options),)
    return trusted("blocks", passes, "products read weights of few bits as they are", level=2)


NORMS = trusted("norms", ("relax-fold-batch-norm",), "norms of inference go into weights before or after them", level=2)
ATTENTION = trusted(
    "attention",
    ("relax-fuse-attention", "relax-canonicalize"),
    "products with a softmax between them need no room for all scores",
    level=2,
)
HEADS = trusted(
    "heads",
    ("relax-regroup-heads", "relax-canonicalize"),
    "heads that share keys and values are rows of one product",
    level=2,
)


def combine_products(options: str = "") -> str:
    """The pass that makes one product of several with one operand, where that costs no copies at run time."""
    return _with("relax-combine-parallel-matmul", f"constants-only=true {options}".rstrip())


def products(options: str = "") -> Stage:
    """With options of `combine_products`."""
    return trusted(
        "products",
        (
            combine_products(options),
            "relax-reorder-matmul",
            "relax-reorder-permute-after-concat",
            "relax-canonicalize",
            "relax-fuse-transpose-matmul",
        ),
        "products of one operand become one, and read transposed operands",
        level=3,
    )


FOLD = trusted("fold", ("relax-fold-constant",), "what operators make of constants is a constant")


# ---- from operators to functions over memory ----

LEGALIZE = open_stage(
    "legalize", (f"relax-legalize-ops{{target={TARGET_PLACE}}}",), "operators become calls of PrimFuncs"
)


def fuse(options: str = "") -> Stage:
    # Dead code goes first, at last the functions without callers.
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
        "calls of PrimFuncs become fewer",
    )


INTRINSICS = open_stage(
    "intrinsics", (f"tir-lower-intrinsics{{target={TARGET_PLACE}}}",), "functions like exp become arithmetic"
)


def bufferize(options: str = "") -> Stage:
    """With options of the plan of memory."""
    passes = ("tir-bufferize", _with("relax-plan-memory", options), "relax-lower-calls")
    return trusted("bufferize", passes, "tensors become memory, in a planned arena")


SMALL_TYPES = trusted("small-types", ("tir-store-small-types",), "elements of less than a byte and f8 become bytes")


# ---- to the LLVM dialect ----

#: Lower vector.mask and vector.multi_reduction, which only functions from outside have. Both passes fail if upstream's
#: pattern driver does not settle within 10 rounds. Each round merges identical blocks, and a graph with nested loops
#: has hundreds of blocks once its control flow is cf (host-lower-errors): so the passes run before, on scf.
LOWER_MASKS = "func.func(lower-vector-mask,lower-vector-multi-reduction{lowering-strategy=inner-parallel})"

# Function by function as far as that goes: a function stays in the cache for all of its passes, a module does not.
_FROM_VECTORS = (
    # Vectors first: this makes loops or straight code of transfers that are no single load or store (of rank 2 and
    # more, transposing); hence before scf and memref go.
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 and float8 have no arithmetic of their own: computed in f32, converted by integer operations, because what
    # LLVM makes of the conversions are calls into compiler-rt, which is not linked.
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

#: After bufferization, convert-linalg-to-loops and LOWER_MASKS; for generated, scheduled and hand-written functions.
TO_LLVM: tuple[str, ...] = (
    f"func.func({','.join(_FROM_VECTORS)})",
    "convert-math-to-libm",
    # All at once: what one dialect's conversion leaves for the next need not be cast.
    "convert-to-llvm{filter-dialects=memref,ub,index,arith,func,cf}",
    "reconcile-unrealized-casts",
    # What is taken out of descriptors that were just made: a third of a graph's operations.
    "llvm.func(canonicalize{max-iterations=1 region-simplify=disabled})",
)


def to_llvm(*passes: str) -> Stage:
    """With passes that follow upstream's."""
    return trusted("to-llvm", (",".join(TO_LLVM), *passes), "upstream's passes to the LLVM dialect")
