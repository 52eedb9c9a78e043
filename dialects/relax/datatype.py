# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types changed: elements converted, or their bits taken for another type's."""

from __future__ import annotations

from ..core.attributes import DType
from .dialect import op
from .infer.dtypes import astype, bitcast

op("astype", "x", attrs={"dtype": DType()}, infer=astype, doc="Each element converted to another type.")
op("bitcast", "x", attrs={"dtype": DType()}, infer=bitcast, own=True,
   doc="The same bits as elements of another type of as many bits; to bool: whether any bit is set.")  # fmt: skip
