# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU's kernels do as steps: they give what the kernels give, and can be changed, in files of schedules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulated_gpu import run_emulated
from schedule_kernels import KERNELS, Kernel

import relax_mlir as rx

TARGET = "cuda{arch=sm_80}"


def results(program: rx.Executable, arrays: list[np.ndarray]) -> list[np.ndarray]:
    given = run_emulated(program, *arrays)
    return [np.from_dlpack(each) for each in (given if isinstance(given, tuple) else (given,))]


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_steps_give_what_kernels_give(each: Kernel, tmp_path: Path) -> None:
    module = each.module()
    text = rx.schedules.chosen(module, TARGET)
    assert f"def {each.name}(sch):" in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    scheduled = rx.compile(module, TARGET, schedules=file)
    for seed in range(3):
        arrays = each.arrays(seed)
        expected = each.expected(*arrays)
        for other, found in zip(
            expected if isinstance(expected, tuple) else (expected,), results(scheduled, arrays), strict=True
        ):
            np.testing.assert_allclose(found, other, rtol=1e-4, atol=1e-4)
