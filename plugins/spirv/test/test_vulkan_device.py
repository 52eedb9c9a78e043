# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vulkan device: memory that the host does not see, errors, and messages of the validation layer."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_devices import compiled, device_without_leaks, open_device, target, with_more
from relax_mlir import relax
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_spirv.paged import PagedProgram
from relax_mlir_spirv.vulkan_runtime import driver as driver_module
from relax_mlir_spirv.vulkan_runtime import opened
from relax_mlir_spirv.vulkan_runtime.driver import VulkanDriver, driver
from relax_mlir_spirv.vulkan_runtime.structures import CooperativeMatrixFeatures

_LARGEST, _SUBMIT, _MOST_BLOCKS = 10, 63, 39
_LAYER = "VK_LAYER_KHRONOS_validation"


@pytest.fixture(autouse=True)
def kind() -> Iterator[str]:
    yield from device_without_leaks("vulkan")


def doubled() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "float32")]) as f:
        (x,) = f
        f.returns(relax.add(x, x))
    return module


@contextmanager
def changed(place: int, value: int | None) -> Iterator[None]:
    """Set a word of the device's state inside of the context."""
    words = open_device("vulkan").page.words
    before = words[place]
    words[place] = value or 0
    try:
        yield
    finally:
        words[place] = before


def refusal(artifact: rx.runtime.Artifact) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.runtime.Executable(artifact)
    return str(caught.value)


def test_memory_that_the_host_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy through staging memory like discrete GPUs, in pieces for large tensors."""
    device = opened.VulkanDevice(driver(), driver().device(0), staged=True)
    monkeypatch.setitem(opened._open_devices, 0, device)
    program = compiled("vulkan", doubled())
    for size in (1, 1000, (5 << 20) + 3):
        x = numpy.random.default_rng(size).random(size, "float32")
        numpy.testing.assert_array_equal(numpy.asarray(program.copying()["main"](x)), 2 * x)
    del program
    gc.collect()
    assert device.page.bytes_taken == 0


@contextmanager
def full_device() -> Iterator[None]:
    program = compiled("vulkan", doubled())
    program.copying()  # it is loaded then
    assert isinstance(program._on_device, PagedProgram)
    with program._on_device.without_room():
        yield


def test_memory_that_runs_out() -> None:
    program, x = compiled("vulkan", doubled()), numpy.zeros(30 << 20, "float32")
    with (
        changed(_LARGEST, 64 << 20),
        pytest.raises(MemoryError, match="out of memory of the device, 125829120 bytes needed"),
    ):
        program.copying()["main"](x)
    assert numpy.asarray(program.copying()["main"](x)).sum() == 0


def test_constants_that_have_no_room() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1 << 20,), "float32")]) as f:
        f.returns(relax.add(*f, relax.const(numpy.arange(1 << 20, dtype="float32"))))
    artifact = compiled("vulkan", module)._artifact
    with full_device():
        refused = refusal(artifact)
    assert (
        ") has no room for the program's constants, 4.19 MB: out of memory: the device has no room for more" in refused
    )


def test_a_device_that_is_lost() -> None:
    program = compiled("vulkan", doubled())
    call, x = program.copying()["main"], numpy.ones(3, "float32")
    refuse = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: -4)
    with (
        changed(_SUBMIT, ctypes.cast(refuse, ctypes.c_void_p).value),
        pytest.raises(RuntimeError, match="waiting: VK_ERROR_DEVICE_LOST: the device is lost"),
    ):
        call(x)
    assert list(numpy.asarray(call(x))) == [2, 2, 2]


def test_more_blocks_than_a_row_takes() -> None:
    program, x = compiled("vulkan", doubled()), numpy.arange(100003, dtype="float32")
    for most in (1, 7, 65535):
        with changed(_MOST_BLOCKS, most):
            numpy.testing.assert_array_equal(numpy.asarray(program.copying()["main"](x)), 2 * x)


def test_programs_refuse_devices_without_their_features(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = compiled("vulkan", doubled())._artifact
    has = open_device("vulkan").physical.capabilities
    less = type(has.features)(values=has.features.values)
    less.values[40] = 0
    with_device(monkeypatch, capabilities=has._replace(features=less))
    assert "need: shaderInt64; target 'vulkan" in refusal(artifact) and "vulkan:0 (" in refusal(artifact)


def test_a_device_with_other_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the device's properties: support for matrices, their shapes, and the number of threads."""
    module = rx.Module()
    with module.function("main", [rx.tensor((64, 64), "float16"), rx.tensor((64, 64), "float16")]) as f:
        f.returns(relax.matmul(*f))
    artifact = rx.compile(module, with_more(target("vulkan"), "matrices=f16:8x8x8 subgroup=8"))._artifact
    has = open_device("vulkan").physical.capabilities._replace(matrices=(), cooperative=CooperativeMatrixFeatures())
    with_device(monkeypatch, capabilities=has)
    assert ", need: cooperativeMatrix; target 'vulkan" in refusal(artifact)
    has = has._replace(matrices=("f16:16x16x16",))
    has.cooperative.values[0] = 1
    with_device(monkeypatch, capabilities=has)
    assert f"lacks the matrices of the kernels for {artifact.devices[0].arch}: f16:8x8x8; " in refusal(artifact)
    larger = type(has.subgroups)(size=64)
    none_chosen = type(has.features13)(values=has.features13.values)
    none_chosen.values[7] = 0
    has = has._replace(matrices=("f16:8x8x8",), subgroups=larger, features13=none_chosen)
    with_device(monkeypatch, capabilities=has)
    assert "has subgroups of 64, the kernels for vulkan" in refusal(artifact) and "for exactly 8; " in refusal(artifact)


@pytest.mark.parametrize(
    ("subgroup", "matrices", "expected"),
    [
        (32, ("f16:16x16x16", "f16:16x8x8", "ui8:16x8x32"), "matrices=f16:16x16x16+ui8:16x8x32"),
        (8, ("i8:8x8x8",), "subgroup=8 matrices=i8:8x8x8"),
        (32, ("f16:4x4x4",), ""),
        (64, ("f16:16x16x16",), ""),
        (32, (), ""),
    ],
)
def test_the_largest_cooperative_matrices_are_chosen(subgroup: int, matrices: tuple[str, ...], expected: str) -> None:
    """Choose the largest matrices of each kind, or none without subgroups of 32 or less."""
    device = open_device("vulkan").physical
    fixed = type(device.capabilities.features13)()
    sized = type(device.capabilities.subgroups)(size=subgroup)
    has = device.capabilities._replace(matrices=matrices, subgroups=sized, features13=fixed)
    changed_device = device._replace(version=(1, 3), capabilities=has)
    named = f" {changed_device.target.partition('{')[2].rstrip('}')} "
    assert (f" {expected} " in named) if expected else "matrices" not in named
    assert ("\n  matrices            " + ", ".join(matrices) + "\n" in changed_device.table()) == bool(matrices)
    assert "matrices" not in changed_device._replace(version=(1, 2)).target


def with_device(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Replace properties of the first device."""
    changed_device = copy.copy(open_device("vulkan"))
    changed_device.physical = changed_device.physical._replace(**changes)
    monkeypatch.setitem(opened._open_devices, 0, changed_device)


def with_limit(monkeypatch: pytest.MonkeyPatch, limit: str, number: int) -> None:
    """Lower a limit of the first device: the threads of a block, or the bytes of a block's memory."""
    has = open_device("vulkan").physical.capabilities
    properties = type(has.properties).from_buffer_copy(has.properties)
    setattr(properties.limits, limit, number)
    with_device(monkeypatch, capabilities=has._replace(properties=properties))


def test_code_for_a_newer_vulkan(monkeypatch: pytest.MonkeyPatch) -> None:
    older = open_device("vulkan").physical._replace(version=(1, 2)).target
    newer = with_more(older, "version=1.3")
    artifact = rx.compile(doubled(), newer)._artifact
    with_device(monkeypatch, version=(1, 2))
    refused = refusal(artifact)
    assert f") has Vulkan 1.2, the kernels for {newer}, are for 1.3; target '{older}' is" in refused
    rx.runtime.Executable(rx.compile(doubled(), older)._artifact)


@pytest.mark.parametrize(
    ("limit", "number", "message"),
    [
        ("threads", 128, "is too small for the kernels for {0}, which need blocks of 256 threads, at most 128"),
        ("shared_memory", 64, " of shared memory for a block, at most 64 bytes here; target '"),
    ],
)
def test_a_device_that_is_smaller(monkeypatch: pytest.MonkeyPatch, limit: str, number: int, message: str) -> None:
    module = doubled()
    with module.function("softmax", [rx.tensor((9, 3000), "float32")]) as f:
        f.returns(relax.nn.softmax(*f))
    chosen = with_more(target("vulkan"), "subgroup=4")  # threads that are further apart meet in memory
    artifact = rx.compile(module, chosen)._artifact
    with_limit(monkeypatch, limit, number)
    assert message.format(chosen) in refusal(artifact)


@pytest.mark.parametrize("most", [128, 32])
def test_blocks_of_fewer_threads(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Shrink blocks to the device's limit in kernels without cooperation of threads."""
    module, n = rx.Module(), 3001
    with module.function("main", [rx.tensor(("n", 3), "float32"), rx.tensor((4000,), "int64")]) as f:
        x, places = f
        taken = relax.take(x, places, axis=0)
        f.returns(relax.add(x, x), relax.concat([x, taken, x], axis=0), relax.sum(x, axis=[1]), taken)
    artifact = compiled("vulkan", module)._artifact
    with_limit(monkeypatch, "threads", most)
    call = rx.runtime.Executable(artifact).copying()["main"]
    rng = numpy.random.default_rng(1)
    x, places = rng.standard_normal((n, 3)).astype("float32"), rng.integers(0, n, 4000)
    taken = x[places]
    expected_results = x + x, numpy.concatenate([x, taken, x]), x.sum(1), taken
    for found, expected in zip(call(x, places), expected_results, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=1e-6, atol=1e-6)
    places[-1] = n
    with pytest.raises(IndexError, match=f"index {n} is out of range"):
        call(x, places)


def test_code_of_another_version() -> None:
    artifact = compiled("vulkan", doubled())._artifact

    def with_code(data: bytes, **changes: Any) -> rx.runtime.Artifact:
        return replace(artifact, devices=(replace(artifact.devices[0], data=memoryview(data), **changes),))

    data = bytes(artifact.devices[0].data)
    assert "are of another version than this release reads" in refusal(with_code(b"RSV9" + data[4:]))
    assert "are damaged" in refusal(with_code(data[:40]))
    assert "the format 'metal', which this release does not know" in refusal(with_code(data, format="metal"))
    told = data[:28] + bytes(4) + data[32:]
    assert "are of another version than this release reads" in refusal(with_code(told))
    wide = data[:8] + (4096).to_bytes(4, "little") + data[12:]
    assert (
        "has subgroups of" in refusal(with_code(wide))
        and "has subgroups of" in refusal(with_code(wide))
        and "; target 'vulkan" in refusal(with_code(wide))
    )


def test_no_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "LIBRARY", "libno-vulkan.so.1")
    with pytest.raises(DeviceError, match=r"no Vulkan loader: libno-vulkan.so.1 cannot be loaded: .*apt install"):
        driver.__wrapped__()


def test_no_driver() -> None:
    """Run in a process of its own, since the loader looks for drivers only once."""
    code = "from relax_mlir_spirv.vulkan_runtime.driver import driver; driver().device(0)"
    environment = {**os.environ, "VK_ICD_FILENAMES": os.devnull, "VK_DRIVER_FILES": os.devnull}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "DeviceError: no Vulkan " in ended.stderr and "apt install" in ended.stderr


_ON_TWO = """
import sys, numpy, relax_mlir as rx
ones = numpy.ones(5, "float32")
first, second = (rx.runtime.load(sys.argv[1], device=f"vulkan:{number}") for number in (0, 1))
results = [each["main"](each.copying().upload(ones)) for each in (first, second, first)]
print([float(numpy.asarray(each.copying()["main"](ones)).sum()) for each in (first, second)])
print([str(each) for each in results])
try:
    second["main"](results[0])
except ValueError as error:
    print(error)
"""


def test_two_devices(tmp_path: Path) -> None:
    """List one driver twice: each device has its own memory and work."""
    drivers = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not drivers:
        pytest.skip("lavapipe is not installed (apt: mesa-vulkan-drivers)")
    again = tmp_path / "again.json"
    again.write_bytes(drivers[0].read_bytes())
    program = tmp_path / "doubled.rxa"
    compiled("vulkan", doubled()).save(program)
    twice = os.pathsep.join(map(str, (drivers[0], again)))
    environment = {**os.environ, "VK_ICD_FILENAMES": twice, "VK_DRIVER_FILES": twice}
    ended = subprocess.run(
        [sys.executable, "-c", _ON_TWO, program], capture_output=True, text=True, env=environment, check=False
    )
    sums, places, refused = ended.stdout.splitlines() or [ended.stderr, "", ""]
    assert sums == "[10.0, 10.0]"
    assert places == "['float32[5]@vulkan:0', 'float32[5]@vulkan:1', 'float32[5]@vulkan:0']"
    assert "expected a tensor on vulkan:1, got one on vulkan:0" in refused


def test_devices_are_listed_by_number() -> None:
    names = [str(each) for each in driver().devices()]
    assert names[0].startswith("vulkan:0 (")
    with pytest.raises(DeviceError, match=r"no device vulkan:99: there (is|are) vulkan:0 \("):
        driver().device(99)
    assert "subgroup " in driver().device(0).table()


def test_a_device_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = driver().device(0)._replace(version=(1, 1))
    monkeypatch.setattr(VulkanDriver, "devices", lambda self: [old])
    with pytest.raises(DeviceError, match=r"has Vulkan 1\.1; programs need Vulkan 1\.2"):
        driver().device(0)


_CHECKED = """
import numpy, relax_mlir as rx
from relax_mlir import relax
module = rx.Module()
with module.function("main", [rx.tensor((11, 4), "float32"), rx.tensor(("n",), "int64")]) as f:
    rows, numbers = f
    f.returns(relax.nn.softmax(relax.take(rows, numbers, axis=0)))
with module.function("fixed", [rx.tensor((11, 4), "float32")]) as f:
    (x,) = f
    f.returns(relax.cumsum(relax.nn.softmax(x), axis=0))
program = rx.compile(module, target="TARGET")
call = program.copying()["main"]
rows = numpy.random.default_rng(0).random((11, 4), "float32")
call(rows, numpy.arange(200) % 11)
tensors = [program.copying().upload(rows) for _ in range(6)]
for _ in range(20):
    results = [program["fixed"](each) for each in tensors]
program.synchronize()
print(program._on_device.graphs.recorded("fixed"))
try:
    call(rows, numpy.array([50]))
except IndexError:
    print("refused")
"""


@pytest.mark.slow
def test_the_validation_layer_finds_nothing() -> None:
    layers = "".join(map(str, Path("/usr/share/vulkan/explicit_layer.d").glob("*validation*")))
    if not layers:
        pytest.skip("the validation layer is not installed (apt: vulkan-validationlayers)")
    code = _CHECKED.replace("TARGET", target("vulkan"))
    environment = {**os.environ, "VK_INSTANCE_LAYERS": _LAYER}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "4\nrefused\n" and "VUID" not in ended.stderr
