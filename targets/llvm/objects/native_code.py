# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native code of a program, unit by unit: from the cache, from parallel processes, or compiled in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....bindings.context import new_context
from ....bindings.ir import Module, Operation
from ....bindings.navigation import body_of, operations_of
from ....bindings.objects import exported_functions
from ....dialects.core.kernel_contract import contract_of
from ....passes.core.facts import note_code
from ....support.errors import RelaxError
from ....support.processes.background import BackgroundRun
from ....support.processes.pool import PoolCall, process_pool
from ....support.temporary import is_any_size_written
from ...core.code_options import CodeOptions, check_opt_level
from ...host.native.unit import LibraryUnit
from ...host.passes.host_call_parallel import THREAD_TABLE, THREAD_TABLE_TEXT
from ...host.passes.host_define_support import define_support, parsed_unit
from ...host.support import Support, named_in
from ...host.units import find_function, library_units, needed_units, pool_unit
from .code_target import CodeTarget
from .unit_compiler import SeparateKernels, UnitCompiler
from .units import Unit, bytecode, units_of

#: Objects of the units that all programs share, compiled or found by this process, by cache key.
_fixed: dict[str, bytes] = {}
# Further processes start when the number of units is known.
_MOST_EARLY = 8
# Number of shared units to compile early: checks and errors, and kept memory. Few programs call registered functions.
_EARLY_UNITS = 2


class NativeCode(NamedTuple):
    """Object files of a program, and the object of the thread pool if the program has parallel loops."""

    objects: list[bytes]
    pool: bytes | None


def native_code(module: Module, machine: CodeTarget, options: CodeOptions) -> NativeCode:
    """Compile a module in the LLVM dialect, and consume it.

    The same module gives the same bytes.

    Raise RelaxError if the module cannot be compiled, llvmlite is missing, or a process dies.
    """
    check_opt_level(options.opt_level)
    exported_functions(module)
    compiler = UnitCompiler(machine, options)
    kernels = options.kernels if isinstance(options.kernels, SeparateKernels) else SeparateKernels(compiler)
    if options.one_object:
        define_support(module.operation)
    _declare_needs(module.operation)
    support, pool = list(map(_fixed_unit, needed_units(module.operation))), _fixed_unit(pool_unit(machine.architecture))
    has_threads = THREAD_TABLE in named_in(module.operation)
    own = [kernels.units.get(unit.symbol, unit) for unit in units_of(module, split=not options.one_object)]
    units, fixed = [*own, *support], [*support, pool] if has_threads else support
    made = _Making(compiler, units, fixed, kernels).run()
    return NativeCode([made[unit] for unit in units], made[pool] if has_threads else None)


def prepare(machine: CodeTarget, options: CodeOptions) -> None:
    """Start processes that will compile code soon.

    The processes begin with units that most programs share. If the cache has these units, it may have the program's
    kernels too. Processes then start only after a cache miss.
    """
    if options.jobs > 1:
        fixed = [_fixed_unit(unit) for unit in (*library_units()[:_EARLY_UNITS], pool_unit(machine.architecture))]
        making = _Making(UnitCompiler(machine, options), [], fixed)
        if (calls := making.calls(making.missing())) or options.cache is None:
            process_pool().prepare(min(options.jobs, _MOST_EARLY), making.compiler.maker().__module__, calls)


def _declare_needs(module: Operation) -> None:
    """Declare the dependencies of kernels that have left the program, and define its table of threads."""
    contracts = filter(None, map(contract_of, operations_of(body_of(module))))
    needs = dict.fromkeys(name for contract in contracts for name in contract.needs)
    support = Support(module)
    with module.context:
        for name in needs:
            if name == THREAD_TABLE:
                support.define(THREAD_TABLE_TEXT)
            elif find_function(name) is not None:
                support.declare(name)


@dataclass(frozen=True)
class _FixedUnit(Unit):
    """Unit that is the same in every program that needs it. Its code is the identity of its text."""

    library: LibraryUnit | None = field(default=None, compare=False)


def _fixed_unit(unit: LibraryUnit) -> _FixedUnit:
    return _FixedUnit("", "", unit.identity, library=unit)


def lowered(units: Iterable[LibraryUnit]) -> list[bytes]:
    """Lower units of the library to bytecode in the LLVM dialect, the form of other units."""
    with new_context(("llvm",)):
        return [bytecode(parsed_unit(unit.text)) for unit in units]


class _Making:
    """Compilation of one program's units to objects."""

    def __init__(
        self,
        compiler: UnitCompiler,
        units: Sequence[Unit],
        fixed: Sequence[Unit],
        kernels: SeparateKernels | None = None,
    ) -> None:
        """Create the compilation. `fixed` are the units that all programs share; their progress is not reported."""
        self.compiler, self._options = compiler, compiler.options
        self._kernels = kernels or SeparateKernels(compiler)
        self._units = [unit for unit in units if unit not in fixed]
        self._fixed = fixed
        self._objects: dict[Unit, bytes] = {}
        self._done = 0

    def run(self) -> dict[Unit, bytes]:
        missing = self.missing()
        # The longest units come first, so that no process waits for a long unit at the end.
        missing.sort(key=lambda unit: -len(unit.code))
        own = [unit for unit in missing if unit not in self._fixed]
        if self._kernels.run is not None or self.compiler.is_worth_processes(len(missing), own):
            self._make_elsewhere(missing)
        elif missing and not is_any_size_written():
            self._make_elsewhere(missing, or_here=False)
        else:
            self._make_here(missing)
        return self._objects

    def missing(self) -> list[Unit]:
        """Return the units that are neither in the cache nor known to this process."""
        for unit in self._fixed:
            self._find_fixed(unit)
        for unit in self._units:
            if (found := self._find(unit)) is not None:
                self._have(unit, found, None)
        return [unit for unit in (*self._fixed, *self._units) if unit not in self._objects]

    def calls(self, units: Sequence[Unit]) -> list[PoolCall]:
        """Return the calls for worker processes."""
        return [self.compiler.call(unit, code) for unit, code in zip(units, self._codes(units), strict=True)]

    def _find(self, unit: Unit) -> bytes | None:
        if unit.symbol in self._kernels.objects:
            return self._kernels.objects[unit.symbol]
        return None if unit.symbol in self._kernels.units else self.compiler.cached(unit)

    def _codes(self, units: Sequence[Unit]) -> list[bytes]:
        fixed = dict[Unit, LibraryUnit]()
        for unit in units:
            if isinstance(unit, _FixedUnit) and unit.library is not None:
                fixed[unit] = unit.library
        made = dict(zip(fixed, lowered(fixed.values()), strict=True)) if fixed else {}
        return [made.get(unit, unit.code) for unit in units]

    def _find_fixed(self, unit: Unit) -> None:
        key = self.compiler.key(unit)
        kept = self.compiler.cached(unit)
        made = kept or _fixed.get(key)
        if made is None:
            return
        if kept is None:
            self.compiler.keep(unit, made)
        self._objects[unit] = _fixed[key] = made

    def _make_here(self, units: Sequence[Unit]) -> None:
        maker, arguments = self.compiler.maker(), self.compiler.arguments
        if not self.compiler.is_cross:
            arguments = {**arguments, "context": new_context(("llvm",))}
        for unit, code in zip(units, self._codes(units), strict=True):
            self._begin(unit)
            start = time.perf_counter()
            made = maker(code, symbol=unit.symbol, **arguments)
            self._made(unit, made, time.perf_counter() - start)

    def _make_elsewhere(self, units: Sequence[Unit], or_here: bool = True) -> None:
        """Compile units in worker processes.

        If no process can be started, compile in this process. Raise RelaxError instead if `or_here` is False or if file
        sizes have a limit: LLVM ends a process that cannot write its file.
        """
        rest = [unit for unit in units if unit not in self._kernels.started]
        ordered = [*self._kernels.started, *rest]
        calls = self.calls(rest)
        try:
            with self._kernels.run or BackgroundRun(process_pool(), min(self._options.jobs, len(units))) as run:
                run.add(calls)
                run.finish(
                    lambda index, code, seconds: self._made(ordered[index], code, seconds),
                    lambda index: self._begin(ordered[index]),
                )
        except OSError as error:
            if not or_here or not is_any_size_written():
                reason = "code is made in processes of its own where files' sizes have a limit (ulimit -f)"
                raise RelaxError(f"no process can be started: {error.strerror}; {reason}") from None
            self._make_here([unit for unit in units if unit not in self._objects])

    def _begin(self, unit: Unit) -> None:
        for instrument in self._options.instruments if unit not in self._fixed else ():
            instrument.code_begun(unit.name)

    def _made(self, unit: Unit, code: bytes, seconds: float) -> None:
        self.compiler.keep(unit, code)
        if unit in self._fixed:
            self._objects[unit] = _fixed[self.compiler.key(unit)] = code
        else:
            self._have(unit, code, seconds)

    def _have(self, unit: Unit, code: bytes, seconds: float | None) -> None:
        self._objects[unit] = code
        note_code(unit.name, len(code), seconds, cached=seconds is None)
        self._done += 1
        for instrument in self._options.instruments:
            instrument.code_made(unit.name, self._done, len(self._units))
