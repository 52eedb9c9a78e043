# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for a device on a counting driver: loading, refusals, and the release of all resources."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from device_programs import KERNELS, by_hand, launch, of_model, with_function
from fake_driver import FakeDriver
from relax_mlir.runtime import Artifact, ArtifactError, Executable
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax

X = numpy.arange(5, dtype="float32")


@pytest.fixture
def fake() -> Iterator[FakeDriver]:
    """Yield the driver, and check that the current context is restored."""
    library = FakeDriver(KERNELS)
    with use_library(library):
        yield library
    assert not library.contexts


@pytest.fixture(scope="module")
def doubling() -> Artifact:
    return by_hand(launch(0))


def refusal(artifact: Artifact, **options: Any) -> str:
    with pytest.raises((ArtifactError, RelaxError)) as caught:
        Executable(artifact, **options)
    return str(caught.value)


def test_a_kernel_runs_and_all_is_given_back(fake: FakeDriver, doubling: Artifact) -> None:
    program = Executable(doubling)
    assert program.device == "cuda:0"
    y = program.copying()["main"](X)
    assert isinstance(y, numpy.ndarray) and (y == 2 * X).all()
    assert fake.launches == [("double", 5, 64, 0, 0)]
    function = program["main"]
    del program
    gc.collect()
    assert fake.leaks == {
        "module": 1,
        "host": 1,
        "memory": 1,
    }  # the function keeps the code alive, and the code the memory of the device
    del function
    gc.collect()
    assert not fake.leaks


def test_a_tensor_outlives_its_program(fake: FakeDriver, doubling: Artifact) -> None:
    """Release a tensor's memory after its program, by code that stays loaded."""
    import tvm_ffi

    program = Executable(doubling, device="cuda:1")
    copies = program.copying()["main"].packed._copies
    with copies.on_device():
        given = copies.upload(tvm_ffi.from_dlpack(X.copy()))
    result = program["main"](given)
    assert result.__dlpack_device__() == (2, 1) and result.shape == (5,)
    del program, copies, given
    gc.collect()
    assert fake.leaks == {"async": 1}
    fake.calls.clear()
    del result
    assert fake.calls == ["cuCtxPushCurrent_v2", "cuMemFreeAsync", "cuCtxPopCurrent_v2"] and not fake.leaks


def test_launches_use_the_callers_stream(fake: FakeDriver, doubling: Artifact) -> None:
    import tvm_ffi

    program = Executable(doubling, device="cuda:1")
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), 4711):
        program.copying()["main"](X)
    assert fake.launches[0][-1] == 4711


def test_a_program_on_each_of_two_devices(fake: FakeDriver, doubling: Artifact, tmp_path: Path) -> None:
    Executable(doubling).save(tmp_path / "x.rxa")
    programs = [rx.runtime.load(tmp_path / "x.rxa", device=f"cuda:{number}") for number in (0, 1)]
    for program in programs:
        assert (program.copying()["main"](X) == 2 * X).all()
    pickled = pickle.loads(pickle.dumps(programs[1]))
    assert pickled.device == "cuda:1" and (pickled.copying()["main"](X) == 2 * X).all()
    assert fake.leaks["module"] == 3


def test_constants_are_uploaded_once(fake: FakeDriver) -> None:
    weights = [numpy.random.default_rng(0).random((64, 64), "float32"), numpy.arange(4096, dtype="float32")]
    module = with_function(
        {"x": rx.tensor(("n", 64))},
        lambda x: relax.add(relax.matmul(x, relax.const(weights[0])), relax.sum(relax.const(weights[1]))),
    )
    program = Executable(of_model(module))
    # Includes the flags for kernels' assertions.
    assert fake.calls.count("cuMemAlloc_v2") == 2 and fake.calls.count("cuMemcpyHtoDAsync_v2") == 2
    x = numpy.ones((2, 64), "float32")
    assert numpy.allclose(program.copying()["main"](x), x @ weights[0] + weights[1].sum(), rtol=1e-4)
    assert fake.calls.count("cuMemcpyHtoDAsync_v2") == 3 and fake.leaks["memory"] == 2  # with x


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"devices": 0}, "no NVIDIA device"),
        ({"capability": (7, 5)}, "the kernels for cuda, sm_80, run on sm_80 and newer; cuda:0 (Fake) is sm_75"),
        ({"failing": {"cuInit": 100}}, "no NVIDIA device"),
        ({"failing": {"cuInit": 719}}, "cuInit: CUDA_ERROR_LAUNCH_FAILED: LAUNCH_FAILED is what failed"),
        ({"failing": {"cuModuleLoadDataEx": 2}}, "cuda:0 (Fake) has no room for the program's kernels"),
        ({"failing": {"cuModuleLoadDataEx": 222}}, "the driver is of CUDA 12.4, which is too old for them"),
        ({"kernels": {}}, "the code for the device has no kernel 'double': cuModuleGetFunction: CUDA_ERROR_NOT_FOUND"),
        ({"cuMemAllocAsync": None}, "the NVIDIA driver has no cuMemAllocAsync: it is too old, CUDA 11.2"),
    ],
)
def test_a_driver_with_missing_functions_is_refused(doubling: Artifact, change: dict[str, Any], expected: str) -> None:
    library = FakeDriver(KERNELS)
    for name, value in change.items():
        setattr(library, name, value)
    with pytest.raises(ArtifactError) as caught, use_library(library):
        Executable(doubling)
    assert expected in str(caught.value) and "\n" not in str(caught.value)
    gc.collect()
    assert not library.leaks and not library.contexts


def test_code_for_another_device_is_refused(fake: FakeDriver, doubling: Artifact) -> None:
    def with_code(**changes: Any) -> Artifact:
        return replace(doubling, devices=(replace(doubling.devices[0], **changes),))

    assert refusal(with_code(data=memoryview(b"bad"))).split("\n") == [
        "cuda:0 (Fake) refuses the kernels for cuda, sm_80 (ptx): "
        "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX: INVALID_PTX is what failed",
        "  line 1: no",
        "  line 2: never",
    ]
    assert "run on sm_86 to sm_89" not in refusal(with_code(arch="sm_90"))
    assert "run on sm_70 to sm_79; cuda:0 (Fake) is sm_86" in refusal(with_code(arch="sm_70", format="cubin"))
    assert "run on sm_80a; cuda:0 (Fake) is sm_86" in refusal(with_code(arch="sm_80a"))
    assert "'gfx90a', which this release does not know" in refusal(with_code(arch="gfx90a"))
    assert "runs code for cuda, vulkan, opencl; there is code for rocm" in refusal(with_code(kind="rocm"), device=None)
    for arch, format_ in (("sm_70", "ptx"), ("sm_80", "cubin"), ("sm_86a", "ptx")):
        Executable(with_code(arch=arch, format=format_))


def with_machine_code(program: Artifact, **changes: Any) -> Artifact:
    """Return the program with machine code next to its PTX."""
    (code,) = program.devices
    return replace(program, devices=(code, replace(code, format="cubin", **{"data": memoryview(b"elf"), **changes})))


def test_machine_code_is_loaded_before_ptx(fake: FakeDriver, doubling: Artifact) -> None:
    Executable(with_machine_code(doubling))
    assert fake.images == [b"elf"]


@pytest.mark.parametrize(
    "changes", [{"data": memoryview(b"bad")}, {"arch": "sm_90"}, {"arch": "sm_80a"}], ids=["refused", "newer", "own"]
)
def test_ptx_is_loaded_where_machine_code_is_not_for_the_device(
    fake: FakeDriver, doubling: Artifact, changes: dict[str, Any]
) -> None:
    """Load PTX if the device cannot use the machine code, for example with a driver older than the linker."""
    Executable(with_machine_code(doubling, **changes))
    assert fake.images[-1] == bytes(doubling.devices[0].data).rstrip(b"\0") and len(fake.images) == 1 + (
        "data" in changes
    )


def test_failures_that_other_code_would_repeat_are_raised_at_once(fake: FakeDriver, doubling: Artifact) -> None:
    fake.failing["cuModuleLoadDataEx"] = 2
    assert "has no room for the program's kernels" in refusal(with_machine_code(doubling))
    assert fake.calls.count("cuModuleLoadDataEx") == 1, "PTX would have no room either"
    del fake.failing["cuModuleLoadDataEx"]
    assert "have not the same kernels" in refusal(with_machine_code(doubling, kernels=("other",)))


@pytest.mark.parametrize(
    ("format_", "text", "is_asked"),
    [("ptx", b".extern .shared .b8 room[];", True), ("ptx", b".shared .b8 room[16];", False), ("cubin", b"elf", True)],
)
def test_launches_may_ask_for_much_shared_memory(
    fake: FakeDriver, doubling: Artifact, format_: str, text: bytes, is_asked: bool
) -> None:
    """Request the shared memory of a block minus the kernel's static memory.

    Without a limit to raise nothing is set.
    """
    (code,) = doubling.devices
    Executable(replace(doubling, devices=(replace(code, format=format_, data=memoryview(text)),)))
    assert fake.settings == ([(500, 8, 99 * 1024), (501, 8, 99 * 1024)] if is_asked else [])


def test_unknown_devices_are_refused(fake: FakeDriver, doubling: Artifact) -> None:
    assert refusal(doubling, device="cuda:2") == "no device cuda:2: there is cuda:0 to cuda:1"
    fake.devices = 1
    assert refusal(doubling, device="cuda:1") == "no device cuda:1: there is only cuda:0"
    for device in ("gpu", "cuda:x", "cuda:-1", 1):
        assert refusal(doubling, device=device).startswith(f"device={device!r}: expected 'cuda' or 'cuda:0'")
    cpu = replace(doubling, devices=())
    assert "the program is compiled for cuda" in refusal(doubling, device="cpu")
    assert "the program is compiled for cpu" in refusal(cpu, device="cuda")


@pytest.mark.parametrize(
    "name",
    ["cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2",
     "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuFuncSetAttribute"],
)  # fmt: skip
@pytest.mark.parametrize("status", [2, 719])
def test_nothing_leaks_where_loading_fails(fake: FakeDriver, with_constant: Artifact, name: str, status: int) -> None:
    fake.failing = {name: status}
    message = refusal(with_constant)
    assert "CUDA_ERROR_" in message and name.removesuffix("_v2") in message
    gc.collect()
    assert not fake.leaks


@pytest.fixture(scope="module")
def with_constant() -> Artifact:
    module = with_function(
        {"x": rx.tensor(("n", 64))},
        lambda x: relax.add(x, relax.const(numpy.random.default_rng(0).random((64, 64), "float32"))),
    )
    made = of_model(module)
    return replace(made, devices=(replace(made.devices[0], kernels=("double",), format="cubin", data=b"elf"),))


def test_a_cpus_program_does_not_ask_for_the_driver(monkeypatch: pytest.MonkeyPatch, doubling: Artifact) -> None:
    monkeypatch.setattr("relax_mlir.runtime.cuda.driver.LIBRARY", "libof_another_name.so.1")
    module = with_function({"x": rx.tensor((3,))}, lambda x: relax.exp(x))
    program = rx.compile(module, jobs=1)
    assert numpy.allclose(program.copying()["main"](X[:3]), numpy.exp(X[:3]))
    program.synchronize()
    assert program.device == "cpu"
    with pytest.raises(ArtifactError, match=r"^no NVIDIA driver: libof_another_name.so.1 cannot be loaded: "):
        Executable(doubling)


def test_a_program_without_a_device_is_refused(fake: FakeDriver, doubling: Artifact) -> None:
    from relax_mlir.runtime.code_functions import find_function
    from relax_mlir.runtime.executable import _load_objects

    module = _load_objects(doubling.objects, doubling)
    with pytest.raises(ValueError, match=r"the program's device is not set: call __relax_set_device first"):
        find_function(module, "main")(X)
    with pytest.raises(ValueError, match=r"__relax_set_device: expected, once, a pointer to 32 addresses"):
        find_function(module, "__relax_set_device")(1, 2)


def test_the_memory_pool_keeps_freed_memory(fake: FakeDriver, doubling: Artifact) -> None:
    """Set the pool's threshold once per device. Otherwise the pool returns its memory to the system at each wait."""
    programs = [Executable(doubling, device=device) for device in ("cuda:1", "cuda:1", "cuda:0")]
    assert fake.pools == {(2041, 4): 2**64 - 1, (2040, 4): 2**64 - 1} and programs
    assert fake.calls.count("cuMemPoolSetAttribute") == 2


def test_a_device_without_memory_pools(fake: FakeDriver, doubling: Artifact) -> None:
    fake.has_pools = False
    assert "the device has no memory pools (cuMemAllocAsync)" in refusal(doubling)


def test_repr_names_kernels_and_device(doubling: Artifact) -> None:
    shown = repr(Executable(doubling, load_later=True))
    assert "2 kernels for cuda (sm_80, ptx)" in shown.splitlines()[0]
