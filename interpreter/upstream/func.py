# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions of the module."""

from __future__ import annotations

from typing import Any

from ...bindings.navigation import callee_of
from ..registry import register_step
from ..sites import Site, Step


@register_step("func.call")
def call(site: Site) -> Step:
    name, machine = callee_of(site.operation), site.machine
    machine.prepare(name)

    def run(frame: object, *operands: Any) -> list[Any]:
        return machine.call(name, operands)

    return run
