# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a converter sees of an operation: operands as values, attributes as Python's, regions that it can build.

@register_stablehlo("stablehlo.transpose")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.attr("permutation"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.diagnostics import locate
from ...bindings.ir import Operation, Type
from ...dialects.core.infos import TensorInfo
from ...support.blaming import shown_place
from ..core import sizes
from ..core.complex_numbers import Pair
from ..core.node import Node as CoreNode
from ..core.sizes import Size
from ..core.tensors import cast
from ..core.values import ComplexValue, Held
from .hlo_attributes import value_of
from .hlo_scope import HloScope
from .hlo_types import info_of, is_complex

_REQUIRED = object()


def name_of(operation: Operation) -> str:
    """The operation as converters are registered: with the name of what it calls."""
    if operation.name == "stablehlo.custom_call":
        return f"custom_call @{value_of(operation.attributes['call_target_name'])}"
    if operation.name == "stablehlo.composite":
        return f"composite @{value_of(operation.attributes['name'])}"
    return operation.name


def shown(operation: Operation) -> str:
    """Where an operation stands: jax's name for it, and the line."""
    file, line, _, name = locate(operation.location)
    place = f"line {line}" if file == "-" else shown_place(file, line) if file else ""
    return f"{name} ({place})" if name and place else name or place or operation.name


class Node(CoreNode):
    """One operation."""

    graph: HloScope

    def __init__(self, operation: Operation, inputs: Sequence[Held | None], graph: HloScope):
        super().__init__(shown(operation), name_of(operation), inputs, graph)
        self.operation = operation

    # ---- attributes ----

    def has_attr(self, name: str) -> bool:
        return name in self.operation.attributes

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """A number, text, a list of numbers, the word of an enumeration, or a dictionary of a struct's fields."""
        if name in self.operation.attributes:
            return value_of(self.operation.attributes[name])
        if default is _REQUIRED:
            raise self.fail(f"attribute '{name}' is missing", name)
        return default

    # ---- operands ----

    @property
    def is_complex(self) -> bool:
        """Whether an operand or a result is of complex numbers."""
        return any(isinstance(each, ComplexValue) for each in self.inputs) or any(map(is_complex, self.result_types))

    def pair(self, index: int) -> Pair:
        """An operand as complex numbers; what is real has no imaginary part."""
        held = self.held(index)
        if isinstance(held, ComplexValue):
            return Pair(held.real.ssa, held.imag.ssa)
        return Pair(self.tensor(index), None)

    def known_sizes(self, index: int) -> list[Size]:
        """An operand that is a shape: its elements where they are known, else tensors of one."""
        value = self.value(index)
        found = self.sizes(index)
        if found is not None:
            return list(found)
        (count,) = value.shape or (None,)
        if not isinstance(count, int):
            raise self.fail(f"the rank that operand #{index} gives is not known")
        wide = cast(value.ssa, "i64")
        return [sizes.element(wide, place) for place in range(count)]

    def sizes_of_operand(self, index: int) -> list[Size]:
        held = self.held(index)
        return sizes.sizes_of(held.real if isinstance(held, ComplexValue) else self.value(index))

    # ---- results ----

    @property
    def result_types(self) -> list[Type]:
        return [each.type for each in self.operation.results]

    @property
    def info(self) -> TensorInfo:
        """The type of the first result, of complex numbers of either part; a size that is not known is None."""
        return info_of(self.operation.results[0].type)

    @property
    def dtype(self) -> str:
        return self.info.dtype

    def static_shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of a result, all of which is known."""
        found = tuple(each for each in info_of(self.operation.results[index].type).shape or () if each is not None)
        if len(found) != len(info_of(self.operation.results[index].type).shape or ()):
            raise self.fail("a size of its result is not known while the module is imported")
        return found  # type: ignore[return-value]

    # ---- regions ----

    def body(self, index: int = 0) -> Any:
        """The block of a region."""
        return self.operation.regions[index].blocks[0]

    def run_body(self, operands: Sequence[Held], index: int = 0, region_of: Operation | None = None) -> list[Any]:
        """What a region gives for these operands, built where the insertion point is."""
        return self.graph.add_inner(self.body(index), operands, region_of)

    def on_tensors(self, operands: Sequence[Held], index: int = 0) -> list[Any]:
        """The same of a region for scalars, at each place of tensors."""
        return self.graph.add_inner(self.body(index), operands, is_widened=True)
