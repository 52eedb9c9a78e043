# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions of the module, and of those that it declares."""

from __future__ import annotations

from typing import Any

from ...bindings.navigation import callee_of, has_body
from ...dialects.core.ir_attributes import SITE
from ..python_functions import external_call
from ..registry import register_step
from ..sites import Site, Step


@register_step("func.call")
def call(site: Site) -> Step:
    name, machine = callee_of(site.operation), site.machine
    if not has_body(machine.operation(name)):
        return external_call(site, name)
    machine.prepare(name)

    def run(frame: object, *operands: Any) -> list[Any]:
        return machine.call(name, operands)

    def run_of_graph(frame: object, *operands: Any) -> list[Any]:
        return machine.call_from_graph(name, operands, site.operation)

    return run_of_graph if SITE in site.attributes else run


@register_step("func.constant")
def constant(site: Site) -> Step:
    name = str(site.attributes["value"].value)
    return lambda frame: name


@register_step("func.call_indirect")
def call_indirect(site: Site) -> Step:
    machine = site.machine

    def run(frame: object, name: str, *operands: Any) -> list[Any]:
        return machine.call(name, operands)

    return run
