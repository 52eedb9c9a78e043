# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of a unit to an object: by the cache, or by a function in this process or in a worker."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ....bindings.objects import unit_object
from ....bindings.package_files import loaded_compiler
from ....runtime.cpu import cpu_identity
from ....support.processes.background import BackgroundRun
from ....support.processes.pool import PoolCall, process_pool
from ....support.temporary import is_any_size_written
from ...core.code_options import CodeOptions
from .code_target import CodeTarget
from .units import Unit

#: Kind of objects in the cache.
KIND = "kernels"
# Compiling this many bytes of bytecode takes as long as starting a process.
_WORTH_A_PROCESS = 50_000


class UnitCompiler:
    """Compiler of units for one machine and optimization level. The same unit gives the same bytes."""

    def __init__(self, machine: CodeTarget, options: CodeOptions) -> None:
        """Create the compiler. Raise RelaxError if llvmlite is needed and missing."""
        self.options = options
        self.identity = _identity(machine, options.opt_level)
        self.is_cross = not machine.is_host
        self.arguments: dict[str, object] = {"opt_level": options.opt_level}
        if self.is_cross:
            target = {"triple": machine.triple, "cpu": machine.cpu, "feature_text": machine.feature_text}
            self.arguments["target"] = target

    def maker(self) -> Callable[..., bytes]:
        """Return the function that compiles a unit."""
        if not self.is_cross:
            return unit_object
        from .cross_object import cross_unit_object  # most code is for this machine

        return cross_unit_object

    def call(self, unit: Unit, code: bytes) -> PoolCall:
        """Return the worker call for a unit. `code` is the unit's code in the LLVM dialect."""
        function = f"{self.maker().__module__}:{self.maker().__name__}"
        return PoolCall(function, code, {"symbol": unit.symbol, **self.arguments}, unit.what, unit.place)

    def key(self, unit: Unit) -> str:
        hashed = hashlib.blake2b(self.identity, digest_size=20)
        hashed.update(f"{unit.symbol}\n".encode())
        hashed.update(unit.code)
        return hashed.hexdigest()

    def cached(self, unit: Unit) -> bytes | None:
        cache = self.options.cache
        return None if cache is None else cache.get(KIND, self.key(unit))

    def is_worth_processes(self, count: int, own: Sequence[Unit]) -> bool:
        """Check whether workers would compile `count` units earlier than this process.

        `own` leaves out the units that many programs share. Idle processes may have compiled these already.
        """
        if self.options.jobs == 1 or count < 2:
            return False
        is_large = len(own) > 1 and sum(len(unit.code) for unit in own) >= _WORTH_A_PROCESS
        return is_large or process_pool().idle_count() > 1

    def keep(self, unit: Unit, made: bytes) -> None:
        if self.options.cache is not None:
            self.options.cache.put(KIND, self.key(unit), made)


def _identity(machine: CodeTarget, opt_level: int) -> bytes:
    """Return everything besides the unit that the code depends on."""
    maker: list[object]
    if machine.is_host:
        maker = ["host", cpu_identity()]
    else:
        from .cross_object import load_llvmlite

        maker = ["llvmlite", list(load_llvmlite().llvm_version_info), machine.cpu, machine.feature_text]
    return json.dumps([loaded_compiler(), machine.triple, opt_level, maker]).encode()


@dataclass
class SeparateKernels:
    """Kernels that have left a program (separate_kernels.py), while the rest of it is lowered."""

    compiler: UnitCompiler
    #: Objects of cached kernels and units of the others, both by symbol.
    objects: dict[str, bytes] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    #: Run of the workers, and the units that the run has received, in order.
    run: BackgroundRun | None = None
    started: list[Unit] = field(default_factory=list)

    def __enter__(self) -> SeparateKernels:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the workers, unless all work is done."""
        if self.run is not None:
            self.run.abandon()

    def add(self, new: Iterable[Unit], expected: int) -> None:
        """Add kernels, of `expected` in all. Look up each in the cache. Workers compile the others if that pays off."""
        added = []
        for unit in new:
            if (found := self.compiler.cached(unit)) is not None:
                self.objects[unit.symbol] = found
            elif unit.symbol not in self.units:
                self.units[unit.symbol] = unit
                added.append(unit)
        units = list(self.units.values())
        if self.run is None and self.compiler.is_worth_processes(len(units), units) and is_any_size_written():
            with contextlib.suppress(OSError):  # then this process compiles them
                self.run = BackgroundRun(process_pool(), min(self.compiler.options.jobs, expected))
                added = units
        self._give(added)

    def _give(self, units: Sequence[Unit]) -> None:
        if self.run is not None:
            self.started += units
            self.run.add([self.compiler.call(unit, unit.code) for unit in units])
