# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes with a target option, which determines the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...passes.core.base import Pass
from .backend import ChosenTarget
from .code import find_backend
from .machine import Machine
from .registry import parse_target


@dataclass(frozen=True)
class MachinePass(Pass):
    """Pass with a target option."""

    #: Target with its options, such as llvm{cpu=haswell}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    @property
    def chosen(self) -> ChosenTarget:
        return parse_target(self.target)

    @cached_property
    def machine(self) -> Machine:
        return find_backend(self.chosen.name).machine(self.chosen)

    @property
    def keeps_bits(self) -> bool:
        """Check whether floating-point reductions have the same order on all machines (the option `numerics`)."""
        return self.machine.has_fused_multiply_add and self.chosen.option("numerics") != "fast"
