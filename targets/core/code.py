# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How targets make code: by their own backend, or by the one of their host."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ...passes.core.stages import Stage, Stages
from ...support.errors import RelaxError
from .backend import Backend, ChosenTarget
from .registry import all_targets, host_chain, parse_target

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from .code_options import CodeOptions


def find_backend(target: str) -> Backend:
    """The backend of a target, or of the nearest of its hosts that has one. Raises RelaxError where there is none."""
    found = _nearest(target)
    if found is not None:
        return _made(found)
    able = [each.name for each in all_targets() if _nearest(each.name) is not None]
    raise RelaxError(
        f"target '{target}' has no code generator: neither it nor a parent of it names one",
        notes=[f"targets with one: {', '.join(able)}"],
    )


def _nearest(target: str) -> type[Backend] | None:
    return next((step.backend for step in host_chain(target) if step.backend is not None), None)


@cache
def _made(backend: type[Backend]) -> Backend:
    return backend()


def stages_of(target: str) -> Stages:
    """The stages by which a target, given with or without options, lowers modules."""
    chosen = parse_target(target)
    backend = find_backend(chosen.name)
    own = tuple(backend.stages(chosen))
    wrong = next((each for each in own if not isinstance(each, Stage)), None)
    if wrong is not None:
        raise RelaxError(f"{type(backend).__name__}.stages() must return rx.Stage objects, got {type(wrong).__name__}")
    stages = Stages(str(chosen), own, own)
    for step in reversed(host_chain(chosen.name)):
        if step.stages is not None:
            stages = step.stages(stages)
            if not isinstance(stages, Stages):
                raise RelaxError(f"target '{step.name}': stages= must return Stages, got {type(stages).__name__}")
    return stages


def build(module: Any, target: ChosenTarget, options: CodeOptions, version: str) -> Artifact:
    """The program of a lowered module, which is taken apart, with the version of the compiler in it."""
    from ...runtime.artifact import Artifact

    backend = find_backend(target.name)
    made: object = backend.build(module, target, options)
    if not isinstance(made, Artifact):
        name = type(backend).__name__
        raise RelaxError(f"{name}.build() must return an rx.runtime.Artifact, got {type(made).__name__}")
    return replace(made, version=version)
