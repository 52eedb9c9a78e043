# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with an effect and no result."""

from __future__ import annotations

from ..core.attributes import Str
from .dialect import op
from .infer.effects import assertion, printing

op("assert_op", "condition:any *format_args:any", attrs={"format": Str("", doc="the message, by Python's str.format")},
   results="", infer=assertion, role="effect", pure=False,
   doc="Stops the program unless the condition holds.")  # fmt: skip
op("print", "*values:any", attrs={"format": Str("", doc="by Python's str.format; empty: the values one by one")},
   results="", infer=printing, role="effect", pure=False, doc="Prints values.")  # fmt: skip
