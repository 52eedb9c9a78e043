# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short forms for types of operands and for refusals."""

from __future__ import annotations

from typing import Any

import pytest
from inferring import build_function
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import parse
from relax_mlir.support.errors import RelaxError


def tensor(*dims: int | str | None, dtype: str = "f32") -> TensorInfo:
    """Return a type: `tensor(2, "n", None)` has sizes, expressions over symbols, and unknown sizes."""
    return TensorInfo(tuple(parse(dim) if isinstance(dim, str) else dim for dim in dims), dtype)


def unranked(dtype: str = "f32") -> TensorInfo:
    return TensorInfo(None, dtype)


def refusal(op_name: str, *operands: Any, **arguments: Any) -> str:
    """Return the builder's message for a refused operator, with operands as in inferring.build_function."""
    with pytest.raises(RelaxError) as caught:
        build_function(op_name, *operands, **arguments)
    return str(caught.value)
