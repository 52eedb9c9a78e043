# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of the shared libraries that installed wheels, such as NVIDIA's, bring along."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path


def wheel_folders(wheels: Sequence[str]) -> Iterator[Path]:
    """Yield the folder `lib` of each installed package, by the names under which wheels are imported."""
    for wheel in wheels:
        try:
            spec = importlib.util.find_spec(wheel)
        except ModuleNotFoundError:
            continue
        yield from (Path(folder, "lib") for folder in (spec.submodule_search_locations or () if spec else ()))
