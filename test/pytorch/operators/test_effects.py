# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Effects, and the tokens that define their order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import exported

import relax_mlir as rx

Model = Callable[[torch.Tensor], torch.Tensor]


def _with_tokens(function: Model) -> Model:
    program = exported(function, [torch.ones(2)]).run_decompositions({})
    assert any(each.kind.name == "TOKEN" for each in program.graph_signature.input_specs)
    return rx.compile(rx.from_torch(program))["main"]


def _without(function: Model) -> Model:
    return rx.compile(rx.from_torch(exported(function, [torch.ones(2)])))["main"]


def _compiled(function: Model) -> Model:
    return torch.compile(function, backend="relax_mlir")


@pytest.mark.parametrize("how", [_with_tokens, _without, _compiled])
def test_prints_are_in_their_order(how: Callable[[Model], Model], capsys: pytest.CaptureFixture[str]) -> None:
    def printed(x: torch.Tensor) -> torch.Tensor:
        torch._higher_order_ops.print("{} {n:>4} {{}}", x[0], n=x[1])
        torch._higher_order_ops.print("{1} {0}", x[1], x[0] + 4)
        return x + 1

    run = how(printed)
    capsys.readouterr()
    assert run(torch.tensor([2.0, 3.0])).tolist() == [3, 4]
    assert capsys.readouterr().out == "2.0  3.0 {}\n6.0 3.0\n"


@pytest.mark.parametrize("how", [_with_tokens, _without])
def test_texts_and_assertions(how: Callable[[Model], Model], capsys: pytest.CaptureFixture[str]) -> None:
    def asserted(x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten._print("{text}")
        torch.ops.aten._assert_async.msg((x > 0).all(), "all are above 0")
        return x + 1

    run = how(asserted)
    capsys.readouterr()
    assert run(torch.tensor([2.0, 3.0])).tolist() == [3, 4]
    assert capsys.readouterr().out == "{text}\n"
    with pytest.raises(Exception, match="all are above 0"):
        run(torch.tensor([2.0, -3.0]))


def test_tokens_of_functional_assertions() -> None:
    def asserted(x: torch.Tensor) -> torch.Tensor:
        token = torch.ops.aten._make_dep_token()
        token = torch.ops.aten._functional_assert_async.msg((x > 0).all(), "all are above 0", token)
        torch.ops.aten._functional_assert_async.msg((x < 9).all(), "all are below 9", token)
        return x + 1

    run = _without(asserted)
    assert run(torch.tensor([2.0, 3.0])).tolist() == [3, 4]
    for wrong, text in ((-3.0, "all are above 0"), (10.0, "all are below 9")):
        with pytest.raises(Exception, match=text):
            run(torch.tensor([2.0, wrong]))
