# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operation for exporters: operands as tensors of the model, attributes as Python objects, and types.

@exports("relax.nn.softmax")
def softmax(op):
    return op.node("Softmax", op["data"], axis=op.axis)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import made_by
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info, ScalarInfo, TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.operands import operand_info
from ....dialects.core.symbols import Dim
from ....dialects.core.verifier import call_of, segment_sizes
from ....dialects.relax.constants import array_of_attribute
from ....dialects.relax.known_constants import elements_of
from ...core.node import Unsupported
from .export_values import Held, Part, Ref, ShapeValue, parts_of
from .graph import Graph
from .size_tensors import SizeTensors

if TYPE_CHECKING:
    from numpy import ndarray


class ValueExporter(Protocol):
    """Exporter of the enclosing function, with the methods that the exporters of operations use."""

    sizes: SizeTensors

    def define(self, values: Sequence[Value], helds: Sequence[Held]) -> None: ...

    def held(self, value: Value, graph: Graph) -> Held: ...

    def ref(self, value: Value, graph: Graph) -> Ref: ...

    def export_block(self, block: Block, graph: Graph) -> Operation: ...

    def name_of(self, operation: Operation) -> str: ...

    def sole_maker(self, value: Value) -> Operation | None: ...

    def call(self, name: str, arguments: Sequence[Held], graph: Graph, at: Operation) -> list[Held]: ...


class ExportedOp:
    """Operation to export, in the graph that receives its nodes."""

    def __init__(self, operation: Operation, exporter: ValueExporter, graph: Graph):
        self.operation = operation
        self.name = operation.name
        self.exporter = exporter
        self.graph = graph
        #: `op.node("Relu", x)` adds a node.
        self.node = graph.node
        self.const = graph.const
        self.ints = graph.ints
        self.number = graph.number
        self.cast = graph.cast

    def fail(self, reason: str, attribute: str = "") -> Unsupported:
        """Return the exception for an operation that cannot be exported: `raise op.fail("...")`."""
        return Unsupported(reason, attribute)

    # ---- attributes by name ----

    @cached_property
    def call(self) -> Call:
        row = row_of(self.operation)
        assert row is not None, self.name
        return call_of(row, self.operation)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.call.attributes[name]

    # ---- operands ----

    @cached_property
    def _values(self) -> dict[str, Any]:
        row = row_of(self.operation)
        assert row is not None, self.name
        operands = list(self.operation.operands)
        return row.segment(operands, segment_sizes(row, self.operation, len(operands)))

    @property
    def operands(self) -> list[Ref]:
        """Return all operands, which must be tensors or scalars."""
        return [self._tensor(value) for value in self.operation.operands]

    def __getitem__(self, name: str) -> Ref:
        """Return an operand as a tensor. A scalar becomes a 0-D tensor."""
        return self._tensor(self._values[name])

    def has(self, name: str) -> bool:
        """Check whether an optional operand is present."""
        return self._values[name] is not None

    def optional(self, name: str) -> Ref | None:
        return self[name] if self.has(name) else None

    def all(self, name: str) -> list[Ref]:
        """Return the tensors of a variadic operand."""
        return [self._tensor(value) for value in self._values[name]]

    def held(self, name: str) -> Held:
        return self.exporter.held(self._values[name], self.graph)

    def _tensor(self, value: Value) -> Ref:
        held = self.exporter.held(value, self.graph)
        return self.sizes.tensor(self.graph, held) if isinstance(held, ShapeValue) else held

    def elements(self, name: str) -> ndarray | None:
        """Return the elements of a constant operand, or None."""
        return elements_of(self._values[name])

    def numbers(self, name: str) -> ndarray | None:
        """Return the elements of a constant operand like `elements`, and also of types that NumPy lacks."""
        elements, constant = self.elements(name), made_by(self._values[name], "arith.constant")
        if elements is not None or constant is None:
            return elements
        return array_of_attribute(constant.attributes["value"], self.dtype(name), self._values[name].type.shape)

    def info(self, name: str) -> TensorInfo:
        info = self.call.operands[name]
        assert isinstance(info, TensorInfo), name
        return info

    def dtype(self, name: str) -> str:
        info: TensorInfo | ScalarInfo = self.call.operands[name]
        return "i64" if info.dtype == "index" else info.dtype

    def shape(self, name: str) -> tuple[Dim, ...]:
        """Return an operand's sizes. The rank must be known."""
        if (shape := self.info(name).shape) is None:
            raise self.fail(f"the rank of operand '{name}' is not known")
        return shape

    def rank(self, name: str) -> int:
        return len(self.shape(name))

    def axis_of(self, name: str, axis: int) -> int:
        """Return an axis of an operand, counted from the front."""
        return axis % max(self.rank(name), 1)

    def axes_of(self, name: str, axes: Sequence[int]) -> list[int]:
        return [self.axis_of(name, axis) for axis in axes]

    def value(self, name: str) -> object:
        """Return the number in a scalar's type, or None if the scalar is dynamic."""
        info: ScalarInfo = self.call.operands[name]
        return info.value

    def is_number(self, value: Value, number: int) -> bool:
        """Check whether a scalar is a constant with this number."""
        info = operand_info(value)
        return isinstance(info, ScalarInfo) and info.value == number

    # ---- results ----

    @cached_property
    def results(self) -> list[Info]:
        return [decode(type_) for type_ in self.operation.results.types]

    def result(self, index: int = 0) -> TensorInfo:
        info = self.results[index]
        assert isinstance(info, TensorInfo), self.name
        return info

    def result_shape(self, index: int = 0) -> tuple[Dim, ...]:
        if (shape := self.result(index).shape) is None:
            raise self.fail("the rank of the result is not known")
        return shape

    # ---- sizes ----

    @property
    def sizes(self) -> SizeTensors:
        return self.exporter.sizes

    def parts(self, name: str) -> list[Part]:
        """Return the sizes of an operand, a tensor or a shape."""
        if not isinstance(self.call.operands[name], TensorInfo):
            held = self.held(name)
            if not isinstance(held, ShapeValue) or held.parts is None:
                raise self.fail(f"the number of sizes in operand '{name}' is not known")
            return held.parts
        return self.known_parts(self[name], self.shape(name))

    def known_parts(self, tensor: Ref, dims: Sequence[Dim]) -> list[Part]:
        """Return a tensor's sizes. Sizes with undefined symbols are read from the tensor at run time."""
        known = [dim if dim is not None and self.sizes.is_known(dim) else None for dim in dims]
        return parts_of(tensor, known)

    def shape_tensor(self, parts: ShapeValue | Sequence[Part]) -> Ref:
        return self.sizes.tensor(self.graph, parts)

    def size(self, part: Part, dtype: str = "i64") -> Ref:
        """Return a size as a 0-D tensor."""
        return self.cast(self.sizes.scalar(self.graph, part), dtype)

    def reshape(self, tensor: Ref, parts: Sequence[Part], source: Sequence[Part] = ()) -> Ref:
        return self.sizes.reshape(self.graph, tensor, parts, source)

    def along(self, vector: Ref, axis: int, rank: int) -> Ref:
        """Return a 1-D tensor reshaped to `rank` dimensions, with its elements along an axis."""
        return self.graph.unsqueeze(vector, [index for index in range(rank) if index != axis])
