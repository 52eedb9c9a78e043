# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C libraries that a program names, loaded before its code, which calls their functions by name."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .errors import ArtifactError


class Libraries(NamedTuple):
    """What a program calls of C, and where that may be."""

    #: Names, which the system's loader looks for, or paths; earlier ones first.
    names: tuple[str, ...] = ()
    #: The functions that the program calls: of these libraries, or of the process.
    functions: tuple[str, ...] = ()


def load_libraries(libraries: Libraries, folder: str) -> None:
    """Loads them for the whole process, and sees to it that each function is found and is theirs.

    `folder` is the one of the program's file, empty where it has none. Raises ArtifactError with all that is wrong.
    """
    loaded, problems = [], []
    for name in libraries.names:
        try:
            loaded.append(_loaded(name, folder))
        except ArtifactError as error:
            problems.append(str(error))
    problems += [] if problems else _problems_of_functions(libraries, loaded)
    if problems:
        raise ArtifactError("\n".join(problems))


def _loaded(name: str, folder: str) -> ctypes.CDLL:
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
    """In the folder of the program's file, then where its name says."""
    if folder:
        yield os.path.join(folder, os.path.basename(name))
        if os.path.dirname(name) and not os.path.isabs(name):
            yield os.path.join(folder, name)
    yield name


def _problems_of_functions(libraries: Libraries, loaded: Sequence[ctypes.CDLL]) -> Iterator[str]:
    """The code finds a function by its name alone, in what the process has loaded first."""
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
