# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static verification of memory accesses: every access fits its buffer, wherever sizes and indices are known.

The pass changes nothing. It evaluates the indices of accesses in the first and last iterations of all loops, so each
refused access is one that runs.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.diagnostics import errors_as_relax_error, failure
from ...bindings.ir import Operation
from ...bindings.navigation import has_body, operations_named
from ...support.errors import VerificationError
from ..core.base import Pass
from ..core.registry import register_pass

_FUNCTIONS = ("func.func", "gpu.func")
_PROBLEM = "accesses leave their buffers"


@register_pass
class VerifyBounds(Pass):
    """Refuse accesses to memory that leave their buffer in a first or last iteration of the loops around them."""

    name: ClassVar[str] = "tir-verify-bounds"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        from ..memory.lower_calls.access_boxes import excesses

        with op.context, errors_as_relax_error(op.context, _PROBLEM, VerificationError) as found:
            for function in operations_named(op, *_FUNCTIONS):
                for access, text in excesses(function) if has_body(function) else ():
                    access.location.emit_error(text)
            if found:
                raise failure(_PROBLEM, found, VerificationError)
