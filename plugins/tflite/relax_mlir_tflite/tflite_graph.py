# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a subgraph's operators to a graph of relax operators, with the names of the file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TypeVar

from relax_mlir import ir
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core.control.scf_regions import as_info
from relax_mlir.frontends.core.converters import NamedConverter
from relax_mlir.frontends.core.folding import folding_where_known
from relax_mlir.frontends.core.limits import Room
from relax_mlir.frontends.core.node import Incomplete, Unsupported, described
from relax_mlir.frontends.core.node_problems import attempted, problem_of
from relax_mlir.frontends.core.problems import Problems, shown
from relax_mlir.frontends.core.sizes import full, named
from relax_mlir.frontends.core.tensors import const
from relax_mlir.frontends.core.values import ComplexValue, Held, Value, as_values
from relax_mlir.rewriting import Operation

from .quantized import quantized
from .registry import CONVERTERS, unknown
from .schema import names_in
from .tensor_data import checked_shape, constant_of
from .tflite_file import OperatorRow, Subgraph, TensorRow, TfliteFile
from .tflite_node import TfliteNode
from .tflite_scope import TfliteScope

T = TypeVar("T")

_DEEPEST_CALLS = 100
#: The front end resolves the contents of resources during import.
_RESOURCE, _COMPLEX = "RESOURCE", "COMPLEX64"
#: Operators that move elements, and apply to the real and imaginary parts of complex numbers separately.
_OF_PARTS = frozenset("CONCATENATION EXPAND_DIMS GATHER PACK RESHAPE SLICE SQUEEZE STRIDED_SLICE TRANSPOSE".split())
#: Operators that exporters use to compute shapes. The front end folds them if their inputs are known.
_OF_SHAPES = frozenset(
    "ADD SUB MUL DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM NEG ABS CAST CONCATENATION PACK UNPACK SPLIT SPLIT_V SLICE "
    "STRIDED_SLICE GATHER RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE TILE FILL RANGE SHAPE RANK REDUCE_PROD SUM REDUCE_MAX "
    "REDUCE_MIN EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT SELECT "
    "SELECT_V2 BROADCAST_TO ZEROS_LIKE".split()
)


class TfliteGraph(TfliteScope):
    """Builder of a subgraph's operators at the caller's insertion point. Calls of other subgraphs are inlined."""

    def __init__(
        self,
        model: TfliteFile,
        index: int,
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        outer: TfliteGraph | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.model = model
        self.subgraph: Subgraph = model.subgraphs[index]
        self.variables = {} if outer is None else outer.variables
        self._calls: tuple[int, ...] = (*(() if outer is None else outer._calls), index)
        self._held: dict[int, Held | None] = {}
        self.parts = {}
        #: True if the file marks dynamic sizes by -1. Older files have 1, or no size, in their place.
        self._tells_open_sizes: bool = _has_open_sizes(model) if outer is None else outer._tells_open_sizes

    def add(self, inputs: Sequence[Value]) -> list[Held | None]:
        """Build the operators and return the subgraph's outputs. An output that cannot be imported is None."""
        self._held.update(zip(self.subgraph.inputs, inputs, strict=True))
        for place, operator in enumerate(self.subgraph.operators):
            self._add(operator, place)
        return [self.held(place) for place in self.subgraph.outputs]

    def add_subgraph(self, index: int, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        if not 0 <= index < len(self.model.subgraphs):
            raise Unsupported(f"it calls subgraph #{index}, but the file has {len(self.model.subgraphs)}")
        if index in self._calls:
            raise Unsupported(f"subgraph #{index} is recursive")
        if len(self._calls) == _DEEPEST_CALLS:
            raise Unsupported(f"calls of subgraphs are nested more than {_DEEPEST_CALLS} deep")
        inner = TfliteGraph(self.model, index, self.problems, self.symbols, self.room, self, region_of)
        if len(inner.subgraph.inputs) != len(inputs):
            raise Unsupported(f"subgraph #{index} takes {len(inner.subgraph.inputs)} inputs, got {len(inputs)}")
        outputs = inner.add([input_ if region_of is None else input_.inside(region_of) for input_ in inputs])
        if any(output is None for output in outputs):
            raise Incomplete
        values = [output for output in outputs if isinstance(output, Value)]
        if len(values) < len(outputs):
            raise Unsupported(f"subgraph #{index} returns complex numbers, which is not supported")
        return values

    def start(self, index: int, value: Value) -> None:
        """Set the initial value of a variable, an argument of the call."""
        self._held[index] = value

    def keep(self, index: int, value: Value) -> None:
        if self.is_in_region:
            raise Unsupported("a variable is assigned in a branch or a loop that depends on run-time values")
        self._held[index] = value

    # ---- tensors ----

    def row(self, index: int) -> TensorRow:
        """Return the file's description of a tensor."""
        if not 0 <= index < len(self.subgraph.tensors):
            raise Unsupported(f"it refers to tensor #{index}, but its subgraph has {len(self.subgraph.tensors)}")
        return self.subgraph.tensors[index]

    def held(self, index: int) -> Held | None:
        """Return the value of a tensor, which may be a constant of the file, or None if it cannot be imported."""
        if index in self._held:
            return self._held[index]
        row = self.row(index)
        if (array := constant_of(self.model, row, self.room)) is None and row.is_variable:
            checked_shape(row)
            if not row.dtype or -1 in row.shape:
                raise Unsupported(f"variable '{row.name}' of {row.type} {row.shape} cannot be created")
            zero = row.quantization.zero_point[0] if row.quantization else 0
            self._held[index] = Value(ssa=full(row.shape, const(zero, row.dtype)))
            return self._held[index]
        if array is None:
            raise Unsupported(f"tensor #{index} '{row.name}' is used before an operator computes it")
        value = Value(array=array)
        value.name = row.name
        self._held[index] = value = value if self._region_of is None else value.inside(self._region_of)
        return value

    # ---- operators ----

    def _add(self, operator: OperatorRow, place: int) -> None:
        node = self._node(operator, place)
        with ir.Location.name(shown(node.name), ir.Location.name(f"tflite.{shown(node.op)}")):
            made = self._make(node, operator)
        for index, held in zip(operator.outputs, [None] * len(operator.outputs) if made is None else made, strict=True):
            if index in self._held:
                self._note(node, Unsupported(f"tensor #{index} is computed twice, or is an input"))
            self._held[index] = held

    def _node(self, operator: OperatorRow, place: int) -> TfliteNode:
        """Return a node for an operator, without inputs, with the name of the operator's first output."""
        tensors = self.subgraph.tensors
        names = [tensors[index].name for index in operator.outputs if 0 <= index < len(tensors)]
        return TfliteNode(names[0] if names and names[0] else f"#{place}", operator, [], [], [], self)

    def _make(self, node: TfliteNode, operator: OperatorRow) -> list[Held | None] | None:
        if not attempted(node, lambda: self._connect(node, operator)):
            return None
        if any(node.inputs[place] is None for place, index in enumerate(operator.inputs) if index != -1):
            if CONVERTERS.converter_of(node.op) is None:  # The problem of the input is reported already.
                self._note(node, unknown(node.op, operator.is_custom))
            return None
        return attempted(node, lambda: self._convert(node))

    def _note(self, node: TfliteNode, problem: Unsupported) -> None:
        self.problems.add(problem_of(node, problem))

    def _connect(self, node: TfliteNode, operator: OperatorRow) -> bool:
        node.rows = [None if index == -1 else self.row(index) for index in operator.inputs]
        node.input_names = [each.name if each else "" for each in node.rows]
        node.results = [self.row(index) for index in operator.outputs]
        node.inputs = [None if index == -1 else self.held(index) for index in operator.inputs]
        return True

    def _convert(self, node: TfliteNode) -> list[Held | None]:
        self.room.take_node()
        if node.row.is_custom and node.op in names_in("BuiltinOperator").values():
            raise Unsupported("a custom operator has the name of a built-in TFLite operator")
        if (converter := CONVERTERS.converter_of(node.op)) is None:
            raise unknown(node.op, node.row.is_custom)
        is_of_shapes = node.op in _OF_SHAPES and not any(each is not None and each.is_quantized for each in node.rows)
        with folding_where_known(node.inputs) if is_of_shapes else nullcontext():
            parts = _convert_parts(converter, node) if node.op in _OF_PARTS else _values(converter, node)
        if len(parts) != len(node.results):
            raise Unsupported(f"it has {len(node.results)} results, but its converter returns {len(parts)}")
        return [self._finish_result(*each) for each in zip(parts, node.results, strict=True)]

    def _finish_result(self, finish_result: Held | None, row: TensorRow) -> Held | None:
        """Return a result with the element type in the file, and with symbols for data-dependent sizes."""
        if finish_result is None or row.type == _RESOURCE:
            return finish_result
        if isinstance(finish_result, ComplexValue) and row.type == _COMPLEX:
            return finish_result
        if not isinstance(finish_result, Value):
            raise Unsupported(f"its result has complex numbers, but the file declares {row.type}")
        if row.is_quantized and is_float(finish_result.dtype):
            finish_result = Value(ssa=quantized(finish_result.ssa, row))
        if finish_result.dtype != row.dtype:
            raise Unsupported(f"its result is {described(finish_result)}, but the file declares {row.type}")
        return named(_with_static_sizes(finish_result, row) if self._tells_open_sizes else finish_result, self.symbols)


def _values(converter: NamedConverter, node: TfliteNode) -> list[Held | None]:
    returned = converter(node)
    return [] if returned is None and not node.results else as_values(returned)


def _convert_parts(converter: NamedConverter, node: TfliteNode) -> list[Held | None]:
    """Convert an operator; if an input is complex, convert it once for the real and once for the imaginary parts."""
    whole = node.inputs
    if not any(isinstance(each, ComplexValue) for each in whole):
        return _values(converter, node)
    made = []
    for side in ("real", "imag"):
        node.inputs = [getattr(each, side) if isinstance(each, ComplexValue) else each for each in whole]
        made.append(_values(converter, node))
    node.inputs = whole
    return [ComplexValue(*pair) for pair in zip(*made, strict=True)]


def _has_open_sizes(model: TfliteFile) -> bool:
    return any(-1 in tensor.shape for subgraph in model.subgraphs for tensor in subgraph.tensors)


def _with_static_sizes(value: Value, row: TensorRow) -> Value:
    """Return a value with the static sizes of the file in place of dynamic sizes.

    The program checks these sizes at run time.
    """
    if not value.is_in_graph or value.shape is None or len(value.shape) != len(row.shape):
        return value
    pairs = zip(value.shape, row.shape, strict=True)
    sizes = [own if isinstance(own, int) or said == -1 else said for own, said in pairs]
    return value if sizes == list(value.shape) else Value(ssa=as_info(value.ssa, value.info.with_shape(sizes)))
