# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How targets make code: each names a module with its stages, or its parents do."""

from __future__ import annotations

import importlib
from typing import Any

from ...passes.core.stages import Stages
from ...support.errors import RelaxError
from .chosen import parse_target
from .registry import all_targets, fallback_chain


def code_module(target: str) -> Any:
    """The module that a target or the nearest of its parents names. Raises RelaxError where there is none."""
    for step in fallback_chain(target):
        if step.code_module:
            return importlib.import_module(step.code_module)
    able = [each.name for each in all_targets() if any(step.code_module for step in fallback_chain(each.name))]
    raise RelaxError(
        f"target '{target}' has no code generator: neither it nor a parent of it names one",
        notes=[f"targets with one: {', '.join(able)}"],
    )


def stages_of(target: str) -> Stages:
    """The stages by which a target, given with or without options, lowers modules."""
    chosen = parse_target(target)
    own = tuple(code_module(chosen.name).stages(chosen))
    stages = Stages(str(chosen), own, own)
    for step in reversed(fallback_chain(chosen.name)):
        if step.stages is not None:
            stages = step.stages(stages)
            if not isinstance(stages, Stages):
                raise RelaxError(f"target '{step.name}': stages= must return Stages, got {type(stages).__name__}")
    return stages
