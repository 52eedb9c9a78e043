# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large constants at the end of a module, referenced by name."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from ...bindings.ir import Attribute
from ...bindings.mlir import ir, readable
from ...support.errors import RelaxError
from ..core.elements import elements_bytes, is_resource, resource_name
from .words import quoted

_NAMED = re.compile(r'I\.resource\(("(?:[^"\\]|\\.)*")\)')


class Resources:
    """Constants that a printed module refers to. With `elide`, none of them is written."""

    def __init__(self, *, elide: bool = False) -> None:
        self._names: dict[Attribute, str] = {}
        self._elide = elide

    def name(self, attribute: Attribute) -> str:
        if (known := self._names.get(attribute)) is None:
            known = _unescape(resource_name(attribute), attribute) or f"c{len(self._names)}"
            while known in self._names.values():
                known += "_"
            self._names[attribute] = known
        return known

    def lines(self, above: Sequence[str]) -> list[str]:
        """Return the definitions of constants that the lines above mention.

        Abandoned output may have registered others.
        """
        if self._elide or not self._names:
            return []
        named = set(_NAMED.findall("\n".join(above)))
        return [self._line(attribute, name) for attribute, name in self._names.items() if quoted(name) in named]

    @staticmethod
    def _line(attribute: Attribute, name: str) -> str:
        whole = f"I.resource({quoted(name)}, {quoted(str(attribute))})"
        if not is_resource(attribute):
            return whole
        try:
            data = base64.b64encode(elements_bytes(attribute)).decode("ascii")
        except RelaxError:  # the bytes are unavailable
            return whole
        return f'I.resource({quoted(name)}, {quoted(str(attribute.type))}, "{data}")'


def _unescape(name: str, attribute: Attribute) -> str:
    """Decode a name. MLIR prints characters outside of ASCII as bytes."""
    return name if "\\" not in name else readable(lambda: ir.Attribute.parse(f'"{name}"', attribute.context).value)
