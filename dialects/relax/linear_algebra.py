# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, vectors and tensors."""

from __future__ import annotations

from ..core.attributes import DType, Str
from .dialect import op
from .infer.einsum import einsum
from .infer.linear_algebra import matmul, outer

op("matmul", "x1 x2", attrs={"out_dtype": DType(None, doc="absent: as the operands")}, infer=matmul,
   doc="The product of matrices in the last two dimensions; a vector is a row on the left, else a column.")  # fmt: skip
op("einsum", "*operands", attrs={"subscripts": Str(doc="labels of dimensions, as numpy's: 'ij,jk->ik'")},
   infer=einsum, doc="Products of elements, summed over the labels that the result does not have.")  # fmt: skip
op("outer", "x1 x2", infer=outer, doc="The product of each element of one vector with each of another.")
