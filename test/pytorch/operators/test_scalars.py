# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and conditions that depend on sizes or elements, and assertions about them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from imported import check, exported
from relax_mlir_torch.compile.torch_compile import torch_backend

import relax_mlir as rx


class CheckAll(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._check_tensor_all(x.sum() > 0, lambda: "the sum must be positive")
        return x * 2


class CheckNumber(torch.nn.Module):
    """Module whose assertion determines the number: torch's own expression of the condition is `True`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        number = x[0].to(torch.int64).item()
        torch._check(number == 3, lambda: "{the first} must be 3")
        return x[:number] * number


GIVEN = {CheckAll: ([1.0, 2.0], [-1.0, -2.0]), CheckNumber: ([3.0] * 4, [2.0] * 4)}


@pytest.mark.parametrize("model", GIVEN)
def test_failed_checks_raise_runtime_errors(model: type[torch.nn.Module]) -> None:
    good, bad = map(torch.tensor, GIVEN[model])
    main = rx.compile(rx.from_torch(model(), (good,)))["main"]
    torch.testing.assert_close(main(good), model()(good))
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        main(bad)


def test_failed_checks_of_compiled_models() -> None:
    torch._dynamo.reset()
    good, bad = map(torch.tensor, GIVEN[CheckNumber])
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(CheckNumber(), backend=torch_backend)
        torch.testing.assert_close(compiled(good), CheckNumber()(good))
        with pytest.raises(RuntimeError, match=r"Runtime assertion failed|must be 3"):
            compiled(bad)


def test_checked_sizes_of_compiled_models() -> None:
    def places(x: torch.Tensor) -> torch.Tensor:
        found = x.nonzero()
        torch._check(found.size(0) == 2)
        return found + 1

    torch._dynamo.reset()
    good, bad = torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(places, backend=torch_backend)
        torch.testing.assert_close(compiled(good), places(good))
        with pytest.raises(RuntimeError, match="expected 2, got 1"):
            compiled(bad)


def test_asserted_tensors() -> None:
    def asserted(x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten._assert_async.msg(x.sum() > 0, "not positive")
        torch.ops.aten._assert_tensor_metadata(x, None, None, torch.float32)
        return x + 1

    check(asserted, torch.ones(2))
    main = rx.compile(rx.from_torch(exported(asserted, [torch.ones(2)])))["main"]
    with pytest.raises(RuntimeError, match="not positive"):
        main(-torch.ones(2))


def test_all_and_any() -> None:
    aten = torch.ops.aten
    check(lambda x: (aten._is_all_true(x), aten._is_any_true(x)), torch.tensor([True, False]),
          others=[[torch.tensor([True, True])], [torch.tensor([False, False])]])  # fmt: skip


_NUMBERS: dict[str, Callable[[int], float]] = {
    "quotient": lambda n: n / 3,
    "root": lambda n: torch._sym_sqrt(n),
    "power": lambda n: n**0.5,
    "rounded": lambda n: round(n / 3),
    "rounded to digits": lambda n: round(n / 3, 2),
    "rounded to tens": lambda n: round(n * 7.3, -1),
    "truncated": lambda n: torch.sym_int(n / 3) + math.floor(n / 7) + math.ceil(n / 7) + math.trunc(n / 2),
    "shifted": lambda n: (n << 2) + (n >> 1),
    "bits": lambda n: (n & 6) + (n | 9),
    "extremes": lambda n: torch.sym_max(n, 7) * 3 + torch.sym_min(n, 4) + max(n, 6.5),
    "chosen": lambda n: torch.sym_ite(n > 6, 5, 2),
    "sum": lambda n: torch.sym_sum([n, n * 2, 1]),
    "remainder of floats": lambda n: (n / 2) % 3,
}


def test_numbers_of_sizes() -> None:
    def scaled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x.double() * number(x.shape[0]) for number in _NUMBERS.values())

    check(scaled, torch.ones(5), dynamic=True, others=[[torch.ones(8)], [torch.ones(13)]])


def test_functions_of_sizes() -> None:
    """Use functions of sizes that torch.export refuses."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x.double() * (math.sin(n) + math.atan(n / 9) + math.cosh(n / 5) + math.log2(n))

    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend=torch_backend, dynamic=True)
    for size in (5, 8):
        torch.testing.assert_close(compiled(torch.ones(size)), scaled(torch.ones(size)))


def test_numbers_of_elements() -> None:
    """Compute scalars that depend on elements while the program runs."""

    def scaled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = x.item()
        return tuple(torch.ones(2).double() * number(n) for name, number in _NUMBERS.items() if name != "extremes")

    check(scaled, torch.tensor(5), others=[[torch.tensor(9)]])


def test_rounding_to_decimals() -> None:
    check(lambda x: (x.round(decimals=1), x.round(decimals=-1), x.round()), torch.randn(3, 5) * 30)
