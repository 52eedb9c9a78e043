# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that return views, by the method of updating their tensor."""

from __future__ import annotations

#: Views with all elements in the same order.
_RESHAPED = """view.default unsqueeze.default squeeze.default squeeze.dim squeeze.dims alias.default detach.default
unflatten.int view_as.default""".split()
PERMUTED = "transpose.int permute.default t.default".split()
PARTS = "slice.Tensor select.int diagonal.default".split()
#: Views through which a tensor can be updated.
WRITABLE = frozenset(f"aten::{name}" for name in (*_RESHAPED, *PERMUTED, *PARTS))
_OTHERS = "expand.default split.Tensor split_with_sizes.default unbind.int unfold.default view_as_real.default".split()
#: Views that are recomputed after an update. Others, such as reshape and flatten, may be copies.
RETAKEN = WRITABLE | {"_operator::getitem", *(f"aten::{name}" for name in _OTHERS)}
