# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""To the LLVM dialect. Kernels of large programs go first and one by one where other processes make code: they begin
with the first kernel while the rest is lowered. Lowered with the rest, they become the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Module, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, has_body, operations_of, symbol_name
from ....bindings.pass_manager import run_upstream
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.core.working import means
from ...core.registry import parse_target
from ...host.support import named_in
from ..objects.code_target import code_target
from ..objects.kernels import kernels_of, referred_by_globals, surveyed
from ..objects.native_code import CodeAhead
from ..objects.units import empty_like, unit_ahead
from ..pipeline import TO_LLVM
from .llvm_store_narrow_floats import StoreNarrowFloats

# On two cores, lowering kernels one by one takes longer than what it gains (ResNet-50: 2.3 s instead of 2.15).
_LEAST_JOBS = 3
_CONSTANT, _CONSTANTS_TO_LLVM = "memref.global", ("finalize-memref-to-llvm",)


@register_pass
@dataclass(frozen=True)
class Lower(Pass):
    """Brings a module to the LLVM dialect; other processes may begin with the code of its kernels meanwhile."""

    name: ClassVar[str] = "llvm-lower"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)
    target: str = "llvm"

    def run(self, op: Operation) -> None:
        apart = self._lower_kernels(op) if means().jobs >= _LEAST_JOBS else []
        _lower(op, TO_LLVM)
        for part in apart:
            _join(op, part)

    def _lower_kernels(self, module: Operation) -> list[Module]:
        """Modules of the kernels, which leave this one: lowered, their code begun."""
        kernels, parts = _kernels_in(module), []
        if not kernels:
            return []
        code = CodeAhead(code_target(parse_target(self.target)))
        # Those who read constants want to see what these become.
        constants = _taken(module, [name for name, op in named_in(module).items() if op.name == _CONSTANT])
        _lower(constants.operation, _CONSTANTS_TO_LLVM)
        _join(module, constants)
        for names in kernels:
            part = _taken(module, names)
            _lower(part.operation, TO_LLVM)
            unit = unit_ahead(part, names, module)
            if unit is not None:
                code.begin(unit)
            parts.append(part)
        return parts


def _lower(module: Operation, passes: Sequence[str]) -> None:
    run_upstream(module, list(passes), verify=False)
    StoreNarrowFloats().run(module)


def _kernels_in(module: Operation) -> list[list[str]]:
    """The names of each kernel's functions. Nobody holds operations, which upstream's passes erase."""
    operations = operations_of(body_of(module))
    functions = [surveyed(each) for each in operations if each.name == "func.func" and has_body(each)]
    return [[each.name for each in kernel] for kernel in kernels_of(functions, referred_by_globals(operations))]


def _taken(module: Operation, names: Sequence[str]) -> Module:
    """A module of operations that leave this one."""
    with module.context, ir.Location.unknown():
        part = empty_like(module)
    symbols = ir.SymbolTable(module)
    for name in names:
        op = symbols[name].operation
        op.detach_from_parent()
        part.body.append(op)
    return part


def _join(module: Operation, part: Module) -> None:
    """Moves operations to the end of a module, but what it has already: declarations."""
    known = named_in(module)
    for op in operations_of(part.body):
        if symbol_name(op) not in known:
            op.detach_from_parent()
            body_of(module).append(op)
