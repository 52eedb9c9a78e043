# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes on graphs that are told what machine a program is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...passes.core.base import Pass
from ..core.backend import Machine
from ..core.registry import parse_target
from .objects.code_target import machine


@dataclass(frozen=True)
class MachinePass(Pass):
    """One of them."""

    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: With its options, which say what machine it is: llvm{cpu=haswell}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    @property
    def machine(self) -> Machine:
        return machine(parse_target(self.target))
