# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run-time assertions of tensor programs."""

from __future__ import annotations

from ..core.attributes import Str
from ..core.infos import Info, is_int
from ..core.opdef import Call
from .dialect import op

#: Numbers that a message can show; targets reserve room for this many.
MOST_NUMBERS = 3


def _assert(call: Call) -> list[Info]:
    call.require(call.condition.dtype == "i1", f"{call.describe('condition')} must be a scalar of type i1")
    numbers = call.numbers
    for position, info in enumerate(numbers):
        call.require(is_int(info.dtype), f"operand 'numbers' #{position} ({info.dtype}) must be an integer")
    call.require(len(numbers) <= MOST_NUMBERS, f"shows {len(numbers)} numbers, at most {MOST_NUMBERS} are possible")
    places = call.message.count("{}")
    call.require(places == len(numbers), f"attribute 'message' has {places} places {{}} for {len(numbers)} numbers")
    call.require(call.kind.isidentifier(), f"attribute 'kind' ({call.kind!r}) must name a Python exception")
    return []


op("assert", "condition:scalar *numbers:scalar",
   attrs={"message": Str(doc="text with {} for each number"),
          "kind": Str("RuntimeError", doc="name of a Python exception")},
   results="", infer=_assert, role="effect", pure=False,
   doc="Raises an exception if the condition is False.")  # fmt: skip
