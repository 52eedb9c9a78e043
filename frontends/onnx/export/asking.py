# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether one operation can be exported, and run by onnxruntime, wherever what it reads comes from."""

from __future__ import annotations

from ....bindings.ir import Operation, Value
from ....bindings.navigation import made_by
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo
from ....dialects.core.symbols_terms import Atom
from ....dialects.core.verifier import items_of
from .export_problems import Problems
from .export_values import Held, Part, Ref, ShapeValue
from .function_exporter import LITERALS, FunctionExporter
from .graph import Graph
from .size_tensors import SizeTensors

# By what decides: operators of the same types and attributes are alike.
_KNOWN: dict[object, str] = {}
_MOST_KNOWN = 10_000


def why_not(operation: Operation, opset: int) -> str:
    """Why an operation cannot be exported, or why onnxruntime could not run it; empty where it can."""
    row = row_of(operation)
    if row is None or row.value_dependent:
        return _asked(operation, opset)
    values = [*operation.operands, *operation.results]
    attributes = [(name, str(value)) for name, value in items_of(operation.attributes)]
    key = (row, opset, len(operation.operands), *(decode(value.type) for value in values), *attributes)
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _asked(operation, opset)
    return _KNOWN[key]


def _asked(operation: Operation, opset: int) -> str:
    problems, graph = Problems(), Graph(opset)
    _Alone(problems).export(operation, graph)
    if problems.found:
        return problems.found[0].reason
    return next(iter(graph.without_kernel), "")


class _Alone(FunctionExporter):
    """Of an operation alone: what it reads are inputs, but for constants."""

    def __init__(self, problems: Problems):
        super().__init__({}, problems)
        self.sizes = _AnySizes()

    def _made(self, value: Value, graph: Graph) -> Held:
        maker = made_by(value)
        if maker is not None and maker.name in LITERALS:
            return super()._made(value, graph)
        info = decode(value.type)
        held: Held
        if isinstance(info, ShapeInfo):
            held = ShapeValue(None if info.dims is None else [_ref() for _ in info.dims])
        else:
            assert isinstance(info, (TensorInfo, ScalarInfo)), info
            held = Ref("i64" if info.dtype == "index" else info.dtype)
        self.define([value], [held])
        return held


class _AnySizes(SizeTensors):
    """Symbols are what somebody else says."""

    def is_known(self, part: Part) -> bool:
        return True

    def _atom(self, graph: Graph, atom: Atom) -> Ref:
        return _ref() if atom.kind == "variable" else super()._atom(graph, atom)


def _ref() -> Ref:
    return Ref("i64")
