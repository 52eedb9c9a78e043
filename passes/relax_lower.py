# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a module by the stages of a target, all of them or up to one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..support.errors import RelaxError
from ..targets.core.code import stages_of
from ..targets.core.registry import parse_target
from .core.base import Pass
from .core.registry import register_pass
from .core.stages import Stages


@register_pass
@dataclass(frozen=True)
class Lower(Pass):
    """Lowers a module by the stages of a target, all of them, or from one and up to one."""

    name: ClassVar[str] = "relax-lower"

    target: str = "llvm"
    start: str = ""
    stop: str = ""

    def __post_init__(self) -> None:
        self._stages()

    def _stages(self) -> Stages:
        stages = stages_of(self.target)
        if self.stop:
            stages = stages.until(self.stop)
        if self.start:
            place = stages_of(self.target).names.index(stages_of(self.target)[self.start].name)
            stages = replace(stages, stages=stages.stages[place:])
        if not stages.stages:
            raise RelaxError(f"pass '{self.name}': stage '{self.start}' comes after stage '{self.stop}'")
        return stages

    def run(self, op: Any) -> None:
        name = parse_target(self.target).name
        self._stages().run(op, name)
