# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers the kernels of large programs one by one, so that code of the first is made while the rest is lowered.

Each has a module to itself while it is lowered. Whether there are processes that make code changes nothing in what
comes out, only when it is begun.
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
from ...core.registry import parse_target
from ...host.support import named_in
from ..objects.code_target import code_target
from ..objects.kernels import kernels_of, referred_by_globals, surveyed
from ..objects.native_code import code_ahead
from ..objects.units import empty_like, unit_ahead
from ..pipeline import TO_LLVM
from .llvm_store_narrow_floats import StoreNarrowFloats

_CONSTANT = "memref.global"


@register_pass
@dataclass(frozen=True)
class LowerKernels(Pass):
    """Brings the kernels of large programs to the LLVM dialect, each by itself, and has their code begun."""

    name: ClassVar[str] = "llvm-lower-kernels"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)
    target: str = "llvm"

    def run(self, op: Operation) -> None:
        kernels = _kernels_in(op)
        if not kernels:
            return
        code = code_ahead(code_target(parse_target(self.target)))
        constants = [name for name, each in named_in(op).items() if each.name == _CONSTANT]
        _lower(op, constants, ["finalize-memref-to-llvm"])
        for kernel in kernels:
            _lower(op, kernel, TO_LLVM)
            unit = None if code is None else unit_ahead(kernel, op)
            if code is not None and unit is not None:
                code.begin(unit)


def _kernels_in(module: Operation) -> list[list[str]]:
    """The names of each kernel's functions. Nobody holds operations, which upstream's passes erase."""
    operations = operations_of(body_of(module))
    functions = [surveyed(each) for each in operations if each.name == "func.func" and has_body(each)]
    return [[each.name for each in kernel] for kernel in kernels_of(functions, referred_by_globals(operations))]


def _lower(module: Operation, names: Sequence[str], passes: Sequence[str]) -> None:
    """Runs passes on these alone; they are the module's last then, with what else they need declared."""
    part = _taken(module, names)
    run_upstream(part.operation, list(passes), verify=False)
    StoreNarrowFloats().run(part.operation)
    known = named_in(module)
    for op in operations_of(part.body):
        if symbol_name(op) not in known:
            op.detach_from_parent()
            body_of(module).append(op)


def _taken(module: Operation, names: Sequence[str]) -> Module:
    """A module of operations that leave another one."""
    with module.context, ir.Location.unknown():
        part = empty_like(module)
    named = named_in(module)
    for name in names:
        op = named[name]
        op.detach_from_parent()
        part.body.append(op)
    return part
