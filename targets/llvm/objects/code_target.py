# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine that code is generated for, by the options of the target: this machine or another CPU."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial

from ....runtime.cpu import KNOWN_FEATURES, host_caches, host_cores, host_features, host_triple
from ....support.byte_sizes import byte_size
from ....support.errors import OptionError, RelaxError
from ....support.suggest import suggest
from ...core.backend import ChosenTarget
from ...core.machine import ORDINARY_CACHES, ORDINARY_CORES, Machine
from ...core.registry import TargetOption
from ...host.flush_modes import FLUSH_MODES
from .cpus import GENERIC, Architecture, architectures
from .dot_instructions import dot_instructions

OPTIONS = (
    TargetOption("cpu", "CPU by LLVM's name: haswell, x86-64-v3, neoverse-n1, or generic for the baseline"),
    TargetOption("features", "features to add or remove, by LLVM's names: +avx512vnni,-avx512bf16"),
    TargetOption("triple", "architecture and system: x86_64-linux-gnu, aarch64-linux-gnu, riscv64-linux-gnu"),
    TargetOption("vector-bytes", "bytes of the vectors in loops; default: the longest of the CPU"),
    TargetOption(
        "caches", "data caches of a core, innermost first: 32K,1M; default: this machine's, for others 32K,512K"
    ),
    TargetOption("cores", "number of cores; default: this machine's, for others 4"),
    TargetOption(
        "numerics", "same: equal bits on all CPUs; fast: any order of sums; default: same but for bf16 instructions"
    ),
    TargetOption(
        "winograd", "tile size of Winograd's algorithm for 3x3 convolutions; default: 2 if numerics=fast, else 0"
    ),
    TargetOption("denormals", "flush makes denormal (subnormal) f32 and f64 numbers zero; default: keep"),
    TargetOption("bounds", "check raises IndexError for a memory access that leaves its buffer; default: trust"),
)
#: Values of the option `numerics`: the same bits on every CPU, or any order of sums.
NUMERICS = ("same", "fast")
_ENVIRONMENTS = ("gnu", "musl")


@dataclass(frozen=True)
class CodeTarget:
    """Machine that the code will run on."""

    triple: str
    #: LLVM's CPU name and further features, `+a,-b`. Both are empty for the machine that runs this process.
    cpu: str
    feature_text: str
    #: All features that the code may use.
    enabled: frozenset[str]
    #: Limit of the vector length; 0 means the CPU's own length.
    vector_bytes: int
    #: Bytes, innermost first.
    caches: tuple[int, ...] = ORDINARY_CACHES
    cores: int = ORDINARY_CORES
    #: "same", "fast", or "" for the default.
    numerics: str = ""
    #: Results along a side of the largest tile that 3x3 convolutions may use; 0 selects direct sums.
    winograd: int = 0
    #: True if denormal operands and results of f32 and f64 operations become zero.
    flushes_denormals: bool = False
    #: True if the code checks each memory access against the size of its buffer.
    checks_bounds: bool = False

    @property
    def is_host(self) -> bool:
        return not self.cpu

    @property
    def architecture(self) -> str:
        return self.triple.partition("-")[0]

    @property
    def required(self) -> tuple[str, ...]:
        """Return the features of a CPU that an operating system reports, which the loader checks."""
        return tuple(sorted(self.enabled & KNOWN_FEATURES))


def code_target(chosen: ChosenTarget) -> CodeTarget:
    """Return the machine that the options describe. Raise RelaxError for unknown names."""
    try:
        target = _code_target(chosen)
        _check_numerics(target)
        return target
    except RelaxError as error:
        raise OptionError(f"target '{chosen}': {error.message}", notes=error.notes) from None


def _code_target(chosen: ChosenTarget) -> CodeTarget:
    triple, cpu, features = (chosen.option(name) for name in ("triple", "cpu", "features"))
    # Without an option, the CPU is this machine's if the machine is, else the plainest one.
    is_this = not triple and not cpu
    full = _triple(triple) if triple else host_triple()
    made = partial(
        CodeTarget,
        full,
        vector_bytes=_vector_bytes(chosen.option("vector-bytes")),
        caches=_caches(chosen.option("caches"), is_this),
        cores=_cores(chosen.option("cores"), is_this),
        numerics=_one_of("numerics", chosen.option("numerics"), NUMERICS),
        winograd=_winograd(chosen.option("winograd"), chosen.option("numerics")),
        flushes_denormals=_flushes_denormals(chosen.option("denormals"), full.partition("-")[0]),
        checks_bounds=_one_of("bounds", chosen.option("bounds"), ("trust", "check")) == "check",
    )
    if is_this and not features:
        return made("", "", host_features())
    architecture = _architecture(full.partition("-")[0])
    has = _host_features(architecture) if is_this else architecture.features_of(cpu or GENERIC)
    enabled = _change(architecture, has, features)
    name = architecture.generic if cpu in ("", GENERIC) else cpu
    named = frozenset() if cpu in ("", GENERIC) else architecture.features_of(cpu)
    if architecture.name == "riscv64":
        # The loader cannot tell whether vectors are longer than the minimum.
        enabled = architecture.without(enabled, "zvl256b")
    removed, added = sorted(named - enabled), sorted(enabled - named)
    text = ",".join([*(f"-{each}" for each in removed), *(f"+{each}" for each in added)])
    return made(name, text, enabled)


def _triple(text: str) -> str:
    """Return the triple with all four parts."""
    architecture, *rest = text.split("-")
    environment = rest[-1] if rest and rest[-1] != "linux" else "gnu"
    if "linux" not in rest or environment not in _ENVIRONMENTS:
        expected = ", ".join(f"{name}-linux-gnu" for name in architectures())
        raise OptionError(f"triple '{text}': expected one of {expected}{suggest(text, expected.split(', '))}")
    _architecture(architecture)
    return f"{architecture}-unknown-linux-{environment}"


def _architecture(name: str) -> Architecture:
    known = architectures()
    if name not in known:
        listed = ", ".join(known)
        raise OptionError(f"no code can be made for architecture '{name}'{suggest(name, known)} (known: {listed})")
    return known[name]


def _host_features(architecture: Architecture) -> frozenset[str]:
    known = [feature for feature in host_features() if feature in architecture.features]
    return architecture.baseline | architecture.with_implied(known)


def _change(architecture: Architecture, has: frozenset[str], text: str) -> frozenset[str]:
    """Return the features after the additions and removals, applied in order."""
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        sign, name = item[0], item[1:]
        if sign not in "+-":
            raise OptionError(f"feature '{item}': expected +{item} or -{item}")
        if name not in architecture.features:
            known = list(architecture.features)
            problem = f"{architecture.name} has no feature '{name}'{suggest(name, known)}"
            raise OptionError(problem, notes=[f"known: {', '.join(known)}"])
        if sign == "+" and name.startswith("zvl") and int(name[3:-1]) > 128:
            raise OptionError(f"feature '{name}': no system says how long vectors are, so code takes 128 bits")
        if sign == "-" and name in architecture.baseline:
            raise OptionError(f"feature '{name}': code for {architecture.name} on Linux is never made without it")
        has = has | architecture.with_implied([name]) if sign == "+" else architecture.without(has, name)
    return has


def _vector_bytes(text: str) -> int:
    allowed = [str(1 << power) for power in range(3, 9)]
    if text and text not in allowed:
        raise OptionError(f"vector-bytes={text}: expected one of {', '.join(allowed)}")
    return int(text or 0)


def _caches(text: str, is_this: bool) -> tuple[int, ...]:
    if not text:
        return (host_caches() if is_this else ()) or ORDINARY_CACHES
    sizes = [byte_size(word.strip()) for word in text.split(",")]
    if not all(sizes):
        raise OptionError(f"caches={text}: expected sizes like 32K,1M, the innermost first")
    return tuple(size for size in sizes if size)


def _cores(text: str, is_this: bool) -> int:
    if not text:
        return host_cores() if is_this else ORDINARY_CORES
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0 and len(text) < 9):
        raise OptionError(f"cores={text}: expected how many there are, at least 1 and less than 100000000")
    return int(text)


def _check_numerics(code: CodeTarget) -> None:
    """Refuse the same numerics for code that cannot have them."""
    if code.numerics != "same":
        return
    if not machine_of(code).has_fused_multiply_add:
        raise OptionError(
            "numerics=same: the CPU has no fused multiply-add, so its sums are rounded more often than those of others",
            notes=["x86-64 CPUs have it from x86-64-v3 on: cpu=x86-64-v3 or features=+fma"],
        )
    if code.winograd:
        raise OptionError(
            "numerics=same and winograd exclude each other: Winograd's sums depend on the machine's tiles"
        )


def _winograd(text: str, numerics: str) -> int:
    """Return the size of tiles: 2 by default where sums may have any order, because F(2,3) is faster and more exact."""
    allowed = ["0", "2", "4"]
    if text and text not in allowed:
        raise OptionError(f"winograd={text}: expected one of {', '.join(allowed)}, the results along a side of a tile")
    return int(text or (2 if numerics == "fast" else 0))


def _one_of(name: str, text: str, allowed: Sequence[str]) -> str:
    """Return the value of an option. Raise OptionError for a value that is not allowed."""
    if text and text not in allowed:
        raise OptionError(f"{name}={text}: expected one of {', '.join(allowed)}{suggest(text, allowed)}")
    return text


def _flushes_denormals(text: str, architecture: str) -> bool:
    _one_of("denormals", text, ("keep", "flush"))
    if text == "flush" and architecture not in FLUSH_MODES:
        able = " and ".join(FLUSH_MODES)
        raise OptionError(
            f"denormals=flush: {architecture} has no mode that flushes denormal numbers, {able} have one; "
            f"leave the option out"
        )
    return text == "flush"


def machine(target: ChosenTarget) -> Machine:
    """Return the machine that the target's options describe, by default this machine."""
    return machine_of(code_target(target))


def machine_of(code: CodeTarget) -> Machine:
    vector_bytes = code.vector_bytes or _longest_vector(code.architecture, code.enabled)
    registers = _registers(code.architecture, vector_bytes)
    dots = dot_instructions(code.architecture, code.enabled, vector_bytes)
    return Machine(code.architecture, code.enabled, vector_bytes, registers, code.caches, code.cores, dots)


def _longest_vector(architecture: str, features: Set[str]) -> int:
    if architecture == "riscv64":
        # A vector of V is a pair of registers (LMUL=2): 16 pairs. Without V, pairs of numbers fill the registers.
        return 32 if "v" in features else 8
    return 64 if "avx512f" in features else 32 if "avx2" in features else 16


def _registers(architecture: str, vector_bytes: int) -> int:
    """Return the register count for vectors.

    AVX-512 and NEON have 32, older x86 CPUs 16. Assuming too few registers costs little.
    """
    return 32 if vector_bytes >= 64 or (architecture == "aarch64" and vector_bytes <= 16) else 16
