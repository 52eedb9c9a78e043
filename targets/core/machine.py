# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about a processor that loops are planned for. The file imports nothing of the package."""

from __future__ import annotations

from dataclasses import dataclass

#: Cache sizes assumed for processors with unknown caches. Processors used for computing rarely have less.
ORDINARY_CACHES = (32 << 10, 512 << 10)
#: Cores assumed for processors of other machines. Grains are the same for one to four cores.
ORDINARY_CORES = 4
#: Architectures that have a fused multiply-add wherever they have floating-point numbers.
_ALWAYS_FUSED = ("aarch64", "riscv64")
#: Names for readers of functions and instructions that sum products, by parts of their symbols. The first match counts.
_ENGINES = {"LAPACKE": "LAPACK", "x86.tdp": "AMX", "avx512bf16": "AVX-512 BF16", "vpdp": "VNNI", "pmadd": "pmaddwd",
            "bfdot": "bfdot", "usdot": "i8mm", "neon.sdot": "dotprod", "neon.udot": "dotprod"}  # fmt: skip
#: Names for readers of vector instructions: the required feature, and the bytes of a vector that make use of it.
_VECTORS = {
    "x86_64": (("avx512f", 64, "AVX-512"), ("avx2", 32, "AVX2"), ("sse2", 0, "SSE")),
    "aarch64": (("neon", 0, "NEON"),),
    "riscv64": (("v", 0, "V"),),
}
SCALAR = "scalar"


def engine_of(symbol: str) -> str:
    """Return the name for readers of a function or instruction that sums products, or "" for others."""
    return next((engine for part, engine in _ENGINES.items() if part in symbol), "")


@dataclass(frozen=True)
class DotInstruction:
    """Dot-product instruction: adds the products of packed narrow integers to each 32-bit accumulator.

    Types are bf16, s8, u8 for the factors, and f32, i32 for the accumulators.
    """

    #: LLVM's name of the intrinsic, which maps accumulators, left and right factors to new accumulators.
    intrinsic: str
    left: str
    right: str
    total: str
    #: Number of accumulators.
    lanes: int
    #: For tile instructions: the number of rows of left factors, each with as many groups. Otherwise 1: all
    #: accumulators share a group.
    rows: int = 1
    #: True if the instruction adds products of 16-bit pairs: it multiplies the even bytes of groups, then the odd ones.
    by_halves: bool = False
    #: With `by_halves`: intrinsic that adds products of adjacent unsigned and signed bytes in 16 bits, and saturates.
    #: Empty if the CPU has none.
    byte_pairs: str = ""

    @property
    def group(self) -> int:
        """Return the number of packed factors per accumulator."""
        return 32 // int(self.left.lstrip("bfsu"))


@dataclass(frozen=True)
class Machine:
    """Processor: instruction set, vector registers, caches and cores."""

    #: LLVM's name, such as x86_64.
    architecture: str
    #: LLVM's names, such as avx2 and neon.
    features: frozenset[str]
    vector_bytes: int
    registers: int
    #: Sizes in bytes of the data caches of a core, innermost first: private caches, then shared ones.
    caches: tuple[int, ...] = ORDINARY_CACHES
    cores: int = 1
    #: Dot-product instructions for narrow numbers.
    dots: tuple[DotInstruction, ...] = ()
    #: Shared memory of a thread block on GPUs, else 0.
    shared_bytes: int = 0
    #: Thread blocks on GPUs: maximum number of threads, threads per warp, and bytes that a thread loads or stores at
    #: once. All supported GPUs agree in these numbers, so code without access to the machine reads the defaults.
    block_threads: int = 1024
    warp: int = 32
    thread_bytes: int = 16
    #: Width of the integers of atomic compare-and-swap.
    atomic_bits: int = 64
    #: Matrix instructions of a warp, by the names that plans use.
    instructions: tuple[str, ...] = ()
    #: False if the code has no vector types, as C99 has none.
    has_vectors: bool = True

    def lanes(self, bits: int) -> int:
        """Return the number of `bits`-wide numbers in a vector register."""
        return max(self.vector_bytes * 8 // bits, 1)

    @property
    def summary(self) -> str:
        """Describe what plans depend on, for readers."""
        caches = ",".join(f"{size >> 10}K" for size in self.caches) or "none"
        return f"{self.architecture}, vectors of {self.vector_bytes} bytes, caches {caches}, cores {self.cores}"

    @property
    def vector_engine(self) -> str:
        """Return the name for readers of the vector instructions."""
        rows = _VECTORS.get(self.architecture, ()) if self.has_vectors else ()
        fitting = (name for feature, size, name in rows if feature in self.features and size <= self.vector_bytes)
        return next(fitting, SCALAR)

    @property
    def has_fused_multiply_add(self) -> bool:
        """Check whether one instruction computes x * y + z of f32 and f64, rounded once."""
        return self.architecture in _ALWAYS_FUSED or "fma" in self.features

    @property
    def own_cache(self) -> int:
        """Return the size of the largest private cache of a core, usually the second level, or 0 without caches."""
        return self.caches[:2][-1] if self.caches else 0
