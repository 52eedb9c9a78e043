# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of TOSA modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_mlir.bindings.diagnostics import errors_as_relax_error
from relax_mlir.bindings.ir import Context
from relax_mlir.bindings.ir import Module as MlirModule
from relax_mlir.bindings.mlir import ir
from relax_mlir.frontends.core.problems import Problems, Words
from relax_mlir.frontends.core.programs import content_of, program_on_trial, read_program
from relax_mlir.frontends.module import Module
from relax_mlir.frontends.reader import Reader
from relax_mlir.passes.core.journal import timed
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.collector import uncollected
from relax_mlir.support.errors import ModelError

from .registry import CONVERTERS
from .tosa_functions import add_functions

WORDS = Words(node="operation", whole="the module")
_TRIAL = f"{__name__}:read_on_trial"


@types_checked
@enters
@uncollected()
def from_tosa(source: str | bytes | Path) -> Module:
    """Import a program in upstream's tosa dialect as a module. Public functions keep their names.

    The source is text or bytecode of MLIR, or the path of a file of either.

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
        source, name = content_of(Path(source)), str(source)
    return read_program(source, name, context, _parse_program, _TRIAL)


def read_on_trial(data: bytes, *, is_text: bool, name: str, dialects: Sequence[str]) -> bytes:
    """Read a program in a process that may crash."""
    return program_on_trial(data, name, _parse_program)


def _parse_program(source: str | bytes, name: str, context: Context) -> MlirModule:
    allowed = context.allow_unregistered_dialects
    # Operations without a converter are reported together.
    context.allow_unregistered_dialects = True
    try:
        with errors_as_relax_error(context, f"cannot read '{name}'", ModelError):
            return ir.Module.parse(source, context)
    finally:
        context.allow_unregistered_dialects = allowed


def problems_of(path: str) -> Problems:
    """Return the problems of importing a file."""
    module, problems = Module(), Problems(WORDS)
    program = _read(Path(path), module.context)
    add_functions(module.operation, program.operation, problems)
    return problems


READER = Reader(from_tosa, problems_of, CONVERTERS.rows, CONVERTERS)
