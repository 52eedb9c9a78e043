# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check of single operations: whether ONNX export and onnxruntime support them, independent of their producers."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo
from relax_mlir.dialects.core.symbols_terms import Atom
from relax_mlir.dialects.core.verifier import items_of
from relax_mlir.frontends.onnx.export.export_problems import Problems
from relax_mlir.frontends.onnx.export.export_values import Held, Part, Ref, ShapeValue
from relax_mlir.frontends.onnx.export.function_exporter import LITERALS, FunctionExporter
from relax_mlir.frontends.onnx.export.graph import Graph
from relax_mlir.frontends.onnx.export.size_tensors import SizeTensors

# Cached reasons. Operations of the same types and attributes share an entry.
_KNOWN: dict[object, str] = {}
_MOST_KNOWN = 10_000


def why_not(operation: Operation, opset: int) -> str:
    """Return why an operation cannot be exported or run by onnxruntime, or an empty string if it can."""
    if (row := row_of(operation)) is None or row.value_dependent:
        return _find_reason(operation, opset)
    values = [*operation.operands, *operation.results]
    attributes = [(name, str(value)) for name, value in items_of(operation.attributes)]
    key = (row, opset, len(operation.operands), *(decode(value.type) for value in values), *attributes)
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _find_reason(operation, opset)
    return _KNOWN[key]


def _find_reason(operation: Operation, opset: int) -> str:
    problems, graph = Problems(), Graph(opset)
    _SingleExporter(problems).export(operation, graph)
    return problems.found[0].reason if problems.found else next(iter(graph.without_kernel), "")


class _SingleExporter(FunctionExporter):
    """Exporter of a single operation. Operands that are not constants become inputs."""

    def __init__(self, problems: Problems):
        super().__init__({}, problems)
        self.sizes = _AnySizes()

    def sole_maker(self, value: Value) -> Operation | None:
        # Reasons are cached by an operation's types, so they must not depend on the producers of operands.
        return None

    def _made(self, value: Value, graph: Graph) -> Held:
        if (maker := made_by(value)) is not None and maker.name in LITERALS:
            return super()._made(value, graph)
        info = decode(value.type)
        shape_value: Held
        if isinstance(info, ShapeInfo):
            shape_value = ShapeValue(None if info.dims is None else [_ref() for _ in info.dims])
        else:
            assert isinstance(info, (TensorInfo, ScalarInfo)), info
            shape_value = Ref("i64" if info.dtype == "index" else info.dtype)
        self.define([value], [shape_value])
        return shape_value


class _AnySizes(SizeTensors):
    """Sizes of a single operation. All symbols count as known."""

    def is_known(self, part: Part) -> bool:
        return True

    def _atom(self, graph: Graph, atom: Atom) -> Ref:
        return _ref() if atom.kind == "variable" else super()._atom(graph, atom)


def _ref() -> Ref:
    return Ref("i64")
