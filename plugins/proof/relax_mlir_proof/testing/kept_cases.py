# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of faults as files: the module, inputs and expected results of its calls, and a command to run the case.

A kept case is a folder: `case.mlir`, `inputs.npz` by the names of main's parameters, and `expected.npz`. Further calls
of the same module are `inputs_1.npz`, `expected_1.npz` and so on.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.frontends.module import Module
from relax_mlir.support.array_files import write_npz
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.files import write_whole
from relax_mlir.support.plugins import named_plugins

from ..interpreter.execution import Machine
from ..interpreter.held_values import stored
from . import isolated
from .core.cases import Case, Setup
from .integer_reference import expected_of

if TYPE_CHECKING:
    from numpy import ndarray

    from .trial import Subject

_MODULE = "case.mlir"
#: Group of kept cases, which run only if named.
KEPT = "kept"


class Kept(NamedTuple):
    """A kept case: its folder, and the command that runs it again."""

    folder: str
    command: str


def keep_case(subject: Subject, case: Case, seed: int, folder: str, limit: float) -> Kept:
    """Write a case into its own folder below `folder`. Its reference may crash, so this happens in another process.

    Raise OptionError if the files cannot be written.
    """
    path = os.path.join(folder, re.sub(r"[^\w.-]+", "_", case.name).strip("_"))
    # If the reference crashes, the case has no expected results.
    problem = isolated.alone(lambda: _write(subject, case, seed, path), limit, lambda cause, phase: "")
    if problem or not os.path.exists(os.path.join(path, _MODULE)):
        raise OptionError(f"cannot keep the case '{case.name}' in '{folder}': {problem or 'it cannot be made again'}")
    return Kept(path, _command(subject, path))


def kept_case(path: str) -> Case:
    """Read the case in a folder of `keep_case`, with files that may have been edited. Raise OptionError."""
    source = Path(path, _MODULE)
    try:
        module = Module.parse(source.read_text(encoding="utf-8"), str(source))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"'{path}' is no case that --keep wrote: cannot read '{source}': {error}") from None
    main = next((function for function in functions_in(module.operation) if symbol_name(function) == "main"), None)
    if main is None:
        raise OptionError(f"'{source}' has no function @main, which is what a case calls")
    if not (calls := [list(_read_arguments(file, main)) for file in _files(path)]):
        raise OptionError(f"'{path}' is no case that --keep wrote: it has no inputs.npz")
    return Case(Path(path).resolve().name, KEPT, lambda seed: Setup(module, calls))


def _write(subject: Subject, case: Case, seed: int, path: str) -> str:
    """Write the files. Return a message if that fails."""
    try:
        setup = case.make(seed)
        os.makedirs(path, exist_ok=True)
        write_whole(os.path.join(path, _MODULE), f"{setup.module}\n".encode())
        main = next(function for function in functions_in(setup.module.operation) if symbol_name(function) == "main")
        names = argument_names(main)
        expected = expected_of(setup.module, case.group, case.subject, subject.codegens or (subject.target,)).module
        for number, arguments in enumerate(setup.calls):
            _write_call(path, f"_{number}" if number else "", expected, dict(zip(names, arguments, strict=True)))
    except (RelaxError, OSError) as error:
        return str(error)
    return ""


def _write_call(path: str, suffix: str, module: Module, arguments: dict[str, ndarray]) -> None:
    write_npz(os.path.join(path, f"inputs{suffix}.npz"), arguments)
    try:
        expected = Machine(module.operation).call("main", list(arguments.values()))
    except Exception:  # the reference has no result for these inputs
        return
    named = {f"result{index}": numpy.asarray(array) for index, array in enumerate(expected)}
    write_npz(os.path.join(path, f"expected{suffix}.npz"), named)


def _files(path: str) -> Iterator[Path]:
    number = 0
    while (file := Path(path, f"inputs{f'_{number}' if number else ''}.npz")).exists():
        yield file
        number += 1


def _read_arguments(file: Path, main: Operation) -> Iterator[ndarray]:
    """Return a call's arguments. NumPy returns types that it does not know, such as bfloat16, as raw bytes."""
    try:
        with numpy.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except Exception as error:  # NumPy and zipfile raise various exceptions for broken files
        raise OptionError(f"cannot read '{file}': {error}") from None
    for name, value in zip(argument_names(main), body_of(main).arguments, strict=True):
        if name not in found:
            raise OptionError(f"'{file}' has no array '{name}', which @main reads; it has {', '.join(found) or 'none'}")
        info, array = decode(value.type), found[name]
        dtype = stored(info.dtype) if isinstance(info, TensorInfo) else array.dtype
        yield array.view(dtype) if array.dtype.kind == "V" and array.itemsize == dtype.itemsize else array


def _command(subject: Subject, path: str) -> str:
    words: Sequence[str] = ["relax-check", subject.name, *(f"--load-plugin={name}" for name in named_plugins())]
    default = "llvm" if subject.codegens else subject.name
    target = [] if subject.target == default else [f"--target={subject.target}"]
    tolerance = [] if subject.tolerance is None else [f"--tolerance={subject.tolerance}"]
    bits = ["--same-bits"] if subject.compares_bits else []
    bits += [f"--schedules={subject.schedule_count}"] if subject.schedule_count else []
    return shlex.join([*words, *target, *tolerance, *bits, f"--case={path}"])
