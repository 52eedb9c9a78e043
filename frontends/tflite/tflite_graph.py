# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks the operators of a subgraph and builds a graph of relax operators, with the file's own names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TypeVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...dialects.core.infos import is_float
from ...emit.kernels import FreshSymbols
from ..core.control.scf_regions import as_info
from ..core.converters import NamedConverter
from ..core.folding import folding_where_known
from ..core.limits import Room
from ..core.node import Incomplete, Unsupported, described
from ..core.node_problems import attempted, problem_of
from ..core.problems import Problems, shown
from ..core.sizes import full, named
from ..core.tensors import const
from ..core.values import ComplexValue, Held, Value, as_values
from .quantized import quantized
from .registry import CONVERTERS, unknown
from .schema import names_in
from .tensor_data import checked_shape, constant_of
from .tflite_file import OperatorRow, Subgraph, TensorRow, TfliteFile
from .tflite_node import Node
from .tflite_scope import TfliteScope

T = TypeVar("T")

_DEEPEST_CALLS = 100
#: What is in a resource is looked up while the model is imported.
_RESOURCE, _COMPLEX = "RESOURCE", "COMPLEX64"
#: The operators that take complex numbers as they take others.
_OF_PARTS = frozenset("CONCATENATION EXPAND_DIMS GATHER PACK RESHAPE SLICE SQUEEZE STRIDED_SLICE TRANSPOSE".split())
#: The operators that exporters compute shapes with: they are folded where their inputs are known.
_OF_SHAPES = frozenset(
    "ADD SUB MUL DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM NEG ABS CAST CONCATENATION PACK UNPACK SPLIT SPLIT_V SLICE "
    "STRIDED_SLICE GATHER RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE TILE FILL RANGE SHAPE RANK REDUCE_PROD SUM REDUCE_MAX "
    "REDUCE_MIN EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT SELECT "
    "SELECT_V2 BROADCAST_TO ZEROS_LIKE".split()
)


class TfliteGraph(TfliteScope):
    """Builds the operators of a subgraph where the caller's insertion point is. Others stand where they are called."""

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
        #: Whether the file tells open sizes from others; older ones have 1, or nothing, in their places.
        self._tells_open_sizes: bool = _has_open_sizes(model) if outer is None else outer._tells_open_sizes

    def add(self, inputs: Sequence[Value]) -> list[Held | None]:
        """What the subgraph gives for its inputs; None for what could not be imported."""
        self._held.update(zip(self.subgraph.inputs, inputs, strict=True))
        for place, operator in enumerate(self.subgraph.operators):
            self._add(operator, place)
        return [self.held(place) for place in self.subgraph.outputs]

    def add_subgraph(self, index: int, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        if not 0 <= index < len(self.model.subgraphs):
            raise Unsupported(f"subgraph #{index} is called, the file has {len(self.model.subgraphs)}")
        if index in self._calls:
            raise Unsupported(f"subgraph #{index} calls itself")
        if len(self._calls) == _DEEPEST_CALLS:
            raise Unsupported(f"subgraphs call subgraphs, more than {_DEEPEST_CALLS} deep")
        inner = TfliteGraph(self.model, index, self.problems, self.symbols, self.room, self, region_of)
        if len(inner.subgraph.inputs) != len(inputs):
            raise Unsupported(f"subgraph #{index} takes {len(inner.subgraph.inputs)} inputs, {len(inputs)} are given")
        outputs = inner.add([each if region_of is None else each.inside(region_of) for each in inputs])
        if any(each is None for each in outputs):
            raise Incomplete
        found = [each for each in outputs if isinstance(each, Value)]
        if len(found) < len(outputs):
            raise Unsupported(f"subgraph #{index} gives complex numbers")
        return found

    def start(self, index: int, value: Value) -> None:
        """Gives a variable the value that a call passes."""
        self._held[index] = value

    def keep(self, index: int, value: Value) -> None:
        if self.is_in_region:
            raise Unsupported("a variable changes in a branch or a loop that is decided at run time")
        self._held[index] = value

    # ---- tensors ----

    def row(self, index: int) -> TensorRow:
        """A tensor as the file describes it."""
        if not 0 <= index < len(self.subgraph.tensors):
            raise Unsupported(f"it names tensor #{index}, its subgraph has {len(self.subgraph.tensors)}")
        return self.subgraph.tensors[index]

    def held(self, index: int) -> Held | None:
        """What a tensor stands for, a constant of the file among them; None for what could not be imported."""
        if index in self._held:
            return self._held[index]
        row = self.row(index)
        array = constant_of(self.model, row, self.room)
        if array is None and row.is_variable:
            self._held[index] = _cleared(row)
            return self._held[index]
        if array is None:
            raise Unsupported(f"tensor #{index} '{row.name}' is used before anything computes it")
        value = Value(array=array)
        value.name = row.name
        self._held[index] = value = value if self._region_of is None else value.inside(self._region_of)
        return value

    # ---- operators ----

    def _add(self, operator: OperatorRow, place: int) -> None:
        node = self._node(operator, place)
        with ir.Location.name(shown(node.name), ir.Location.name(f"tflite.{shown(node.op)}")):
            made = self._made(node, operator)
        for index, held in zip(operator.outputs, [None] * len(operator.outputs) if made is None else made, strict=True):
            if index in self._held:
                self._note(node, Unsupported(f"tensor #{index} is computed twice, or is an input"))
            self._held[index] = held

    def _node(self, operator: OperatorRow, place: int) -> Node:
        """The operator without its inputs, under the name of what it computes."""
        tensors = self.subgraph.tensors
        names = [tensors[index].name for index in operator.outputs if 0 <= index < len(tensors)]
        return Node(names[0] if names and names[0] else f"#{place}", operator, [], [], [], self)

    def _made(self, node: Node, operator: OperatorRow) -> list[Held | None] | None:
        if not attempted(node, lambda: self._connect(node, operator)):
            return None
        if any(node.inputs[place] is None for place, index in enumerate(operator.inputs) if index != -1):
            if CONVERTERS.converter_of(node.op) is None:  # what it needs has been noted
                self._note(node, unknown(node.op, operator.is_custom))
            return None
        return attempted(node, lambda: self._converted(node))

    def _note(self, node: Node, problem: Unsupported) -> None:
        self.problems.add(problem_of(node, problem))

    def _connect(self, node: Node, operator: OperatorRow) -> bool:
        node.rows = [None if index == -1 else self.row(index) for index in operator.inputs]
        node.input_names = [each.name if each else "" for each in node.rows]
        node.results = [self.row(index) for index in operator.outputs]
        node.inputs = [None if index == -1 else self.held(index) for index in operator.inputs]
        return True

    def _converted(self, node: Node) -> list[Held | None]:
        self.room.take_node()
        if node.row.is_custom and node.op in names_in("BuiltinOperator").values():
            raise Unsupported("a custom operator has the name of one of TFLite's own")
        converter = CONVERTERS.converter_of(node.op)
        if converter is None:
            raise unknown(node.op, node.row.is_custom)
        is_of_shapes = node.op in _OF_SHAPES and not any(each is not None and each.is_quantized for each in node.rows)
        with folding_where_known(node.inputs) if is_of_shapes else nullcontext():
            made = _on_parts(converter, node) if node.op in _OF_PARTS else _values(converter, node)
        if len(made) != len(node.results):
            raise Unsupported(f"it has {len(node.results)} results, its converter makes {len(made)}")
        return [self._settled(*each) for each in zip(made, node.results, strict=True)]

    def _settled(self, held: Held | None, row: TensorRow) -> Held | None:
        """A result of the element type that the file says, with names for sizes that depend on data."""
        if held is None or row.type == _RESOURCE:
            return held
        if isinstance(held, ComplexValue) and row.type == _COMPLEX:
            return held
        if not isinstance(held, Value):
            raise Unsupported(f"its result has complex numbers, the file says {row.type}")
        if row.is_quantized and is_float(held.dtype):
            held = Value(ssa=quantized(held.ssa, row))
        if held.dtype != row.dtype:
            raise Unsupported(f"its result is {described(held)}, the file says {row.type}")
        return named(_stated(held, row) if self._tells_open_sizes else held, self.symbols)


def _values(converter: NamedConverter, node: Node) -> list[Held | None]:
    returned = converter(node)
    return [] if returned is None and not node.results else as_values(returned)


def _on_parts(converter: NamedConverter, node: Node) -> list[Held | None]:
    """What moves complex numbers moves both of their parts."""
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


def _cleared(row: TensorRow) -> Value:
    """A variable at its start: zeros."""
    checked_shape(row)
    if not row.dtype or -1 in row.shape:
        raise Unsupported(f"variable '{row.name}' of {row.type} {row.shape} cannot be made")
    zero = row.quantization.zero_point[0] if row.quantization else 0
    return Value(ssa=full(row.shape, const(zero, row.dtype)))


def _stated(held: Value, row: TensorRow) -> Value:
    """With the sizes that are numbers in the file, and were none here: they are checked when the program runs."""
    if not held.is_in_graph or held.shape is None or len(held.shape) != len(row.shape):
        return held
    pairs = zip(held.shape, row.shape, strict=True)
    sizes = [own if isinstance(own, int) or said == -1 else said for own, said in pairs]
    return held if sizes == list(held.shape) else Value(ssa=as_info(held.ssa, held.info.with_shape(sizes)))
