# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-mlir: an ML compiler front end on MLIR, extended in plain Python. `import relax_mlir as rx`.

The names below are imported when they are first used, so that a tool which needs one does not pay for all.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any


def _refuse_subinterpreters() -> None:
    """tvm-ffi and MLIR have one state for a process: in a second interpreter they wait for the first one forever."""
    try:
        interpreters: object = importlib.import_module(
            "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        )
    except ImportError:  # a Python that makes none
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "relax_mlir works in a process's main interpreter alone, and this is another one: "
            "call it from there, or run a process of its own"
        )


def _refuse_free_threads() -> None:
    """Refuse a Python without the interpreter's lock: MLIR's bindings have no wheel for it, and the runtime needs it.

    The runtime loads and unloads code under that lock, and counts references to find out who uses a module.
    """
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_gil_enabled is not None and not is_gil_enabled():
        raise ImportError(
            f"relax_mlir needs the global interpreter lock, and this free-threaded Python {sys.version.split()[0]} "
            "runs without it: use an ordinary build of Python; PYTHON_GIL=1 gives this one the lock, but there is no "
            "wheel of MLIR's bindings for it, which compiling needs"
        )


_refuse_subinterpreters()
_refuse_free_threads()

# In the root of a checkout Python finds this folder before an installed package; the folders next to it are the rest.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.isfile(os.path.join(_checkout, "pyproject.toml")) and os.path.isdir(os.path.join(_checkout, "dialects")):
    __path__.append(_checkout)

from .support.version import VERSION as __version__  # noqa: E402, F401  # now that the folder is found

# Module -> the public names that it defines. Type checkers read them in *.pyi (`make generate`).
_DEFINED_IN = {
    "support.errors": "ModelError OptionError RefusalError RelaxError VerificationError",
    "runtime.errors": "ArtifactError",
    "bindings.mlir": "ir",
    "dialects.relax.constants": "array_of_attribute",
    # Operators: building them, declaring own ones.
    "dialects.context": "find_op registered_dialects",
    "dialects.core.dialect": "Dialect",
    "dialects.core.infos": "ScalarInfo ShapeInfo TensorInfo VectorInfo tensor",
    "dialects.core.symbols": "sym",
    # Modules.
    "frontends.module": "Module",
    "interpreter.reference": "reference",
    "compilation.compiling": "compile lower sources stages",
    "compilation.jax_jit": "jit",
    "compilation.onnx_backend": "OnnxBackend",
    "frontends.onnx.from_onnx": "from_onnx",
    "frontends.onnx.export.to_onnx": "to_onnx",
    "frontends.onnx.registry": "register_onnx",
    "frontends.torch.from_torch": "from_torch",
    "frontends.torch.registry": "register_torch",
    "frontends.from_tvm": "from_tvm",
    "frontends.stablehlo.from_stablehlo": "from_stablehlo",
    "frontends.stablehlo.registry": "register_stablehlo",
    "frontends.tflite.from_tflite": "from_tflite",
    "frontends.tflite.registry": "register_tflite",
    "frontends.tosa.from_tosa": "from_tosa",
    "frontends.tosa.registry": "register_tosa",
    "runtime.torch_module": "to_torch",
    "dialects.script.print_script": "print_script",
    # Passes: writing them, running them, watching them.
    "passes.core.base": "Pass",
    "passes.core.registry": "all_passes find_pass register_pass",
    "passes.core.instruments": "Callback Instrument PrintIR Timing",
    "passes.core.journal": "Journal",
    "passes.core.pipeline": "External Pipeline",
    "passes.core.stages": "Stage Stages",
    "passes.core.statistics": "Statistics",
    "passes.relax_legalize_ops": "LegalizeOps",
    "passes.relax_convert_layout": "ConvertLayout",
    # Targets, and how code is made for them.
    "targets.core.registry": "Target TargetOption all_targets find_target register_target",
    "targets.core.backend": "Backend ChosenTarget Machine",
    "targets.core.code": "CodeOptions find_backend",
    "bindings.rewriting": "Decline",
    "emit.numbers": "number select",
    "passes.loops.schedule": "Schedule",
    "passes.relax_partition": "Partition",
    "dialects.core.facts": "OpPattern",
    "dialects.core.work": "Work work_of",
    # Training.
    "compilation.training": "Trainer add_training_step append_loss grad unbind_params",
}
# The same of modules next to this one: rx.rules.register_gradient. Until 0.2 rx has their names, too.
_NAMESPACES = {
    "rules": {
        "passes.legalize.rules": "all_rules register_legalize",
        "passes.intrinsics.registry": "all_intrinsic_rules register_legalize_intrinsic register_lower_intrinsic",
        "passes.mixed_precision.registry": "register_precision",
        "passes.decompose.registry": "all_decompositions register_decomposition",
        "passes.gradient.registry": "all_gradients register_gradient",
        "passes.evaluate.ratios": "NotKnown",
        "passes.evaluate.registry": "all_evaluations register_evaluation",
        "passes.layout.registry": "all_layout_rules register_layout",
        "interpreter.registry": "all_references register_reference",
    },
    "schedules": {
        "passes.schedule.explanation": "explain",
        "passes.schedule.registry": "ScheduleContext register_plan register_schedule",
        "passes.schedule.plan": "Panel Plan",
        "passes.loops.tensor_intrins": "register_tensor_intrin",
        "passes.loops.memories": "all_memories register_memory",
        "emit.extern_calls": "offset_in_memory",
        "passes.loops.primitives": "register_primitive",
        "compilation.compiling": "chosen",
    },
    "codegens": {
        "passes.partition.codegen": "Codegen Composite ObjectCode PatternRow "
        "all_codegens find_codegen register_codegen",
        "passes.partition.options": "CodegenOption",
        "passes.partition.planning": "Planner Taken register_planner",
        "passes.partition.steps": "PartStep Steps node_names",
        "passes.partition.table": "explanation partition_table",
        "passes.relax_run_codegen": "RunCodegen",
        "support.contract": "CONTRACT_VERSION",
        "support.external_runtime": "ExternalRuntime register_runtime",
    },
    "rewriting": {
        "bindings.conversion": "Conversion",
        "passes.patterns.rewrite": "rewrite",
        "bindings.patterns": "Pattern UPDATED apply_greedy apply_walk defining_op",
    },
}


def _by_name(defined_in: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in defined_in.items() for name in names.split()}


_EXPORTS = _by_name(_DEFINED_IN)
# Public name -> the module that it is.
_MODULES = {
    "relax": "dialects.relax",
    "tir": "dialects.tir",
    "attrs": "dialects.core.attributes",
    "runtime": "runtime",
    "loops": "emit.loops",
    "optim": "passes.training.optimizers",
    "testing": "testing",
    **{name: name for name in _NAMESPACES},
}


# Held while a module is imported for the first use of a name. Packages such as `dialects.relax` import their own
# modules. Python raises an error if one thread imports such a package while another thread imports a module of it.
_importing = threading.RLock()


def _imported(module: str) -> ModuleType:
    uncollected = importlib.import_module(".support.collector", __name__).uncollected
    with _importing, uncollected():
        if module.startswith("passes."):
            importlib.import_module(".targets", __name__)  # which passes name in their options, and which have own ones
        return importlib.import_module(f".{module}", __name__)


def _namespace(path: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a module of _NAMESPACES."""
    known = _by_name(_NAMESPACES[path.rpartition(".")[2]])
    names = sorted(known)

    def get(name: str) -> object:
        if name not in known:
            raise AttributeError(f"module '{path}' has no attribute '{name}' (it has {', '.join(names)})")
        value = getattr(_imported(known[name]), name)
        setattr(sys.modules[path], name, value)
        return value

    return names, get, lambda: names


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = _imported(_MODULES[name])
    elif name in _EXPORTS:
        value = getattr(_imported(_EXPORTS[name]), name)
    else:
        inside = next((each for each, defined_in in _NAMESPACES.items() if name in _by_name(defined_in)), None)
        if inside is None:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__dir__())})")
        value = getattr(_imported(inside), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_EXPORTS, *_MODULES, "__version__"})
