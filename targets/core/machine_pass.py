# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes with a target option, which determines the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...passes.core.base import Pass
from .backend import ChosenTarget, Machine
from .code import find_backend
from .registry import parse_target


@dataclass(frozen=True)
class MachinePass(Pass):
    """Pass with a target option."""

    #: The target with its options, such as llvm{cpu=haswell}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    @property
    def chosen(self) -> ChosenTarget:
        return parse_target(self.target)

    @cached_property
    def machine(self) -> Machine:
        return find_backend(self.chosen.name).machine(self.chosen)
