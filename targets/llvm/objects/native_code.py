# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native code of a program, unit by unit: found in the cache, made in parallel processes, or made here."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ....bindings.context import new_context
from ....bindings.ir import Module
from ....bindings.objects import exported_functions, unit_object
from ....bindings.package_files import loaded_compiler
from ....passes.core.facts import note_code
from ....runtime.cpu import cpu_identity
from ....support.errors import RelaxError
from ....support.processes.pool import PoolCall, process_pool
from ....support.temporary import is_any_size_written
from ...core.code import CodeOptions, check_opt_level
from ...host.passes.host_call_parallel import THREAD_TABLE
from ...host.passes.host_define_support import define_support, parsed_unit
from ...host.support import named_in
from ...host.units import needed_texts, pool_text, unit_texts
from .code_target import CodeTarget
from .units import Unit, bytecode, units_of

_KIND = "kernels"
#: Objects of units that are the same in every program, which this process has made or found, by what they depend on.
_fixed: dict[str, bytes] = {}
# Starting a process takes as long as compiling this many bytes of bytecode.
_WORTH_A_PROCESS = 50_000
# More are started when it is known how many units there are.
_MOST_EARLY = 8
# Of what is the same in every program: checks and errors, and what programs keep. Few call registered functions.
_EARLY_TEXTS = 2


class NativeCode(NamedTuple):
    """The object files of a program, and that of the pool of threads if it has parallel loops."""

    objects: list[bytes]
    pool: bytes | None


def native_code(module: Module, machine: CodeTarget, options: CodeOptions) -> NativeCode:
    """The code of a module in the LLVM dialect, which is taken apart. The same module gives the same bytes.

    Raises RelaxError where the module cannot be compiled, llvmlite is missing, or a process dies.
    """
    check_opt_level(options.opt_level)
    exported_functions(module)
    identity = _identity(machine, options.opt_level)
    if options.one_object:
        define_support(module.operation)
    support, pool = list(map(_fixed_unit, needed_texts(module.operation))), _fixed_unit(pool_text(machine.architecture))
    has_threads = THREAD_TABLE in named_in(module.operation)
    units = [*units_of(module, split=not options.one_object), *support]
    fixed = [*support, pool] if has_threads else support
    made = _Making(units, fixed, machine, options, identity).run()
    return NativeCode([made[unit] for unit in units], made[pool] if has_threads else None)


def prepare(machine: CodeTarget, options: CodeOptions) -> None:
    """Starts processes that will make code soon, ahead of time.

    They begin with what is the same in every program, and needed by most.
    """
    if options.jobs > 1:
        fixed = [_fixed_unit(text) for text in (*unit_texts()[:_EARLY_TEXTS], pool_text(machine.architecture))]
        making = _Making([], fixed, machine, options, _identity(machine, options.opt_level))
        calls = making.calls(making.missing())
        process_pool().prepare(min(options.jobs, _MOST_EARLY), making.maker().__module__, calls)


def _fixed_unit(text: str) -> Unit:
    """What is the same in every program that needs it."""
    return Unit("", "", text.encode())


def lowered(texts: Iterable[bytes]) -> list[bytes]:
    """Texts of the library as other units are: bytecode of the LLVM dialect alone."""
    with new_context(("llvm",)):
        return [bytecode(parsed_unit(text)) for text in texts]


class _Making:
    """One program's units on their way to objects."""

    def __init__(
        self, units: Sequence[Unit], fixed: Sequence[Unit], machine: CodeTarget, options: CodeOptions, identity: bytes
    ) -> None:
        """`fixed` are those that are the same in every program; they are not reported."""
        self._units = [unit for unit in units if unit not in fixed]
        self._fixed, self._options, self._identity = fixed, options, identity
        self._arguments: dict[str, object] = {"opt_level": options.opt_level}
        if not machine.is_host:
            target = {"triple": machine.triple, "cpu": machine.cpu, "feature_text": machine.feature_text}
            self._arguments["target"] = target
        self._objects: dict[Unit, bytes] = {}
        self._done = 0

    def run(self) -> dict[Unit, bytes]:
        missing = self.missing()
        # The longest first: at the end no process waits for a long one.
        missing.sort(key=lambda unit: -len(unit.code))
        if self._is_worth_processes(missing):
            self._make_elsewhere(missing)
        elif missing and not is_any_size_written():
            self._make_elsewhere(missing, or_here=False)
        else:
            self._make_here(missing)
        return self._objects

    def missing(self) -> list[Unit]:
        """The units that are not in the cache, nor known to this process."""
        for unit in self._fixed:
            self._find_fixed(unit)
        cache = self._options.cache
        for unit in self._units:
            found = None if cache is None else cache.get(_KIND, self._key(unit))
            if found is not None:
                self._have(unit, found, None)
        return [unit for unit in (*self._fixed, *self._units) if unit not in self._objects]

    def calls(self, units: Sequence[Unit]) -> list[PoolCall]:
        """The work of other processes."""
        function = f"{self.maker().__module__}:{self.maker().__name__}"
        return [
            PoolCall(function, code, {"symbol": unit.symbol, **self._arguments}, unit.what, unit.place)
            for unit, code in zip(units, self._codes(units), strict=True)
        ]

    def maker(self) -> Callable[..., bytes]:
        """The function that makes objects of units."""
        if "target" not in self._arguments:
            return unit_object
        from .cross_object import cross_unit_object  # most code is for this machine

        return cross_unit_object

    def _codes(self, units: Sequence[Unit]) -> list[bytes]:
        fixed = [unit for unit in units if unit in self._fixed]
        made = dict(zip(fixed, lowered(unit.code for unit in fixed), strict=True)) if fixed else {}
        return [made.get(unit, unit.code) for unit in units]

    def _find_fixed(self, unit: Unit) -> None:
        cache, key = self._options.cache, self._key(unit)
        kept = None if cache is None else cache.get(_KIND, key)
        made = kept or _fixed.get(key)
        if made is None:
            return
        if cache is not None and kept is None:
            cache.put(_KIND, key, made)
        self._objects[unit] = _fixed[key] = made

    def _is_worth_processes(self, units: Sequence[Unit]) -> bool:
        if self._options.jobs == 1 or len(units) < 2:
            return False
        # Those that wait may have begun already with what is the same in every program.
        if process_pool().idle_count() > 1:
            return True
        own = [len(unit.code) for unit in units if unit not in self._fixed]
        return len(own) > 1 and sum(own) >= _WORTH_A_PROCESS

    def _make_here(self, units: Sequence[Unit]) -> None:
        is_host = self.maker() is unit_object
        arguments = {**self._arguments, "context": new_context(("llvm",))} if is_host else self._arguments
        for unit, code in zip(units, self._codes(units), strict=True):
            self._begun(unit)
            start = time.perf_counter()
            made = self.maker()(code, symbol=unit.symbol, **arguments)
            self._made(unit, made, time.perf_counter() - start)

    def _make_elsewhere(self, units: Sequence[Unit], or_here: bool = True) -> None:
        """`or_here`: where the system has no processes to give. Raises RelaxError where it has none, and files have
        limits: LLVM ends the process whose file cannot be written.
        """
        try:
            process_pool().run(
                self.calls(units),
                self._options.jobs,
                lambda index, code, seconds: self._made(units[index], code, seconds),
                lambda index: self._begun(units[index]),
            )
        except OSError as error:
            if not or_here or not is_any_size_written():
                reason = "code is made in processes of its own where files' sizes have a limit (ulimit -f)"
                raise RelaxError(f"no process can be started: {error.strerror}; {reason}") from None
            self._make_here([unit for unit in units if unit not in self._objects])

    def _begun(self, unit: Unit) -> None:
        for instrument in self._options.instruments if unit not in self._fixed else ():
            instrument.code_begun(unit.name)

    def _made(self, unit: Unit, code: bytes, seconds: float) -> None:
        if self._options.cache is not None:
            self._options.cache.put(_KIND, self._key(unit), code)
        if unit in self._fixed:
            self._objects[unit] = _fixed[self._key(unit)] = code
        else:
            self._have(unit, code, seconds)

    def _have(self, unit: Unit, code: bytes, seconds: float | None) -> None:
        self._objects[unit] = code
        note_code(unit.name, len(code), seconds, cached=seconds is None)
        self._done += 1
        for instrument in self._options.instruments:
            instrument.code_made(unit.name, self._done, len(self._units))

    def _key(self, unit: Unit) -> str:
        hashed = hashlib.blake2b(self._identity, digest_size=20)
        hashed.update(f"{unit.symbol}\n".encode())
        hashed.update(unit.code)
        return hashed.hexdigest()


def _identity(machine: CodeTarget, opt_level: int) -> bytes:
    """All that code depends on in addition to the unit. Raises RelaxError where llvmlite is needed and missing."""
    maker: list[object]
    if machine.is_host:
        maker = ["host", cpu_identity()]
    else:
        from .cross_object import load_llvmlite

        maker = ["llvmlite", list(load_llvmlite().llvm_version_info), machine.cpu, machine.feature_text]
    return json.dumps([loaded_compiler(), machine.triple, opt_level, maker]).encode()
