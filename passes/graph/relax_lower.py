# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of a module by the stages of a target, all of them or a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...targets.core.code import stages_of
from ...targets.core.code_options import USUAL_LEVEL
from ...targets.core.registry import parse_target
from ..core.base import Pass
from ..core.registry import register_pass
from ..core.stages import Stages


@register_pass
@dataclass(frozen=True)
class Lower(Pass):
    """Lower a module by the stages of a target: all stages, or the stages from `start` to `stop`."""

    name: ClassVar[str] = "relax-lower"

    #: Target that defines the stages, with its options: llvm{cpu=haswell}.
    target: str = "llvm"
    #: First stage to run.
    start: str = ""
    #: Last stage to run.
    stop: str = ""
    #: Optimization level of the graph, 0 to 3.
    opt_level: int = USUAL_LEVEL

    def __post_init__(self) -> None:
        self._stages()

    def _stages(self) -> Stages:
        return stages_of(self.target, self.opt_level).between(self.start, self.stop)

    def run(self, op: Operation) -> None:
        name = parse_target(self.target).name
        self._stages().run(op, name)
