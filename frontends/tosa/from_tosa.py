# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TOSA modules as modules."""

from __future__ import annotations

from pathlib import Path

from ...bindings.diagnostics import errors_as_relax_error
from ...bindings.ir import Context
from ...bindings.ir import Module as MlirModule
from ...bindings.mlir import ir
from ...passes.core.journal import timed
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ...support.errors import ModelError
from ..core.problems import Problems, Words
from ..module import Module
from .tosa_functions import add_functions

WORDS = Words(node="operation", whole="the module")


@types_checked
@enters
@uncollected()
def from_tosa(source: str | bytes | Path) -> Module:
    """The module of a program in upstream's tosa dialect: text or bytecode of MLIR, or the path of a file of either.
    Its public functions keep their names.

    Raises one RelaxError that lists every operation that cannot be imported, with its line.
    """
    with timed("import"):
        module, problems = Module(), Problems(WORDS)
        program = _read(source, module.context)
        add_functions(module.operation, program.operation, problems)
        problems.check()
        module.verify()
    return module


def _read(source: str | bytes | Path, context: Context) -> MlirModule:
    name = "<tosa>"
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith((".mlir", ".mlirbc"))):
        name = str(source)
        try:
            source = Path(source).read_bytes()
        except OSError as error:
            raise ModelError(f"cannot read '{name}': {error.strerror}") from None
    allowed = context.allow_unregistered_dialects
    # Operations without a converter are told all at once.
    context.allow_unregistered_dialects = True
    try:
        with errors_as_relax_error(context, f"cannot read '{name}'", ModelError):
            return ir.Module.parse(source, context)
    finally:
        context.allow_unregistered_dialects = allowed


def problems_of(path: str) -> Problems:
    """What of a file cannot be imported."""
    module, problems = Module(), Problems(WORDS)
    program = _read(Path(path), module.context)
    add_functions(module.operation, program.operation, problems)
    return problems
