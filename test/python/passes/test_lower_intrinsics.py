# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each intrinsic, lowered for llvm and run, against numpy and scipy, special values included."""

from __future__ import annotations

import numpy as np
import pytest
from intrinsic_jit import NUMPY_TYPES, run_intrinsic
from intrinsic_oracle import LONG, ORACLES, distance, operands_for
from relax_mlir.passes.kernels.intrinsics import registry
from relax_mlir.passes.kernels.intrinsics.registry import intrinsic_rules_by_op

FLOATS = ("f16", "bf16", "f32", "f64")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ORACLES)
def test_float_intrinsic_is_within_its_bound(name: str, dtype: str) -> None:
    oracle = ORACLES[name]
    operands = operands_for(name, NUMPY_TYPES[dtype])
    got = run_intrinsic(f"tir.{name}", *operands)
    with np.errstate(all="ignore"):
        expected = np.asarray(oracle.function(*(array.astype(LONG) for array in operands)))
        error = distance(got, expected)
    # Narrow types are rounded once more, from f32.
    bound = oracle.bound if dtype in ("f32", "f64") else max(0.51 if oracle.bound else 0, oracle.bound * 2.0**-8)
    worst = int(np.argmax(error))
    shown = [array[worst] for array in operands]
    assert error[worst] <= bound, f"{name}{shown} = {got[worst]}, not {expected[worst]}"


def rules_behind(target: str) -> dict[str, list[str]]:
    """Return the kinds of a target's own rules for intrinsics with a default rule."""
    behind: dict[str, list[str]] = {}
    for rules in intrinsic_rules_by_op(target).values():
        own = [rule for rule in rules if rule.target == target]
        if own and len(own) < len(rules):
            behind[own[0].op] = [rule.kind for rule in own]
    return behind


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("is_own", [True, False], ids=["own", "default"])
def test_exp_below_vanishes_before_it_underflows(dtype: str, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_own:
        for kind in rules_behind("llvm")["tir.exp_below"]:
            monkeypatch.delitem(registry._RULES.entries["tir.exp_below"], ("llvm", False, kind), raising=False)
    least = -708.0 if dtype == "f64" else -87.0
    x = np.linspace(least, 0, 400).astype(NUMPY_TYPES[dtype])
    expected = np.exp(x.astype(LONG))
    got = run_intrinsic("tir.exp_below", x)
    assert distance(got, expected).max() <= (4 if dtype in ("f32", "f64") else 0.52)
    far = np.array([least * 1.1, -1e4, -np.inf, np.nan]).astype(NUMPY_TYPES[dtype])
    *vanished, unknown = run_intrinsic("tir.exp_below", far).astype("f8")
    assert max(vanished) < (1e-300 if dtype == "f64" else 1e-38) and np.isnan(unknown)
    bits = np.array([-1, -2]).astype(f"i{x.dtype.itemsize}")
    assert np.isnan(run_intrinsic("tir.exp_below", bits.view(x.dtype)).astype("f8")).all()


@pytest.mark.parametrize("name", ["exp10", "hypot", "sigmoid", "tan"])
def test_default_rule_that_llvm_does_not_need(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another target may: here llvm goes without its own rule."""
    for kind in rules_behind("llvm")[f"tir.{name}"]:
        monkeypatch.delitem(registry._RULES.entries[f"tir.{name}"], ("llvm", False, kind), raising=False)
    test_float_intrinsic_is_within_its_bound(name, "f32")


def test_each_default_rule_is_tested() -> None:
    assert sorted(rules_behind("llvm")) == ["tir.exp10", "tir.exp_below", "tir.hypot", "tir.sigmoid", "tir.tan"]
