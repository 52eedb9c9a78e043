# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of blocks with shared subexpressions: written out, n steps would be 2 ** n operations."""

from __future__ import annotations

import pytest

import relax_mlir as rx


def doubled(steps: int) -> rx.Module:
    """Return b = a after a number of doublings."""
    lines = [f"%{step + 1} = arith.addf %{step}, %{step} : f32" for step in range(steps)]
    return rx.Module.parse(f"""
func.func @double(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> attributes {{tir.prim_func}} {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}} ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {{
  ^bb0(%0: f32, %out: f32):
    {chr(10).join(lines)}
    linalg.yield %{steps} : f32
  }} -> tensor<8xf32>
  return %r : tensor<8xf32>
}}
""")


def test_a_short_block_is_one_expression() -> None:
    shown = rx.Schedule(doubled(2)).show()
    assert "= arg0[vi] + arg0[vi] + (arg0[vi] + arg0[vi])" in shown and "t0" not in shown


@pytest.mark.parametrize("steps", [8, 60])
def test_parts_that_a_long_block_shares_are_written_once(steps: int) -> None:
    shown = rx.Schedule(doubled(steps)).show()
    assert "t0 = arg0[vi] + arg0[vi]\n" in shown and "t1 = t0 + t0\n" in shown
    assert f"= t{steps - 2} + t{steps - 2}\n" in shown and len(shown) < 100 * steps


def test_a_refusal_shows_them_as_well() -> None:
    """Refuse an intrinsic that computes something else."""
    schedule = rx.Schedule(doubled(60))
    (loop,) = schedule.get_loops(schedule.get_block("double"))
    rx.register_tensor_intrin("tests.doubled_thrice", doubled(3))(lambda a, b: None)
    with pytest.raises(rx.RelaxError) as raised:
        schedule.tensorize(loop, "tests.doubled_thrice")
    assert "t1 = t0 + t0;" in str(raised.value) and len(str(raised.value)) < 20_000
