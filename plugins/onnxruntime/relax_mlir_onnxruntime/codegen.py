# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `onnxruntime`: selects operators with an ONNX counterpart, and exports each function of a part as a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from relax_mlir import TensorInfo, find_op
from relax_mlir.codegens import Codegen, CodegenOption, PatternRow, register_codegen
from relax_mlir.dialects.core.codec import decode
from relax_mlir.frontends.onnx.export.model import USUAL_OPSET, export_function
from relax_mlir.frontends.onnx.export.registry import exported_names
from relax_mlir.patterns import Match, is_op
from relax_mlir.rewriting import Operation
from relax_mlir.runtime import packed

from .asking import why_not
from .checks import DEVIATIONS, why_not_run
from .quantized_types import RECIPE
from .runtime import SessionPart

_DIALECT = "relax."
#: Element types that a program and onnxruntime can pass to each other.
_PASSED = frozenset(
    {"f16", "bf16", "f32", "f64", "i1", *(f"{sign}{bits}" for sign in ("i", "ui") for bits in (8, 16, 32, 64))}
)


def can_run(match: Match) -> bool | str:
    """Return True if onnxruntime can compute an operation, else the reason why not."""
    operation = match.root
    return _refuse_types(operation) or why_not_run(operation) or why_not(operation, USUAL_OPSET) or True


def _refuse_types(operation: Operation) -> str:
    for value in (*operation.operands, *operation.results):
        info = decode(value.type)
        if isinstance(info, TensorInfo) and info.dtype not in _PASSED:
            return f"elements of {info.dtype} cannot be passed to onnxruntime"
    infos = [decode(value.type) for value in operation.results]
    shapes = [info.shape for info in infos if isinstance(info, TensorInfo)]
    if len(shapes) < len(infos):
        return "a result is not a tensor"
    return (
        ""
        if all(shape is not None and None not in shape for shape in shapes)
        else "the sizes of a result are known at run time only"
    )


def _patterns() -> list[PatternRow]:
    """Return a pattern for each operator with an exporter. Operators with a role, such as shape checks, have none."""
    names = [name for name in exported_names() if name.startswith(_DIALECT) and not find_op(name).role]
    return [PatternRow(f"onnxruntime.{name.removeprefix(_DIALECT)}", is_op(name), can_run) for name in names]


@register_codegen("onnxruntime")
class OnnxRuntimeCodegen(Codegen):
    """Codegen for ONNX Runtime, which runs parts as ONNX models."""

    patterns = _patterns()
    recipe = RECIPE
    deviations = DEVIATIONS
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("threads per operator; 0 for one per core", int, 1, least=0)
    }

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """Return the bytes of a model per public function. Raise RelaxError if the export of a function fails."""
        models = {name: _bytes(module.operation, name) for name in self.functions(module)}
        return packed("onnxruntime", SessionPart(options["threads"], models))


def _bytes(module: Operation, name: str) -> bytes:
    return export_function(module, name, USUAL_OPSET).SerializeToString(deterministic=True)
