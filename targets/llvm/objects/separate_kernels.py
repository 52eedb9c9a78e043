# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Separate compilation of kernels: planned PrimFuncs leave the program before loop generation.

A kernel without external dependencies is lowered in a module of its own. Workers compile the kernel while the rest of
the program is lowered. A stub with its contract replaces the kernel (dialects/core/kernel_contract.py). The cache
identifies kernels by their planned PrimFuncs: a cached kernel is neither lowered nor compiled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import NamedTuple

from ....bindings.ir import Module, Operation
from ....bindings.mlir import ir, print_asm
from ....bindings.navigation import function_type_of, is_private, operations_in, operations_of, symbol_name
from ....dialects.core.call_graph import references_of
from ....dialects.core.elements import is_resource
from ....dialects.core.ir_attributes import CONTRACT, SCHEDULE
from ....dialects.core.kernel_contract import KernelContract
from ....dialects.tir.prim_func import prim_funcs_in
from ....passes.core.pipeline import Pipeline
from ....passes.core.stages import TARGET_PLACE, Stage
from ....passes.kernels.schedule.constant_arguments import callers_in
from ....passes.kernels.schedule.engines import note_engine
from ....passes.memory.lower_calls.separate_kernel import overwrites_of
from ....passes.memory.tir_bufferize import is_on_tensors
from ....runtime.cpu import host_caches, host_cores
from ....support.registry import extensions_digest
from ...core.backend import ChosenTarget
from ...core.code_options import CodeOptions
from ...host.passes.host_call_parallel import THREAD_TABLE
from ...host.passes.host_name_functions import name_in_program
from ...host.units import find_function
from .code_target import code_target, machine_of
from .unit_compiler import KIND, SeparateKernels, UnitCompiler
from .units import DIVISIBLE, NOTES, Unit, kernel_units, readable_name

_KIND, _FORMAT = "contracts", 1
#: Kernels that are lowered together: workers begin with the first batch while the next is lowered.
_BATCH = 8
_PLAN_MEMORY = "relax-plan-memory"
#: Passes that only change functions of graphs, or remove functions without callers.
_OF_GRAPHS = frozenset((_PLAN_MEMORY, "relax-lower-calls", "symbol-dce", "host-profile-kernels", "host-keep-arena"))
#: Top-level operations that a program may have for separate compilation of its kernels.
_DIVISIBLE = DIVISIBLE | {"func.func", "memref.global"}


@dataclass(frozen=True)
class _CacheEntry:
    """Cache entry of a kernel. Without a symbol, the entry marks a kernel that must stay in the program."""

    symbol: str = ""
    #: Cache key of the object.
    object_key: str = ""
    #: Types of the parameters, as memrefs.
    types: tuple[str, ...] = ()
    overwrites: tuple[tuple[int, int, int], ...] = ()
    can_fail: bool = False
    needs: tuple[str, ...] = ()
    #: LLVM operations of the lowered kernel.
    count: int = 0

    @property
    def contract(self) -> KernelContract:
        return KernelContract(self.symbol, self.overwrites, self.can_fail, self.needs)


class _Signature(NamedTuple):
    """A kernel on memrefs: the types of its parameters, and `overwrites_of` it."""

    types: tuple[str, ...]
    overwrites: tuple[tuple[int, int, int], ...] | None


def separate_kernels(
    module: Module, stages: Sequence[Stage], target: ChosenTarget, options: CodeOptions
) -> SeparateKernels | None:
    """Move the kernels out of a module with planned loops.

    `stages` are the stages that follow.

    Return None for a program in one piece: one object is requested, passes of the user's or operations of another kind
    follow, or no kernel can leave.
    """
    passes = [item for stage in stages for item in stage.passes]
    if options.one_object or not all(isinstance(item, str) for item in passes):
        return None
    if any(op.name not in _DIVISIBLE for op in operations_of(module.body)):
        return None
    if not (candidates := _candidates(module.operation)):
        return None
    texts = [str(item).replace(TARGET_PLACE, target.name) for item in passes]
    with module.context:
        return _Separation(module, candidates, texts, target, options).run()


def _candidates(module: Operation) -> list[Operation]:
    """Return the PrimFuncs on tensors without references to other functions that graphs call outside of loops."""
    callers = callers_in(module)
    candidates = []
    for function in prim_funcs_in(module):
        calls = callers[symbol_name(function)].calls
        is_called = calls and all(call.operation.parent.name == "func.func" for call in calls)
        # A schedule may change the types of the callers' operands.
        may_leave = is_private(function) and is_on_tensors(function) and SCHEDULE not in function.attributes
        if is_called and may_leave and _is_closed(function):
            candidates.append(function)
    return candidates


def _is_closed(function: Operation) -> bool:
    """Check that a function has no references to functions and globals, and all of its constants in its text."""
    inside = (function, *operations_in(function))
    refers = any(next(references_of(op), None) is not None for op in inside)
    return not refers and not any(op.name == "arith.constant" and is_resource(op.attributes["value"]) for op in inside)


class _Separation:
    """Separation of one program."""

    def __init__(
        self,
        module: Module,
        candidates: Sequence[Operation],
        passes: Sequence[str],
        target: ChosenTarget,
        options: CodeOptions,
    ) -> None:
        self._module, self._cache = module, options.cache
        self._passes = passes
        code = code_target(target)
        self._compiler = UnitCompiler(code, options)
        self._rules = extensions_digest()
        self._found = SeparateKernels(self._compiler)
        here = host_caches(), host_cores(), self._compiler.identity.decode()
        shared = [_FORMAT, here, list(passes), self._rules, _attributes_of(module.operation)]
        self._shared = json.dumps(shared).encode()
        self._by_key: dict[str, list[Operation]] = {}
        machine = machine_of(code)
        for function in candidates:
            note_engine(function, machine)  # the stub has no plans
            self._by_key.setdefault(self._key(function), []).append(function)

    def run(self) -> SeparateKernels:
        """Run the separation."""
        entries = {key: entry for key in self._by_key if (entry := self._find(key)) is not None}
        missing = [key for key in self._by_key if key not in entries]
        with ExitStack() as stack:
            stack.push(self._found)
            for first in range(0, len(missing), _BATCH):
                entries.update(self._lower_batch(missing[first : first + _BATCH], len(missing)))
            for key, functions in self._by_key.items():
                if entries[key].symbol:
                    for function in functions:
                        _replace_by_stub(function, entries[key])
            stack.pop_all()  # without a failure the workers go on
        return self._found

    # ---- cached kernels ----

    def _key(self, function: Operation) -> str:
        text = print_asm(function, assume_verified=True)
        name = symbol_name(function)
        readable = readable_name(name)
        hashed = hashlib.blake2b(self._shared, digest_size=20)
        hashed.update(text.replace(f"@{name}(", f"@{readable}(", 1).encode("utf-8", "surrogateescape"))
        return hashed.hexdigest()

    def _find(self, key: str) -> _CacheEntry | None:
        if (cache := self._cache) is None or self._rules is None:
            return None
        data = cache.get(_KIND, key)
        entry = None if data is None else _parse_entry(data)
        if entry is None or not entry.symbol:
            return entry
        if (code := cache.get(KIND, entry.object_key)) is None:
            return None
        self._found.objects[entry.symbol] = code
        return entry

    # ---- newly lowered kernels ----

    def _lower_batch(self, keys: Sequence[str], expected: int) -> dict[str, _CacheEntry]:
        """Lower the kernels of some keys, of `expected` in all, in a module of their own. Workers may compile them."""
        functions = {key: self._by_key[key][0] for key in keys}
        names = {key: symbol_name(function) for key, function in functions.items()}
        apart = _module_of(functions.values(), self._module)
        signatures = self._lower(apart)
        failing = {name_in_program(op) for op in operations_of(apart.body) if _returns_status(op)}
        units = {unit.name: unit for unit in kernel_units(apart)}
        entries = {key: self._entry(units.get(name), signatures[name], name in failing) for key, name in names.items()}
        self._found.add((units[names[key]] for key, entry in entries.items() if entry.symbol), expected)
        self._keep(entries)
        return entries

    def _lower(self, module: Module) -> dict[str, _Signature]:
        """Run the passes, and note the kernels' signatures where the memory plan would read their loops."""
        outputs = {symbol_name(func): len(function_type_of(func).results) for func in prim_funcs_in(module.operation)}
        cut = [_name_of(pass_) for pass_ in self._passes].index(_PLAN_MEMORY)
        _run(module, self._passes[:cut])
        signatures = {
            symbol_name(prim_func): _Signature(
                tuple(map(str, function_type_of(prim_func).inputs)),
                overwrites_of(prim_func, outputs[symbol_name(prim_func)]),
            )
            for prim_func in prim_funcs_in(module.operation)
        }
        _run(module, self._passes[cut:])
        return signatures

    def _entry(self, unit: Unit | None, signature: _Signature, can_fail: bool) -> _CacheEntry:
        is_apart = unit is not None and all(map(_is_known_to_programs, unit.needs))
        if unit is None or signature.overwrites is None or not is_apart:
            return _CacheEntry()
        key, types, overwrites = self._compiler.key(unit), signature.types, signature.overwrites
        return _CacheEntry(unit.symbol, key, types, overwrites, can_fail, unit.needs, unit.count)

    def _keep(self, entries: Mapping[str, _CacheEntry]) -> None:
        if self._cache is not None and self._rules is not None:
            for key, entry in entries.items():
                self._cache.put(_KIND, key, json.dumps(asdict(entry)).encode())


def _run(module: Module, passes: Iterable[str]) -> None:
    chosen = [pass_ for pass_ in passes if _name_of(pass_) not in _OF_GRAPHS]
    Pipeline(chosen, verify_each=False).run(module, all_or_nothing=False)


def _name_of(text: str) -> str:
    return text.partition("{")[0]


def _parse_entry(data: bytes) -> _CacheEntry | None:
    """Parse a cache entry, or return None if the entry is invalid."""
    try:
        fields = json.loads(data)
        lists = {name: tuple(fields[name]) for name in ("types", "needs")}
        triples = tuple((int(read), int(written), int(alike)) for read, written, alike in fields["overwrites"])
        return _CacheEntry(**{**fields, **lists, "overwrites": triples})
    except (KeyError, TypeError, ValueError):
        return None


def _attributes_of(module: Operation) -> str:
    """Return the module attributes that functions may depend on, as text."""
    return str({name: str(module.attributes[name]) for name in module.attributes if name not in NOTES})


def _module_of(functions: Iterable[Operation], program: Module) -> Module:
    """Return a module of copies of functions, with the attributes of their program."""
    with program.context, ir.Location.unknown():
        module = ir.Module.create()
        for name in program.operation.attributes:
            module.operation.attributes[name] = program.operation.attributes[name]
        for function in functions:
            module.body.append(function.clone())
    return module


def _returns_status(op: Operation) -> bool:
    return op.name == "llvm.func" and str(op.attributes["function_type"].value.return_type) == "i32"


def _is_known_to_programs(name: str) -> bool:
    """Check whether every program can provide the function or table of this name. The system provides C's functions."""
    return name == THREAD_TABLE or not name.startswith("__relax") or find_function(name) is not None


def _replace_by_stub(function: Operation, entry: _CacheEntry) -> None:
    """Replace a kernel by a stub with the same attributes."""
    context = function.context
    types = [ir.Type.parse(type_, context) for type_ in entry.types]
    with context, function.location, ir.InsertionPoint(function):
        attributes = {name: function.attributes[name] for name in function.attributes}
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        attributes[CONTRACT] = entry.contract.attribute(context)
        stub = ir.Operation.create("func.func", attributes=attributes, regions=1)
        with ir.InsertionPoint(stub.regions[0].blocks.append(*types)):
            ir.Operation.create("func.return")
    function.erase()
