# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that are the same in every program, as a unit of their own: compiled once, not in each program."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ...bindings.context import new_context
from ...bindings.mlir import ir, string_value
from .packed_allocate import TENSORS
from .packed_support import SUPPORT
from .units import bytecode, declaration, has_body, is_internal, show


class SupportUnit(NamedTuple):
    #: MLIR's bytecode.
    code: bytes
    #: What it defines for the program's other units, by name, as a program has it.
    texts: dict[str, str]


@lru_cache(maxsize=1)
def support_unit() -> SupportUnit:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(SUPPORT + TENSORS)
        functions = [each for each in _functions(module) if is_internal(each)]
        texts = {_name(function): str(function) for function in functions}
        for function in functions:
            show(function)
        return SupportUnit(bytecode(module), texts)


def leave_out_support(module: Any) -> bool:
    """Declares in a module what the support unit defines. Whether the module needs that unit: one whose functions a
    stage of the user's has changed keeps them."""
    texts = support_unit().texts
    defined = [function for function in _functions(module) if _name(function) in texts]
    if any(str(function) != texts[_name(function)] for function in defined):
        return False
    with module.context, ir.Location.unknown():
        for function in defined:
            name = _name(function)
            show(function)
            with ir.InsertionPoint(function):
                declared = declaration(function)
            function.erase()
            declared.attributes["sym_name"] = ir.StringAttr.get(name)
    return bool(defined)


def _functions(module: Any) -> list[Any]:
    return [view.operation for view in module.body if view.operation.name == "llvm.func" and has_body(view.operation)]


def _name(function: Any) -> str:
    return string_value(function.attributes["sym_name"])
