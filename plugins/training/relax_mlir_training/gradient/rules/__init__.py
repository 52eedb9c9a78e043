# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of this project's operators, with a file for each family. Importing this package registers them."""

from __future__ import annotations

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_family.name}")
