# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned kernels: a JSON file for each kernel and machine, with the plans or the steps that measurements chose.

    tuned/fused_matmul_relu-1f0c93be52a4d871-x86_64-512-2048K.json

The name has the kernel's name, for readers, the key of its PrimFunc, and the machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import print_asm
from ....bindings.navigation import symbol_name
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import Decline
from ....dialects.tir.prim_func import type_key
from ....emit.groups import fill_of
from ....emit.structured import StructuredOp, analyze, structured_ops
from ....support.errors import RelaxError
from ....support.files import write_whole
from ....support.json_records import read_record
from ....targets.core.backend import tuned_names
from ....targets.core.machine import Machine
from .epilogue import check_lanes, keeps_results, with_epilogue
from .fitting import check_plan
from .plan import EpilogueOf, Plan, Start, parse_plan, plan_of, set_plan
from .vector_body import check_body

if TYPE_CHECKING:
    from ..loops.decisions import Taken

VERSION = 1
_SUFFIX = ".json"
#: Ends of the types of numbers that no dot-product instruction multiplies.
_WIDE = tuple(f"x{name}>" for name in ("f32", "f64", "i32", "i64", "i1"))
#: Bytes of a key's second hash, of the whole kernel.
_BODY_BYTES = 5


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
    #: Bytes of memory that the threads of a GPU's block share.
    shared_bytes: int = 0

    @classmethod
    def of(cls, machine: Machine) -> MachineFacts:
        dots = tuple(sorted(dot.intrinsic for dot in machine.dots))
        sizes = machine.architecture, machine.vector_bytes, machine.registers
        return cls(*sizes, machine.has_fused_multiply_add, dots, tuple(machine.caches), machine.shared_bytes)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> MachineFacts:
        return cls(**{**facts, "dots": tuple(facts["dots"]), "caches": tuple(facts["caches"])})

    @property
    def label(self) -> str:
        own = self.shared_bytes or (*self.caches, 0)[:2][-1]
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

    @classmethod
    def from_json(cls, times: Mapping[str, Any]) -> Times:
        return cls(**{name: float(time) for name, time in times.items()})


@dataclass(frozen=True)
class TunedKernel:
    """Plans of a kernel's operations for a machine, or steps for a target, with their times."""

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
    #: Lines of a schedule, in place of plans, and the target that they are for.
    steps: tuple[str, ...] = ()
    target: str = ""
    #: Rule that gives the steps, and its decisions.
    rule: str = ""
    decisions: tuple[Taken, ...] = ()
    #: Hash of the kernel's operations without sizes: a search tries the plans of other sizes first.
    structure: str = ""
    #: File that the kernel was read from.
    path: str = field(default="", compare=False)

    @property
    def file_name(self) -> str:
        label = self.machine.label
        if self.steps:  # targets with equal machines run other steps
            label = "-".join([self.target.replace("-", "_"), *label.rsplit("-", 2)[1:]])
        return f"{self.kernel}-{self.key}-{label}{_SUFFIX}"

    def fits(self, machine: MachineFacts) -> bool:
        """Check whether the kernel was tuned for such a machine. Dot products matter only for narrow numbers."""
        is_wide = all(type_.endswith(_WIDE) for type_ in self.types)
        return (self.machine._replace(dots=machine.dots) if is_wide else self.machine).fits(machine)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the file into a folder. Return its path."""
        path = Path(folder, self.file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"version": VERSION, **asdict(self), "machine": self.machine._asdict(), "times": self.times._asdict()}
        del content["path"]
        write_whole(str(path), (json.dumps(content, indent=1) + "\n").encode())
        return path


def kernel_key(function: Operation) -> str:
    """Return a hash of a PrimFunc without plans: its operations, sizes and order of sums, but not its name.

    The first digits are a hash of the types, for which the kernel is not printed.
    """
    text = print_asm(function, assume_verified=True).replace(f"@{symbol_name(function)}(", "@kernel(", 1)
    body = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_BODY_BYTES).hexdigest()
    return type_key(function) + body


def plans_of(function: Operation) -> tuple[str, ...]:
    """Return the text of the plan of each structured operation, or ""."""
    return tuple("" if (plan := plan_of(op)) is None else str(plan) for op in structured_ops(function, named=True))


def use_plans(function: Operation, plans: Sequence[str], machine: Machine) -> None:
    """Set the plans of a PrimFunc's operations. Raises Decline before it changes anything, if one does not fit."""
    with function.context, function.location:
        run_upstream(function, ["linalg-generalize-named-ops"])
        operations = structured_ops(function)
        parsed = check_plans(operations, plans, machine)
        for operation, plan in zip(operations, parsed, strict=True):
            if plan is not None:
                set_plan(operation, plan)


def check_plans(
    operations: Sequence[Operation], plans: Sequence[str], machine: Machine
) -> list[Plan | EpilogueOf | Start | None]:
    """Parse the plans of a PrimFunc's operations. Raises Decline if one does not fit its operation or the others."""
    if len(operations) != len(plans):
        raise Decline(f"the kernel has {len(operations)} operations, but there are plans for {len(plans)}")
    parsed = [parse_plan(text) if text else None for text in plans]
    #: Fills with the first numbers of reductions in registers.
    started: list[Operation | None] = []
    for operation, plan in zip(operations, parsed, strict=True):
        if isinstance(plan, Plan):
            op = analyze(operation)
            check_body(op)
            check_plan(op, plan, machine)
            started += map(fill_of, op.outputs if keeps_results(op, plan) else ())
    by_operation = dict(zip(operations, parsed, strict=True))
    for operation, plan in by_operation.items():
        if isinstance(plan, EpilogueOf):
            _check_epilogue(analyze(operation), plan.operand, by_operation, machine)
        elif isinstance(plan, Start) and operation not in started:
            raise Decline("'start' initializes no reduction that keeps its results in registers")
    return parsed


def _check_epilogue(
    consumer: StructuredOp, operand: int, plans: Mapping[Operation, Plan | EpilogueOf | Start | None], machine: Machine
) -> None:
    """Raise Decline if a consumer cannot be the epilogue of a reduction with these plans."""
    check_body(consumer)
    op, _ = with_epilogue(consumer, operand)
    plan = plans[op.operation]
    fill = fill_of(op.operation.operands[op.input_count])
    if not isinstance(plan, Plan) or not keeps_results(op, plan) or fill is None or plans[fill] != Start():
        raise Decline("a reduction with an epilogue does not start in registers, or does not keep its results there")
    joined, _ = check_plan(op, plan, machine)
    if not plan.threads:
        check_lanes(joined, plan.vector)


class TunedFolder:
    """Folder of tuned kernels. Files are read when a kernel with their key is compiled."""

    def __init__(self, folder: str | os.PathLike[str]):
        """List the files. Raises RelaxError if the folder cannot be read."""
        self._folder = Path(folder)
        self._names = tuned_names(folder)

    def __bool__(self) -> bool:
        return bool(self._names)

    def find(self, key: str, machine: Machine, target: str = "") -> TunedKernel | None:
        """Return the kernel that was tuned on the most similar machine. Raises RelaxError for a damaged file.

        Kernels with steps are for the target of this name only.
        """
        facts = MachineFacts.of(machine)
        read = [self._read(name, key) for name in self._names.get(key, ())]
        found = [each for each in read if each.fits(facts) and each.target in ("", target)]
        return min(found, key=lambda each: each.machine.distance(facts), default=None)

    def paths(self) -> list[Path]:
        """Return the files of all kernels."""
        return sorted(self._folder / name for names in self._names.values() for name in names)

    def all(self) -> Iterator[TunedKernel]:
        """Yield all kernels. Raises RelaxError for a damaged file."""
        return map(read_tuned, self.paths())

    def _read(self, name: str, key: str) -> TunedKernel:
        kernel = read_tuned(self._folder / name)
        if kernel.key != key:
            raise RelaxError(
                f"tuned kernel '{kernel.path}' is for the key {kernel.key}: rename it '{kernel.file_name}'"
            )
        return kernel


def read_tuned(path: Path) -> TunedKernel:
    """Read a tuned kernel. Raises RelaxError for a file of another version, and for one that is damaged."""
    return read_record(TunedKernel, path, VERSION, "tuned kernel", "tune the kernel again", _from_json)


def _from_json(content: dict[str, Any]) -> None:
    for name in ("types", "plans", "default", "steps"):
        content[name] = tuple(map(str, content.get(name, ())))
    taken = content.get("decisions", ())
    content["decisions"] = tuple(tuple(map(int, each)) if isinstance(each, list) else int(each) for each in taken)
    content["times"] = Times.from_json(content["times"])
    content["machine"] = MachineFacts.from_json(content["machine"])
