# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same module gives the same bytes in every process: no order of a set or an address shows."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import numpy
import relax_mlir as rx
from relax_mlir import relax

TEXT = '''
func.func @loop(%x: tensor<?x8xf32, #relax.sym<["n", 8]>>, %count: i64) -> tensor<?x8xf32, #relax.sym<["n", 8]>> {
  %from = arith.constant 0 : index
  %step = arith.constant 1 : index
  %to = arith.index_cast %count : i64 to index
  %0 = scf.for %i = %from to %to step %step iter_args(%y = %x) -> tensor<?x8xf32, #relax.sym<["n", 8]>> {
    %1 = "relax.tanh"(%y) : (tensor<?x8xf32, #relax.sym<["n", 8]>>) -> tensor<?x8xf32, #relax.sym<["n", 8]>>
    scf.yield %1 : tensor<?x8xf32, #relax.sym<["n", 8]>>
  }
  return %0 : tensor<?x8xf32, #relax.sym<["n", 8]>>
}
'''
module = rx.Module.parse(TEXT)
weights = numpy.random.default_rng(1).normal(size=(64, 40)).astype("float32")
with module.function("main", [rx.tensor(("n", 64)), rx.tensor(("n", 40), "float16")]) as f:
    x, y = f
    product = relax.matmul(x, relax.const(weights))
    summed = relax.add(relax.nn.softmax(product), relax.astype(y, "float32"))
    f.returns(summed, relax.add(product, relax.const(0.1)), relax.nonzero(relax.greater(product, relax.const(0.5))))
rx.compile(module, sys.argv[1]).save(sys.argv[2])
"""


def digest(target: str, path: Path, seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM, target, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=haswell}"])
def test_the_same_bytes_in_every_process(target: str, tmp_path: Path) -> None:
    digests = {digest(target, tmp_path / f"{seed}.rxa", seed) for seed in ("1", "4242")}
    assert len(digests) == 1
