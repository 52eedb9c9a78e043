# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that are the same in every program: programs declare them, and one unit for all defines them."""

from __future__ import annotations

import re
from typing import Any

from ...bindings.mlir import string_value
from .llvm_text import merge, symbols_of
from .packed_allocate import TENSORS
from .packed_support import SUPPORT

_DEFINITIONS = SUPPORT + TENSORS
_FUNCTION = re.compile(r"^llvm\.func internal (@(\w+).*?) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_NAMES = frozenset(name for _, name in _FUNCTION.findall(_DEFINITIONS))

#: For programs. What they declare and do not call is in no object.
DECLARATIONS = _FUNCTION.sub(r"llvm.func hidden \1\n", _DEFINITIONS)
#: The unit: visible to the other units of a program, and to nobody else.
UNIT = _DEFINITIONS.replace("llvm.func internal", "llvm.func hidden")


def needs_support(module: Any) -> bool:
    """Whether a module declares functions of the unit."""
    return bool(_declared(module))


def define_support(module: Any) -> None:
    """Puts the definitions in the place of a module's declarations: it is whole in itself then."""
    declared = _declared(module)
    for function in declared:
        function.erase()
    if declared:
        merge(module, _DEFINITIONS)


def _declared(module: Any) -> list[Any]:
    functions = [op for op in symbols_of(module) if op.name == "llvm.func" and not len(op.regions[0].blocks)]
    return [function for function in functions if string_value(function.attributes["sym_name"]) in _NAMES]
