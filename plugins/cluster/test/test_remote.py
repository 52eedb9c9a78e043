# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on the workers of a Dask scheduler: calls, times and profiles, also without the compiler there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

pytest.importorskip("distributed", reason="workers are processes of the package distributed (relax-mlir[dask])")
import relax_mlir as rx
from dask_workers import WITHOUT_COMPILER, DaskCluster
from relax_mlir import relax
from relax_mlir_cluster.remote import Boards


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path_factory.mktemp("dask"))
    made.add_worker("a53-1", tag="a53", startup=WITHOUT_COMPILER)
    made.wait_for(1)
    yield made
    made.close()


@pytest.fixture
def boards(dask: DaskCluster) -> Iterator[Boards]:
    with rx.runtime.connect(dask.address) as found:
        yield found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 16)), "y": rx.tensor(("n", 16))}) as f:
        x, y = f
        f.returns(relax.tanh(relax.add(x, y)), relax.matmul(x, relax.permute_dims(y)))
    with module.function("narrow", {"x": rx.tensor((4,), "bfloat16")}) as f:
        f.returns(relax.exp(*f))
    found = tmp_path_factory.mktemp("artifact") / "model.rxa"
    rx.compile(module).save(found)
    return found


def test_calls_times_and_profiles(boards: Boards, path: Path) -> None:
    program, here = boards["a53"].load(path), rx.runtime.load(path)
    x, y = (numpy.random.default_rng(seed).standard_normal((5, 16)).astype("float32") for seed in (0, 1))
    for found, expected in zip(program["main"](x, y), here["main"](x, y), strict=True):
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    narrow = numpy.arange(4).astype(rx.runtime.arrays.numpy_type("bfloat16"))
    assert program["narrow"](narrow).tobytes() == here["narrow"](narrow).tobytes()
    assert 0 < program.time("main", x, y) < 1
    profile = program.profile("main", x, y, repeat=4)
    assert [each.kernel for each in profile.kernels] and profile.unprofiled_seconds > 0
    assert list(program) == ["main", "narrow"] and "main" in program and len(program) == 2
    assert program.signature("main") == here.signature("main")
    assert repr(program) == "<program on board 'a53': main, narrow>"


def test_wrong_names_and_arguments(boards: Boards, path: Path, tmp_path: Path) -> None:
    with pytest.raises(rx.OptionError, match=r"name or tag 'a54'; did you mean 'a53'\?; there are a53, a53-1"):
        boards["a54"]
    assert list(boards) == ["a53", "a53-1"] and "a53-1" in boards and "x" not in boards
    program = boards["a53-1"].load(path)
    with pytest.raises(rx.runtime.UnknownFunction, match="no function 'mian' in this program; there are main, narrow"):
        program["mian"]
    with pytest.raises(ValueError, match="argument #0 'x' expected rank 2"):
        program["main"](numpy.zeros(3, "float32"), numpy.zeros(3, "float32"))
    with pytest.raises(rx.OptionError, match="turns=0: expected at least 1"):
        program.time("main", turns=0)
    with pytest.raises(rx.ArtifactError, match=r"cannot read '.*missing.rxa': No such file"):
        boards["a53"].load(tmp_path / "missing.rxa")
    (tmp_path / "damaged.rxa").write_bytes(path.read_bytes()[:1000])
    with pytest.raises(rx.ArtifactError):
        boards["a53"].load(tmp_path / "damaged.rxa")


def test_a_worker_that_joins_late_gets_the_program(boards: Boards, path: Path, tmp_path: Path) -> None:
    """The program's bytes go to each worker that lacks the program."""
    own = DaskCluster(tmp_path)
    try:
        first = own.add_worker("one", tag="board")
        own.wait_for(1)
        with rx.runtime.connect(own.address) as connected:
            program = connected["board"].load(path)
            x = numpy.ones((2, 16), "float32")
            expected = program["main"](x, x)[0].tobytes()
            own.add_worker("two", tag="board")
            own.wait_for(2)
            first.kill()
            assert program["main"](x, x)[0].tobytes() == expected
    finally:
        own.close()


def test_a_board_refuses_a_foreign_program(boards: Boards, tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    rx.compile(module, "llvm{triple=riscv64-linux-gnu}").save(tmp_path / "foreign.rxa")
    with pytest.raises(rx.ArtifactError, match=r"the code is for riscv64-.*linux-gnu, this machine is"):
        boards["a53"].load(tmp_path / "foreign.rxa")
