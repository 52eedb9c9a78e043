# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the targets vulkan and opencl that describe a device, and the resulting kernels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
import real_devices
import relax_mlir as rx
import spirv_validation
from real_devices import with_more
from relax_mlir import relax
from relax_mlir.runtime import tensor, to_numpy
from relax_mlir_spirv.abi import PackedKernel, packed, unpacked
from relax_mlir_spirv.device_kernels import version_of

KINDS = real_devices.KINDS


def of(build, *shapes: tuple[int, ...], dtype: str = "f32") -> rx.Module:  # type: ignore[no-untyped-def]
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(build(*f))
    return module


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("subgroup=7", "option 'subgroup' expects a power of two from 1 to 128, got '7'"),
        ("threads=64", "option 'threads' expects a power of two from 128 to 1024, got '64'"),
        ("shared=1K", "option 'shared' expects a number from 16384 to 1048576, got '1K'"),
        ("fma=never", "option 'fma' expects once or twice, got 'never'"),
        ("lacks=f64+f65", "option 'lacks' has no type 'f65'"),
        ("lacks=i64", "addresses are of 64 bits: a device without i64 runs no program"),
        ("threads=200", "option 'threads' expects a power of two from 128 to 1024, got '200'"),
        ("arch=sm_80", "has no option 'arch'"),
    ],
)
def test_wrong_options_are_refused(kind: str, options: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as raised:
        rx.compile(of(relax.exp, (4,)), f"{kind}{{{options}}}")
    assert f"target '{kind}" in str(raised.value) and message in str(raised.value)


_CAPABILITIES = {"f64": "shaderFloat64", "f16": "shaderFloat16", "i16": "shaderInt16", "i8": "storageBuffer8BitAccess"}


@pytest.mark.parametrize(("dtype", "lacks"), [("f64", "f64"), ("f16", "f64+f16"), ("bf16", "i16"), ("bool", "i8")])
def test_types_that_a_device_lacks_are_refused(dtype: str, lacks: str) -> None:
    build = relax.logical_not if dtype == "bool" else relax.negative
    type_, capability = lacks.rpartition("+")[2], _CAPABILITIES[lacks.rpartition("+")[2]]
    message = rf"kernel '.*': '.*' op uses {type_}, which target 'vulkan{{lacks={re.escape(lacks)}}}' lacks"
    with pytest.raises(rx.RelaxError, match=message) as raised:
        rx.compile(of(build, (40,), dtype=dtype), f"vulkan{{lacks={lacks}}}")
    assert Path(__file__).name in str(raised.value) and capability in str(raised.value)
    rx.compile(of(relax.negative, (40,)), f"vulkan{{lacks={lacks}}}")


@pytest.mark.parametrize(("version", "spirv"), [("1.2", (1, 5)), ("1.3", (1, 6))])
def test_versions_of_vulkan(version: str, spirv: tuple[int, int]) -> None:
    module = of(relax.nn.softmax, (9, 300))
    executable = rx.compile(module, f"vulkan{{version={version}}}")
    spirv_validation.check(executable)
    code = executable._artifact.devices[0]
    assert {version_of(each.module) for each in unpacked(code.data)[0]} == {spirv}
    usual = rx.compile(module, "vulkan{threads=256}")._artifact.devices[0]
    assert (bytes(usual.data) == bytes(code.data)) == (version == "1.2")


@pytest.mark.parametrize(
    ("target", "message"),
    [("vulkan{version=1.1}", "expects 1.2 or 1.3, got '1.1'"), ("opencl{version=1.2}", "no option 'version'")],
)
def test_wrong_versions_are_refused(target: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as raised:
        rx.compile(of(relax.exp, (4,)), target)
    assert message in str(raised.value)


def run(kind: str, target: str, module: rx.Module, *arrays: numpy.ndarray) -> numpy.ndarray:
    executable = rx.compile(module, target)
    spirv_validation.check(executable)
    found: numpy.ndarray = to_numpy(executable.copying()["main"](*map(tensor, arrays)))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_small_devices(kind: str) -> None:
    """Fit tiles of a product, and parts of attention, into 16 KB."""
    real_devices.skip_without(kind)
    rng = numpy.random.default_rng(0)
    target = with_more(real_devices.target(kind), "shared=16384")
    x, y = rng.standard_normal((140, 40), "float32"), rng.standard_normal((40, 150), "float32")
    numpy.testing.assert_allclose(run(kind, target, of(relax.matmul, x.shape, y.shape), x, y), x @ y, atol=2e-5)
    query, key = (rng.standard_normal((1, count, 1, 64), "float32") for count in (70, 90))
    scores = query[0, :, 0] @ key[0, :, 0].T / 8
    powers = numpy.exp(scores - scores.max(1, keepdims=True))
    expected = (powers / powers.sum(1, keepdims=True)) @ key[0, :, 0]
    module = of(lambda q, k: relax.nn.attention(q, k, k), query.shape, key.shape)
    numpy.testing.assert_allclose(run(kind, target, module, query, key)[0, :, 0], expected, atol=2e-6)


@pytest.mark.parametrize("subgroup", [1, 4, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_of_several_subgroups_meet_in_memory(kind: str, subgroup: int) -> None:
    """Exchange values through memory. With subgroups of 1, which any device supports, all threads do."""
    real_devices.skip_without(kind)
    if kind == "vulkan" and subgroup > real_devices.vulkan_driver().device(0).capabilities.subgroups.size:
        pytest.skip("the device has smaller subgroups")
    target = with_more(real_devices.target(kind), f"subgroup={subgroup}")
    x = numpy.random.default_rng(1).standard_normal((9, 300), "float32")
    powers = numpy.exp(x - x.max(1, keepdims=True))
    found = run(kind, target, of(relax.nn.softmax, x.shape), x)
    numpy.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=3e-6)


def test_packed_kernels() -> None:
    one, other = b"\x03\x02\x23\x07one.", b"\x03\x02\x23\x07other..."
    kernels = [PackedKernel(one, 3), PackedKernel(other, 20), PackedKernel(one, 4)]
    data = packed(kernels, 8, counts_blocks=True)
    assert unpacked(data) == (kernels, 8)
    assert data.count(one) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_code_is_the_same_each_time(kind: str) -> None:
    target = f"{kind}{{threads=256}}"
    made = [rx.compile(of(relax.nn.softmax, (9, 300)), target)._artifact.devices[0].data for _ in range(2)]
    assert bytes(made[0]) == bytes(made[1])


@pytest.mark.parametrize("kind", KINDS)
def test_more_blocks_than_one_dimension_has_room_for(kind: str) -> None:
    """Process an odd number of bytes one per thread: 65538 blocks of 256, of which the last has one."""
    real_devices.skip_without(kind)
    x = numpy.arange(65537 * 256 + 1, dtype="uint32").astype("int8")
    module = of(relax.bitwise_not, x.shape, dtype="i8")
    numpy.testing.assert_array_equal(run(kind, real_devices.target(kind), module, x), ~x)
