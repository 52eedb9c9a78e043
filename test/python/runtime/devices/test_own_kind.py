# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom kind of device: a table of functions is the whole interface for programs."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy
import pytest
from device_programs import by_hand, double, launch
from relax_mlir.runtime import device_kinds
from relax_mlir.runtime.artifact import DeviceCode
from relax_mlir.runtime.devices.table_program import TableProgram
from relax_mlir.runtime.errors import DeviceError
from relax_mlir.runtime.manifest import Signature
from relax_mlir.support.external_runtime import ExternalRuntime

import relax_mlir as rx

_PLACE, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32
_BROKEN = 7


class ToyProgram(TableProgram):
    """Program with the host's memory, and with Python functions as kernels."""

    kind: ClassVar[str] = "toy"
    dlpack_kind: ClassVar[int] = 12
    called: ClassVar[Sequence[str]] = [f"toy{name}" for name in ("Enter", "Leave", "Start", *"ABCDEFGHIJKLMN")]
    statuses: ClassVar[Sequence[tuple[int, str, str]]] = [
        (2, "FULL", "no room"),
        (_BROKEN, "BROKEN", "it has no wheel"),
    ]
    #: Status of launches, and the allocated memory.
    answer: ClassVar[int] = 0
    taken: ClassVar[dict[int, Any]] = {}

    @classmethod
    def devices(cls) -> list[str]:
        return ["toy:0"]

    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        function = ctypes.CFUNCTYPE
        copy = function(_INT, _PLACE, _PLACE, _SIZE, _PLACE)(lambda to, source, size, _: self._copied(to, source, size))
        nothing = function(_INT, _PLACE)(lambda _: 0)
        start = function(_INT, _SIZE, *[_INT] * 7, _PLACE, _PLACE, _PLACE)(self._started)
        take = function(_INT, _PLACE, _SIZE, _PLACE)(self._took)
        free = function(_INT, _PLACE, _PLACE)(lambda place, _: int(self.taken.pop(place) is None))
        self._held = [nothing, nothing, start, take, free, copy, copy, copy, nothing, nothing]
        places = [ctypes.cast(callback, _PLACE).value or 0 for callback in self._held]
        self.table_functions = [*places, *[0] * (17 - len(places))]

    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        return [1 + place for place, _ in enumerate(codes[0].kernels)]

    def _copied(self, to: int, source: int, size: int) -> int:
        ctypes.memmove(to, source, size)
        return 0

    def _took(self, place: int, size: int, _: int) -> int:
        memory = ctypes.create_string_buffer(size + 64)
        address = ctypes.addressof(memory) + -ctypes.addressof(memory) % 64
        self.taken[address] = memory
        ctypes.c_void_p.from_address(place).value = address
        return 0

    def _started(self, kernel: int, blocks: int, _y: int, _z: int, threads: int, *others: int) -> int:
        assert kernel == 1
        double(blocks, threads, others[-2])
        return self.answer


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    loaded = {kind: device_kinds._kinds[kind] for kind in device_kinds._known_kinds()}
    monkeypatch.setattr(device_kinds, "_kinds", loaded)
    device_kinds.register_device("toy", lambda: ToyProgram)
    yield


@pytest.mark.usefixtures("toy")
def test_a_program_runs_on_a_registered_device(monkeypatch: pytest.MonkeyPatch) -> None:
    program = rx.runtime.Executable(by_hand(launch(0), kind="toy"))
    call, x = program.copying()["main"], numpy.arange(5, dtype="float32")
    assert program.device == "toy:0"
    assert list(numpy.asarray(call(x))) == [0, 2, 4, 6, 8]
    monkeypatch.setattr(ToyProgram, "answer", _BROKEN)
    with pytest.raises(RuntimeError, match="kernel 'double': toyStart: BROKEN: it has no wheel"):
        call(x)
    with pytest.raises(ValueError, match="expected a tensor on toy:0, got one on cpu:0"):
        program["main"](x)
    del call, program
    gc.collect()
    assert ToyProgram.taken == {}


@pytest.mark.usefixtures("toy")
def test_a_kind_has_a_name_of_its_own() -> None:
    for name in ("toy", "cpu", "cuda", "my device"):
        with pytest.raises(rx.RelaxError, match="a kind of device has a name of its own"):
            device_kinds.register_device(name, lambda: ToyProgram)
    assert "toy:0" in device_kinds.devices_text()


def test_runtimes_of_codegens_list_their_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """List the devices of runtimes after the others, and show the error of a runtime that fails."""

    class Works(ExternalRuntime):
        def list_devices(self) -> Sequence[str]:
            return ["npu:0 (Toy)", "npu:1 (Toy)"]

    class HasNone(ExternalRuntime):
        def list_devices(self) -> Sequence[str]:
            raise DeviceError("no driver of the NPU")

    class Fails(ExternalRuntime):
        name = "fails"

        def list_devices(self) -> Sequence[str]:
            raise ValueError("a bug")

    device_kinds._known_kinds()  # plug-ins register their kinds once in a process
    monkeypatch.setattr(device_kinds, "_kinds", {})
    monkeypatch.setattr(device_kinds, "all_runtimes", lambda: [Works, HasNone, Fails, ExternalRuntime])
    assert device_kinds.devices_text().splitlines() == [
        "npu:0 (Toy)",
        "npu:1 (Toy)",
        "no driver of the NPU",
        "runtime 'fails' cannot list its devices: ValueError: a bug",
    ]
