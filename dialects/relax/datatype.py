# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of element types."""

from __future__ import annotations

from ..core.attributes import DType
from .dialect import op
from .infer.dtypes import astype

op("astype", "x", attrs={"dtype": DType()}, infer=astype, doc="Each element converted to another type.")
