# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation and runs of programs in te."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_mlir as rx
from relax_mlir import te


def run(tensors: list[Any], *arrays: np.ndarray) -> Any:
    made = rx.compile(te.create_prim_func(tensors))["main"](*arrays)
    return [np.from_dlpack(each) for each in made] if isinstance(made, (tuple, list)) else np.from_dlpack(made)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")
