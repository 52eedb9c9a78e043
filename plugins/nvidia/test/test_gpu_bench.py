# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test of the benchmark for GPUs with the libraries of this plug-in, on emulated ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from gpu_emulator.cublas import EmulatedCublas
from nvidia_parts import emulated

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
gpu = importlib.import_module("gpu")
_SMALL = ("--small", "--turns", "1")


def test_libraries_against_ours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # torch, where it is installed, has another device than the emulated one
    monkeypatch.setattr(gpu, "find_torch", lambda: None)
    with emulated(EmulatedCublas) as cublas:
        assert gpu.main([*_SMALL, "--only", "float16"]) == 0
        assert gpu.main([*_SMALL, "--only", "layer norm"]) == 0
        assert "cublasLtMatmul" in cublas.log
    lines = [line for line in capsys.readouterr().out.splitlines() if "Emulated" not in line]
    head, product, norm = lines[0], lines[1], lines[-1]
    place = head.index("libraries") + len("libraries")
    assert float(product[place - 9 : place]) > 0 and float(product[place:].split()[0]) > 0
    assert norm[place - 9 : place].strip() == "-", "it takes nothing of it"
