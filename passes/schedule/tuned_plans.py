# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned kernels: a JSON file for each kernel and machine, with the plans that measurements chose.

    tuned/fused_matmul_relu-1f0c93be52a4d871-x86_64-512-2048K.json

The name has the kernel's name, for readers, the key of its PrimFunc, and the machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import print_asm
from ...bindings.navigation import symbol_name
from ...bindings.pass_manager import run_upstream
from ...bindings.rewriting import Decline
from ...emit.structured import analyze, structured_ops
from ...support.errors import RelaxError
from ...support.files import write_whole
from ...targets.core.machine import Machine
from .epilogue import with_epilogue
from .fitting import check_plan
from .plan import EpilogueOf, Plan, parse_plan, plan_of, set_plan

VERSION = 1
_SUFFIX = ".json"
#: Prefix of the files of tuned programs (compilation/tuned_programs.py).
PROGRAM = "program-"
_KEY_BYTES = 8


class MachineFacts(NamedTuple):
    """Facts of a machine on which plans depend."""

    architecture: str
    vector_bytes: int
    registers: int
    #: True if one instruction multiplies and adds.
    fused: bool
    #: Intrinsics of dot products.
    dots: tuple[str, ...]
    caches: tuple[int, ...]

    @classmethod
    def of(cls, machine: Machine) -> MachineFacts:
        dots = tuple(sorted(each.intrinsic for each in machine.dots))
        sizes = machine.architecture, machine.vector_bytes, machine.registers
        return cls(*sizes, machine.has_fused_multiply_add, dots, tuple(machine.caches))

    @property
    def label(self) -> str:
        own = (*self.caches, 0)[:2][-1]
        return f"{self.architecture}-{self.vector_bytes * 8}-{own >> 10}K"

    def fits(self, other: MachineFacts) -> bool:
        """Check whether all facts but the caches are equal."""
        return self._replace(caches=other.caches) == other

    def distance(self, other: MachineFacts) -> float:
        """Return how much caches differ, as the sum of the logarithms of ratios."""
        pairs = zip(self.caches, other.caches, strict=False)
        return sum(abs(math.log2(max(one, 1) / max(two, 1))) for one, two in pairs)


class Times(NamedTuple):
    """Microseconds of a call by the rules' plans and by tuned ones, and the error of their ratio."""

    default: float
    tuned: float
    noise: float


@dataclass(frozen=True)
class TunedKernel:
    """Plans of a kernel's operations for a machine, with their times."""

    #: Name of the kernel in the program that was tuned.
    kernel: str
    key: str
    #: Types of the kernel's parameters.
    types: tuple[str, ...]
    machine: MachineFacts
    #: Text of `tir.plan` for each structured operation, or "" for one without a plan.
    plans: tuple[str, ...]
    #: Plans of the target's rules.
    default: tuple[str, ...]
    times: Times
    #: Plans that were measured.
    trials: int = 0
    #: Name of the CPU, for readers.
    cpu: str = ""
    #: File that the kernel was read from.
    path: str = field(default="", compare=False)

    @property
    def file_name(self) -> str:
        return f"{self.kernel}-{self.key}-{self.machine.label}{_SUFFIX}"

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the file into a folder. Return its path."""
        path = Path(folder, self.file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"version": VERSION, **asdict(self), "machine": self.machine._asdict(), "times": self.times._asdict()}
        del content["path"]
        write_whole(str(path), (json.dumps(content, indent=1) + "\n").encode())
        return path


def kernel_key(function: Operation) -> str:
    """Return a hash of a PrimFunc without plans: its operations, sizes and order of sums, but not its name."""
    text = print_asm(function, assume_verified=True).replace(f"@{symbol_name(function)}(", "@kernel(", 1)
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_KEY_BYTES).hexdigest()


def plans_of(function: Operation) -> tuple[str, ...]:
    """Return the text of the plan of each structured operation, or ""."""
    return tuple("" if (plan := plan_of(op)) is None else str(plan) for op in structured_ops(function, named=True))


def use_plans(function: Operation, plans: Sequence[str], machine: Machine) -> None:
    """Set the plans of a PrimFunc's operations. Raises Decline before it changes anything, if one does not fit."""
    with function.context, function.location:
        run_upstream(function, ["linalg-generalize-named-ops"])
        operations = structured_ops(function)
        if len(operations) != len(plans):
            raise Decline(f"the kernel has {len(operations)} operations, but there are plans for {len(plans)}")
        parsed = [parse_plan(text) if text else None for text in plans]
        for operation, plan in zip(operations, parsed, strict=True):
            if isinstance(plan, EpilogueOf):
                with_epilogue(analyze(operation), plan.operand)
            elif isinstance(plan, Plan):
                check_plan(analyze(operation), plan, machine)
        for operation, plan in zip(operations, parsed, strict=True):
            if plan is not None:
                set_plan(operation, plan)


class TunedFolder:
    """Folder of tuned kernels. Files are read when a kernel with their key is compiled."""

    def __init__(self, folder: str | os.PathLike[str]):
        """List the files. Raises RelaxError if the folder cannot be read."""
        self._folder = Path(folder)
        self._names: dict[str, list[str]] = {}
        try:
            names = sorted(os.listdir(self._folder))
        except OSError as error:
            raise RelaxError(f"tuned kernels in '{folder}' cannot be read: {error.strerror}") from None
        for name in names:
            is_program = name.startswith(PROGRAM) and name.count("-") > 4
            if name.endswith(_SUFFIX) and name.count("-") > 1 and not is_program:
                # The label has three words behind the key.
                self._names.setdefault(name.rsplit("-", 4)[1], []).append(name)

    def __bool__(self) -> bool:
        return bool(self._names)

    def find(self, key: str, machine: Machine) -> TunedKernel | None:
        """Return the kernel that was tuned on the most similar machine. Raises RelaxError for a damaged file."""
        facts = MachineFacts.of(machine)
        found = [kernel for kernel in map(self._read, self._names.get(key, ())) if kernel.machine.fits(facts)]
        return min(found, key=lambda each: each.machine.distance(facts), default=None)

    def all(self) -> Iterator[TunedKernel]:
        """Yield all kernels. Raises RelaxError for a damaged file."""
        return (self._read(name) for names in self._names.values() for name in names)

    def _read(self, name: str) -> TunedKernel:
        return read_tuned(self._folder / name)


def read_tuned(path: Path) -> TunedKernel:
    """Read a tuned kernel. Raises RelaxError for a file of another version, and for one that is damaged."""
    try:
        content = json.loads(path.read_bytes())
        version = content.pop("version")
    except OSError as error:
        raise RelaxError(f"tuned kernel '{path}' cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RelaxError(f"tuned kernel '{path}' is damaged: it is no JSON object with a version") from None
    if version != VERSION:
        raise RelaxError(f"tuned kernel '{path}' has version {version}, expected {VERSION}: tune the kernel again")
    try:
        unknown = set(content) - {each.name for each in fields(TunedKernel)}
        if unknown:
            raise TypeError(f"field '{min(unknown)}' is unknown")
        for name in ("types", "plans", "default"):
            content[name] = tuple(map(str, content[name]))
        content["times"] = Times(**{name: float(each) for name, each in content["times"].items()})
        facts = content["machine"]
        lists = {name: tuple(facts[name]) for name in ("dots", "caches")}
        content["machine"] = MachineFacts(**{**facts, **lists})
        return TunedKernel(**content, path=str(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RelaxError(f"tuned kernel '{path}' is damaged: {error}") from None
