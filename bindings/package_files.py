# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of this package and of those that it uses, identified by sizes and times: what is made depends on them."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .wheel import bindings_identity

PACKAGE = __name__.partition(".")[0]
#: The package's folders, which need not be in one.
_ROOMS = "bindings compilation dialects emit frontends interpreter passes runtime support targets testing tools"
PARTS = ("", *(f".{room}" for room in _ROOMS.split()))
#: Other packages that compiling may import: what changes with them may change programs.
_OTHERS = ("onnx", "torch", "numpy", "ml_dtypes", "llvmlite")
_SKIPPED = frozenset({"__pycache__", "dev"})


@lru_cache(maxsize=1)
def loaded_compiler() -> str:
    """A hash that changes with the compiler and the packages that it uses, as this process has them."""
    lines = (sys.version, bindings_identity(), *own_files(), *other_packages())
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def own_files() -> Iterator[str]:
    """A line for each file of this package."""
    for part in PARTS:
        spec = importlib.util.find_spec(PACKAGE + part)
        # Not where it looks for its parts: in a checkout that is the whole repository, where files come and go.
        yield from files_in([os.path.dirname(spec.origin)] if spec and spec.origin else ())


def other_packages() -> Iterator[str]:
    """A line for each package that compiling may import."""
    for name in _OTHERS:
        spec = top_spec(name)
        yield name if spec is None or not spec.origin else described(spec.origin)


def top_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where the package that holds a module is; not imported, as `find_spec` imports parents."""
    try:
        return importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None


def files_in(folders: Iterable[str]) -> Iterator[str]:
    """A line for each file in folders and theirs."""
    for folder in folders:
        for place, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name not in _SKIPPED)
            for name in sorted(names):
                yield described(os.path.join(place, name))


def described(path: str) -> str:
    """A file by its path, size and time."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"
