# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of torch.compile(backend="relax_mlir"): eager mode's values, strides, storage offsets and aliasing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _compiled(function: Function, *, dynamic: bool | None = False) -> Function:
    return torch.compile(function, backend="relax_mlir", dynamic=dynamic)


def _tensors(outputs: object) -> list[torch.Tensor]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]  # type: ignore[list-item]


def _check(function: Function, compiled: Function, *arguments: Any) -> None:
    """Compare outputs with eager mode's: values, sizes, strides, and which outputs and arguments share memory."""
    found, wanted = _tensors(compiled(*arguments)), _tensors(function(*arguments))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
        assert ours.stride() == theirs.stride()
        assert ours.storage_offset() == theirs.storage_offset()
        assert (ours.is_conj(), ours.is_neg()) == (theirs.is_conj(), theirs.is_neg())
    given = [each for each in arguments if isinstance(each, torch.Tensor)]
    assert _sharing([*given, *found]) == _sharing([*given, *wanted])


def _sharing(tensors: list[torch.Tensor]) -> list[int]:
    """Return, for each tensor, the first tensor with the same storage."""
    storages = [each.untyped_storage()._cdata for each in tensors]
    return [storages.index(each) for each in storages]


_OF_ARGUMENTS: dict[str, Function] = {
    "t": lambda x, n: x.t(),
    "itself": lambda x, n: x,
    "same": lambda x, n: x.view(4, 6),
    "slice": lambda x, n: x[:, 2:],
    "slice by an argument": lambda x, n: x[:, n:],
    "rows from an argument": lambda x, n: x[n:],
    "split by an argument": lambda x, n: torch.split(x, n, -1),
    "chunk": lambda x, n: x.chunk(2, 1),
    "narrow": lambda x, n: x.narrow(1, n, 2),
    "select": lambda x, n: x.select(1, n),
    "expand": lambda x, n: x[:, :1].expand(4, n),
    "with results": lambda x, n: (x + n, x[n:].t(), x * 2),
    "other type": lambda x, n: x.view(torch.int32)[1:],
}


@pytest.mark.parametrize("dynamic", [False, None, True])
@pytest.mark.parametrize("name", _OF_ARGUMENTS)
def test_views_of_arguments(name: str, dynamic: bool | None) -> None:
    function = _OF_ARGUMENTS[name]
    compiled = _compiled(function, dynamic=dynamic)
    for n in (2, 3):
        _check(function, compiled, torch.arange(24.0).view(4, 6), n)


_OF_RESULTS: dict[str, Function] = {
    "transposed": lambda x: x.t() * 2,
    "row and whole": lambda x: ((y := x * 2), y[0]),
    "row alone": lambda x: (x * 2)[1],
    "unbound": lambda x: (x + 1).unbind(0),
    "detached": lambda x: ((y := x + 1), y.detach()),
    "column and transposed": lambda x: ((y := x.t() * 2)[:, 0], y.t(), y.flatten()),
    "expanded": lambda x: (x.sum(0, keepdim=True) * 2).expand(3, -1),
    "step": lambda x: (x * 2)[:, ::2],
    "diagonal": lambda x: torch.diagonal(x * 2),
    "windows": lambda x: (x * 2).unfold(1, 2, 1),
    "places": lambda x: (x > 0).nonzero(),
    "column of places": lambda x: (x > 0).nonzero()[:, 1],
    "part of data's length": lambda x: ((y := x * 2), y[: (x > 1).sum().item()]),
    "nothing": lambda x: (x * 2)[:0].t(),
    "one": lambda x: (x[:1, :, None] * 2).transpose(0, 1),
    "conjugate": lambda x: torch.complex(x, x + 1).conj(),
    "imaginary part": lambda x: torch.complex(x, x + 1).conj().imag,
    "parts of complex numbers": lambda x: torch.view_as_real(torch.complex(x, x + 1))[:, 1],
    "bytes": lambda x: (x * 2).view(torch.uint8)[:, 4:],
    "with gaps": lambda x: torch.empty_strided((3, 4), (10, 2)).copy_(x)[1:],
    "made with other strides": lambda x: x.new_empty_strided((3, 4), (1, 3)).copy_(x),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", _OF_RESULTS)
def test_views_of_results(name: str, dynamic: bool) -> None:
    function = _OF_RESULTS[name]
    compiled = _compiled(function, dynamic=dynamic)
    _check(function, compiled, torch.arange(12.0).view(3, 4) - 4)
    _check(function, compiled, torch.arange(12.0).view(3, 4) - 6)


def test_a_view_of_memory_that_begins_elsewhere() -> None:
    """Pass an argument with another storage offset than in the first call."""
    compiled = _compiled(lambda x: (x[1:], x + 1))
    memory = torch.arange(20.0)
    for start in (0, 4, 7):
        _check(lambda x: (x[1:], x + 1), compiled, memory[start : start + 6])


@pytest.mark.parametrize("dynamic", [False, True])
def test_channels_stay_last(dynamic: bool) -> None:
    convolution = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 9).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        _check(convolution, _compiled(convolution, dynamic=dynamic), x)
        _check(torch.relu, _compiled(torch.relu, dynamic=dynamic), x[:1])


def _row_of_result(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    v = y[0]
    torch._dynamo.graph_break()
    v.add_(1)
    return y


def _unbound(x: torch.Tensor) -> torch.Tensor:
    y = x + torch.zeros(2, 2, 3)
    a, _ = y.unbind(0)
    torch._dynamo.graph_break()
    a.zero_()
    return y


def _as_strided(x: torch.Tensor) -> torch.Tensor:
    y = x.t() * 2
    torch._dynamo.graph_break()
    return y.as_strided((6,), (1,))


def _viewed(x: torch.Tensor) -> torch.Tensor:
    y = x.t() * 2
    torch._dynamo.graph_break()
    return y.t().view(-1)


@pytest.mark.parametrize("function", [_row_of_result, _unbound, _as_strided, _viewed])
def test_memory_behind_a_graph_break(function: Function) -> None:
    x = torch.arange(6.0).view(2, 3)
    torch.testing.assert_close(_compiled(function)(x), function(x))


def test_a_callers_write_reaches_the_other_output() -> None:
    y, row = _compiled(lambda x: ((y := x * 2), y[0]))(torch.ones(2, 3))
    row.add_(1)
    assert y.tolist() == [[3, 3, 3], [2, 2, 2]]


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_step_of_training_with_views(dynamic: bool) -> None:
    """Return views that are saved for the backward step, and views as gradients."""

    def step(function: Function) -> list[torch.Tensor]:
        x, w = (torch.arange(1.0, 13).view(3, 4).requires_grad_() for _ in range(2))
        y, z = function(x, w)
        (y.sum() + (z * z).sum()).backward()
        assert x.grad is not None and w.grad is not None
        return [y, z, x.grad, w.grad]

    def model(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.sin(x) @ w.t()
        return y[1:].t(), (x * w).t()[1]

    found, wanted = step(_compiled(model, dynamic=dynamic)), step(model)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
        assert ours.stride() == theirs.stride()


def test_an_assertion_holds_without_results() -> None:
    def checked(x: torch.Tensor) -> torch.Tensor:
        torch._assert_async((x > 0).all(), "not above 0")
        return x.t()

    compiled = _compiled(checked)
    assert compiled(torch.ones(2, 3)).shape == (3, 2)
    with pytest.raises(Exception, match="not above 0"):
        compiled(-torch.ones(2, 3))


_F = torch.nn.functional
_SUMS_WITH_PRODUCTS: dict[str, Function] = {
    "addmm": lambda a, b, c: torch.addmm(c, a, b, beta=-0.9, alpha=1.1),
    "addmv": lambda a, b, c: torch.addmv(c[0], a, b[0], beta=3.3, alpha=0.7),
    "addr": lambda a, b, c: torch.addr(c, a[0], b[0], beta=0.3, alpha=0.7),
    "addbmm": lambda a, b, c: torch.addbmm(c, torch.stack([a, b]), torch.stack([b, a]), beta=0.3, alpha=0.7),
    "linear": lambda a, b, c: _F.linear(a, b, c[0]),
    "conv1d": lambda a, b, c: _F.conv1d(a[None], b.view(32, 32, 1), 10 * c[0]),
    "conv_transpose1d": lambda a, b, c: _F.conv_transpose1d(a[None], b.view(32, 32, 1), 10 * c[0]),
    "lerp": lambda a, b, c: torch.lerp(a, b, 0.3),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_sums_with_products_are_rounded_once(dtype: torch.dtype) -> None:
    """Stay as close to the results in f64 as eager mode, which adds in f32."""
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(32, 32, generator=generator).to(dtype) for _ in range(3)]
    for name, function in _SUMS_WITH_PRODUCTS.items():
        exact = function(*(each.double() for each in given))
        theirs, ours = ((call(*given) - exact).norm() for call in (function, _compiled(function)))
        assert ours <= 1.1 * theirs, f"{name}: distance {ours} from f64, eager mode's is {theirs}"
