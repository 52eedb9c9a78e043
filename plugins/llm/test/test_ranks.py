# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of several ranks: the bits of one process, on threads and on processes of MPI."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
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
model = rx.llm.load(sys.argv[1], cache=False, mesh={"tp": 2})
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
@pytest.mark.parametrize("mesh", [{"tp": 2}, {"tp": 3}, {"dp": 2, "tp": 2}, {"dp": 3}], ids=str)
@pytest.mark.slow
def test_ranks_have_the_bits_of_one_process(path: Path, mesh: dict[str, int]) -> None:
    whole, divided = rx.llm.load(path, cache=False), rx.llm.load(path, cache=False, mesh=mesh)
    numpy.testing.assert_array_equal(divided.logits(TOKENS), whole.logits(TOKENS))
    assert tokens_of(divided) == tokens_of(whole)
    divided.close()


def run_by_mpi(command: list[str]) -> None:
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    done = subprocess.run([mpiexec, "-n", "2", *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def run_by_torch(command: list[str]) -> None:
    """Start two processes with the variables that torchrun sets."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = str(listening.getsockname()[1])
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(command, env={**shared, "RANK": str(rank)}, stdout=-1, stderr=-2, text=True)
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs


needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="MPI comes with the extra `mpi`")
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed; suite.py torch runs this test"
)


@pytest.mark.parametrize(
    "run", [pytest.param(run_by_mpi, marks=needs_mpi), pytest.param(run_by_torch, marks=needs_torch)]
)
@pytest.mark.slow
def test_processes_have_the_bits_of_a_single_process(path: Path, tmp_path: Path, run: Callable[..., None]) -> None:
    run([sys.executable, "-c", PROGRAM, str(path), str(tmp_path / "results.npz")])
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
        ({"mesh": {"pp": 2}}, "mesh={'pp': 2}: expected a number of ranks"),
        ({"mesh": {"tp": 0}}, "mesh={'tp': 0}: expected a number of ranks"),
        ({"mesh": {"tp": 2}, "engine": "smoke"}, "rx.llm.load: no engine 'smoke'; there are threads, mpi, torch"),
        ({"mesh": {"tp": 2}, "embeddings": True}, "mesh= and embeddings= together"),
        ({"mesh": {"tp": 2}, "target": "c"}, "mesh= is for the target llvm"),
    ],
)
def test_options_of_ranks_are_checked(path: Path, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError) as error:
        rx.llm.load(path, cache=False, **options)
    assert message in str(error.value)
