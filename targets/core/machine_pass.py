# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that are given the target, with options that say what machine a program is for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...passes.core.base import Pass
from .backend import ChosenTarget, Machine
from .code import find_backend
from .registry import parse_target


@dataclass(frozen=True)
class MachinePass(Pass):
    """One of them."""

    #: With its options, which say what machine it is: llvm{cpu=haswell}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    @property
    def chosen(self) -> ChosenTarget:
        return parse_target(self.target)

    @cached_property
    def machine(self) -> Machine:
        return find_backend(self.chosen.name).machine(self.chosen)
