# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a function: as arrays by name, as a table, in files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.arrays import to_numpy
from ...runtime.foreign_types import Array
from ...runtime.manifest import PassedValue, Signature
from ...support import registry
from ...support.array_files import npy_bytes
from ...support.errors import RelaxError
from ...support.files import refuse_overwriting, write_whole
from ...support.suggest import counted
from ..common.command_line import make_folder
from .input_sizes import shape_text


def named_arrays(signature: Signature, returned: Any) -> tuple[dict[str, Array], list[str]]:
    """Return the results as arrays by the model's names, or result0, result1, ..., and notes on absent results."""
    outputs = signature.outputs
    results = [returned] if len(outputs) == 1 else list(returned or ())
    arrays: dict[str, Array] = {}
    notes = []
    for index, (output, result) in enumerate(zip(outputs, results, strict=True)):
        name = f"result{index}" if not output.name or output.name in arrays else output.name
        if result is None:
            notes.append(f"output '{name}' is None")
        elif output.kind != "list":
            _add(arrays, name, result, output)
        elif len(result) == 0:
            notes.append(f"output '{name}' is an empty list")
        else:
            rest = [] if output.rest is None else [output.rest] * (len(result) - len(output.items))
            for at, (item, about) in enumerate(zip(result, [*output.items, *rest], strict=True)):
                _add(arrays, f"{name}.{at}", item, about)
    return arrays, notes


def _add(arrays: dict[str, Array], name: str, result: object, described: PassedValue) -> None:
    if not hasattr(result, "__dlpack__"):
        raise RelaxError(f"output '{name}' is no tensor but {type(result).__name__}: relax-run cannot show it")
    if name in arrays:
        raise RelaxError(f"two outputs are named '{name}': relax-run cannot tell them apart")
    arrays[name] = to_numpy(result, described.holds or None)


def table(arrays: Mapping[str, Array]) -> str:
    """Return a table with the type, shape and statistics of each array."""
    rows = [("output", "dtype", "shape", "min", "max", "mean")]
    rows += [(name, array.dtype.name, shape_text(array.shape), *_statistics(array)) for name, array in arrays.items()]
    return registry.table(*rows) + "\n"


def _statistics(array: Array) -> tuple[str, str, str]:
    if array.size == 0:
        return "-", "-", "-"
    numbers = array.astype("float64")
    return number_text(numbers.min()), number_text(numbers.max()), number_text(numbers.mean())


def number_text(number: float) -> str:
    return f"{number:.6g}"


def write_npy(path: str, arrays: Mapping[str, Array]) -> None:
    if len(arrays) != 1:
        raise RelaxError(f"--output: there are {counted(len(arrays), 'output')}, which need an .npz file, got '{path}'")
    write_whole(path, npy_bytes(next(iter(arrays.values()))))


def write_folder(folder: str, arrays: Mapping[str, Array], kept: Sequence[str] = ()) -> None:
    """Write each array to a file. Input files are never overwritten. Characters invalid in file names become `_`."""
    files: dict[str, str] = {}
    for name in arrays:
        if (file := re.sub(r"[^\w.\-]", "_", name).lstrip(".") + ".npy") in files:
            raise RelaxError(f"outputs '{files[file]}' and '{name}' would both be '{file}': --output writes one file")
        files[file] = name
    make_folder("--output-dir", folder)
    for file in files:
        refuse_overwriting({"--output-dir": os.path.join(folder, file)}, kept)
    for file, name in files.items():
        write_whole(os.path.join(folder, file), npy_bytes(arrays[name]))
