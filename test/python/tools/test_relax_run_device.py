# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run on a program for a device: arrays of files go there and come back."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import pytest
from device_programs import KERNELS, by_hand, launch
from fake_driver import FakeDriver
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda import driver as driver_module
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.tools.relax_run import run


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
    assert [*library.pools] == [(2041, 4)]  # nobody has asked for the other one


def test_a_missing_driver_is_an_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "LIBRARY", "libof_another_name.so.1")
    driver_module._of_system.cache_clear()
    code, _, errors = ran(program, "--shape=x:4", "--random=0")
    assert code == 1 and errors.startswith("relax-run: error: no NVIDIA driver: libof_another_name.so.1 cannot be")
