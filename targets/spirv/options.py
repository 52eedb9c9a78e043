# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of a device that kernels are for: the targets' options."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.errors import OptionError
from ..core.backend import ChosenTarget, Machine
from ..core.registry import TargetOption
from .matrices import FACTORS, LEAST, MOST, Matrices, matrices_of_text

SEPARATOR = "+"
#: What a device may lack.
_TYPES = ("f64", "f16", "i16", "i8")
_VERSIONS = ("1.2", "1.3")

OPTIONS = (
    TargetOption(
        "subgroup", "how many threads exchange values without memory, at least: 32 (the usual), 1 for none, to 128"
    ),
    TargetOption("threads", "how many threads a block may have: 256 (the usual), from 128 to 1024"),
    TargetOption("shared", "bytes of memory that a block may have: 32768 (the usual), from 16384 on"),
    TargetOption(
        "lacks", "types that the device has not, of f64, f16, i16, i8: f64+f16; kernels with such are refused"
    ),
    TargetOption(
        "fma",
        "whether the device rounds x * y + z once (the usual) or twice, where code is to do it: lavapipe, from which "
        "code also hides that a number is 0",
    ),
)
MATRICES = TargetOption(
    "matrices",
    "cooperative matrices that the device multiplies, f16:16x16x16+i8:16x16x32: factors f16, i8 or ui8, rows, columns "
    "and steps, by subgroups of exactly as many threads as 'subgroup' says; none without it; code is for Vulkan 1.3",
)
VERSION = TargetOption("version", "the Vulkan that code is for: 1.2 (the usual), by SPIR-V 1.5, or 1.3, by SPIR-V 1.6")


@dataclass(frozen=True)
class DeviceLimits:
    """A device, or what all devices have that code is for."""

    subgroup: int
    threads: int
    shared_bytes: int
    #: Whether x * y + z is rounded once.
    is_fused: bool
    #: Names of types that it has not, as the option gives them.
    lacks: str
    #: Vulkan's, where code is for that.
    version: str
    matrices: tuple[Matrices, ...] = ()
    #: What plans count with; of the usual device.
    cores: int = 16
    registers: int = 128

    @property
    def kernels_shared(self) -> int:
        """What is left for kernels: threads of several subgroups exchange values through some."""
        return self.shared_bytes - (4 * self.threads if self.subgroup < Machine.warp else 0)


def device_of(target: ChosenTarget) -> DeviceLimits:
    """What the options say. Raises RelaxError for values that are wrong."""
    subgroup = number_option(target, "subgroup", 1 if target.option("language") == "c" else 32, 1, 128)
    matrices = _matrices(target, subgroup)
    return DeviceLimits(
        subgroup,
        number_option(target, "threads", 256, 128, 1024),
        number_option(target, "shared", 32 << 10, 16 << 10, 1 << 20),
        _word(target, "fma", ("once", "twice")) == "once",
        _types(target),
        # What upstream has for matrices is of this SPIR-V.
        _word(target, "version", _VERSIONS[-1:] if matrices else _VERSIONS),
        matrices,
    )


def _types(target: ChosenTarget) -> str:
    given = target.option("lacks")
    unknown = next((each for each in given.split(SEPARATOR) if given and each not in _TYPES), None)
    if unknown is not None:
        notes = [f"known: {', '.join(_TYPES)}"]
        if unknown == "i64":
            notes.append("addresses are of 64 bits: a device without i64 runs no program")
        raise OptionError(f"target '{target}': option 'lacks' has no type '{unknown}'", notes=notes)
    return given


def _matrices(target: ChosenTarget, subgroup: int) -> tuple[Matrices, ...]:
    found: list[Matrices] = []
    for text in filter(None, target.option("matrices").split(SEPARATOR)):
        matrices = matrices_of_text(text, subgroup)
        if matrices is None:
            notes = [
                f"expected {' or '.join(FACTORS)} with rows, columns and steps, as f16:16x16x16: powers of two from "
                f"{LEAST} to {MOST}, and as many results as subgroups have threads, {subgroup}",
            ]
            raise OptionError(f"target '{target}': option 'matrices' has '{text}'", notes=notes)
        if any(each.factors == matrices.factors for each in found):
            raise OptionError(f"target '{target}': option 'matrices' has {matrices.factors} twice")
        found.append(matrices)
    return tuple(found)


def _word(target: ChosenTarget, name: str, known: tuple[str, ...]) -> str:
    given = target.option(name) or known[0]
    if given not in known:
        raise OptionError(f"target '{target}': option '{name}' expects {' or '.join(known)}, got '{given}'")
    return given


def number_option(target: ChosenTarget, name: str, usual: int, least: int, most: int) -> int:
    """A target's option that is a number, of threads a power of two. Raises OptionError for another one."""
    given = target.option(name) or str(usual)
    if not given.isdigit() or not least <= int(given) <= most or (name != "shared" and int(given) & (int(given) - 1)):
        what = "a number" if name == "shared" else "a power of two"
        raise OptionError(f"target '{target}': option '{name}' expects {what} from {least} to {most}, got '{given}'")
    return int(given)
