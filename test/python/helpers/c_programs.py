# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C programs: written, compiled by the system's compiler with all warnings as errors, and called."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.navigation import function_type_of, functions_in, is_private, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.targets.host.abi import dlpack_name

import relax_mlir as rx

STRICT = "-std=c99 -pedantic -Wall -Wextra -Werror -O1".split()
COMPILER = shutil.which(os.environ.get("CC", "cc"))

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="this machine has no compiler of C ($CC, cc)")


def write(files: Mapping[str, str | bytes], folder: Path) -> None:
    for name, held in files.items():
        (folder / name).write_bytes(held if isinstance(held, bytes) else held.encode())


def compiled(files: Mapping[str, str | bytes], *flags: str) -> ctypes.CDLL:
    """Load the program without its main as a library into this process."""
    assert COMPILER is not None
    with tempfile.TemporaryDirectory() as folder:
        write(files, Path(folder))
        sources = [name for name in files if name.endswith((".c", ".S")) and name != "main.c"]
        command = [COMPILER, *STRICT, *flags, "-fPIC", "-shared", "-o", "program.so", *sources, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(Path(folder, "program.so")))


def run(
    files: Mapping[str, str | bytes], folder: Path, *words: str, flags: Sequence[str] = (), compiler: str = ""
) -> str:
    """Write the files, build the program around main.c, and return its output."""
    chosen = compiler or COMPILER
    assert chosen is not None
    write(files, folder)
    sources = [name for name in files if name.endswith((".c", ".S"))]
    built = [chosen, *STRICT, *flags, "-o", "program", *sources, "-lm"]
    for command in (built, ["./program", *words]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    return done.stdout


class CProgram:
    """Module compiled as C. Its functions are called like those of an executable."""

    def __init__(self, module: rx.Module, target: str = "c", **options: Any) -> None:
        self.files = rx.sources(module, target, **options)
        self._library = compiled(self.files)
        self._types = {
            symbol_name(each): [[decode(type_) for type_ in types] for types in _signature(each)]
            for each in functions_in(module.operation)
            if not is_private(each)
        }
        self._compile = functools.cache(lambda: rx.compile(module, opt_level=0, jobs=1, bind=options.get("bind")))

    def message(self, status: int) -> str:
        tell = self._library.model_message
        tell.restype = ctypes.c_char_p
        text = tell(status).decode()
        numbers = (ctypes.c_int64 * 4).in_dll(self._library, "model_numbers")
        for number in numbers:
            text = text.replace("%lld", str(number), 1)
        return text

    def __call__(self, *arguments: Any, function: str = "main") -> tuple[Any, ...]:
        """Return the results as arrays."""
        inputs, outputs = self._types[function]
        sizes: dict[str, int] = {}
        for described, argument in zip(inputs, arguments, strict=True):
            for size, given in zip(getattr(described, "shape", ()), numpy.shape(argument), strict=True):
                if str(size).isidentifier():
                    sizes.setdefault(str(size), given)
        shapes = [[_computed(size, sizes) for size in described.shape] for described in outputs]
        results = [
            self.result(shape, _numpy_dtype(described)) for shape, described in zip(shapes, outputs, strict=True)
        ]
        kept = [_array(each) for each in arguments]
        passed = [_passed(each) for each in (*map(int, sizes.values()), *kept, *results)]
        called = getattr(self._library, f"model_{function}")
        status = called(*passed)
        if status:
            raise RuntimeError(self.message(status))
        return tuple(results)

    def result(self, shape: Sequence[int], dtype: Any) -> Any:
        """Return the array that receives a result."""
        return numpy.zeros(shape, dtype)

    def expected(self, *arguments: Any, function: str = "main") -> tuple[Any, ...]:
        """Return the results of the llvm target's code."""
        held = [output.get("holds") or output["dtype"] for output in self._compile().signature(function)["outputs"]]
        given = [
            rx.runtime.tensor(each) if isinstance(each, numpy.ndarray) else each for each in map(_array, arguments)
        ]
        results = self._compile()[function](*given)
        found = [results] if len(held) == 1 else list(results)
        return tuple(rx.runtime.to_numpy(each, dtype) for each, dtype in zip(found, held, strict=True))


def _array(value: Any) -> Any:
    """Return Python's numbers unchanged, and numpy's as tensors without dimensions."""
    return value if isinstance(value, (int, float)) else numpy.array(value, order="C")


def _signature(function: Any) -> tuple[Any, Any]:
    type_ = function_type_of(function)
    return type_.inputs, type_.results


def _computed(size: Any, sizes: dict[str, int]) -> int:
    return size if isinstance(size, int) else int(eval(str(size), {"min": min, "max": max}, sizes))


def _numpy_dtype(described: Any) -> Any:
    import ml_dtypes  # noqa: F401  # numpy knows its names then

    return numpy.dtype(dlpack_name(described.dtype))


def _passed(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(int(value))
