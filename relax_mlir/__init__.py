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
    "frontends.tflite": "from_tflite register_tflite",
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
    # Targets, and code generation for them.
    "targets.core.registry": "Target TargetOption all_targets find_target register_target",
    "targets.core.backend": "Backend ChosenTarget",
    "targets.core.machine": "Machine",
    "targets.core.code": "find_backend",
    "targets.core.code_options": "CodeOptions",
    "bindings.rewriting": "Decline",
    "emit.numbers": "number select",
    "passes.loops.schedule": "Schedule",
    "passes.relax_partition": "Partition",
    "dialects.core.facts": "OpPattern",
    "dialects.core.work": "Work work_of",
    "testing.same_bits": "same_bits",
    # Quantization.
    "quantization.quantize": "Quantized quantize",
    "quantization.trainable": "Trainable",
    "quantization.torchao_quantizer": "torchao_quantizer",
    "passes.recipes.recipe": "Recipe",
    # Training.
    "compilation.training": "Trainer add_training_step append_loss grad unbind_params",
}
# Names of the plug-ins in this project's wheel.
_IN_PLUGINS = {"tune": "relax_mlir_tune", "tune_placement": "relax_mlir_tune"}
# Public name -> package of a plug-in in this project's wheel.
_PLUGIN_PACKAGES = {"llm": "relax_mlir_llm"}
# Names of the modules beside this one, such as rx.rules.register_gradient.
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
        "passes.partition.pricing": "seconds_of",
        "passes.partition.steps": "PartStep Steps node_names",
        "passes.partition.table": "explanation partition_table",
        "passes.relax_run_codegen": "RunCodegen",
        "support.contract": "CONTRACT_VERSION",
        "support.external_runtime": "CallingRuntime ExternalRuntime register_runtime",
    },
    "recipes": {
        "passes.recipes.aimet": "from_aimet",
        "passes.recipes.litert": "from_litert",
        "passes.recipes.recipe": "Fixed Float Op Recipe Share Tensor",
    },
    "tuning": {
        "bindings.package_files": "loaded_compiler",
        "bindings.rewriting": "Decline",
        "compilation.schedules": "from_rules planned until_rules",
        "compilation.decided": "decided_schedule own_plans",
        "compilation.kernel_module": "module_of_kernel",
        "compilation.claimed_regions": "Claims ClaimedMatch ClaimedRegion claims_of model_key module_key operators_of",
        "compilation.tuned_programs": "TunedProgram find_program program_key program_name program_paths read_program "
        "tuned_stages",
        "dialects.tir.prim_func": "prim_funcs_in",
        "emit.structured": "StructuredOp analyze structured_ops",
        "passes.core.stage_edits": "StageEdit edit_stages pass_place",
        "passes.loops.decisions": "CategoricalDecision Decision Taken TileDecision",
        "passes.partition.codegen": "ChosenCodegen parse_codegen",
        "passes.partition.placement": "PlacedMatch PlacedRegion MeasuredPlacement placements_in read_placement",
        "passes.schedule.constant_arguments": "callers_in",
        "passes.schedule.decided": "DecidedSchedule",
        "passes.schedule.fitting": "check_plan",
        "passes.schedule.plan": "Parallel Plan parse_plan",
        "passes.schedule.tuned_plans": "MachineFacts Times TunedFolder TunedKernel check_plans kernel_key plans_of "
        "read_tuned use_plans",
        "passes.schedule.tuned_steps": "use_steps",
        "runtime.cpu": "cpu_identity cpu_name",
        "runtime.remote_calls": "Compared ProgramBytes ProgramMissing compare_programs",
        "runtime.turns": "time_in_turns",
        "support.disk_cache": "DiskCache",
        "support.processes.cluster": "Cluster RemoteCall",
        "support.processes.limited_process": "Answer LimitedProcess",
        "support.plugins": "load_plugin named_plugins",
        "targets.core.registry": "parse_target",
        "tools.common.models": "read_model",
        "tools.report.page": "report_style",
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
    "facts": {
        "bindings.ir": "Type",
        "dialects.core.codec": "TypeProblem decode element_type",
        "dialects.core.dialect": "row_of",
        "dialects.core.facts": "Window",
        "dialects.core.infos": "Info bit_width describe dtype_name is_float is_int",
        "dialects.relax.constants": "storage_dtype",
        "dialects.core.opdef": "Call",
        "dialects.core.operands": "operand_info",
        "dialects.core.verifier": "call_of",
        "dialects.relax.infer.einsum": "parse_subscripts",
        "dialects.relax.infer.layouts": "Layout blocked_dimensions layouts_of sizes_in_layout",
        "dialects.relax.infer.slices": "OPEN",
        "dialects.relax.infer.windows": "each_dimension windows_of",
        "dialects.relax.known_constants": "NUMPY_NAME STORAGE_NAME elements_of floats_of is_constant splat",
        "dialects.relax.values": "normal_axis shape_of tensor_info",
    },
    "symbols": {
        "dialects.core.symbols": "Dim SymExpr ceildiv dim_add dim_sub equal product sym",
        "dialects.relax.infer.broadcast": "broadcast_dim",
        "dialects.core.symbols_expr": "Size extremum from_terms substituted terms_of value_of variables_of",
        "dialects.core.symbols_terms": "Atom",
        "dialects.core.indices": "evaluated is_below is_never_negative",
    },
    "primitives": {
        "passes.loops.handles": "BlockRV IndexMap LoopRV",
        "passes.loops.primitives": "Edit Refused",
        "passes.loops.tree_buffers": "Buffer",
        "passes.loops.tree": "AROUND Access Block Iter Loop Node Place REDUCE Region SERIAL SPATIAL Tree "
        "around_all blocks_in exchange_buffers iter_variable loops_in map_nodes names_in rebind variable",
        "passes.loops.body_scalars": "Compute Element Expr IterIndex Load",
        "passes.loops.index_exprs": "choice_of limits_of places_of_load",
        "passes.loops.ranges": "Range factor_of range_of ranges_of substitute_zero",
        "passes.loops.boxes": "Limits box_of",
        "passes.loops.lanes": "may_trap",
        "passes.loops.show": "Shown",
        "passes.primitives.annotate": "annotatable_node",
        "passes.primitives.body_copies": "rename_nodes drop_unreached_init",
        "passes.primitives.cache_read": "cache_read",
        "passes.primitives.cache_write": "cache_write",
        "passes.primitives.caching": "buffer_at buffer_of check_own check_scope make_copy_block own_buffer "
        "staged_buffer",
        "passes.primitives.code_motion": "check_passes wrap_in_new_loops order_of plain_iter",
        "passes.primitives.compute_at": "compute_at",
        "passes.primitives.compute_inline": "check_inlinable check_once merge_reads",
        "passes.primitives.factors": "check_factors divisors draw_factors static_steps",
        "passes.primitives.decompose_reduction": "make_init_block loops_at",
        "passes.primitives.reducers": "check_neutral reducer_of",
        "passes.primitives.reindex": "stage_by_map",
        "passes.primitives.reverse_compute_at": "reverse_compute_at",
        "support.suggest": "suggest",
    },
    "parts": {
        "passes.parts.flat_graph": "FlatGraph FlatNode Ref Whole WholeAt numbers_in public_functions",
        "passes.parts.operator_checks": "OperatorChecks call_at is_static normal_axes order_of permuted_order "
        "refuse_quantized refuse_reduction same",
        "passes.parts.operator_rules": "Rule Rules",
    },
    "onnx_export": {
        "frontends.onnx.export.asking": "why_not",
        "frontends.onnx.export.model": "USUAL_OPSET export_function",
        "frontends.onnx.export.registry": "exported_names",
    },
    "mlir_operations": {
        "bindings.diagnostics": "made_at",
        "bindings.ir": "Attribute Block Location Module OpView Type",
        "bindings.mlir": "DYNAMIC string_value",
        "bindings.navigation": "body_of callee_of constant_of functions_in has_body is_private operations_named "
        "operations_of symbol_name users_of",
        "dialects.core.elements": "elements_bytes",
    },
    "emission": {
        "emit.arithmetic": "element_type",
        "emit.memrefs": "root_of",
        "emit.numbers": "Number intrinsic maximum minimum numbers operation unary",
    },
    "gpu_targets": {
        "dialects.core.ir_attributes": "DEVICE EXTERNAL_MODS GRAPH_INPUTS GRAPH_RESULTS INPUT_NAMES KERNELS "
        "MEMORY_PLAN OPERATOR PACKED_DTYPES PACKED_TEXT RESULT_MAKERS RESULT_NAMES WRITTEN",
        "dialects.relax.function_attributes": "decode_grown function_attributes",
        "dialects.tir.prim_func": "ASSERT",
        "passes.core.external": "external_attribute",
        "support.external_part": "ExternalPart",
        "targets.gpu.emit.threads": "dimension_of threads_of",
        "targets.gpu.kernels.outline": "launched",
        "targets.gpu.pipeline": "kernel_stages",
        "targets.host.abi": "dlpack_name element_bytes",
        "targets.spirv.options": "number_option",
        "targets.text.operation_writer": "OperationWriter",
        "targets.text.structured_control": "CONTROL_RULES",
        "targets.text.text_writer": "TextWriter",
    },
    "devices": {
        "runtime.arrays": "numpy_type storage",
        "runtime.errors": "DeviceError",
        "support.once": "once",
    },
    "front_ends": {
        "frontends.front_end": "FrontEnd find_front_end register_front_end",
        "frontends.reader": "Reader graph_reader",
        "frontends.core.complex_numbers": "Pair magnitude",
        "frontends.core.control.recurrent_loops": "run_steps",
        "frontends.core.control.scf_branches": "run_either",
        "frontends.core.control.scf_loops": "run_while",
        "frontends.core.control.scf_regions": "as_info",
        "frontends.core.converters": "NamedConverter NamedConverters",
        "frontends.core.elementwise": "elementwise",
        "frontends.core.folding": "folding_where_known",
        "frontends.core.fourier": "Transform transformed_along",
        "frontends.core.limits": "Limits Room",
        "frontends.core.main_function": "add_function",
        "frontends.core.node": "Incomplete Node Unsupported described",
        "frontends.core.node_problems": "attempted problem_of",
        "frontends.core.padding": "padded",
        "frontends.core.pool_windows": "Windows",
        "frontends.core.problems": "Problem Problems Words shown",
        "frontends.core.scope": "Scope",
        "frontends.core.tensors": "all_of along_axis any_of cast const info_of joined like part",
        "frontends.core.values": "Array ComplexValue Held Outputs Tensor Value as_values known",
        "emit.axis_reduction": "highest lowest",
        "emit.kernels": "FreshSymbols",
        "emit.numbers": "Number intrinsic",
        "support.suggest": "counted suggest",
    },
    "graph_sizes": {
        "frontends.core.sizes": "Size as_tensor broadcast count_up divided element full is_known larger minus "
        "named of_scalar parts plus positions product reshaped sizes_of sliced tiled times with_rest zeros",
    },
}
# Until 0.2 rx has the names of these modules, too.
_FLAT = ("rules", "schedules", "codegens", "rewriting")


def _by_name(defined_in: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in defined_in.items() for name in names.split()}


_EXPORTS = _by_name(_DEFINED_IN)
# Public name -> the module that it refers to.
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


# Lock for the import of a module at the first use of a name. Packages such as `dialects.relax` import their own
# modules. Python raises an error if one thread imports such a package while another thread imports a module of it.
_importing = threading.RLock()


def _imported(module: str) -> ModuleType:
    uncollected = importlib.import_module(".support.collector", __name__).uncollected
    with _importing, uncollected():
        if module.startswith("passes."):
            # Options of passes refer to targets, and targets may contain passes.
            importlib.import_module(".targets", __name__)
        return importlib.import_module(f".{module}", __name__)


def _namespace(path: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a module of _NAMESPACES."""
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
    elif name in _IN_PLUGINS:
        value = getattr(importlib.import_module(_IN_PLUGINS[name]), name)
    elif name in _PLUGIN_PACKAGES:
        value = importlib.import_module(_PLUGIN_PACKAGES[name])
    else:
        inside = next((each for each in _FLAT if name in _by_name(_NAMESPACES[each])), None)
        if inside is None:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__dir__())})")
        value = getattr(_imported(inside), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_EXPORTS, *_IN_PLUGINS, *_MODULES, *_PLUGIN_PACKAGES, "__version__"})
