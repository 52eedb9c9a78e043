# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of sizes that torch.export has put into a program: `Dim("batch", max=16)`, and what the model implies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import functions_in
from relax_mlir.dialects.core.ir_attributes import SYMBOL_LIMITS

from .symbolic_sizes import Expressions

if TYPE_CHECKING:
    from torch.export import ExportedProgram

#: torch.export specializes on 0 and 1, so the minimum size in a program is usually 2. torch's programs accept 0 and 1
#: nevertheless, and check the minimum only above this number.
_LEAST_CHECKED = 2
_UNLIMITED = (1 << 63) - 1


def set_limits(module: Operation, program: ExportedProgram, expressions: Expressions) -> None:
    """Store on a program's function the limits of sizes that callers may pass, as in torch's program."""
    limits: dict[str, tuple[int, int]] = {}
    for symbol, constraint in program.range_constraints.items():
        least, most = _integer(constraint.lower, 0), _integer(constraint.upper, _UNLIMITED)
        least = least if least > _LEAST_CHECKED else 0
        declared = expressions.input_size(symbol) if (least, most) != (0, _UNLIMITED) else None
        if declared is not None:
            name, factor, offset = declared
            limits[name] = _invert(least, most, factor, offset)
    for function in functions_in(module) if limits else ():
        with function.context:
            attributes = {name: ir.DenseI64ArrayAttr.get(limits[name]) for name in sorted(limits)}
            function.attributes[SYMBOL_LIMITS] = ir.DictAttr.get(attributes)


def _integer(bound: Any, otherwise: int) -> int:
    """Return a bound of a torch range, or `otherwise` for infinity."""
    is_number = isinstance(bound, int) or bool(getattr(bound, "is_Integer", False))
    return int(bound) if is_number and abs(int(bound)) < _UNLIMITED >> 1 else otherwise


def _invert(least: int, most: int, factor: Any, offset: Any) -> tuple[int, int]:
    """Return the limits of the size that callers pass, for limits of `factor * size + offset`."""
    ends = [None if number in (0, _UNLIMITED) else (number - offset) / factor for number in (least, most)]
    low, high = ends if factor > 0 else reversed(ends)
    return 0 if low is None else max(0, math.ceil(low)), _UNLIMITED if high is None else math.floor(high)
