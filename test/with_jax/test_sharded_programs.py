# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of jax for several devices, on threads: results equal jax's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as rx

PROGRAM = Path(__file__).with_name("sharded_programs.py")
NAMES = re.findall(r'^    "(\w+)": \(', PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("programs")
    subprocess.run([sys.executable, str(PROGRAM), str(path)], check=True, timeout=300)
    return path


@pytest.mark.parametrize("planner", ["rule", "shardy"])
@pytest.mark.parametrize("name", NAMES)
def test_programs_for_four_devices(name: str, planner: str, folder: Path) -> None:
    values = np.load(folder / f"{name}.npz")
    arguments = [values[key] for key in values if key.startswith("argument")]
    expected = [values[key] for key in values if key.startswith("result")]
    sharded = rx.shard(rx.from_stablehlo(folder / f"{name}.mlir"), planner=planner)
    with rx.launch(rx.compile(sharded, opt_level=0), ranks=4, timeout=60) as ranks:
        results = ranks["main"](*arguments)
    for result, value in zip(results if isinstance(results, tuple) else (results,), expected, strict=True):
        found = result[..., 0] + 1j * result[..., 1] if np.iscomplexobj(value) else result
        assert (found.shape, found.dtype) == (value.shape, value.dtype)
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5)
    collectives = set(re.findall(r'"ccl\.(\w+)"', str(sharded)))
    assert bool(collectives - {"part"}) == (name not in ("attention", "uneven", "axis_index")), collectives
    assert "view" not in collectives
