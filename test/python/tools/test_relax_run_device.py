# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run on a program for a device: arrays of files are passed to the device and back."""

from __future__ import annotations

import gc
import io
from pathlib import Path

import numpy
import pytest
from device_programs import KERNELS, by_hand, launch
from fake_driver import FakeDriver
from gpu_emulator.driver import Checks, EmulatedCuda
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda import driver as driver_module
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.tools.relax_run import run

import relax_mlir as rx
from relax_mlir import relax


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("device") / "double.rxa"
    Executable(by_hand(launch(0)), load_later=True).save(path)
    return str(path)


def ran(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = run(arguments, io.StringIO(), out, err)
    return code, out.getvalue(), err.getvalue()


def test_files_in_and_out(program: str, tmp_path: Path) -> None:
    x = numpy.arange(6, dtype="float32")
    numpy.save(tmp_path / "x.npy", x)
    with use_library(FakeDriver(KERNELS)) as _:
        code, _, errors = ran(program, f"--input=x={tmp_path / 'x.npy'}", f"--output={tmp_path / 'y.npy'}")
    assert (code, errors) == (0, "")
    assert (numpy.load(tmp_path / "y.npy") == 2 * x).all()


def test_another_device(program: str) -> None:
    library = FakeDriver(KERNELS)
    with use_library(library):
        assert ran(program, "--shape=x:4", "--random=0", "--device=cuda:1")[0] == 0
        code, _, errors = ran(program, "--shape=x:4", "--random=0", "--device=cuda:2")
    assert code == 1 and "no device cuda:2: there is cuda:0 to cuda:1" in errors
    assert [*library.pools] == [(2041, 4)]  # the other one was not asked for


def test_a_missing_driver_is_an_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "LIBRARY", "libof_another_name.so.1")
    driver_module._load_system_driver.cache_clear()
    code, _, errors = ran(program, "--shape=x:4", "--random=0")
    assert code == 1 and errors.startswith("relax-run: error: no NVIDIA driver: libof_another_name.so.1 cannot be")


# ---- CUDA graphs ----


@pytest.fixture(scope="module")
def picking(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Many small kernels, behind one that may fail."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((10, 4)), "places": rx.tensor((2,), "int64")}) as f:
        rows = relax.take(*f, axis=0)
        for _ in range(12):
            rows = relax.matmul(rows, relax.const(numpy.eye(4, dtype="float32")))
        f.returns(rows)
    path = tmp_path_factory.mktemp("graphs") / "picking.rxa"
    rx.compile(module, target="cuda").save(path)
    return str(path)


@pytest.mark.parametrize(
    ("options", "graphs"),
    [([], 2), (["--graphs"], 4), (["--no-graphs"], 0), (["--graphs=false"], 0), (["--graphs=false", "--no-graphs"], 0)],
)
def test_graphs_are_asked_for_or_not(picking: str, options: list[str], graphs: int) -> None:
    """Count the graph launches of one call and three timed calls."""
    library = EmulatedCuda()
    with use_library(library):
        code, out, errors = ran(picking, *options, "--benchmark", "--repeat=2", "--warmup=1", "--shape=places:2")
    assert code == 0 and "2 calls" in out and "Traceback" not in errors
    assert len(library.calls("cuGraphLaunch")) == graphs


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--graphs", "--no-graphs"], "--graphs and --no-graphs exclude each other"),
        (["--graphs=yes"], "option --graphs expects true or false, got 'yes'"),
        (["--no-graphs=2"], "option --no-graphs expects true or false, got '2'"),
        (["--graph"], "unknown option '--graph'; did you mean 'graphs'?"),
    ],
)
def test_graphs_that_cannot_be_asked_for(picking: str, options: list[str], reason: str) -> None:
    code, _, errors = ran(picking, *options)
    assert code == 1 and errors.startswith(f"relax-run: error: {reason}") and errors.count("\n") == 1


def test_graphs_of_a_program_for_the_cpu(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        (x,) = f
        f.returns(relax.negative(x))
    rx.compile(module).save(tmp_path / "x.rxa")
    assert ran(str(tmp_path / "x.rxa"), "--no-graphs")[0] == 0
    code, _, errors = ran(str(tmp_path / "x.rxa"), "--graphs")
    assert (code, errors) == (
        1,
        "relax-run: error: graphs=True: the program is compiled for cpu, a kind of device without graphs\n",
    )


@pytest.mark.parametrize("options", [[], ["--graphs"]])
def test_what_fails_in_a_graph_is_an_error_of_a_line(picking: str, options: list[str], tmp_path: Path) -> None:
    numpy.save(tmp_path / "places.npy", numpy.array([0, 10]))
    library = EmulatedCuda(checks=Checks(unwritten=False))
    with use_library(library):
        code, _, errors = ran(picking, *options, f"--input=places={tmp_path / 'places.npy'}")
        assert code == 1 and "IndexError" in errors and "index 10 is out of range" in errors
        assert "Traceback" not in errors
        numpy.save(tmp_path / "wrong.npy", numpy.array([0.5, 9]))
        code, _, errors = ran(picking, *options, f"--input=places={tmp_path / 'wrong.npy'}")
        assert code == 1 and "'places'" in errors and "Traceback" not in errors
        # A driver that knows no graphs: none was asked for, or its error.
        del library.cuGraphInstantiateWithFlags
        code, _, errors = ran(picking, *options, "--shape=places:2")
    if options:
        assert (code, errors.count("\n")) == (1, 1) and "no cuGraphInstantiateWithFlags: it is too old" in errors
    else:
        assert (code, errors) == (0, "")
    gc.collect()
    assert not library.leaks()


def test_the_devices_are_listed() -> None:
    """List the devices of each kind, or the reason why there are none."""
    with use_library(FakeDriver(KERNELS)):
        code, listed, errors = ran("--list-devices")
    assert (code, errors) == (0, "")
    assert listed.startswith("cuda:0 (Fake)\n  architecture        sm_86\n")
    assert "vulkan:0 (" in listed or "no Vulkan " in listed
    assert "opencl:0 (" in listed or "no OpenCL " in listed
