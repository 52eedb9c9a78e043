# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets: one folder each, with a target.py that is imported on the first request for the target."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from pathlib import Path

from ..passes.core.evaluating import Evaluator, usual_evaluator
from ..passes.core.registry import add_pass_folder
from .core.registry import Target, add_target_source

_FOLDER = Path(__file__).parent


@functools.cache
def own_targets() -> tuple[str, ...]:
    """Return the names of this project's targets."""
    return tuple(sorted(file.parent.name for file in _FOLDER.glob("*/target.py")))


def _find(name: str | None) -> Iterable[Target]:
    names = own_targets() if name is None else [name] if name in own_targets() else []
    return [importlib.import_module(f"{__name__}.{text}.target").TARGET for text in names]


def _evaluator() -> Evaluator:
    evaluator: Evaluator = importlib.import_module(f"{__name__}.core.evaluation").host_evaluator()
    return evaluator


add_target_source(_find)
usual_evaluator(_evaluator)
for _passes in sorted(_FOLDER.glob("*/passes")):
    _target = _passes.parent.name
    add_pass_folder(_passes, f"{__name__}.{_target}.passes", f"{_target}_")
