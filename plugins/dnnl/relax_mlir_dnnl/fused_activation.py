# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation that several operations of a graph compute together."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir.rewriting import Operation, Value


class Activation(NamedTuple):
    """Activation in a graph: oneDNN's algorithm with alpha and beta, the input, and all operations but the last."""

    algorithm: int
    alpha: float
    beta: float
    source: Value
    inner: frozenset[Operation]
    #: True if NaN must become 0.
    drops_nan: bool = False
