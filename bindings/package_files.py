# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Identification of this package's files and those of its dependencies, by size and time, for cache keys."""

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
#: Subpackages, whose folders can be in different places.
_ROOMS = "bindings compilation dialects emit frontends passes runtime support targets tools"
PARTS = ("", *(f".{room}" for room in _ROOMS.split()))
#: Plug-ins of this project that run whatever the options are: converters and derivatives, for nodes of models, and
#: primitives, for schedules in modules.
_PLUGINS = ("relax_mlir_onnx_domains", "relax_mlir_training", "relax_mlir_tvm")
#: Other packages that the compiler may import. A change of their files may change programs.
_OTHERS = ("onnx", "torch", "numpy", "ml_dtypes", "llvmlite")
_SKIPPED = frozenset({"__pycache__", "dev"})


@lru_cache(maxsize=1)
def loaded_compiler() -> str:
    """Return a hash of the compiler and its packages as loaded in this process."""
    lines = (sys.version, bindings_identity(), *own_files(), *other_packages())
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def own_files() -> Iterator[str]:
    """Yield a line for each file of this package, and of the plug-ins that run whatever the options are."""
    for part in PARTS:
        spec = importlib.util.find_spec(PACKAGE + part)
        # Only the folder of the origin: the search path of a checkout is the whole repository, where files come and go.
        yield from files_in([os.path.dirname(spec.origin)] if spec and spec.origin else ())
    for name in _PLUGINS:
        module_spec = top_spec(name)
        yield from files_in(module_spec.submodule_search_locations or () if module_spec else ())


def other_packages() -> Iterator[str]:
    """Yield a line for each package that the compiler may import."""
    for name in _OTHERS:
        spec = top_spec(name)
        yield name if spec is None or not spec.origin else described(spec.origin)


def top_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return the spec of a module's top-level package without importing it, as `find_spec` would for parents."""
    try:
        return importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None


def files_in(folders: Iterable[str]) -> Iterator[str]:
    """Yield a line for each file in folders, recursively."""
    for folder in folders:
        for place, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name not in _SKIPPED)
            for name in sorted(names):
                yield described(os.path.join(place, name))


def described(path: str) -> str:
    """Describe a file by path, size and modification time."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"
