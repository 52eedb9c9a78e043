# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's architectures: what LLVM and PTX call them, what a block may take, which instructions there are."""

from __future__ import annotations

from dataclasses import dataclass

from ....support.errors import OptionError, RelaxError
from ....support.suggest import suggest
from ...core.backend import ChosenTarget
from ...core.registry import TargetOption

OPTIONS = (
    TargetOption("arch", "the oldest GPU that code is for, by NVIDIA's name: sm_80 (the usual), sm_90a, sm_100"),
    TargetOption("tf32", "whether tensor cores multiply f32, of which 10 bits of the fraction count: true; else exact"),
)

#: Of a thread, and of all that are on a multiprocessor together.
MAX_REGISTERS, REGISTERS = 255, 65536
USUAL = "sm_80"


@dataclass(frozen=True)
class MMA:
    """A product of small matrices that a warp makes at once: sums of m x n, of k products each (mma.sync)."""

    m: int
    n: int
    k: int
    #: Element types of the factors and of the sums, by MLIR's names; tf32 is f32 of which 19 bits count.
    factors: str
    sums: str

    @property
    def name(self) -> str:
        """As plans name it."""
        return f"m{self.m}n{self.n}k{self.k}"


@dataclass(frozen=True)
class Arch:
    """An architecture."""

    #: NVIDIA's and LLVM's name.
    name: str
    #: The version of PTX that code is written in, 10 * major + minor: drivers since 12.0 read 80.
    ptx: int
    #: Bytes of shared memory: the most of a block, if it asks for it, and what a multiprocessor has.
    block_shared: int
    shared: int
    #: Threads and blocks that are on a multiprocessor together, at most.
    threads: int
    blocks: int
    #: Multiprocessors of the usual device; others have more or fewer.
    multiprocessors: int
    #: Bytes of the usual device's L2.
    cache: int

    @property
    def number(self) -> int:
        """90 of sm_90a."""
        return int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def is_specific(self) -> bool:
        """Whether code is for this architecture alone, with all that it has; else newer devices run it, too."""
        return self.name.endswith("a")

    @property
    def features(self) -> str:
        """LLVM's text of them."""
        return f"+ptx{self.ptx}"

    @property
    def mma(self) -> tuple[MMA, ...]:
        """The products of matrices, for a type the largest shape."""
        return _MMA + (_MMA_F8 if self.number >= 89 else ())

    @property
    def has_tma(self) -> bool:
        """Whether one thread copies tiles of tensors to shared memory (cp.async.bulk.tensor, mbarrier)."""
        return self.number >= 90

    @property
    def has_wgmma(self) -> bool:
        """Whether four warps multiply from shared memory (wgmma)."""
        return self.name == "sm_90a"

    def instructions(self, tf32: bool) -> tuple[str, ...]:
        """The products of matrices as plans name them, those first that multiply most at once."""
        of_warps = dict.fromkeys(each.name for each in self.mma if each.factors != "tf32" or tf32)
        return (*(WGMMA if self.has_wgmma else ()), *of_warps)

    @property
    def has_tcgen05(self) -> bool:
        """Whether sums stay in tensor memory (tcgen05)."""
        return self.is_specific and 100 <= self.number < 120


# cp.async and ldmatrix are in all of these.
_MMA = (
    MMA(16, 8, 16, "f16", "f16"),
    MMA(16, 8, 16, "f16", "f32"),
    MMA(16, 8, 16, "bf16", "f32"),
    MMA(16, 8, 8, "tf32", "f32"),
    MMA(16, 8, 32, "i8", "i32"),
    MMA(8, 8, 4, "f64", "f64"),
)
_MMA_F8 = (MMA(16, 8, 32, "f8E4M3FN", "f32"), MMA(16, 8, 32, "f8E5M2", "f32"))

#: Of four warps: 64 rows and N columns, of halves and of bytes.
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
ARCHS = {each.name: each for each in _ARCHS}


def find_arch(name: str) -> Arch:
    """The architecture of a name. Raises RelaxError with the nearest one."""
    if name not in ARCHS:
        known = ", ".join(ARCHS)
        raise OptionError(f"there is no architecture '{name}'{suggest(name, ARCHS)}", notes=[f"known: {known}"])
    return ARCHS[name]


def has_tf32(target: ChosenTarget) -> bool:
    """Whether products of f32 may be less exact. Raises RelaxError for what is neither true nor false."""
    given = target.option("tf32") or "false"
    if given not in ("true", "false"):
        raise OptionError(f"target '{target}': option 'tf32' expects true or false, got '{given}'")
    return given == "true"


def arch_of(target: ChosenTarget) -> Arch:
    """The architecture that the target's options name. Raises RelaxError for an unknown one."""
    try:
        return find_arch(target.option("arch") or USUAL)
    except RelaxError as error:
        raise OptionError(f"target '{target}': {error.message}", notes=error.notes) from None
