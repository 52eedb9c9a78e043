# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Location of the wheel that provides MLIR's Python bindings, and the name of their root package."""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache

from ..support.errors import RelaxError

# Upstream's root first. torch-mlir's wheel has the same bindings under another name.
_ROOTS = ("mlir", "torch_mlir")


def find_root() -> str:
    """Return the root package of the bindings. Raise RelaxError if none is installed."""
    for root in _ROOTS:
        # Search for the folder instead of importing: `mlir` may be an unrelated or empty package.
        if library_folders(root):
            return root
    raise RelaxError(
        f"no MLIR Python bindings found (tried the packages {', '.join(_ROOTS)})",
        notes=["install them with: pip install torch-mlir==20261001"],
    )


def library_folders(root: str) -> list[str]:
    """Return the folders of a root package's shared libraries, or an empty list."""
    spec = importlib.util.find_spec(root)
    places = (os.path.join(place, "_mlir_libs") for place in (spec and spec.submodule_search_locations) or ())
    return [place for place in places if os.path.isdir(place)]


@lru_cache(maxsize=1)
def bindings_identity() -> str:
    """Return a text that changes with the installed bindings, without loading them."""
    return "\n".join(line for folder in library_folders(find_root()) for line in _files_in(folder))


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(_describe(entry) for entry in entries if entry.is_file())
    except OSError:
        return []


def _describe(entry: os.DirEntry[str]) -> str:
    status = entry.stat()
    return f"{entry.path} {status.st_size} {status.st_mtime_ns}"
