# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instrument of --check-numerics, which checks the module after each pass."""

from __future__ import annotations

from ... import Instrument
from ...bindings.ir import Operation
from ...bindings.navigation import outermost
from ...dialects.core.ir_attributes import NUMERICS
from ...passes.kernels.tir_check_numerics import violations
from ...support.errors import RefusalError

_ORDER, _FUSE, _APPLY = "llvm-order-reductions", "llvm-fuse-multiply-add", "tir-apply-plan"


class CheckNumerics(Instrument):
    """Instrument that fails after the first pass that leaves such operations.

    It starts with llvm-order-reductions, or with the first pass on a module that has passed it.
    """

    def __init__(self) -> None:
        self._passed: set[str] = set()

    def after_pass(self, name: str, op: Operation) -> None:
        """Check the module."""
        self._passed.add(name)
        module = outermost(op)
        if NUMERICS not in module.attributes:
            return
        orders = _ORDER in self._passed and _APPLY not in self._passed
        if diagnostics := list(violations(module, orders=orders, contraction=_FUSE in self._passed)):
            note = f"--check-numerics: after pass {name}"
            raise RefusalError(
                diagnostics[0].message, location=diagnostics[0].place, notes=[note], diagnostics=diagnostics
            )
