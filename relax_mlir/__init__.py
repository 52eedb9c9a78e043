# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-mlir: an ML compiler front end on MLIR, extended in plain Python. `import relax_mlir as rx`.

The names below are imported when they are first used, so that a tool which needs one does not pay for all.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .bindings.conversion import Conversion as Conversion
    from .bindings.mlir import ir as ir
    from .bindings.patterns import UPDATED as UPDATED
    from .bindings.patterns import Pattern as Pattern
    from .bindings.patterns import apply_greedy as apply_greedy
    from .bindings.patterns import apply_walk as apply_walk
    from .bindings.patterns import defining_op as defining_op
    from .compiling import compile as compile
    from .compiling import lower as lower
    from .compiling import stages as stages
    from .dialects import relax as relax
    from .dialects import tir as tir
    from .dialects.core import attributes as attrs  # noqa: F401
    from .dialects.core.dialect import Dialect as Dialect
    from .dialects.core.dialect import find_op as find_op
    from .dialects.core.dialect import registered_dialects as registered_dialects
    from .dialects.core.infos import ScalarInfo as ScalarInfo
    from .dialects.core.infos import ShapeInfo as ShapeInfo
    from .dialects.core.infos import TensorInfo as TensorInfo
    from .dialects.core.infos import VectorInfo as VectorInfo
    from .dialects.core.infos import tensor as tensor
    from .dialects.core.symbols import sym as sym
    from .dialects.script import print_script as print_script
    from .dialects.tir.prim_func import OpPattern as OpPattern
    from .emit import loops as loops
    from .frontends.onnx.registry import register_onnx as register_onnx
    from .module import Module as Module
    from .onnx_backend import OnnxBackend as OnnxBackend
    from .onnx_import import from_onnx as from_onnx
    from .passes.core.base import Pass as Pass
    from .passes.core.instruments import Callback as Callback
    from .passes.core.instruments import Instrument as Instrument
    from .passes.core.instruments import PrintIR as PrintIR
    from .passes.core.instruments import Timing as Timing
    from .passes.core.journal import Journal as Journal
    from .passes.core.registry import all_passes as all_passes
    from .passes.core.registry import find_pass as find_pass
    from .passes.core.registry import register_pass as register_pass
    from .passes.core.stages import Stage as Stage
    from .passes.core.stages import Stages as Stages
    from .passes.core.statistics import Statistics as Statistics
    from .passes.gradient.registry import all_gradients as all_gradients
    from .passes.gradient.registry import register_gradient as register_gradient
    from .passes.schedule.registry import ScheduleContext as ScheduleContext
    from .passes.schedule.registry import register_schedule as register_schedule
    from .pipeline import Decline as Decline
    from .pipeline import LegalizeOps as LegalizeOps
    from .pipeline import Pipeline as Pipeline
    from .pipeline import Target as Target
    from .pipeline import all_intrinsic_rules as all_intrinsic_rules
    from .pipeline import all_rules as all_rules
    from .pipeline import all_targets as all_targets
    from .pipeline import find_target as find_target
    from .pipeline import number as number
    from .pipeline import register_legalize as register_legalize
    from .pipeline import register_legalize_intrinsic as register_legalize_intrinsic
    from .pipeline import register_lower_intrinsic as register_lower_intrinsic
    from .pipeline import register_target as register_target
    from .pipeline import select as select
    from .support.errors import RelaxError as RelaxError

# In the root of a checkout Python finds this folder before an installed package; the folders beside it are the rest.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.isfile(os.path.join(_checkout, "pyproject.toml")) and os.path.isdir(os.path.join(_checkout, "dialects")):
    __path__.append(_checkout)

# Public name -> the module that defines it.
_EXPORTS = {
    "RelaxError": "support.errors",
    "ir": "bindings.mlir",
    # Operators: building them, declaring own ones.
    "Dialect": "dialects.core.dialect",
    "ScalarInfo": "dialects.core.infos",
    "ShapeInfo": "dialects.core.infos",
    "TensorInfo": "dialects.core.infos",
    "VectorInfo": "dialects.core.infos",
    "find_op": "dialects.core.dialect",
    "registered_dialects": "dialects.core.dialect",
    "sym": "dialects.core.symbols",
    "tensor": "dialects.core.infos",
    # Modules.
    "Module": "module",
    "compile": "compiling",
    "lower": "compiling",
    "OnnxBackend": "onnx_backend",
    "from_onnx": "onnx_import",
    "register_onnx": "frontends.onnx.registry",
    "stages": "compiling",
    "print_script": "dialects.script",
    # Passes: writing them, running them, watching them.
    "Callback": "passes.core.instruments",
    "Instrument": "passes.core.instruments",
    "Journal": "passes.core.journal",
    "Pass": "passes.core.base",
    "Pipeline": "pipeline",
    "PrintIR": "passes.core.instruments",
    "Statistics": "passes.core.statistics",
    "Timing": "passes.core.instruments",
    "all_passes": "passes.core.registry",
    "find_pass": "passes.core.registry",
    "register_pass": "passes.core.registry",
    # Targets, and rules for them.
    "Backend": "targets.core.backend",
    "ChosenTarget": "targets.core.backend",
    "CodeOptions": "targets.core.code_options",
    "TargetOption": "targets.core.registry",
    "find_backend": "targets.core.code",
    "Decline": "pipeline",
    "LegalizeOps": "pipeline",
    "Target": "pipeline",
    "all_intrinsic_rules": "pipeline",
    "all_rules": "pipeline",
    "all_targets": "pipeline",
    "find_target": "pipeline",
    "number": "pipeline",
    "register_legalize": "pipeline",
    "register_legalize_intrinsic": "pipeline",
    "register_lower_intrinsic": "pipeline",
    "register_target": "pipeline",
    "ScheduleContext": "passes.schedule.registry",
    "register_schedule": "passes.schedule.registry",
    "OpPattern": "dialects.tir.prim_func",
    "Stage": "passes.core.stages",
    "Stages": "passes.core.stages",
    "select": "pipeline",
    # Derivatives of operators.
    "all_gradients": "passes.gradient.registry",
    "register_gradient": "passes.gradient.registry",
    # Rewriting.
    "Conversion": "bindings.conversion",
    "Pattern": "bindings.patterns",
    "UPDATED": "bindings.patterns",
    "apply_greedy": "bindings.patterns",
    "apply_walk": "bindings.patterns",
    "defining_op": "bindings.patterns",
}
# Public name -> the module that it is.
_MODULES = {
    "relax": "dialects.relax",
    "tir": "dialects.tir",
    "attrs": "dialects.core.attributes",
    "runtime": "runtime",
    "loops": "emit.loops",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f".{_MODULES[name]}", __name__)
    elif name in _EXPORTS:
        value = getattr(importlib.import_module(f".{_EXPORTS[name]}", __name__), name)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__dir__())})")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_EXPORTS, *_MODULES, "__version__"})
