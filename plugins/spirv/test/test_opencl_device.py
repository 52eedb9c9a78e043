# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenCL device: errors, allocation and release of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy
import pytest
import relax_mlir as rx
from real_devices import compiled, device_without_leaks, page
from relax_mlir import relax
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_spirv.opencl_runtime import driver as driver_module
from relax_mlir_spirv.opencl_runtime.driver import OpenclDevice, OpenclDriver, driver

_LARGEST = 10


@pytest.fixture(autouse=True)
def kind() -> Iterator[str]:
    yield from device_without_leaks("opencl")


def doubled() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "float32")]) as f:
        (x,) = f
        f.returns(relax.add(x, x))
    return module


def doubling() -> rx.runtime.Executable:
    return compiled("opencl", doubled())


def test_memory_that_runs_out() -> None:
    program = doubling()
    x, words = numpy.zeros(30 << 20, "float32"), page("opencl").words
    before, words[_LARGEST] = words[_LARGEST], 64 << 20
    try:
        with pytest.raises(MemoryError, match="out of memory of the device, 125829120 bytes needed"):
            program.copying()["main"](x)
    finally:
        words[_LARGEST] = before
    assert numpy.asarray(program.copying()["main"](x)).sum() == 0


def test_kernels_are_told_of_new_memory() -> None:
    """Add chunks while a kernel is in use, and release unused chunks when memory is full."""
    call, words = doubling().copying()["main"], page("opencl").words
    for size in (10, 5 << 20, 10, 7 << 20):
        assert numpy.asarray(call(numpy.ones(size, "float32"))).sum() == 2 * size
    before, chunks = words[_LARGEST], page("opencl").bytes_of_chunks
    words[_LARGEST] = 1 << 20
    try:
        with pytest.raises(MemoryError):
            call(numpy.ones(100 << 20, "float32"))
    finally:
        words[_LARGEST] = before
    assert page("opencl").bytes_of_chunks < chunks
    assert numpy.asarray(call(numpy.ones(9 << 20, "float32"))).sum() == 18 << 20


def test_code_without_a_kernel() -> None:
    artifact = doubling()._artifact
    wrong = replace(artifact, devices=(replace(artifact.devices[0], kernels=("another",)),))
    with pytest.raises(
        rx.RelaxError, match=r"opencl:0 \(.*\) refuses kernel 'another' of the program: clCreateKernel: CL_"
    ):
        rx.runtime.Executable(wrong)


@pytest.mark.parametrize(
    ("changes", "reason"), [({"shared_virtual": 1}, "has no fine-grained shared virtual memory, which programs need")]
)
def test_opening_refuses_unsuitable_devices(changes: dict[str, object], reason: str) -> None:
    from relax_mlir_spirv.opencl_runtime.opened import OpenDevice

    with pytest.raises(DeviceError, match=reason):
        OpenDevice(driver(), driver().device(0)._replace(**changes))  # type: ignore[arg-type]


def test_subgroups_that_the_device_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse subgroup sizes that the device lacks.

    Only kernels that exchange values among threads request a size. The refusal comes before the driver sees code, so
    the device of this machine need not take SPIR-V.
    """
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 300), "float32")]) as f:
        (x,) = f
        f.returns(relax.sum(x, axis=[1]))
    summing, artifact = rx.compile(module, target="opencl")._artifact, doubling()._artifact
    other = driver().device(0)._replace(spirv="SPIR-V_1.4", threads=1024, subgroup_sizes=(8, 16, 48))
    monkeypatch.setattr(OpenclDriver, "devices", lambda self: [other])
    message = r"has subgroups of 8, 16, 48, the kernels for opencl.*, are for 32; target 'opencl\{subgroup=16.* is for"
    with pytest.raises(rx.RelaxError, match=message):
        rx.runtime.Executable(summing)
    rx.runtime.Executable(artifact)


def test_a_device_without_spirv(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = rx.compile(doubled(), target="opencl")._artifact
    other = driver().device(0)._replace(spirv="")
    monkeypatch.setattr(OpenclDriver, "devices", lambda self: [other])
    fitting = r"target 'opencl\{language=c.*\}' is for it"
    with pytest.raises(rx.RelaxError, match=rf"takes no SPIR-V, which the kernels for opencl, are; {fitting}"):
        rx.runtime.Executable(artifact)


def test_a_device_that_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = doubling()._artifact
    smaller = driver().device(0)._replace(threads=128)
    monkeypatch.setattr(OpenclDriver, "devices", lambda self: [smaller])
    with pytest.raises(
        rx.RelaxError, match=r"need blocks of 256 threads, at most 128 here; .*threads=128.*' is for it"
    ):
        rx.runtime.Executable(artifact)


def test_the_target_that_fits() -> None:
    """Name the target like relax-run --list-devices, without the options that are the target's defaults."""
    usual = driver().device(0)._replace(
        spirv="SPIR-V_1.4", subgroup_sizes=(8, 32), threads=256, local_memory=32 << 10, has_double=True,
        extensions=frozenset({"cl_khr_fp16"}),
    )  # fmt: skip
    assert usual.target == "opencl" and "target              opencl\n" in usual.table() + "\n"
    assert usual._replace(spirv="", subgroup_sizes=(8,)).target == "opencl{language=c}"
    assert usual._replace(subgroup_sizes=(3, 64)).target == "opencl{subgroup=1}"
    small = usual._replace(subgroup_sizes=(8, 16), threads=128, local_memory=16 << 10)
    assert small.target == "opencl{subgroup=16 threads=128 shared=16384}"
    assert small._replace(extensions=frozenset(), has_double=False).target == small.target[:-1] + " lacks=f64+f16}"
    rx.compile(doubled(), target=small.target)


def test_no_loader(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("RELAX_MLIR_OPENCL", str(tmp_path))
    monkeypatch.setattr(driver_module, "LIBRARY", "libno-opencl.so.1")
    with pytest.raises(DeviceError, match=r"no OpenCL loader: libno-opencl.so.1 cannot be loaded: .*pip install"):
        driver.__wrapped__()


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    none: list[OpenclDevice] = []
    monkeypatch.setattr(OpenclDriver, "devices", lambda self: none)
    with pytest.raises(DeviceError, match="no OpenCL device: no driver is installed"):
        driver().device(0)
