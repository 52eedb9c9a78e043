# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C libraries that a program names. They are loaded before its code, which calls their functions by name."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..support.lapack import INSTALL, PACKAGE, find_lapack
from .errors import ArtifactError


class Libraries(NamedTuple):
    """C functions of a program, and the libraries that define them."""

    #: Library names for the system's loader, paths, or the package with LAPACK; earlier ones first.
    names: tuple[str, ...] = ()
    #: Functions that the program calls, of these libraries or of the process.
    functions: tuple[str, ...] = ()


def load_libraries(libraries: Libraries, folder: str) -> None:
    """Load the libraries for the whole process, and check that each function is found and belongs to them.

    `folder` is the folder of the program's file, or "" without a file. Raises ArtifactError with all problems.
    """
    loaded, problems = [], []
    for name in libraries.names:
        try:
            loaded.append(_load(name, folder))
        except ArtifactError as error:
            problems.append(str(error))
    problems += [] if problems else _problems_of_functions(libraries, loaded)
    if problems:
        raise ArtifactError("\n".join(problems))


def _load(name: str, folder: str) -> ctypes.CDLL:
    if name == PACKAGE:
        if not (path := find_lapack()):
            raise ArtifactError(f"the program calls LAPACK. {INSTALL}")
        lapack = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        lapack.scipy_LAPACKE_set_nancheck(0)  # As in NumPy and XLA, results of NaN are NaN.
        return lapack
    tried = []
    for place in _places(name, folder):
        if place != name and not os.path.exists(place):
            tried.append(place)
            continue
        try:
            return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            if os.path.exists(place):
                raise ArtifactError(f"the C library '{name}', which the program calls: {error}") from None
            tried.append(place if os.path.dirname(place) else "where the system looks for libraries")
    raise ArtifactError(f"the C library '{name}', which the program calls, is not here: it was looked for at "
                        f"{', '.join(dict.fromkeys(tried))}")  # fmt: skip


def _places(name: str, folder: str) -> Iterator[str]:
    """Yield the candidates: in the folder of the program's file, then as the name states."""
    if folder:
        yield os.path.join(folder, os.path.basename(name))
        if os.path.dirname(name) and not os.path.isabs(name):
            yield os.path.join(folder, name)
    yield name


def _problems_of_functions(libraries: Libraries, loaded: Sequence[ctypes.CDLL]) -> Iterator[str]:
    """Yield the problems of functions.

    Code finds a function by name only, in the first library that the process loaded.
    """
    process = ctypes.CDLL(None)
    names = ", ".join(libraries.names)
    for function in libraries.functions:
        found, own = _address(process, function), [_address(each, function) for each in loaded]
        if found is None:
            yield f"the C function '{function}', which the program calls, is in none of its libraries ({names})"
        elif any(own) and found not in own:
            yield f"the C function '{function}' of {names} is hidden by another library's of that name in this process"


def _address(library: ctypes.CDLL, function: str) -> int | None:
    try:
        return ctypes.cast(library[function], ctypes.c_void_p).value
    except AttributeError:
        return None
