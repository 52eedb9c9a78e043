# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom operators that change their arguments."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from imported import check, exported

import relax_mlir as rx
from relax_mlir import relax


@torch.library.custom_op("relax_mlir_changing::increase", mutates_args=("x",))
def increase(x: torch.Tensor, count: int = 1) -> None:
    x.add_(count)


@rx.register_torch("relax_mlir_changing::increase.default")
def _increase(node: Any) -> Any:
    x = node.tensor("x")
    return relax.add(x, relax.const(node.int("count"), node.dtype))


@torch.library.custom_op("relax_mlir_changing::exchange", mutates_args=("x", "others"))
def exchange(x: torch.Tensor, y: torch.Tensor, others: list[torch.Tensor]) -> torch.Tensor:
    before = x.clone()
    x.copy_(others[0])
    for each in others:
        each.mul_(2)
    return before + y


exchange.register_fake(lambda x, y, others: torch.empty_like(x))


@rx.register_torch("relax_mlir_changing::exchange.default")
def _exchange(node: Any) -> Any:
    others = node.tensors("others")
    return [relax.add(node.tensor("x"), node.tensor("y")), others[0], *(relax.add(each, each) for each in others)]


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def changed(x: torch.Tensor) -> torch.Tensor:
    """Whole tensors, slices, and views of other ranks."""
    y = x * 2
    increase(y)
    increase(y[1:], 2)
    increase(y[0], 3)
    increase(y[:, 1], 4)
    return y + y[:2].sum()


@pytest.mark.parametrize("dynamic", [False, True])
def test_tensors_and_views_of_them(dynamic: bool) -> None:
    check(changed, _numbers(4, 3), dynamic=dynamic)


def test_transposed_tensors() -> None:
    def transposed(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_strided((3, 4), (1, 3)).copy_(x)
        increase(y[1])
        increase(y.T[1:3])
        return y

    check(transposed, _numbers(3, 4))


def test_results_and_lists() -> None:
    def exchanged(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        x, y = x * 1, y * 1
        return [exchange(x[0], y[0], [y[1], x[1]]), x, y]

    check(exchanged, _numbers(3, 4), _numbers(2, 4) + 1)


def test_arguments_of_the_model() -> None:
    def updated(x: torch.Tensor) -> torch.Tensor:
        increase(x)
        return x * 2

    main = rx.compile(rx.from_torch(exported(updated, [torch.ones(2)])))["main"]
    result, x = main(torch.ones(2))
    assert (result.tolist(), x.tolist()) == ([4, 4], [2, 2])


def test_through_torch_compile() -> None:
    x = _numbers(4, 3)
    torch.testing.assert_close(torch.compile(changed, backend="relax_mlir")(x), changed(x))


@torch.library.custom_op("relax_mlir_changing::unknown", mutates_args=("x",))
def unknown(x: torch.Tensor) -> None:
    x.zero_()


@torch.library.custom_op("relax_mlir_changing::counted", mutates_args=("x",))
def counted(x: torch.Tensor, count: int) -> None:
    x.zero_()


@rx.register_torch("relax_mlir_changing::counted.default")
def _counted(node: Any) -> Any:
    x = node.tensor("x")
    return [x, x] if node.int("count") else relax.astype(x, "float64")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            unknown,
            r"no converter of relax_mlir_changing::unknown.default(.|\n)*# the new value of x, with relax's operators",
        ),
        (lambda x: counted(x, 1), "counted.default must return the new value of 'x': it returns 2 values"),
        (lambda x: counted(x, 0), r"must return the new value of 'x', f32 \[2\]: it returns f64 \[2\]"),
    ],
    ids=["no converter", "number", "type"],
)
def test_converters_that_do_not_fit(call: Any, message: str) -> None:
    def called(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        call(y)
        return y

    with pytest.raises(rx.ModelError, match=message):
        rx.from_torch(exported(called, [torch.ones(2)]))
