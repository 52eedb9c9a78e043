# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target options: properties of the devices that kernels run on."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.support.errors import OptionError
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.core.registry import TargetOption

from .matrices import FACTORS, LEAST, MOST, Matrices, matrices_of_text

SEPARATOR = "+"
#: Types that a device may lack.
_TYPES = ("f64", "f16", "i16", "i8")
_VERSIONS = ("1.2", "1.3")

OPTIONS = (
    TargetOption(
        "subgroup", "minimum number of threads that exchange values without memory: 1 (none) to 128, default 32"
    ),
    TargetOption("threads", "maximum number of threads per block: 128 to 1024, default 256"),
    TargetOption("shared", "maximum bytes of memory per block: 16384 or more, default 32768"),
    TargetOption(
        "lacks", "types that the device lacks, of f64, f16, i16, i8: f64+f16; kernels that use them are refused"
    ),
    TargetOption(
        "fma",
        "number of roundings of x * y + z on the device: once (default), or twice, for lavapipe, where code emulates "
        "math.fma and hides constant zeros",
    ),
)
MATRICES = TargetOption(
    "matrices",
    "cooperative matrices of the device, f16:16x16x16+i8:16x16x32: factors f16, i8 or ui8, rows, columns and steps, "
    "for subgroups of exactly 'subgroup' threads; default none; code is for Vulkan 1.3",
)
VERSION = TargetOption("version", "version of Vulkan: 1.2 (default), with SPIR-V 1.5, or 1.3, with SPIR-V 1.6")


@dataclass(frozen=True)
class DeviceLimits:
    """Properties of a device, or the common properties of all devices that the code supports."""

    subgroup: int
    threads: int
    shared_bytes: int
    #: True if x * y + z is rounded once.
    is_fused: bool
    #: Names of missing types, in the option's format.
    lacks: str
    #: Version of Vulkan, if the code is for Vulkan.
    version: str
    matrices: tuple[Matrices, ...] = ()
    #: Estimates for plans, from the usual device.
    cores: int = 16
    registers: int = 128

    @property
    def kernels_shared(self) -> int:
        """Bytes of shared memory for kernels. If a warp spans several subgroups, exchanged values take a part."""
        return self.shared_bytes - (4 * self.threads if self.subgroup < Machine.warp else 0)


def device_of(target: ChosenTarget) -> DeviceLimits:
    """Return the properties that the options state. Raises RelaxError for wrong values."""
    subgroup = target.number("subgroup", 1 if target.option("language") == "c" else 32, 1, 128)
    matrices = _matrices(target, subgroup)
    return DeviceLimits(
        subgroup,
        target.number("threads", 256, 128, 1024),
        target.number("shared", 32 << 10, 16 << 10, 1 << 20),
        _word(target, "fma", ("once", "twice")) == "once",
        _types(target),
        # Upstream's operations on matrices need this version of SPIR-V.
        _word(target, "version", _VERSIONS[-1:] if matrices else _VERSIONS),
        matrices,
    )


def _types(target: ChosenTarget) -> str:
    types = target.option("lacks")
    unknown = next((word for word in types.split(SEPARATOR) if types and word not in _TYPES), None)
    if unknown is not None:
        notes = [f"known: {', '.join(_TYPES)}"]
        if unknown == "i64":
            notes.append("addresses are of 64 bits: a device without i64 runs no program")
        raise OptionError(f"target '{target}': option 'lacks' has no type '{unknown}'", notes=notes)
    return types


def _matrices(target: ChosenTarget, subgroup: int) -> tuple[Matrices, ...]:
    found: list[Matrices] = []
    for text in filter(None, target.option("matrices").split(SEPARATOR)):
        matrices = matrices_of_text(text, subgroup)
        if matrices is None:
            notes = [
                f"expected {' or '.join(FACTORS)} with rows, columns and steps, as f16:16x16x16: powers of two from "
                f"{LEAST} to {MOST}, and as many results as subgroups have threads, {subgroup}"
            ]
            raise OptionError(f"target '{target}': option 'matrices' has '{text}'", notes=notes)
        if any(each.factors == matrices.factors for each in found):
            raise OptionError(f"target '{target}': option 'matrices' has {matrices.factors} twice")
        found.append(matrices)
    return tuple(found)


def _word(target: ChosenTarget, name: str, known: tuple[str, ...]) -> str:
    word = target.option(name) or known[0]
    if word not in known:
        raise OptionError(f"target '{target}': option '{name}' expects {' or '.join(known)}, got '{word}'")
    return word
