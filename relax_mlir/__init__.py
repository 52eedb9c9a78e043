# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-mlir: an ML compiler front end on MLIR that you extend in plain Python. `import relax_mlir as rx`.

The names below are imported at their first use, so that a tool pays only for the names that it needs.
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
    """Refuse subinterpreters. tvm-ffi and MLIR have one state per process, and a second interpreter would deadlock."""
    try:
        interpreters: object = importlib.import_module(
            "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        )
    except ImportError:  # a Python without subinterpreters
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "relax_mlir works in the main interpreter of a process only, and this is a subinterpreter: "
            "import it in the main interpreter, or start another process"
        )


def _refuse_free_threads() -> None:
    """Refuse a Python without the interpreter's lock: MLIR's bindings have no wheel for it, and the runtime needs it.

    The runtime loads and unloads code under that lock, and counts references to find out who uses a module.
    """
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_gil_enabled is not None and not is_gil_enabled():
        raise ImportError(
            f"relax_mlir needs the global interpreter lock, and this free-threaded Python {sys.version.split()[0]} "
            "runs without the lock: use a standard build of Python. PYTHON_GIL=1 enables the lock, but compilation "
            "needs MLIR's bindings, which have no wheel for free-threaded builds"
        )


_refuse_subinterpreters()
_refuse_free_threads()

# In the root of a checkout Python finds this folder before an installed package. The sibling folders are the rest.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.isfile(os.path.join(_checkout, "pyproject.toml")) and os.path.isdir(os.path.join(_checkout, "dialects")):
    __path__.append(_checkout)

from .support.version import VERSION as __version__  # noqa: E402, F401  # now that the folder is found

# Module -> the public names that it defines. Type checkers read them in *.pyi (`make generate`).
_DEFINED_IN = {
    "support.errors": "ModelError OptionError RefusalError RelaxError VerificationError",
    "runtime.errors": "ArtifactError",
    "support.requantization": "Requantize",
    "bindings.mlir": "ir",
    "dialects.relax.constants": "array_of_attribute",
    # Operators: building them, declaring new ones.
    "dialects.context": "find_op registered_dialects",
    "dialects.core.dialect": "Dialect",
    "dialects.core.infos": "ScalarInfo ShapeInfo TensorInfo VectorInfo tensor",
    "dialects.core.symbols": "sym",
    # Modules.
    "frontends.module": "Module",
    "compilation.compiling": "compile lower sources stages",
    "compilation.onnx_backend": "OnnxBackend",
    "frontends.onnx.from_onnx": "from_onnx",
    "frontends.onnx.export.to_onnx": "to_onnx",
    "frontends.onnx.registry": "register_onnx",
    "dialects.script.print_script": "print_script",
    # Passes: writing them, running them, watching them.
    "passes.core.base": "Pass",
    "passes.core.registry": "all_passes find_pass register_pass",
    "passes.core.instruments": "Callback Instrument PrintIR Timing",
    "passes.core.journal": "Journal",
    "passes.core.pipeline": "External Pipeline",
    "passes.core.stages": "Stage Stages",
    "passes.core.statistics": "Statistics",
    "passes.graph.relax_legalize_ops": "LegalizeOps",
    "passes.graph.relax_convert_layout": "ConvertLayout",
    # Targets, and code generation for them.
    "targets.core.registry": "Target TargetOption all_targets find_target register_target",
    "targets.core.backend": "Backend ChosenTarget",
    "targets.core.machine": "Machine",
    "targets.core.code": "find_backend",
    "targets.core.code_options": "CodeOptions",
    "bindings.rewriting": "Decline",
    "emit.numbers": "number select",
    "passes.kernels.loops.schedule": "Schedule",
    "passes.graph.relax_partition": "Partition",
    "dialects.core.facts": "OpPattern",
    "dialects.core.work": "Work work_of",
    "passes.graph.recipes.recipe": "Recipe",
}
# Module of a plug-in in this project's wheel -> the public names that it defines.
_IN_PLUGINS = {
    "relax_mlir_jax.jax_jit": "jit",
    "relax_mlir_jax.stablehlo.from_stablehlo": "from_stablehlo",
    "relax_mlir_jax.stablehlo.registry": "register_stablehlo",
    "relax_mlir_proof.interpreter.reference": "reference",
    "relax_mlir_proof.testing.same_bits": "same_bits",
    "relax_mlir_quantize.quantize": "Quantized quantize",
    "relax_mlir_quantize.trainable": "Trainable",
    "relax_mlir_shard.launch": "launch",
    "relax_mlir_shard.shard": "shard",
    "relax_mlir_tflite.from_tflite": "from_tflite register_tflite",
    "relax_mlir_torch.from_torch": "from_torch",
    "relax_mlir_torch.registry": "register_torch",
    "relax_mlir_torch.to_torch": "to_torch",
    "relax_mlir_torch.torchao.torchao_quantizer": "torchao_quantizer",
    "relax_mlir_tosa.from_tosa": "from_tosa",
    "relax_mlir_tosa.registry": "register_tosa",
    "relax_mlir_training.training": "Trainer add_training_step append_loss grad unbind_params",
    "relax_mlir_tune": "tune tune_placement",
    "relax_mlir_tvm.from_tvm": "from_tvm",
}
# Public name -> package of a plug-in in this project's wheel.
_PLUGIN_PACKAGES = {"llm": "relax_mlir_llm"}
# Names of the modules beside this one, such as rx.rules.register_gradient. Modules of plug-ins have whole names.
_NAMESPACES = {
    "rules": {
        "passes.legalize.rules": "all_rules register_legalize",
        "passes.kernels.intrinsics.registry": "all_intrinsic_rules register_legalize_intrinsic "
        "register_lower_intrinsic",
        "passes.graph.mixed_precision.registry": "register_precision",
        "passes.graph.decompose.registry": "all_decompositions register_decomposition",
        "passes.graph.gradient_rules": "all_gradients register_gradient",
        "passes.evaluate.ratios": "NotKnown",
        "passes.evaluate.references": "all_references register_reference",
        "passes.evaluate.registry": "all_evaluations register_evaluation",
        "passes.graph.layout.registry": "all_layout_rules register_layout",
        "relax_mlir_shard.factors": "register_sharding",
    },
    "schedules": {
        "passes.kernels.schedule.explanation": "explain",
        "passes.kernels.schedule.registry": "ScheduleContext register_plan register_schedule",
        "passes.kernels.schedule.plan": "Panel Plan",
        "passes.kernels.loops.tensor_intrins": "register_tensor_intrin",
        "passes.kernels.loops.memories": "all_memories register_memory",
        "emit.extern_calls": "offset_in_memory",
        "passes.kernels.loops.primitives": "register_primitive",
        "compilation.compiling": "chosen",
    },
    "codegens": {
        "dialects.core.codec": "decode",
        "dialects.relax.known_constants": "elements_of",
        "passes.graph.partition.codegen": "Codegen Composite ObjectCode PatternRow "
        "all_codegens find_codegen register_codegen",
        "passes.graph.partition.options": "CodegenOption",
        "passes.graph.partition.planning": "Planner Taken register_planner",
        "passes.graph.partition.pricing": "seconds_of",
        "passes.graph.partition.steps": "PartStep Steps node_names",
        "passes.graph.partition.table": "explanation partition_table",
        "passes.graph.relax_run_codegen": "RunCodegen",
        "support.contract": "CONTRACT_VERSION",
        "support.external_runtime": "CallingRuntime ExternalRuntime register_runtime",
    },
    "optim": {"relax_mlir_training.optimizers": "Adam AdamW MomentumSGD Optimizer SGD Update"},
    "recipes": {
        "passes.graph.recipes.recipe": "Fixed Float Op Recipe Share Tensor",
        "relax_mlir_quantize.recipes.aimet": "from_aimet",
        "relax_mlir_quantize.recipes.litert": "from_litert",
    },
    "rewriting": {
        "bindings.context": "load_dialects",
        "bindings.conversion": "Conversion",
        "bindings.ir": "Operation Value",
        "bindings.navigation": "made_by operations_in use_count",
        "bindings.patterns": "Pattern UPDATED apply_greedy apply_walk defining_op",
        "bindings.rewriting": "located_error",
        "passes.patterns.rewrite": "rewrite",
    },
    "testing": {
        "relax_mlir_proof.testing.bisect": "bisect",
        "relax_mlir_proof.testing.checking": "check",
        "relax_mlir_proof.testing.report": "Report",
    },
}
# Until 0.2 rx has the names of these modules, too.
_FLAT = ("rules", "schedules", "codegens", "rewriting")


def _map_names(defined_in: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in defined_in.items() for name in names.split()}


_EXPORTS = _map_names(_DEFINED_IN)
_PLUGIN_EXPORTS = _map_names(_IN_PLUGINS)
# Public name -> the module that it refers to.
_MODULES = {
    "relax": "dialects.relax",
    "tir": "dialects.tir",
    "attrs": "dialects.core.attributes",
    "runtime": "runtime",
    "loops": "emit.loops",
    **{name: name for name in _NAMESPACES},
}


# Lock for the import of a module at the first use of a name. Packages such as `dialects.relax` import their own
# modules. Python raises an error if one thread imports such a package while another thread imports a module of it.
_importing = threading.RLock()


def _import_module(module: str) -> ModuleType:
    uncollected = importlib.import_module(".support.collector", __name__).uncollected
    with _importing, uncollected():
        if module.startswith("passes."):
            # Options of passes refer to targets, and targets may contain passes.
            importlib.import_module(".targets", __name__)
        return importlib.import_module(f".{module}", __name__)


def _load_from_plugin(module: str, name: str) -> object:
    plugins = importlib.import_module(".support.plugins", __name__)
    uncollected = importlib.import_module(".support.collector", __name__).uncollected
    with _importing, uncollected():
        return plugins.name_of_plugin(module, name)


def _namespace(path: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a module of _NAMESPACES."""
    namespace = path.rpartition(".")[2]
    known = _map_names(_NAMESPACES[namespace])
    names = sorted(known)

    def get(name: str) -> object:
        if name not in known:
            raise AttributeError(f"module '{path}' has no attribute '{name}' (it has {', '.join(names)})")
        if known[name].startswith(f"{__name__}_"):
            value = _load_from_plugin(known[name], f"{namespace}.{name}")
        else:
            value = getattr(_import_module(known[name]), name)
        setattr(sys.modules[path], name, value)
        return value

    return names, get, lambda: names


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = _import_module(_MODULES[name])
    elif name in _EXPORTS:
        value = getattr(_import_module(_EXPORTS[name]), name)
    elif name in _PLUGIN_EXPORTS:
        value = _load_from_plugin(_PLUGIN_EXPORTS[name], name)
    elif name in _PLUGIN_PACKAGES:
        value = importlib.import_module(_PLUGIN_PACKAGES[name])
    else:
        if (inside := next((each for each in _FLAT if name in _map_names(_NAMESPACES[each])), None)) is None:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__dir__())})")
        value = getattr(_import_module(inside), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_EXPORTS, *_MODULES, *_PLUGIN_EXPORTS, *_PLUGIN_PACKAGES, "__version__"})
