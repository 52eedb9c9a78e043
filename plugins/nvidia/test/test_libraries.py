# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search paths for NVIDIA's libraries, and the alignment of the memory that they receive."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import relax_mlir as rx
from gpu_emulator.cublas import EmulatedCublas, Preference
from nvidia_parts import emulated, floats, program
from relax_mlir import relax
from relax_mlir_nvidia import libraries as nvidia
from relax_mlir_nvidia.cublas_runtime import CUBLAS

#: The C library in place of an NVIDIA library.
_C = replace(
    CUBLAS,
    place="RELAX_TEST_LIBRARY",
    files=("libc.so.6",),
    wheels=("sample_wheel.cu", "no_such_wheel.cu"),
    version="getpid",
    status_text="strerror",
    oldest=(0, 0),
    functions={"getpid": ":n", "strerror": "i:s"},
)


def test_wheels_come_before_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "sample_wheel" / "cu" / "lib"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert list(nvidia._paths(_C)) == ["libc.so.6"]
    (folder / "libc.so.6").write_bytes(b"")
    assert list(nvidia._paths(_C)) == [str(folder / "libc.so.6"), "libc.so.6"]


def test_a_path_that_is_given_is_taken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert nvidia.library_of(_C).text(1).endswith("(1)")
    monkeypatch.setenv(_C.place, "libnone.so")
    with pytest.raises(nvidia.NvidiaError, match=r"it needs cuBLAS 0.0 or newer .*libnone.so"):
        nvidia.library_of(_C)


def test_libraries_are_told_the_alignment_of_tensors() -> None:
    """Align tensors of programs at 16 bytes. Matrices at offsets of calls may have a lower alignment."""
    with emulated(EmulatedCublas) as cublas:
        made = program(relax.matmul, [rx.tensor((2, 1, 3, 5)), rx.tensor((3, 5, 6))], "cublas")
        made.copying()["main"](floats(2, 1, 3, 5), floats(3, 5, 6))
        (found,) = (each for each in cublas.descriptors.values() if isinstance(each, Preference))
    # The offsets of calls are multiples of 15 elements in a, 0 in b, and 54 in the result.
    assert found.attributes == {1: 32 << 20, 5: 16, 6: 4, 7: 8, 8: 8}


def test_arrays_of_ints() -> None:
    assert list(nvidia.ints(3, 4)) == [3, 4] and ctypes.sizeof(nvidia.ints()) == 4


def test_a_tensor_on_the_cpu_is_refused() -> None:
    with pytest.raises(nvidia.NvidiaError, match="got a tensor elsewhere, such as on the CPU"):
        nvidia.device_of([floats(2, 3)])
