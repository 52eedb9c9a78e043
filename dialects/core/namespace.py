# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dialect's operators as attributes: `namespace.nn.conv2d` is the operator `nn.conv2d`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...support.suggest import suggest

if TYPE_CHECKING:
    from .dialect import Dialect


class OpNamespace:
    """Operators whose names start with a prefix. Looked up when first used, so that later declarations are found."""

    def __init__(self, dialect: Dialect, prefix: str = ""):
        self._dialect = dialect
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        ops = self._dialect.ops
        found: Any = ops.get(full)
        if found is None and not name.startswith("__") and any(op.startswith(full + ".") for op in ops):
            found = OpNamespace(self._dialect, full + ".")
        if found is not None:
            # What is found once never changes: next time Python finds it without asking.
            self.__dict__[name] = found
            return found
        hint = suggest(full, ops) if not name.startswith("_") else ""
        raise AttributeError(f"dialect {self._dialect.name} has no operator '{full}'{hint}")

    def __dir__(self) -> list[str]:
        start = len(self._prefix)
        return sorted({op[start:].split(".")[0] for op in self._dialect.ops if op.startswith(self._prefix)})

    def __repr__(self) -> str:
        return f"<operators {self._dialect.name}.{self._prefix}*>"
