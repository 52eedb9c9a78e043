# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that become parts for external codegens: construction, and comparison with the default path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name, use_count
from relax_mlir.dialects.core.dialect import row_of

import relax_mlir as rx


def built(body: Any, *inputs: Any) -> rx.Module:
    """Return a module whose `main` has inputs of these shapes, or of the types that `rx.tensor` gives."""
    module = rx.Module()
    infos = [rx.tensor(each) if isinstance(each, tuple) and not hasattr(each, "dtype") else each for each in inputs]
    with module.function("main", infos) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def main_of(module: rx.Module) -> Any:
    """Return the block of `main`."""
    return body_of({symbol_name(each): each for each in functions_in(module.operation)}["main"])


def is_left(op: Any) -> bool:
    """Check whether no part computes an operation: constants, shapes, the terminator, and unused operations."""
    row = row_of(op)
    is_stated = op.name in ("arith.constant", "func.return") or (row is not None and row.role in ("literal", "shape"))
    return is_stated or not any(map(use_count, op.results))


def assert_close(expected: Sequence[Any], made: Sequence[Any], tolerance: float) -> None:
    """Compare with a tolerance relative to each number, and to the largest one of its array."""
    for one, other in zip(expected, made, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        wide, found = (each.astype("float64") for each in (one, other))
        scale = max(1.0, float(numpy.abs(wide[numpy.isfinite(wide)]).max(initial=0)))
        numpy.testing.assert_allclose(found, wide, rtol=tolerance, atol=tolerance * scale)
