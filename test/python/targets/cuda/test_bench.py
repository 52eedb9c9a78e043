# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks of code for GPUs: bench/gpu_code.py, and bench/gpu.py on the emulator."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from assembler import needs_ptxas
from gpu_emulator.driver import EmulatedCuda
from relax_mlir.runtime.cuda.driver import driver, use_library
from relax_mlir.runtime.cuda.timing import device_seconds

import relax_mlir as rx
from relax_mlir import relax

_ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(_ROOT / "bench"))
_NAMES = ("gpu", "gpu_cases", "gpu_code", "gpu_graphs", "gpu_startup", "gpu_traffic")
gpu, gpu_cases, gpu_code, gpu_graphs, gpu_startup, gpu_traffic = map(importlib.import_module, _NAMES)
_SMALL = ("--small", "--turns", "1")


# ---- bench/gpu.py ----


def test_small_cases_on_the_emulator(capsys: pytest.CaptureFixture[str]) -> None:
    device = EmulatedCuda()
    with use_library(device):
        assert gpu.main([*_SMALL, "--peers", "none", "--only", "float32"]) == 0
        device.check()
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("Emulated device (sm_80), code for sm_80;")
    names = [case.name for case in gpu_cases.small_cases() if "float32" in case.name]
    assert len(names) == 5 and [row[:48].strip() for row in rows] == names
    assert all(float(row[48:].split()[0]) > 0 for row in rows) and device.leaks() == []


def test_the_figures_of_graphs_on_the_emulator(capsys: pytest.CaptureFixture[str]) -> None:
    """Print the figures of the estimate under its names."""
    device = EmulatedCuda()
    with use_library(device):
        assert gpu_graphs.main(["--small", "--turns", "1"]) == 0
        device.check()
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("Emulated device (sm_80), whose memory has 1.56e+12 bytes a second")
    names = ["_LAUNCH", "_IN_GRAPH", "_GRAPH", "_COPY", "_BYTES_A_SECOND"]
    assert [row.split()[0] for row in rows] == names
    assert device.calls("cuGraphLaunch") and device.leaks() == []


def test_wrong_results_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu, "_TOLERANCE", {"float32": -1.0})
    with use_library(EmulatedCuda()):
        assert gpu.main([*_SMALL, "--peers", "none", "--only", "softmax"]) == 1
    assert "ours: wrong by " in capsys.readouterr().out


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--must"], 1)])
def test_no_device(options: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(rx.runtime.ArtifactError), use_library(EmulatedCuda(devices=0)):
        pass  # the driver says so at once
    device = EmulatedCuda()
    with use_library(device):
        device.devices = 0
        assert gpu.main(options) == status
    assert "nothing is measured: no NVIDIA device" in capsys.readouterr().out


def test_peaks() -> None:
    with use_library(EmulatedCuda(capability=(9, 0))):
        peak = gpu.peak_of(driver().device(0))
    # 108 multiprocessors at 1.41 GHz, 5120 bits at 1.215 GHz, twice a cycle.
    assert peak.by_unit["float16"] == pytest.approx(108 * 1.41e9 * 4096)
    assert peak.share("bytes", 1555.2e9, 2.0) == pytest.approx(0.5)
    assert peak.share("unknown", 1.0, 1.0) == 0


def test_seconds_are_of_all_work() -> None:
    done = list[int]()
    device = EmulatedCuda()
    with use_library(device):
        assert device_seconds(lambda: done.append(sum(range(200000)))) > 0
        with pytest.raises(ZeroDivisionError):
            device_seconds(lambda: 1 / 0)
    assert len(done) == 1 and not device.events


def test_differences() -> None:
    one = numpy.array([4.0, -2.0], "float32")
    assert gpu._difference(one, one) == 0
    assert gpu._difference(one, numpy.array([4.0, -1.0], "float32")) == 0.25


# ---- bench/gpu_code.py ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(_ROOT / "examples" / "digits" / "digits.onnx", tmp_path)
    return tmp_path


@needs_ptxas
def test_gpu_code_prints_registers_and_plans(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_code.main([str(folder), "--models", "digits", "--arch", "sm_80", "--kernels", "--strict"]) == 0
    _, row, *products = capsys.readouterr().out.splitlines()
    model, arch, kernels, launches, registers, _, spills, *_ = row.split()
    assert (model, arch, spills) == ("digits", "sm_80", "0")
    assert int(launches) >= int(kernels) > 3 and 10 < int(registers) <= 255
    forms = [part.split() for part in row.partition("unknown  ")[2].split(", ")]
    assert sum(int(count) for count, _ in forms) == int(kernels)
    tiles = sum(int(count) for count, form in forms if form == "tiles")
    assert tiles > 0 and sum("tiles: order" in each for each in products) == tiles


@needs_ptxas
def test_shared_memory_is_what_launches_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Request more than 48 KB at the launch instead of declaring them."""
    assert gpu_code.main([str(tmp_path), "--models", "4 bits", "--arch", "sm_90a", "--strict"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:5] == ["4", "bits", "sm_90a", "2", "2"]
    module = rx.Module()
    with module.function("main", [rx.tensor((1024, 1024), "f16"), rx.tensor((1024, 1024), "f16")]) as f:
        f.returns(relax.matmul(*f))
    code = gpu_code.code_of("product", module, "sm_90a")
    assert code.taken["matmul"].shared > 64 << 10


@needs_ptxas
def test_spills_and_refusals_fail(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = gpu_code.resources

    def spilling(text: str, arch: str) -> Any:
        return {name: each._replace(spills=8) for name, each in known(text, arch).items()}

    def refusing(text: str, arch: str) -> Any:
        raise rx.RelaxError("ptxas rejects the PTX")

    arguments = [str(folder), "--models", "digits", "--arch", "sm_80"]
    monkeypatch.setattr(gpu_code, "resources", spilling)
    assert gpu_code.main(arguments) == 0 and gpu_code.main([*arguments, "--strict"]) == 1
    assert "spills 8 bytes of a thread" in capsys.readouterr().err
    monkeypatch.setattr(gpu_code, "resources", refusing)
    assert gpu_code.main([*arguments, "--strict"]) == 1
    shown = capsys.readouterr()
    assert "digits for sm_80: ptxas rejects the PTX" in shown.err and "refused" in shown.out


def test_no_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_code.main([str(tmp_path)]) == 0 and gpu_code.main([str(tmp_path), "--strict"]) == 1
    assert "make models" in capsys.readouterr().err


# ---- bench/gpu_startup.py ----


def test_first_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run in this process, which has the emulator, instead of new processes."""
    monkeypatch.setattr(gpu_startup, "_in_a_process", gpu_startup.seconds_of)
    monkeypatch.setattr(gpu_startup, "_RUNS", 1)
    with use_library(EmulatedCuda()):
        assert gpu_startup.main([]) == 0
        path = tmp_path / "digits.rxa"
        rx.compile(rx.from_onnx(gpu_startup._DIGITS), "cuda").save(path)
        shown = capsys.readouterr().out
        assert gpu_startup.main(["--of", str(path)]) == 0
    _, head, *rows = shown.splitlines()
    assert head.split() == ["driver", "load", "call", "first", "result"]
    assert [each[:20].strip() for each in rows] == ["PTX alone", "machine code too"]
    for each in rows:
        _, load, call, first = map(float, each[20:].split())
        assert first == pytest.approx(load + call, abs=2e-3) and call > 0
    assert set(json.loads(capsys.readouterr().out)) == {"driver", "load", "call"}


def test_no_first_result_without_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    device = EmulatedCuda()
    with use_library(device):
        device.devices = 0
        assert gpu_startup.main([]) == 0 and gpu_startup.main(["--must"]) == 1
    assert "nothing is measured: no NVIDIA device" in capsys.readouterr().out


# ---- bench/gpu_traffic.py ----


def test_traffic_equals_the_minimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_traffic.main(["--only", "rows of 16"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 4 and all(row.split()[-2:] == ["1.00", "1.00"] for row in rows)
