# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of contract-1.rxa, an artifact of format 3 with a part by contract_1_codegen.py.

The artifact must not change: it represents artifacts of users. Run this script only for a file with a new name:

    PYTHONPATH=test/python/helpers python test/python/runtime/make_contract_1.py contract-2.rxa
"""

from __future__ import annotations

import sys

import contract_1_codegen  # noqa: F401  # registers the codegen
import numpy

import relax_mlir as rx
from relax_mlir import relax

TARGET = "llvm{triple=x86_64-unknown-linux-gnu cpu=x86-64}"


def weights() -> tuple[numpy.ndarray, numpy.ndarray]:
    steps = numpy.arange(24, dtype="float32").reshape(6, 4) / 8 - 1
    return steps, steps[0] + 0.5


def model() -> rx.Module:
    """Return a layer for the codegen, and a sign for the target."""
    module = rx.Module()
    w, bias = weights()
    with module.function("main", [rx.tensor(("n", 6))]) as f:
        y = relax.nn.relu(relax.add(relax.matmul(*f, relax.const(w)), relax.const(bias)))
        f.returns(relax.negative(y))
    return module


def expected(x: numpy.ndarray) -> numpy.ndarray:
    w, bias = weights()
    return -numpy.maximum(x @ w + bias, 0)


if __name__ == "__main__":
    rx.compile(model(), TARGET, partition="contract_1", strict_partition=True).save(sys.argv[1])
