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
            raise Decline("scalars without a sign are no values in MLIR's arithmetic")
        known = [call.scalar_value(value) for value in values]
        #: The numbers that are known.
        self.known = [value if isinstance(value, (int, float)) else None for value in known]
        #: What to pass to a PrimFunc.
        self.inputs = [value for value, number in zip(values, self.known, strict=True) if number is None]

    @property
    def are_integers(self) -> bool:
        return all(is_int(dtype) for dtype in self.dtypes)

    def read(self, inputs: Sequence[Number], *dtypes: str) -> list[Number]:
        """The scalars' values in a body, as these types; one stands for all."""
        given = iter(inputs)
        wanted = dtypes * len(self.dtypes) if len(dtypes) == 1 else dtypes
        return [
            next(given).to(target) if known is None else constant(known, target)
            for known, target in zip(self.known, wanted, strict=True)
        ]


def require_size(value: Number, name: str) -> Number:
    """An i64 as a size. Raises ValueError where it is negative."""
    loops.require(value >= 0, "ValueError", f"'{name}' is a size and cannot be {{}}", value)
    return value
