# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and scans, also of complex numbers; graphs among options; objects that are no graph."""

from __future__ import annotations

import pytest
import torch
from imported import check, exported
from torch._higher_order_ops import (
    InvokeQuant,
    scan,
    triton_kernel_wrap,  # noqa: F401  # which registers its operators
    while_loop,
)
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op

import relax_mlir as rx

hop = torch.ops.higher_order


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_states_after_each_turn() -> None:
    def states(start: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return hop.while_loop_stack_output(lambda i, x: i < 3, lambda i, x: (i + 1, x.cos()), (start, x), ())

    x = _numbers(2, 3)
    check(states, torch.tensor(0), x, others=[(torch.tensor(2), x), (torch.tensor(3), x)])


def test_associative_scans() -> None:
    def pairs(x: torch.Tensor) -> list[torch.Tensor]:
        return associative_scan_op(lambda a, b, c, d: (a * c, b * c + d), [x, x + 1], ())

    check(pairs, _numbers(6, 2), dynamic=True, others=[(_numbers(1, 2),), (_numbers(9, 2),)])
    check(lambda x: associative_scan(torch.add, x, 1, combine_mode="generic"), _numbers(3, 5))


def test_complex_numbers_in_branches_and_loops() -> None:
    def branches(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda z: z * 2, lambda z: z + 1j, (torch.complex(x, x + 1),))

    def loops(x: torch.Tensor) -> list[torch.Tensor]:
        z = torch.complex(x, x + 1)
        after, _ = while_loop(lambda z, i: i < 3, lambda z, i: (z * 1j, i + 1), (z, torch.tensor(0)))
        last, rows = scan(lambda held, row: (held * row, held + row.abs()), z[0], z)
        (products,) = associative_scan_op(lambda a, b: (a * b,), [z], ())
        return [after, last, rows, products, map_rows(lambda row, y: row * y.real, z, x[1] * 1j + 2)]

    x = _numbers(3, 2)
    check(branches, x.abs(), others=[(-x.abs(),)])
    check(loops, x)


def test_graphs_among_settings() -> None:
    def settings(x: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            y = x.sin()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = y @ y
        return [torch.utils.checkpoint.checkpoint(torch.cos, y, use_reentrant=False), z]

    check(settings, torch.eye(3))


def test_quantized_graphs() -> None:
    quantized = torch.compile(lambda x: InvokeQuant()(lambda x, y: (x.sin() * y,), x, x)[0], backend="relax_mlir")
    x = _numbers(3)
    torch.testing.assert_close(quantized(x), x.sin() * x)


@pytest.mark.parametrize("operator", [torch.ops.aten.mm.default, torch.ops.aten.mul.Tensor])
def test_operators_with_wider_results(operator: torch._ops.OpOverload) -> None:
    x = torch.full((3, 3), 100, dtype=torch.int8)
    check(lambda x, y: hop.out_dtype(operator, torch.int32, x, y), x, x + 1)


def test_what_is_no_graph_is_refused() -> None:
    class Opaque(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    program = exported(Opaque(), [_numbers(3)])
    (node,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
    node.target = hop.triton_kernel_wrapper_functional
    with pytest.raises(rx.ModelError, match="a kernel in Triton, which GPUs run"):
        rx.from_torch(program)
