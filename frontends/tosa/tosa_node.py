# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a converter sees of an operation: operands as values, attributes as Python's, regions that it can build.

@register_tosa("tosa.transpose")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.attr("perms"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.diagnostics import locate
from ...bindings.ir import Operation, Type
from ...dialects.core.infos import TensorInfo
from ...support.blaming import shown_place
from ..core import sizes
from ..core.node import Node as CoreNode
from ..core.sizes import Size
from ..core.values import Held
from .tosa_scope import TosaScope
from .tosa_types import info_of, value_of

_REQUIRED = object()


def name_of(operation: Operation) -> str:
    """The operation as converters are registered: of a custom one with its domain and name."""
    if operation.name != "tosa.custom":
        return operation.name
    domain, name = (value_of(operation.attributes[each]) for each in ("domain_name", "operator_name"))
    return f"tosa.custom @{domain}.{name}"


def shown(operation: Operation) -> str:
    """Where an operation stands."""
    file, line, _, name = locate(operation.location)
    place = f"line {line}" if file == "-" else shown_place(file, line) if file else ""
    return f"{name} ({place})" if name and place else name or place or operation.name


class Node(CoreNode):
    """One operation."""

    graph: TosaScope

    def __init__(self, operation: Operation, inputs: Sequence[Held | None], graph: TosaScope):
        super().__init__(shown(operation), name_of(operation), inputs, graph)
        self.operation = operation

    # ---- attributes ----

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """A number, text, a list of numbers, a type by its name, or the word of an enumeration."""
        if name in self.operation.attributes:
            return value_of(self.operation.attributes[name])
        if default is _REQUIRED:
            raise self.fail(f"attribute '{name}' is missing", name)
        return default

    @property
    def ignores_nan(self) -> bool:
        """Whether NaN is no number to choose."""
        return self.attr("nan_mode", "PROPAGATE") == "IGNORE"

    # ---- operands ----

    def shape(self, index: int) -> list[Size]:
        """An operand that is a shape: its sizes."""
        found = self.sizes(index)
        if found is not None:
            return list(found)
        (count,) = self.value(index).shape or (None,)
        return [sizes.element(self.tensor(index), place) for place in range(count or 0)]

    def known_shape(self, index: int) -> list[int]:
        """The same where all of it has to be numbers."""
        found = self.numbers(index)
        if found is None:
            raise self.fail(f"operand #{index} is a shape that is not known while the module is imported")
        return list(found)

    def sizes_of_operand(self, index: int) -> list[Size]:
        return sizes.sizes_of(self.value(index))

    # ---- results ----

    @property
    def result_types(self) -> list[Type]:
        return [each.type for each in self.operation.results]

    @property
    def dtype(self) -> str:
        """Of the first result."""
        return self.info.dtype

    @property
    def info(self) -> TensorInfo:
        """The type of the first result; a size that is not known is None."""
        return info_of(self.operation.results[0].type)

    # ---- regions ----

    def run_body(self, operands: Sequence[Held], index: int = 0, region_of: Operation | None = None) -> list[Any]:
        """What a region gives for these operands, built where the insertion point is."""
        return self.graph.add_inner(self.operation.regions[index].blocks[0], operands, region_of)
