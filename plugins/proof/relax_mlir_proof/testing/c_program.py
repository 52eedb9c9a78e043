# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module as a C program, compiled by the system's compiler and called like an executable."""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir.bindings.navigation import function_type_of, functions_in, symbol_name
from relax_mlir.compilation.compiling import sources
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import Size, SymExpr
from relax_mlir.frontends.module import Module
from relax_mlir.runtime.guard_pages import guarded
from relax_mlir.support.c_compiler import find_compiler, load_library
from relax_mlir.support.errors import RefusalError
from relax_mlir.targets.core.registry import libraries_of, parse_target

from ..interpreter.held_values import stored

if TYPE_CHECKING:
    from numpy import ndarray

#: Warnings in the generated text are errors.
_FLAGS = "-O1 -pedantic -Wall -Wextra -Werror".split()


class CProgram:
    """The function "main" of a module as a C program."""

    def __init__(self, module: Module, target: str, calls: Sequence[Sequence[ndarray]]) -> None:
        """Compile the program for arguments of these sizes at most, because its memory is static."""
        self._inputs, self._outputs = _tensors(module)
        sizes = [self._sizes(arguments) for arguments in calls]
        bounds = {name: f"0..{max(size[name] for size in sizes)}" for name in (sizes[0] if sizes else ())}
        load_functions(libraries_of(parse_target(target).name))
        self._library = load_library(sources(module, target, bind=bounds), find_compiler(), _FLAGS)
        self._numbers = count()

    def __call__(self, arguments: Sequence[ndarray]) -> list[ndarray]:
        """Return the results. Raise the exception of a failed assertion."""
        sizes = self._sizes(arguments)
        results = [self._unwritten(info, sizes) for info in self._outputs]
        passed = [*map(ctypes.c_int64, sizes.values()), *(_address(array) for array in (*arguments, *results))]
        if status := self._library.model_main(*passed):
            kind, _, words = self._message(status).partition(": ")
            found = getattr(builtins, kind, None)
            raise (found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError)(words or kind)
        return results

    def _sizes(self, arguments: Sequence[ndarray]) -> dict[str, int]:
        """Return the numbers of dynamic sizes, in the order of a call's parameters."""
        sizes: dict[str, int] = {}
        for info, array in zip(self._inputs, arguments, strict=True):
            for size, number in zip(_dims(info), array.shape, strict=True):
                if str(size).isidentifier():
                    sizes.setdefault(str(size), number)
        return sizes

    def _unwritten(self, info: TensorInfo, sizes: Mapping[str, int]) -> ndarray:
        """Return memory before or after a forbidden page, filled with a pattern that no result should have."""
        shape = [size.evaluate(dict(sizes)) if isinstance(size, SymExpr) else size for size in _dims(info)]
        element = stored(info.dtype)
        filled = numpy.full(prod(shape) * element.itemsize, 0xA5, "uint8").view(element).reshape(shape)
        unwritten: ndarray = guarded(filled, at_end=next(self._numbers) % 3 != 2)
        return unwritten

    def _message(self, status: int) -> str:
        tell = self._library.model_message
        tell.restype = ctypes.c_char_p
        text: str = tell(status).decode()
        for number in (ctypes.c_int64 * 4).in_dll(self._library, "model_numbers"):
            text = text.replace("%lld", str(number), 1)
        return text


@cache
def load_functions(libraries: tuple[str, ...]) -> None:
    """Load the C functions that programs of a target call: libraries, and C sources to compile.

    They stay loaded in this process.
    """
    for library in libraries:
        if library.endswith(".c"):
            load_library({"functions.c": f'#include "{library}"\n'}, find_compiler(), ("-O1",), mode=ctypes.RTLD_GLOBAL)
        else:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def _tensors(module: Module) -> tuple[list[TensorInfo], list[TensorInfo]]:
    """Return the parameter and result types of "main"."""
    (main,) = (function for function in functions_in(module.operation) if symbol_name(function) == "main")
    type_ = function_type_of(main)
    infos: list[list[Any]] = [[decode(each) for each in types] for types in (type_.inputs, type_.results)]
    if not all(isinstance(info, TensorInfo) for each in infos for info in each):
        raise RefusalError("C programs are called with tensors only")
    return infos[0], infos[1]


def _dims(info: TensorInfo) -> list[Size]:
    """Return the sizes. Raise RefusalError if one has no symbol, because a call does not determine it."""
    if info.shape is None or None in info.shape:
        raise RefusalError("C programs are called only if result sizes depend only on argument sizes")
    return [size for size in info.shape if size is not None]


def _address(array: ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
