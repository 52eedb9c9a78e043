# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets of devices without options: they mean the device of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from relax_mlir.runtime.errors import DeviceError
from relax_mlir.tools.relax_compile import run
from relax_mlir_spirv.opencl_runtime.on_device import OpenclProgram
from relax_mlir_spirv.vulkan_runtime.on_device import VulkanProgram

import relax_mlir as rx
from relax_mlir import relax

FOUND = {VulkanProgram: ["vulkan{subgroup=8 fma=twice}", "vulkan"], OpenclProgram: ["opencl{language=c}"]}


def module() -> rx.Module:
    made = rx.Module()
    with made.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    return made


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, targets in FOUND.items():
        monkeypatch.setattr(kind, "targets", classmethod(lambda cls, targets=targets: targets))


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def targets(cls: type) -> list[str]:
        raise DeviceError("no Vulkan loader: install one")

    monkeypatch.setattr(VulkanProgram, "targets", classmethod(targets))
    monkeypatch.setattr(OpenclProgram, "targets", classmethod(lambda cls: []))


@pytest.mark.usefixtures("devices")
def test_the_first_device_is_meant() -> None:
    assert rx.compile(module(), "vulkan")._artifact.devices[0].data == (
        rx.compile(module(), "vulkan{subgroup=8 fma=twice}")._artifact.devices[0].data
    )
    own, other = (rx.compile(module(), each)._artifact.devices[0].data for each in ("opencl", "opencl{language=c}"))
    assert bytes(own) == bytes(other)


@pytest.mark.usefixtures("devices")
def test_another_device_by_its_number() -> None:
    usual = rx.compile(module(), "vulkan{threads=256}")._artifact.devices[0].data
    assert rx.compile(module(), "vulkan", device="vulkan:1")._artifact.devices[0].data == usual
    with pytest.raises(rx.OptionError, match="device='vulkan:2': this machine has 2 devices of vulkan"):
        rx.compile(module(), "vulkan", device="vulkan:2")


@pytest.mark.usefixtures("no_device")
def test_without_a_device_code_suits_most_devices() -> None:
    for target in ("vulkan", "opencl"):
        plain, usual = (
            rx.compile(module(), each)._artifact.devices[0].data for each in (target, f"{target}{{threads=256}}")
        )
        assert bytes(plain) == bytes(usual)


@pytest.mark.usefixtures("devices")
def test_relax_compile_means_the_device_for_programs_alone(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(str(module()))
    for number, target in enumerate(("vulkan", "vulkan{subgroup=8 fma=twice}")):
        out = tmp_path / f"{number}.rxa"
        assert run([f"--target={target}", str(tmp_path / "model.mlir"), "-o", str(out)]) == 0
    assert (tmp_path / "0.rxa").read_bytes() == (tmp_path / "1.rxa").read_bytes()
