# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar operands in PrimFuncs: constants where their values are known, else inputs."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Value
from ...bindings.rewriting import Decline
from ...dialects.core.infos import is_int, is_unsigned
from ...emit import loops
from ...emit.numbers import Number, constant
from .call import LegalizeCall


class ScalarInputs:
    """Scalar operands of one operation.

    scalars = ScalarInputs(call, [call.op.start, call.op.step])
    call.prim(body, scalars.inputs)     # body: `start, step = scalars.read(inputs, "f64")`
    """

    def __init__(self, call: LegalizeCall, values: Sequence[Value]):
        self.dtypes = [call.dtype(value) for value in values]
        if any(map(is_unsigned, self.dtypes)):
            raise Decline("MLIR's arithmetic has no unsigned scalars")
        known = [call.scalar_value(value) for value in values]
        #: Known values, or None.
        self.known = [value if isinstance(value, (int, float)) else None for value in known]
        #: Values to pass to a PrimFunc.
        self.inputs = [value for value, number in zip(values, self.known, strict=True) if number is None]

    @property
    def are_integers(self) -> bool:
        return all(is_int(dtype) for dtype in self.dtypes)

    def read(self, inputs: Sequence[Number], *dtypes: str) -> list[Number]:
        """Return the scalars' values in a body, converted to these types. A single type applies to all."""
        given = iter(inputs)
        wanted = dtypes * len(self.dtypes) if len(dtypes) == 1 else dtypes
        return [
            next(given).to(target) if known is None else constant(known, target)
            for known, target in zip(self.known, wanted, strict=True)
        ]


def require_size(value: Number, name: str) -> Number:
    """Check that an i64 is a size: emit a ValueError for negative values."""
    loops.require(value >= 0, "ValueError", f"'{name}' is a size and cannot be {{}}", value)
    return value
