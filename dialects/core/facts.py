# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts that operators' rows state beside what builds and checks them: how they fuse."""

from __future__ import annotations

from enum import IntEnum

from ...support.errors import RelaxError
from ...support.suggest import suggest


class OpPattern(IntEnum):
    """What fusion has to know of a PrimFunc; the higher, the less can be fused."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8

    @property
    def attribute_text(self) -> str:
        return self.name.lower()

    @staticmethod
    def parse(text: str, where: str = "") -> OpPattern:
        names = [pattern.attribute_text for pattern in OpPattern]
        if text not in names:
            raise RelaxError(
                f"{where}unknown operator pattern '{text}'{suggest(text, names)} (known: {', '.join(names)})"
            )
        return OpPattern[text.upper()]
