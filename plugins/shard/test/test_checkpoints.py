# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in files: ranks read and write their parts."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard.launch import Launched

WEIGHTS = {
    name: numpy.random.default_rng(index).standard_normal(shape, "float32")
    for index, (name, shape) in enumerate({"w1": (8, 13), "w2": (13, 8), "bias": (8,)}.items())
}
X = numpy.ones((3, 8), "float32")


def model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3, 8)), **{n: rx.tensor(w.shape) for n, w in WEIGHTS.items()}}) as f:
        x, w1, w2, bias = f
        f.returns(relax.add(relax.matmul(relax.nn.silu(relax.matmul(x, w1)), w2), bias))
    return module


def launch(mesh: dict[str, int], **specs: Any) -> Launched:
    return rx.launch(rx.compile(rx.shard(model(), mesh, specs)))


def test_a_checkpoint_of_eight_ranks_loads_on_four(tmp_path: Path) -> None:
    path = str(tmp_path / "model.safetensors")
    with launch({"dp": 2, "tp": 4}, w1=(None, ("tp", "dp")), w2=("tp", "dp")) as ranks:
        ranks.save(path, {"w1": ranks.divide("w1", WEIGHTS["w1"]), "w2": WEIGHTS["w2"], "bias": WEIGHTS["bias"]})
    expected = to_numpy(rx.compile(model())["main"](X, *WEIGHTS.values()))
    with launch({"tp": 4}, w1=(None, "tp"), bias=("tp",)) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](X, **ranks.load(path)), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.skipif(importlib.util.find_spec("safetensors") is None, reason="safetensors is not installed")
def test_checkpoints_are_files_of_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    with launch({"tp": 3}, w1=("tp", None), w2=(None, "tp")) as ranks:
        ranks.save(str(tmp_path / "ours.safetensors"), WEIGHTS)
        loaded = load_file(tmp_path / "ours.safetensors")
        save_file(WEIGHTS, tmp_path / "theirs.safetensors")
        parts = ranks.load(str(tmp_path / "theirs.safetensors"))
    assert loaded.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        numpy.testing.assert_array_equal(loaded[name], array)
    numpy.testing.assert_array_equal(parts["w1"].arrays[2][:2], WEIGHTS["w1"][6:])


def test_arrays_of_numpy_are_read(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "w.npz", **WEIGHTS, other=numpy.zeros(()))
    with launch({"tp": 2}, w1=(None, "tp")) as ranks:
        parts = ranks.load(str(tmp_path / "w.npz"))
    assert parts.keys() == WEIGHTS.keys()
    numpy.testing.assert_array_equal(parts["w1"].arrays[0], WEIGHTS["w1"][:, :7])


def test_bfloat16_is_kept(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 2), "bfloat16")}) as f:
        f.returns(relax.exp(f.args[0]))
    x = numpy.arange(8).reshape(4, 2).astype(ml_dtypes.bfloat16)
    with rx.launch(rx.compile(rx.shard(module, {"a": 2}, {"x": ("a", None)}))) as ranks:
        ranks.save(str(tmp_path / "x.safetensors"), {"x": x})
        numpy.testing.assert_array_equal(ranks.load(str(tmp_path / "x.safetensors"))["x"].arrays[1], x[2:])


def damaged(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("w.bin", b"", "must end with .safetensors or .npz"),
        ("w.safetensors", b"12", "it is damaged, or no file of its kind"),
        ("w.safetensors", damaged(b'{"w1": 1}'), "it is damaged"),
        ("w.npz", b"PK", "it is damaged"),
        (
            "w.safetensors",
            damaged(json.dumps({"w1": {"dtype": "F32", "shape": [8, 13], "data_offsets": [0, 416]}}).encode()),
            "it ends within tensor 'w1'",
        ),
        (
            "w.safetensors",
            damaged(json.dumps({"v": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}).encode()),
            "has none of the arguments x, w1, w2, bias",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with launch({"tp": 2}) as ranks, pytest.raises(rx.OptionError, match=problem):
        ranks.load(str(tmp_path / name))


def test_a_failing_write_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"old")
    with launch({"tp": 2}) as ranks:
        with pytest.raises(rx.OptionError, match="has no elements of complex128, the type of 'w1'"):
            ranks.save(str(path), {"w1": WEIGHTS["w1"].astype("complex128")})
        with pytest.raises(rx.OptionError, match=r"cannot write .*: No such file or directory"):
            ranks.save(str(tmp_path / "none" / "model.safetensors"), WEIGHTS)
    assert path.read_bytes() == b"old"


MEMORY = """
import resource, sys
import numpy
import relax_mlir as rx
from relax_mlir import relax

size = 4096
module = rx.Module()
with module.function("main", {"x": rx.tensor((1, size)), "w": rx.tensor((size, size))}) as f:
    f.returns(relax.matmul(*f))
program = rx.compile(rx.shard(module, {"tp": 4}, {"w": (None, "tp")}))
with rx.launch(program, engine="mpi") as ranks:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    weights = ranks.load(sys.argv[1])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    result = ranks["main"](numpy.ones((1, size), "float32"), **weights)
assert (result == size).all()
print(f"{grown // 1024} MiB\\n", end="")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'relax-mlir[mpi]'"
)
def test_a_rank_has_its_part_in_memory(tmp_path: Path) -> None:
    """Load 64 MiB by columns on four ranks: 16 MiB each, and blocks of the file."""
    (tmp_path / "program.py").write_text(MEMORY)
    numpy.savez(tmp_path / "w.npz", w=numpy.ones((4096, 4096), "float32"))
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", "4", sys.executable, str(tmp_path / "program.py"), str(tmp_path / "w.npz")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    sizes = [int(line.split()[0]) for line in run.stdout.splitlines()]
    assert len(sizes) == 4
    assert max(sizes) < 32, sizes
