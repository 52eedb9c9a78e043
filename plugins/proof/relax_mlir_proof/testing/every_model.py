# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All models, found by their files."""

from __future__ import annotations

import importlib
import pkgutil

from . import models
from .core.networks import Model


def all_models() -> list[Model]:
    """Return the models in the order of files and definitions."""
    names = [iter_module.name for iter_module in pkgutil.iter_modules(models.__path__)]
    modules = (importlib.import_module(f"{models.__name__}.{name}") for name in names)
    return [var for module in modules for var in vars(module).values() if isinstance(var, Model)]
