# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for WebGPU without a device: their messages, and their behaviour."""

from __future__ import annotations

import importlib
import random
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime.device_kinds import devices_text
from relax_mlir.runtime.errors import ArtifactError, DeviceError
from relax_mlir_webgpu.runtime import device
from relax_mlir_webgpu.runtime.device_memory import _words, check_needs
from relax_mlir_webgpu.runtime.heap import Heap
from relax_mlir_webgpu.runtime.instructions import Run, TensorArgument, wrapped
from relax_mlir_webgpu.runtime.program_bytes import unpacked


@pytest.fixture(autouse=True)
def _opened_anew() -> Iterator[None]:
    device.open_device.cache_clear()
    yield
    device.open_device.cache_clear()


def _program() -> rx.runtime.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.nn.relu(*f))
    return rx.compile(module, target="webgpu")


def _found(monkeypatch: pytest.MonkeyPatch, package: Any) -> None:
    imported = importlib.import_module

    def import_module(name: str, *more: Any) -> Any:
        if name != "wgpu":
            return imported(name, *more)
        if package is None:
            raise ImportError("No module named 'wgpu'")
        return package

    monkeypatch.setattr(importlib, "import_module", import_module)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled and saved the program is all the same."""
    _found(monkeypatch, None)
    executable = _program()
    with pytest.raises(ArtifactError, match=r"need the package wgpu \(pip install relax-mlir\[webgpu\]\)"):
        executable["main"]


def test_without_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: Any) -> Any:
        raise RuntimeError("not found")

    _found(monkeypatch, SimpleNamespace(gpu=SimpleNamespace(request_adapter_sync=none)))
    with pytest.raises(DeviceError, match=r"no WebGPU adapter: .*mesa-vulkan-drivers.*: not found"):
        device.open_device()


def test_an_adapter_that_gives_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: Any) -> Any:
        raise RuntimeError("lost")

    adapter = SimpleNamespace(limits={}, info={"device": "a GPU"}, request_device_sync=none)
    _found(monkeypatch, SimpleNamespace(gpu=SimpleNamespace(request_adapter_sync=lambda **_: adapter)))
    with pytest.raises(DeviceError, match="the adapter 'a GPU' provides no device: lost"):
        device.open_device()


def test_the_devices_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """List the device, or the reason why it cannot be used, after the devices of other kinds."""
    lines = devices_text().splitlines()
    assert any(line.startswith("webgpu:0 (") or " WebGPU " in line for line in lines)
    device.open_device.cache_clear()
    _found(monkeypatch, None)
    assert "programs for WebGPU need the package wgpu" in devices_text().splitlines()[-1]


class _GPUError(Exception):
    pass


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (_GPUError("Parent device is lost"), RuntimeError, "the WebGPU device is lost; load the program again: Parent"),
        (RuntimeError("Could not map buffer (Aborted : lost)."), RuntimeError, "the WebGPU device is lost"),
        (MemoryError("Not enough\n memory left."), MemoryError, "is out of memory: Not enough memory left"),
        (_GPUError("Validation Error"), RuntimeError, "reports an error: Validation Error"),
        (IndexError("index 3"), IndexError, "^index 3$"),
    ],
)
def test_device_errors_become_python_exceptions(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, kind: type[Exception], message: str
) -> None:
    _found(monkeypatch, SimpleNamespace(GPUError=_GPUError))
    with pytest.raises(kind, match=message), device.told():
        raise raised


def test_a_device_that_is_too_small() -> None:
    limits = {"max-compute-invocations-per-workgroup": 256, "max-compute-workgroup-storage-size": 16384}
    check_needs({"threads": 256, "shared": 16384}, limits)
    with pytest.raises(DeviceError, match="need threads=1024, but the device has 256"):
        check_needs({"threads": 1024, "shared": 0}, limits)
    with pytest.raises(DeviceError, match="need shared=16385, but the device has 16384"):
        check_needs({"threads": 1, "shared": 16385}, limits)


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, bytes(16), (2).to_bytes(8, "little") + bytes(8) + b"{}"])
def test_bytes_that_are_no_program(data: bytes) -> None:
    with pytest.raises(rx.RelaxError, match="these bytes are not a WebGPU program"):
        unpacked(memoryview(data))


def test_pieces_of_memory_never_overlap() -> None:
    """Check that pieces never overlap, and that all memory is free at the end."""
    draw, heap, taken = random.Random(1), Heap(1000), dict[int, int]()
    for _ in range(2000):
        if taken and draw.random() < 0.5:
            heap.give_back(place := draw.choice(list(taken)))
            del taken[place]
            continue
        size = draw.randrange(5000)
        place = heap.take(size)
        assert place >= 1000 and place % 256 == 0
        assert all(place >= other + held or place + size <= other for other, held in taken.items())
        taken[place] = size
    for place in taken:
        heap.give_back(place)
    assert heap.take(1 << 40) == 1024


def _computed(*body: list[Any], registers: int = 8) -> list[Any]:
    """Return the registers after some instructions."""
    found: list[Any] = []

    class Memory:
        def launch(self, kernel: int, blocks: int, arguments: list[Any], place: str) -> None:
            found.extend(arguments)

    launch = ["launch", 0, 0, list(range(registers))]
    run = Run({"functions": {}}, Memory(), lambda name, given: found.extend([name, given]))  # type: ignore[arg-type]
    run.enter({"registers": registers, "body": [*body, launch]}, [], "here")
    return found


@pytest.mark.parametrize(
    ("name", "a", "b", "width", "wanted"),
    [
        ("addi", 2**63 - 1, 1, 64, -(2**63)),
        ("muli", 2**31, 2, 32, 0),
        ("divsi", -7, 2, 64, -3),
        ("remsi", -7, 2, 64, -1),
        ("floordivsi", -7, 2, 64, -4),
        ("floormodsi", -7, 2, 64, 1),
        ("ceildivsi", 7, 2, 64, 4),
        ("divui", -1, 2, 32, 2**31 - 1),
        ("divsi", 7, 0, 64, 0),
        ("shrui", -1, 60, 64, 15),
        ("minui", -1, 1, 64, 1),
        ("maxsi", -1, 1, 64, 1),
    ],
)
def test_integers(name: str, a: int, b: int, width: int, wanted: int) -> None:
    found = _computed(["int", 0, str(a)], ["int", 1, str(b)], [name, 2, 0, 1, width])
    assert found[2] == wanted == wrapped(wanted, width)


def test_indices_of_kernels_have_32_bits() -> None:
    """Clamp indices to the largest 32-bit number. Of other numbers the lowest bits are passed."""
    most = struct.pack("<i", 2**31 - 1)
    assert [_words("index", each) for each in (2**31, 3 * 2**30, 2**40)] == [most] * 3
    assert _words("index", -(2**40)) == struct.pack("<i", -(2**31)) and _words("index", 5) == struct.pack("<i", 5)
    assert _words("i32", 2**32 - 1) == b"\xff" * 4


def test_a_loop_and_a_branch() -> None:
    """Sum the even numbers below 10."""
    found = _computed(
        ["int", 0, "0"], ["int", 1, "10"], ["int", 2, "2"], ["int", 3, "0"], ["int", 6, "1"],
        ["while", [["cmpi", 4, "slt", 0, 1]], 4, [
            ["remsi", 5, 0, 2, 64],
            ["if", 5, [], [["addi", 3, 3, 0, 64]]],
            ["addi", 0, 0, 6, 64],
        ]],
    )  # fmt: skip
    assert found[3] == 20


def test_a_call_of_another_function() -> None:
    name, given, *_ = _computed(
        ["int", 0, "64"], ["int", 1, "5"], ["int", 2, "7"], ["packed", "f", [2, ["float32", 0, [1, 2]]]]
    )
    assert (name, given) == ("f", [7, TensorArgument("float32", 64, (5, 7))])


def test_a_check_of_host_code() -> None:
    with pytest.raises(MemoryError, match=r"^here: 5 of 7$"):
        _computed(
            ["int", 0, "0"], ["int", 1, "5"], ["int", 2, "7"],
            ["assert", 0, "MemoryError", "{} of {}", [1, 2], None],
        )  # fmt: skip
