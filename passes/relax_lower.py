# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a module by the stages of a target, all of them or up to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..targets.core.code import USUAL_LEVEL, stages_of
from ..targets.core.registry import parse_target
from .core.base import Pass
from .core.registry import register_pass
from .core.stages import Stages


@register_pass
@dataclass(frozen=True)
class Lower(Pass):
    """Lowers a module by the stages of a target, all of them, or from one and up to one."""

    name: ClassVar[str] = "relax-lower"

    #: Whose stages run, with its options: llvm{cpu=haswell}.
    target: str = "llvm"
    #: The first stage that runs.
    start: str = ""
    #: The last stage that runs.
    stop: str = ""
    #: 0 to 3: how much is done to the graph.
    opt_level: int = USUAL_LEVEL

    def __post_init__(self) -> None:
        self._stages()

    def _stages(self) -> Stages:
        return stages_of(self.target, self.opt_level).between(self.start, self.stop)

    def run(self, op: Operation) -> None:
        name = parse_target(self.target).name
        self._stages().run(op, name)
