# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir.assert: the exception that the program would raise, of the operator and at the place that it would name."""

from __future__ import annotations

import builtins
from typing import Any

from ..registry import register_step
from ..sites import Site, Step


@register_step("tir.assert")
def require(site: Site) -> Step:
    message = site.attributes["message"].value
    kind = site.attributes["kind"].value if "kind" in site.attributes else "RuntimeError"
    found = getattr(builtins, kind, None)
    error = found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError

    def run(frame: object, condition: Any, *numbers: Any) -> None:
        if not condition:
            place = site.machine.place()
            raise error((f"{place}: " if place else "") + message.format(*map(int, numbers)))

    return run
