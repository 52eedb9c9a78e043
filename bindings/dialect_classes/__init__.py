# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules imported in place of upstream's own when the first operation of a dialect is returned to Python.

Creating the classes of a dialect's operations takes longer than most programs run. Code that needs the classes imports
upstream's module. Operations returned afterwards have these classes.
"""

from __future__ import annotations

import sys
from types import ModuleType

# Dialects of GPU kernels that users' passes rarely use. Upstream's modules provide the classes of all other dialects.
for _name in ("bufferization", "cf", "complex", "gpu", "index", "nvvm", "ub"):
    sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}", f"No classes of {_name}'s operations.")
