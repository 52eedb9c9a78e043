# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each intrinsic on a device, against numpy and scipy in more bits, special values included."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from intrinsic_oracle import LONG, ORACLES, distance, operands_for
from real_webgpu import keeps_nan, skip_without
from relax_mlir import te, tir
from relax_mlir.passes.kernels.intrinsics.registry import intrinsic_rules_by_op

#: Tolerances of f32 that differ from f64's, or where devices round twice (docs/webgpu.md), in units in the last place.
_BOUNDS_OF_F32 = {"pow": 40, "sin": 5, "tan": 7}
#: But for f32's fma itself, which WGSL lets devices round twice.
_CASES = [(name, dtype) for name in sorted(ORACLES) for dtype in ("float32", "float64")]
_CASES.remove(("fma", "float32"))


def test_every_intrinsic_has_a_rule() -> None:
    assert not {f"tir.{name}" for name in ORACLES} - set(intrinsic_rules_by_op("webgpu"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), _CASES)
def test_an_intrinsic_is_within_its_bound(name: str, dtype: str) -> None:
    skip_without()
    operands = operands_for(name, np.dtype(dtype))
    if not keeps_nan():
        numbers = ~np.any(np.isnan(operands), axis=0)
        operands = [operand[numbers] for operand in operands]
    size = len(operands[0])
    given = [te.placeholder((size,), dtype, name=f"x{place}") for place in range(len(operands))]
    made = te.compute((size,), lambda i: getattr(tir, name)(*(each[i] for each in given)), name="y")
    got = np.asarray(rx.compile(te.create_prim_func([*given, made]), target="webgpu")["main"](*operands))
    with np.errstate(all="ignore"):
        expected = np.asarray(ORACLES[name].function(*(array.astype(LONG) for array in operands)))
        error = distance(got, expected)
    worst = int(np.argmax(error))
    bound = max(ORACLES[name].bound, _BOUNDS_OF_F32.get(name, 0) if dtype == "float32" else 0)
    shown = [array[worst] for array in operands]
    assert error[worst] <= bound, f"{name}{shown} = {got[worst]}, not {expected[worst]}"
