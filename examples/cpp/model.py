# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the model of the C++ examples, a dense layer, to a file: `python model.py model.mlir`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

import relax_mlir as rx
from relax_mlir import relax

WEIGHTS = numpy.linspace(-1, 1, 4 * 1000, dtype="float32").reshape(4, 1000)
BIAS = numpy.arange(8, dtype="float32")


def model() -> rx.Module:
    """Return x @ weights + bias for any number of rows: its first 8 columns."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        product = relax.matmul(*f, relax.const(WEIGHTS))
        f.returns(relax.add(relax.strided_slice(product, axes=[1], begin=[0], end=[8]), relax.const(BIAS)))
    return module


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(str(model()), encoding="utf-8")
