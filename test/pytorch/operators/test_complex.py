# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers inside of models, as pairs of real numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import check, exported

import relax_mlir as rx


def _numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _pairs(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(x.resolve_conj())


_UNARY = ["neg", "conj", "exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "sgn", "cosh", "sinh", "tanh", "cos",
          "sin", "tan", "sigmoid"]  # fmt: skip


@pytest.mark.parametrize("name", _UNARY)
def test_functions(name: str) -> None:
    function = getattr(torch, name)
    check(lambda x: _pairs(function(torch.view_as_complex(x))), _numbers(5, 4, 2).double())


def test_parts() -> None:
    def parts(x: torch.Tensor) -> list[torch.Tensor]:
        z = torch.view_as_complex(x)
        return [z.real, z.imag, z.abs(), z.angle(), z == z.conj(), torch.isnan(z)]

    x = _numbers(4, 2)
    x[1, 1], x[2, 0] = 0, float("nan")
    check(parts, x, dynamic=True)


def test_large_numbers() -> None:
    """Compute with numbers whose squares overflow."""
    x = torch.tensor([[3e30, 4e30], [1e-30, 1e-30], [0.0, 0.0]])
    check(lambda x: torch.view_as_complex(x).abs(), x)
    check(lambda x: _pairs(torch.view_as_complex(x) / (3e30 + 4e30j)), x)


@pytest.mark.parametrize("join", [torch.add, torch.sub, torch.mul, torch.div])
def test_arithmetic(join: Callable[..., torch.Tensor]) -> None:
    """Combine complex numbers with each other, with real numbers and with constants, of shapes that broadcast."""
    x, y = _numbers(3, 4, 2), _numbers(4, 2, seed=1)
    check(lambda x, y: _pairs(join(torch.view_as_complex(x), torch.view_as_complex(y))), x, y, dynamic=True)
    check(lambda x, y: _pairs(join(torch.view_as_complex(y), x)), _numbers(3, 4), y)
    check(lambda x, y: _pairs(join(x, torch.view_as_complex(y))), _numbers(3, 4), y)
    check(lambda x: _pairs(join(torch.view_as_complex(x), 2 - 3j)), x)


def test_products() -> None:
    x, y = _numbers(2, 3, 4, 2), _numbers(2, 4, 5, 2, seed=1)
    check(lambda x, y: _pairs(torch.view_as_complex(x) @ torch.view_as_complex(y)), x, y)
    check(lambda x, y: _pairs(torch.einsum("bij,bjk->bk", torch.view_as_complex(x), torch.view_as_complex(y))), x, y)
    check(lambda x: _pairs(torch.view_as_complex(x) ** 3), x)


def test_rearranged() -> None:
    def rearranged(x: torch.Tensor) -> list[torch.Tensor]:
        z = torch.view_as_complex(x)
        parts = [z.transpose(0, 1), z[1:, None, ::2], z.reshape(2, -1), torch.cat([z, z * 2j]), z.sum(1), z.mH]
        return [_pairs(each) for each in [*parts, *z.split(2, dim=1), torch.cat([z, x[..., 0]])]]

    check(rearranged, _numbers(4, 6, 2))


def test_made() -> None:
    x, y = _numbers(3, 4), _numbers(4, seed=1)
    check(lambda x, y: _pairs(torch.complex(x, y.expand(3, 4))), x, y)
    check(lambda x, y: _pairs(torch.polar(x.abs(), y.expand(3, 4))), x, y)
    check(lambda x: _pairs(torch.full((3,), 2j) + x[:, 0].to(torch.complex64)), x)


class _Rotary(torch.nn.Module):
    """Rotary embedding in the form of Llama's authors."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(8.0), 10000.0 ** -(torch.arange(0, 6, 2) / 6))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * self.turns[: x.shape[1], None]
        return torch.view_as_real(turned).flatten(3).type_as(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_rotary_embedding(dtype: torch.dtype) -> None:
    check(_Rotary(), _numbers(2, 8, 3, 6).to(dtype))


def test_refused() -> None:
    with pytest.raises(rx.ModelError, match="for complex numbers"):
        rx.from_torch(exported(lambda x: x.cumprod(0), [torch.view_as_complex(_numbers(3, 2))]))


def test_conversions_of_element_types() -> None:
    """Accept torch.export's assertion of an element type after `to`, which autocast may have changed."""

    def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
        with torch.autocast("cpu", enabled=False):
            return _pairs(torch.view_as_complex(x) * turns.to(x.device))

    check(rotated, _numbers(3, 4, 2), _numbers(3, 4, seed=1), dynamic=True)
