# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Input of MLIR programs: text, bytecode, or paths of files.

Bytecode is read in another process first, because damaged bytecode can crash MLIR's readers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ...bindings.ir import Context
from ...bindings.ir import Module as MlirModule
from ...bindings.navigation import operations_in
from ...dialects.attribute_checks import check_attributes
from ...dialects.context import create_context
from ...dialects.parsing import checked_source, on_trial
from ...dialects.trial import read_elsewhere
from ...support.errors import ModelError
from ...support.processes.expendable import is_expendable

_SHOWN = 16
#: Reader of a source with a name into a context. Raises RelaxError.
Reader: TypeAlias = Callable[[str | bytes, str, Context], MlirModule]


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read '{path}': {error.strerror}") from None


def read_program(source: str | bytes, name: str, context: Context, read: Reader, trial: str) -> MlirModule:
    """Return the program in a source. Raise RelaxError for invalid ones.

    `trial` names a function as `package.module:name`. The function calls `program_on_trial` with `read`.
    """
    source = checked_source(source, name)
    if isinstance(source, bytes) and not is_expendable():
        read_elsewhere(source, name, trial)
    return _check_program(read(source, name, context), source, name)


def program_on_trial(data: bytes, name: str, read: Reader) -> bytes:
    """Read a program in the process that may crash."""
    return on_trial(data, False, (), lambda source: _check_program(read(source, name, create_context()), source, name))


def _check_program(program: MlirModule, source: str | bytes, name: str) -> MlirModule:
    if isinstance(source, str):
        return program
    try:
        if not check_attributes(program.operation):
            raise ModelError(f"cannot read '{name}': malformed attributes")
        assert all(
            operation.name for operation in operations_in(program.operation)
        )  # Names that are not UTF-8 raise here.
        program.operation.get_asm(large_elements_limit=_SHOWN, large_resource_limit=_SHOWN, enable_debug_info=True)
    except UnicodeDecodeError:
        raise ModelError(f"cannot read '{name}': a name or a text in it is not UTF-8") from None
    return program
