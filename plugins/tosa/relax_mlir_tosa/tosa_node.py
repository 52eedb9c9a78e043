# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of an operation for its converter.

@register_tosa("tosa.transpose")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.attr("perms"))
"""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation
from relax_mlir.frontends.core.dialect_node import DialectNode

from .tosa_types import info_of, value_of


class TosaNode(DialectNode):
    """TOSA operation."""

    value_of = staticmethod(value_of)
    info_of = staticmethod(info_of)

    @staticmethod
    def name_of(operation: Operation) -> str:
        """Return the operation's name; for a custom operation, with its domain and name."""
        if operation.name != "tosa.custom":
            return operation.name
        domain, name = (value_of(operation.attributes[text]) for text in ("domain_name", "operator_name"))
        return f"tosa.custom @{domain}.{name}"

    @property
    def ignores_nan(self) -> bool:
        """Check whether the operation ignores NaN operands."""
        return self.attr("nan_mode", "PROPAGATE") == "IGNORE"

    def known_shape(self, index: int) -> list[int]:
        """Return the static sizes of a shape operand."""
        if (numbers := self.numbers(index)) is None:
            raise self.fail(f"operand #{index} is a shape that is not known while the module is imported")
        return list(numbers)
