# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's architectures: names in LLVM and PTX, limits of a block, instructions."""

from __future__ import annotations

from dataclasses import dataclass

from ....support.errors import OptionError, RelaxError
from ....support.suggest import suggest
from ...core.backend import ChosenTarget
from ...core.registry import TargetOption

OPTIONS = (
    TargetOption("arch", "oldest supported GPU, by NVIDIA's name: sm_80 (default), sm_90a, sm_100"),
    TargetOption("tf32", "true: tensor cores read 10 bits of the fraction of f32; false (default): all bits"),
)

#: Registers per thread at most, and of a multiprocessor.
MAX_REGISTERS, REGISTERS = 255, 65536
USUAL = "sm_80"


@dataclass(frozen=True)
class MMA:
    """Matrix product that a warp computes at once (mma.sync): m x n sums of k products each."""

    m: int
    n: int
    k: int
    #: Element types of the factors and of the sums, by MLIR's names; tf32 is f32 with 19 significant bits.
    factors: str
    sums: str

    @property
    def name(self) -> str:
        """Name in plans."""
        return f"m{self.m}n{self.n}k{self.k}"


@dataclass(frozen=True)
class Arch:
    """GPU architecture."""

    #: NVIDIA's and LLVM's name.
    name: str
    #: Version of the generated PTX, 10 * major + minor. Drivers since 12.0 read 80.
    ptx: int
    #: Bytes of shared memory: the most that a block may request, and that of a multiprocessor.
    block_shared: int
    shared: int
    #: Most resident threads and blocks per multiprocessor.
    threads: int
    blocks: int
    #: Multiprocessors of the usual device; others have more or fewer.
    multiprocessors: int
    #: Bytes of the usual device's L2 cache.
    cache: int

    @property
    def number(self) -> int:
        """Number of the architecture: 90 for sm_90a."""
        return int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def is_specific(self) -> bool:
        """Check whether code runs on this architecture only and may use all of its features.

        Code for other architectures also runs on newer devices.
        """
        return self.name.endswith("a")

    @property
    def features(self) -> str:
        """LLVM's feature string."""
        return f"+ptx{self.ptx}"

    @property
    def mma(self) -> tuple[MMA, ...]:
        """Matrix products, the largest shape for each type."""
        return _MMA + (_MMA_F8 if self.number >= 89 else ())

    @property
    def has_tma(self) -> bool:
        """Check whether one thread can copy tiles of tensors to shared memory (cp.async.bulk.tensor, mbarrier)."""
        return self.number >= 90

    @property
    def has_wgmma(self) -> bool:
        """Check whether four warps can multiply from shared memory (wgmma)."""
        return self.name == "sm_90a"

    def instructions(self, tf32: bool) -> tuple[str, ...]:
        """Return the names of the matrix products in plans, the largest ones first."""
        of_warps = dict.fromkeys(each.name for each in self.mma if each.factors != "tf32" or tf32)
        return (*(WGMMA if self.has_wgmma else ()), *of_warps)

    @property
    def has_tcgen05(self) -> bool:
        """Check whether sums stay in tensor memory (tcgen05)."""
        return self.is_specific and 100 <= self.number < 120


# All of these architectures have cp.async and ldmatrix.
_MMA = (
    MMA(16, 8, 16, "f16", "f16"),
    MMA(16, 8, 16, "f16", "f32"),
    MMA(16, 8, 16, "bf16", "f32"),
    MMA(16, 8, 8, "tf32", "f32"),
    MMA(16, 8, 32, "i8", "i32"),
    MMA(8, 8, 4, "f64", "f64"),
)
_MMA_F8 = (MMA(16, 8, 32, "f8E4M3FN", "f32"), MMA(16, 8, 32, "f8E5M2", "f32"))

#: Products by four warps: 64 rows and N columns, of half floats and of bytes.
WGMMA = tuple(f"wgmma_m64n{columns}k{steps}" for columns in (256, 128, 64) for steps in (16, 32))

_K, _M = 1 << 10, 1 << 20
_ARCHS = (
    Arch("sm_80", 80, 163 * _K, 164 * _K, 2048, 32, 108, 40 * _M),
    Arch("sm_86", 80, 99 * _K, 100 * _K, 1536, 16, 84, 6 * _M),
    Arch("sm_87", 80, 163 * _K, 164 * _K, 1536, 16, 16, 4 * _M),
    Arch("sm_89", 80, 99 * _K, 100 * _K, 1536, 24, 128, 72 * _M),
    Arch("sm_90", 80, 227 * _K, 228 * _K, 2048, 32, 132, 50 * _M),
    Arch("sm_90a", 80, 227 * _K, 228 * _K, 2048, 32, 132, 50 * _M),
    Arch("sm_100", 86, 227 * _K, 228 * _K, 2048, 32, 148, 126 * _M),
    Arch("sm_100a", 86, 227 * _K, 228 * _K, 2048, 32, 148, 126 * _M),
    Arch("sm_103", 88, 227 * _K, 228 * _K, 2048, 32, 148, 126 * _M),
    Arch("sm_103a", 88, 227 * _K, 228 * _K, 2048, 32, 148, 126 * _M),
    Arch("sm_120", 87, 99 * _K, 100 * _K, 1536, 24, 170, 96 * _M),
    Arch("sm_120a", 87, 99 * _K, 100 * _K, 1536, 24, 170, 96 * _M),
)
ARCHS = {arch.name: arch for arch in _ARCHS}


def find_arch(name: str) -> Arch:
    """Return the architecture of a name. Raises RelaxError with the nearest name."""
    if name not in ARCHS:
        known = ", ".join(ARCHS)
        raise OptionError(f"there is no architecture '{name}'{suggest(name, ARCHS)}", notes=[f"known: {known}"])
    return ARCHS[name]


def has_tf32(target: ChosenTarget) -> bool:
    """Check whether products of f32 may be less accurate. Raises RelaxError if the option is neither true nor false."""
    given = target.option("tf32") or "false"
    if given not in ("true", "false"):
        raise OptionError(f"target '{target}': option 'tf32' expects true or false, got '{given}'")
    return given == "true"


def arch_of(target: ChosenTarget) -> Arch:
    """Return the architecture of the target's options. Raises RelaxError if it is unknown."""
    try:
        return find_arch(target.option("arch") or USUAL)
    except RelaxError as error:
        raise OptionError(f"target '{target}': {error.message}", notes=error.notes) from None
