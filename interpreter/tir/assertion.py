# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir.assert: the exception that the program would raise, of the operator and at the place that it would name."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from ...bindings.diagnostics import made_at
from ...bindings.navigation import enclosing, symbol_name, text_in
from ...dialects.core.ir_attributes import GRAPH_INPUTS, OPERATOR
from ..registry import register_step
from ..sites import Site, Step

if TYPE_CHECKING:
    from numpy import ndarray


def _own_place(site: Site) -> str:
    """Where it stands, for what a graph asserts: what PrimFuncs do, their calls know the place of."""
    function = enclosing(site.operation, "func.func")
    if function is None or GRAPH_INPUTS not in function.attributes:
        return ""
    return made_at(text_in(function, OPERATOR, f"@{symbol_name(function)}"), site.operation.location)


@register_step("tir.assert")
def require(site: Site) -> Step:
    message = site.attributes["message"].value
    kind = site.attributes["kind"].value if "kind" in site.attributes else "RuntimeError"
    found = getattr(builtins, kind, None)
    error = found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError

    own = _own_place(site)

    def run(frame: object, condition: ndarray, *numbers: Any) -> None:
        if not condition:
            place = own or site.machine.place()
            raise error((f"{place}: " if place else "") + message.format(*map(int, numbers)))

    return run
