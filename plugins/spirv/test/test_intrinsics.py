# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each intrinsic, run by real drivers of Vulkan and OpenCL, against numpy and scipy, special values included."""

from __future__ import annotations

import numpy as np
import pytest
import real_devices
from intrinsic_oracle import LONG, ORACLES, distance, operands_for
from relax_mlir.passes.kernels.intrinsics.registry import intrinsic_rules_by_op
from spirv_intrinsics import run


@pytest.mark.parametrize("kind", real_devices.KINDS)
def test_every_intrinsic_has_a_rule(kind: str) -> None:
    lacking = {f"tir.{name}" for name in ORACLES} - set(intrinsic_rules_by_op(kind))
    assert not lacking


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(ORACLES))
@pytest.mark.parametrize("kind", real_devices.KINDS)
def test_an_intrinsic_is_within_its_bound(kind: str, name: str, dtype: str) -> None:
    real_devices.skip_without(kind)
    operands = operands_for(name, np.dtype(dtype))
    if kind == "vulkan" and (name, dtype) == ("fma", "float64"):
        # Where the device does not do it (lavapipe), products that are too large have no parts.
        operands = [np.where(np.abs(each) < 1e150, each, 1.0) for each in operands]
    got = run(name, real_devices.target(kind), *operands)
    with np.errstate(all="ignore"):
        expected = np.asarray(ORACLES[name].function(*(array.astype(LONG) for array in operands)))
        error = distance(got, expected)
    worst = int(np.argmax(error))
    shown = [array[worst] for array in operands]
    assert error[worst] <= ORACLES[name].bound, f"{name}{shown} = {got[worst]}, not {expected[worst]}"
