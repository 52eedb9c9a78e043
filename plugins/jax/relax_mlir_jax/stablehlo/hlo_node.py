# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of an operation for its converter.

@register_stablehlo("stablehlo.transpose")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.attr("permutation"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.dialect_node import DialectNode
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.values import ComplexValue, Held

from .hlo_attributes import value_of
from .hlo_scope import HloScope
from .hlo_types import info_of, is_complex

#: Module attributes in which jax stores the numbers of partitions and replicas.
_COUNTS = ("mhlo.num_partitions", "mhlo.num_replicas")


class HloNode(DialectNode):
    """StableHLO operation."""

    graph: HloScope
    value_of = staticmethod(value_of)
    info_of = staticmethod(info_of)

    @staticmethod
    def name_of(operation: Operation) -> str:
        """Return the operation's name, with the name of the callee of a call."""
        if operation.name == "stablehlo.custom_call":
            return f"custom_call @{value_of(operation.attributes['call_target_name'])}"
        if operation.name == "stablehlo.composite":
            return f"composite @{value_of(operation.attributes['name'])}"
        return "func.call" if operation.name == "sdy.call" else operation.name

    @property
    def is_for_xla(self) -> bool:
        """Return True if the module has attributes of XLA: what StableHLO and XLA define differently is as in XLA."""
        return bool(self.device_counts())

    def device_counts(self) -> list[int]:
        """Return the numbers of partitions and of replicas that the module states, of which it may have none."""
        operation = self.operation
        while operation.name != "builtin.module":
            operation = operation.parent
        return [value_of(operation.attributes[name]) for name in _COUNTS if name in operation.attributes]

    # ---- operands ----

    @property
    def is_complex(self) -> bool:
        """Check whether an operand or a result is of complex numbers."""
        return any(isinstance(input_, ComplexValue) for input_ in self.inputs) or any(
            map(is_complex, self.result_types)
        )

    def pair(self, index: int) -> Pair:
        """Return an operand as complex numbers. A real operand has no imaginary part."""
        if isinstance(held := self.held(index), ComplexValue):
            return Pair(held.real.ssa, held.imag.ssa)
        return Pair(self.tensor(index), None)

    def sizes_of_operand(self, index: int) -> list[Size]:
        held = self.held(index)
        return sizes.sizes_of(held.real) if isinstance(held, ComplexValue) else super().sizes_of_operand(index)

    # ---- results ----

    def static_shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the static shape of a result."""
        shape = info_of(self.operation.results[index].type).shape or ()
        found = tuple(each for each in shape if each is not None)
        if len(found) != len(shape):
            raise self.fail("a size of its result is not known while the module is imported")
        return found  # type: ignore[return-value]

    # ---- regions ----

    def on_tensors(self, operands: Sequence[Held], index: int = 0) -> list[Any]:
        """Return the results of a scalar region, applied to all elements of tensors."""
        return self.graph.add_widened(self.body(index), operands)
