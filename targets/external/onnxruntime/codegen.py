# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `onnxruntime`: whatever has a counterpart in ONNX, as a model for each function of a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ....bindings.ir import Operation
from ....dialects.core.codec import decode
from ....dialects.core.dialect import find_op
from ....dialects.core.infos import TensorInfo
from ....frontends.onnx.export.asking import why_not
from ....frontends.onnx.export.model import USUAL_OPSET, export_function
from ....frontends.onnx.export.registry import exported_names
from ....passes.partition.codegen import Codegen, PatternRow, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.patterns.matched import Match
from ....passes.patterns.operator_patterns import is_op
from ....runtime.external.onnxruntime import Part
from ....support.external_bytes import packed
from .checks import DEVIATIONS, why_not_run

_DIALECT = "relax."
#: Elements that a program and onnxruntime can pass to each other.
_PASSED = frozenset(
    {"f16", "bf16", "f32", "f64", "i1", *(f"{sign}{bits}" for sign in ("i", "ui") for bits in (8, 16, 32, 64))}
)


def can_run(match: Match) -> bool | str:
    """Whether onnxruntime can compute an operation, or in words why not."""
    operation = match.root
    return _why_not_passed(operation) or why_not_run(operation) or why_not(operation, USUAL_OPSET) or True


def _why_not_passed(operation: Operation) -> str:
    for value in (*operation.operands, *operation.results):
        info = decode(value.type)
        if isinstance(info, TensorInfo) and info.dtype not in _PASSED:
            return f"elements of {info.dtype} are not passed to onnxruntime"
    infos = [decode(value.type) for value in operation.results]
    shapes = [info.shape for info in infos if isinstance(info, TensorInfo)]
    if len(shapes) < len(infos):
        return "its result is no tensor"
    return (
        ""
        if all(shape is not None and None not in shape for shape in shapes)
        else "its result's sizes are known at run time only"
    )


def _patterns() -> list[PatternRow]:
    """One for each operator that can be exported; those that say or check shapes stay where they are."""
    names = [name for name in exported_names() if name.startswith(_DIALECT) and not find_op(name).role]
    return [PatternRow(f"onnxruntime.{name.removeprefix(_DIALECT)}", is_op(name), can_run) for name in names]


@register_codegen("onnxruntime")
class OnnxRuntimeCodegen(Codegen):
    """Makes ONNX models of parts."""

    patterns = _patterns()
    deviations = DEVIATIONS
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("how many compute one operator; 0: as many as there are cores", int, 1, least=0)
    }

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """A model for each public function. Raises RelaxError for what cannot be exported after all."""
        models = {name: _bytes(module.operation, name) for name in self.functions(module)}
        return packed("onnxruntime", Part(options["threads"], models))


def _bytes(module: Operation, name: str) -> bytes:
    return export_function(module, name, USUAL_OPSET).SerializeToString(deterministic=True)
