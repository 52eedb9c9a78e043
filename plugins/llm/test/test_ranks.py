# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of several ranks: the bits of one process, on threads and on processes of MPI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir_llm import Model
from tiny_models import VOCABULARY, tiny, write_gguf

TOKENS = [int(token) for token in numpy.random.default_rng(3).integers(0, VOCABULARY, 21)]
#: Program of each process: rank 0 writes what the model computes, and the others follow it.
PROGRAM = """
import sys, numpy
import relax_mlir as rx
model = rx.llm.load(sys.argv[1], cache=False, mesh={"tp": 2}, engine="mpi")
answer = model.generate([1, 2, 3], max_tokens=4)
list(answer)
numpy.savez(sys.argv[2], logits=model.logits([1, 2, 3, 4]), tokens=answer.tokens)
"""


@pytest.fixture(scope="module", params=["Q8_0", "F32"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tiny("llama"), tmp_path_factory.mktemp("ranks") / "tiny.gguf", request.param)


def tokens_of(model: Model) -> list[int]:
    answer = model.generate(TOKENS[:5], max_tokens=6, temperature=0.8, seed=4)
    list(answer)
    return answer.tokens


@pytest.mark.filterwarnings("ignore:mesh=")
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.slow
def test_ranks_have_the_bits_of_one_process(path: Path, ranks: int) -> None:
    whole, divided = rx.llm.load(path, cache=False), rx.llm.load(path, cache=False, mesh={"tp": ranks})
    numpy.testing.assert_array_equal(divided.logits(TOKENS), whole.logits(TOKENS))
    assert tokens_of(divided) == tokens_of(whole)
    divided.close()


@pytest.mark.skipif(
    shutil.which("mpiexec") is None or find_spec("mpi4py") is None, reason="MPI comes with the extra `mpi`"
)
@pytest.mark.slow
def test_processes_have_the_bits_of_a_single_process(path: Path, tmp_path: Path) -> None:
    command = ["mpiexec", "-n", "2", sys.executable, "-c", PROGRAM, path, tmp_path / "results.npz"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    whole, results = rx.llm.load(path, cache=False), numpy.load(tmp_path / "results.npz")
    answer = whole.generate([1, 2, 3], max_tokens=4)
    list(answer)
    numpy.testing.assert_array_equal(results["logits"], whole.logits([1, 2, 3, 4]))
    assert results["tokens"].tolist() == answer.tokens


@pytest.mark.slow
def test_heads_that_ranks_do_not_divide_are_told(path: Path) -> None:
    with pytest.warns(UserWarning, match=r"mesh=: 3 ranks do not divide 2 heads of keys, so each has all pages"):
        rx.llm.load(path, cache=False, mesh={"tp": 3}).close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mesh": {"dp": 2}}, "mesh={'dp': 2}: expected a number of ranks"),
        ({"mesh": {"tp": 0}}, "mesh={'tp': 0}: expected a number of ranks"),
        ({"mesh": {"tp": 2}, "engine": "smoke"}, "engine='smoke': expected one of threads, mpi, torch"),
        ({"mesh": {"tp": 2}, "embeddings": True}, "mesh= and embeddings= together"),
        ({"mesh": {"tp": 2}, "target": "c"}, "mesh= is for the target llvm"),
    ],
)
def test_options_of_ranks_are_checked(path: Path, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError) as error:
        rx.llm.load(path, cache=False, **options)
    assert message in str(error.value)
