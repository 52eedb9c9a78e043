# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f8 with scales, torch._scaled_mm, beside eager mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
#: Scales of whole matrices, and of rows and columns.
SCALES = {"one": (torch.tensor(0.5), torch.tensor(2.0)), "many": (torch.rand(5, 1) + 1, torch.rand(1, 16) + 1)}


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("dtypes", [(E4M3, E4M3), (E5M2, E4M3)], ids=str)
@pytest.mark.parametrize("out_dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_of_f8(scales: str, dtypes: Any, out_dtype: torch.dtype, has_bias: bool) -> None:
    torch.manual_seed(0)
    left, right = torch.randn(5, 32).to(dtypes[0]), torch.randn(16, 32).to(dtypes[1]).t()
    bias = torch.randn(16).to(out_dtype) if has_bias else None

    def function(left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return torch._scaled_mm(left, right, *SCALES[scales], bias=bias, out_dtype=out_dtype)

    compiled = torch.compile(function, backend="relax_mlir", options={"fallback": "error"})
    found, expected = compiled(left, right, bias), function(left, right, bias)
    assert found.dtype == out_dtype
    # Sums in another order may be rounded to the next number.
    torch.testing.assert_close(found, expected, rtol=2**-7 if out_dtype == torch.bfloat16 else 1e-5, atol=1e-5)
