# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of symbols that a module does not use yet."""

from __future__ import annotations

import re
from typing import Any

from ..bindings.mlir import ir

_SYMBOLIC = re.compile(r'"[^"]*"')
_NAME = re.compile(r"[A-Za-z_]\w*")


class FreshSymbols:
    """Gives `size_0`, `size_1`, ... without those that types in the module have."""

    def __init__(self, module: Any):
        self._module = module
        self._used: set[str] | None = None
        self._count = 0

    def next(self) -> str:
        if self._used is None:
            self._used = _symbols_in(self._module)
        while (name := f"size_{self._count}") in self._used:
            self._count += 1
        self._count += 1
        return name


def _symbols_in(module: Any) -> set[str]:
    """What may be a symbol in the types of a module's values; a name too many does no harm."""
    texts: set[str] = set()

    def visit(op: Any) -> Any:
        texts.update(str(result.type) for result in op.results)
        for region in op.regions:
            for block in region.blocks:
                texts.update(str(argument.type) for argument in block.arguments)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    quoted = (found.group() for text in texts for found in _SYMBOLIC.finditer(text))
    return {name for part in quoted for name in _NAME.findall(part)}
