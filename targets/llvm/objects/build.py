# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Last step for llvm: the artifact of a fully lowered module."""

from __future__ import annotations

import json

from ....bindings.ir import Attribute, Module, Operation
from ....bindings.mlir import string_value
from ....dialects.core.codec import decode
from ....dialects.core.elements import elements_bytes, is_resource
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import CALLS, ENTRIES, NUMERICS, PLACED_CONSTANTS
from ....dialects.relax.constants import array_of_attribute
from ....passes.core.journal import timed
from ....runtime.artifact import Artifact, Constant
from ....support.errors import RefusalError
from ...core.backend import ChosenTarget
from ...core.code_options import CodeOptions
from ...host.passes.host_define_support import define_support
from .code_target import code_target
from .native_code import native_code
from .object_file import check_compilable
from .units import NOTES


def build(module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
    """Return the artifact of a module in the LLVM dialect: native code, constants and descriptions of the functions.

    The function consumes the module.
    """
    operation = module.operation
    if ENTRIES not in operation.attributes:
        raise RefusalError("the module has no functions to call from outside: the stage 'entries' did not run")
    if not (entries := [json.loads(string_value(each)) for each in operation.attributes[ENTRIES]]):
        raise RefusalError(
            "the module has no public graph function, so nothing in it could be called",
            notes=["or the stage 'entries' ran before the graph's functions were lowered"],
        )
    constants = tuple(map(_constant, _read_notes(operation, PLACED_CONSTANTS)))
    calls = tuple(map(string_value, _read_notes(operation, CALLS)))
    numerics = tuple(map(string_value, _read_notes(operation, NUMERICS)))
    _drop_notes(operation)
    machine = code_target(target)
    with timed("code"):
        made = native_code(module, machine, options)
    code = tuple(memoryview(each) for each in made.objects)
    pool = None if made.pool is None else memoryview(made.pool)
    requires = machine.required
    return Artifact(
        tuple(entries), code, constants, machine.triple, requires, calls=calls, pool=pool, numerics=numerics
    )


def assembly(module: Module, target: ChosenTarget, options: CodeOptions) -> str:
    """Return the assembly text of such a module, for inspection."""
    from .cross_object import emit_assembly  # imports llvmlite, which programs do not need

    complete(module)
    _drop_notes(module.operation)
    check_compilable(module, options.opt_level)
    return emit_assembly(module, code_target(target), options.opt_level)


def complete(module: Module) -> None:
    """Make such a module self-contained, for inspection or for another compiler."""
    define_support(module.operation)


def _drop_notes(operation: Operation) -> None:
    for name in NOTES:
        if name in operation.attributes:
            del operation.attributes[name]


def _read_notes(operation: Operation, name: str) -> list[Attribute]:
    return list(operation.attributes[name]) if name in operation.attributes else []


def _constant(described: Attribute) -> Constant:
    value = described["value"]
    info = decode(value.type)
    assert isinstance(info, TensorInfo), info
    return Constant(string_value(described["name"]), info.dtype, tuple(value.type.shape), _bytes(value, info.dtype))


def _bytes(value: Attribute, dtype: str) -> memoryview:
    """Return the bytes of a constant.

    Resources are not copied. A small constant that left the code (host-place-constants) comes from its attribute.
    """
    if is_resource(value):
        return elements_bytes(value)
    return memoryview(array_of_attribute(value, dtype, value.type.shape).tobytes())
