# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each intrinsic of cuda by libdevice, run on the CPU, against numpy and scipy, special values included."""

from __future__ import annotations

import numpy as np
import pytest
from intrinsic_jit import NUMPY_TYPES
from intrinsic_oracle import LONG, ORACLES, distance, operands_for
from libdevice_jit import run_on_cuda
from relax_mlir.passes.kernels.intrinsics.registry import intrinsic_rules_by_op
from relax_mlir.targets.cuda.intrinsics.libdevice import FAST

# The default's rules are tested where llvm takes them.
OWN = sorted(
    name.removeprefix("tir.")
    for name, rules in intrinsic_rules_by_op("cuda").items()
    if rules[0].target == "cuda" and "call" not in name
)
# The reference values, with 64 bits of pi, have the same error near zeros.
NEAR_ZEROS = frozenset({"sinpi", "cospi", "tanpi", "sinc"})


def test_every_intrinsic_has_a_rule() -> None:
    lacking = {f"tir.{name}" for name in ORACLES} - set(intrinsic_rules_by_op("cuda"))
    assert not lacking


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", OWN)
def test_an_intrinsic_is_within_its_bound(name: str, dtype: str) -> None:
    operands = operands_for(name, NUMPY_TYPES[dtype])
    got = run_on_cuda(f"tir.{name}", *operands)
    with np.errstate(all="ignore"):
        expected = np.asarray(ORACLES[name].function(*(array.astype(LONG) for array in operands)))
        error = distance(got, expected)
    bound = ORACLES[name].bound + (12 if name in NEAR_ZEROS and dtype == "f64" else 0)
    worst = int(np.argmax(error))
    shown = [array[worst] for array in operands]
    assert error[worst] <= bound, f"{name}{shown} = {got[worst]}, not {expected[worst]}"


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["exp", "pow", "tgamma"])
def test_narrow_types_go_through_f32(name: str, dtype: str) -> None:
    operands = operands_for(name, NUMPY_TYPES[dtype])
    got = run_on_cuda(f"tir.{name}", *operands)
    with np.errstate(all="ignore"):
        expected = np.asarray(ORACLES[name].function(*(array.astype(LONG) for array in operands)))
        assert distance(got, expected).max() <= 0.51


@pytest.mark.parametrize("name", ["tanh", *(each.removeprefix("tir.") for each in FAST)])
def test_fast_math_is_near(name: str) -> None:
    """Run on the CPU, where ex2.approx and the like are exact: the remaining error is that of the short formulas."""
    x = np.linspace(0.1, 3.0, 500, dtype=np.float32)
    operands = [x] * ORACLES[name].operands
    got = run_on_cuda(f"tir.{name}", *operands, fast_math=True)
    exact = run_on_cuda(f"tir.{name}", *operands)
    expected = np.asarray(ORACLES[name].function(*(array.astype(np.float64) for array in operands)))
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)
    assert (got != exact).any(), "fast math took the exact rule"
