# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation of targets: the backend of a target or its host, and its stages."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...bindings.mlir import string_value
from ...bindings.navigation import operations_of, symbol_name, text_in
from ...dialects.core.ir_attributes import C_FUNCTION, DEVICE
from ...passes.core.external import taken_externals
from ...passes.core.stages import Stage, Stages
from ...support.collector import uncollected
from ...support.errors import RefusalError, RelaxError
from .backend import Backend, ChosenTarget
from .code_options import USUAL_LEVEL, CodeOptions, check_opt_level
from .registry import all_targets, host_chain, libraries_of, parse_target

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from ...runtime.libraries import Libraries


def find_backend(target: str) -> Backend:
    """Return the backend of a target or its nearest host. Raise RelaxError if there is none."""
    if (found := _nearest(target)) is not None:
        return _make(found)
    able = [registered.name for registered in all_targets() if _nearest(registered.name) is not None]
    raise RefusalError(
        f"target '{target}' has no code generator: neither it nor a parent of it names one",
        notes=[f"targets with one: {', '.join(able)}"],
    )


def _nearest(target: str) -> type[Backend] | None:
    return next((step.backend for step in host_chain(target) if step.backend is not None), None)


@cache
def _make(backend: type[Backend]) -> Backend:
    return backend()


def stages_of(target: str, opt_level: int = USUAL_LEVEL) -> Stages:
    """Return the lowering stages of a target, with or without options, at a level."""
    check_opt_level(opt_level)
    chosen = parse_target(target)
    backend = find_backend(chosen.name)
    own = tuple(backend.stages(chosen))
    if (wrong := next((each for each in own if not isinstance(each, Stage)), None)) is not None:
        raise RelaxError(f"{type(backend).__name__}.stages() must return rx.Stage objects, got {type(wrong).__name__}")
    stages = Stages(str(chosen), own, own)
    for step in reversed(host_chain(chosen.name)):
        if step.stages is not None and not isinstance(stages := step.stages(stages), Stages):
            raise RelaxError(f"target '{step.name}': stages= must return Stages, got {type(stages).__name__}")
    return stages.at(opt_level)


@uncollected()
def build(module: Module, target: ChosenTarget, options: CodeOptions, version: str) -> Artifact:
    """Build the program of a lowered module, which is modified, and record the compiler's version.

    Without kernels of the backend, a program for a device computes on the CPU.
    """
    from ...runtime.artifact import Artifact, DeviceCode

    backend = find_backend(target.name)
    externals, objects = taken_externals(module.operation)
    libraries, kind = _libraries(module, target), text_in(module.operation, DEVICE)
    made: object = backend.build(module, target, options)
    if not isinstance(made, Artifact):
        name = type(backend).__name__
        raise RelaxError(f"{name}.build() must return an rx.runtime.Artifact, got {type(made).__name__}")
    all_objects = (*made.objects, *objects)
    devices = made.devices or ((DeviceCode(kind, str(target), "cpu", (), memoryview(b"")),) if kind else ())
    return replace(
        made, version=version, externals=externals, objects=all_objects, libraries=libraries, devices=devices
    )


def _libraries(module: Module, target: ChosenTarget) -> Libraries:
    """Return the C functions that the program calls, and the libraries of the target and of the calls.

    Without such calls, no library is returned.
    """
    from ...runtime.libraries import Libraries

    declared = [op for op in operations_of(module.body) if C_FUNCTION in op.attributes]
    packages = {string_value(op.attributes[C_FUNCTION]): None for op in declared}
    names = [*(libraries_of(target.name) if "" in packages else ()), *sorted(filter(None, packages))]
    return Libraries(tuple(names), tuple(sorted(map(symbol_name, declared))))
