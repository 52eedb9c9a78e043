# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-mlir: an ML compiler front end on MLIR, extended in plain Python. `import relax_mlir as rx`.

The names below are imported when they are first used, so that a tool which needs one does not pay for all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .bindings.errors import RelaxError
    from .dialects import relax, tir
    from .dialects.core.dialect import Dialect, find_op, registered_dialects
    from .module import Module
    from .passes.core.base import Pass
    from .passes.core.instruments import Callback, Instrument, PrintIR, Timing
    from .passes.core.pipeline import Pipeline
    from .passes.core.registry import all_passes, find_pass, register_pass

# Public name -> the module that has it; "" for a module itself.
_EXPORTS = {
    "RelaxError": ".bindings.errors",
    "ir": ".bindings.mlir",
    "relax": ".dialects",
    "tir": ".dialects",
    "Dialect": ".dialects.core.dialect",
    "find_op": ".dialects.core.dialect",
    "registered_dialects": ".dialects.core.dialect",
    "attrs": ".dialects.core",
    "Module": ".module",
    "Pass": ".passes.core.base",
    "Callback": ".passes.core.instruments",
    "Instrument": ".passes.core.instruments",
    "PrintIR": ".passes.core.instruments",
    "Timing": ".passes.core.instruments",
    "Pipeline": ".passes.core.pipeline",
    "all_passes": ".passes.core.registry",
    "find_pass": ".passes.core.registry",
    "register_pass": ".passes.core.registry",
}
_SUBMODULES = {"relax": ".dialects.relax", "tir": ".dialects.tir", "attrs": ".dialects.core.attributes"}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        value: Any = importlib.import_module(_SUBMODULES[name], __name__)
    elif name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name], __name__), name)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__dir__())})")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_EXPORTS, "__version__"})
