# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Node of an MLIR operation for converters: operands as values, attributes as Python objects, regions to build."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.diagnostics import locate
from ...bindings.ir import Attribute, Block, Operation, Type
from ...dialects.core.infos import TensorInfo
from ...support.blaming import shown_place
from . import sizes
from .dialect_scope import DialectScope
from .node import Node
from .sizes import Size
from .tensors import cast
from .values import Held

_REQUIRED = object()


def shown(operation: Operation) -> str:
    """Return the name and line in an operation's location."""
    file, line, _, name = locate(operation.location)
    place = f"line {line}" if file == "-" else shown_place(file, line) if file else ""
    return f"{name} ({place})" if name and place else name or place or operation.name


class DialectNode(Node):
    """Operation to import. Subclasses define how names, attributes and types are read."""

    graph: DialectScope

    def __init__(self, operation: Operation, inputs: Sequence[Held | None], graph: DialectScope):
        super().__init__(shown(operation), self.name_of(operation), inputs, graph)
        self.operation = operation

    # ---- of the dialect ----

    @staticmethod
    def name_of(operation: Operation) -> str:
        """Return the name under which the operation's converter is registered."""
        return operation.name

    @staticmethod
    @abstractmethod
    def value_of(attribute: Attribute) -> Any:
        """Return an attribute as a number, a string, a list, or an enumeration's keyword."""

    @staticmethod
    @abstractmethod
    def info_of(type_: Type) -> TensorInfo:
        """Return the tensor type. A size that is not known is None. Raise Unsupported for other types."""

    # ---- attributes ----

    def has_attr(self, name: str) -> bool:
        return name in self.operation.attributes

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return an attribute: a number, string, list of numbers, type name, enumeration keyword, or struct fields."""
        if name in self.operation.attributes:
            return self.value_of(self.operation.attributes[name])
        if default is _REQUIRED:
            raise self.fail(f"attribute '{name}' is missing", name)
        return default

    # ---- operands ----

    def known_sizes(self, index: int) -> list[Size]:
        """Return the elements of a shape operand: sizes if they are known, else one-element tensors."""
        if (found := self.sizes(index)) is not None:
            return list(found)
        value = self.value(index)
        (count,) = value.shape or (None,)
        if not isinstance(count, int):
            raise self.fail(f"the rank of the shape in operand #{index} is not known")
        wide = cast(value.ssa, "i64")
        return [sizes.element(wide, place) for place in range(count)]

    def sizes_of_operand(self, index: int) -> list[Size]:
        return sizes.sizes_of(self.value(index))

    # ---- results ----

    @property
    def result_types(self) -> list[Type]:
        return [result.type for result in self.operation.results]

    @property
    def info(self) -> TensorInfo:
        """Return the type of the first result. Complex results have the type of one part. An unknown size is None."""
        return self.info_of(self.operation.results[0].type)

    @property
    def dtype(self) -> str:
        """Return the element type of the first result."""
        return self.info.dtype

    # ---- regions ----

    def body(self, index: int = 0) -> Block:
        """Return the block of a region."""
        return self.operation.regions[index].blocks[0]

    def run_body(self, operands: Sequence[Held], index: int = 0, region_of: Operation | None = None) -> list[Any]:
        """Build a region for these operands at the insertion point, and return its results."""
        return self.graph.add_inner(self.body(index), operands, region_of)
