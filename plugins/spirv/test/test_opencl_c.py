# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as OpenCL C on a real driver: numbers of all types against numpy, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from compiling import module_with
from real_devices import device_without_leaks, skip_without_type
from relax_mlir import relax
from relax_mlir_spirv.opencl_runtime.driver import OpenclDriver, driver

TARGET = "opencl{language=c}"
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.fixture(autouse=True)
def kind() -> Iterator[str]:
    yield from device_without_leaks("opencl")


def run(body: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    inputs = {f"x{n}": rx.tensor(each.shape, str(each.dtype)) for n, each in enumerate(arrays)}
    return np.asarray(rx.compile(module_with(inputs, body), target=TARGET).copying()["main"](*arrays))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    """Compute with signs, and with overflow."""
    info, random = np.iinfo(dtype), np.random.default_rng(0)
    x = random.integers(info.min, info.max, 300, dtype, endpoint=True)
    y = random.integers(info.min, info.max, 300, dtype, endpoint=True)
    x[:4], y[:4] = [info.min, info.max, info.min, info.max], [info.max, info.min, 1, 1]
    for made, expected in (
        (relax.add, np.add), (relax.subtract, np.subtract), (relax.multiply, np.multiply),
        (relax.maximum, np.maximum), (relax.minimum, np.minimum), (relax.less, np.less),
        (relax.greater_equal, np.greater_equal), (relax.bitwise_xor, np.bitwise_xor),
    ):  # fmt: skip
        np.testing.assert_array_equal(run(made, x, y), expected(x, y), err_msg=made.__name__)
    divisor = np.where((y == 0) | (y == -1 if info.min else False), 3, y).astype(dtype)
    np.testing.assert_array_equal(run(relax.floor_divide, x, divisor), x // divisor)
    np.testing.assert_array_equal(run(_to_f32, x), x.astype("f4"))


def _to_f32(x: Any) -> Any:
    return relax.astype(x, "float32")


def largest(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the maximum. Of two zeros it is the positive one, if there is one."""
    found: np.ndarray = np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))
    return found


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats(dtype: str) -> None:
    skip_without_type("opencl", dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 6e4, 1e-7], dtype)
    x, y = (each.ravel() for each in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        for made, expected in (
            (relax.add, np.add), (relax.multiply, np.multiply), (relax.divide, np.divide),
            (relax.maximum, largest), (relax.minimum, lambda x, y: -largest(-x, -y)), (relax.less, np.less),
            (relax.not_equal, np.not_equal),
        ):  # fmt: skip
            found, wanted = run(made, x, y), expected(x, y)
            np.testing.assert_array_equal(found, wanted, err_msg=made.__name__)
            if found.dtype == dtype:
                there = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(wanted)[there], made.__name__)
        np.testing.assert_array_equal(run(relax.sqrt, abs(x)), np.sqrt(abs(x)))


def test_functions_of_opencl_are_no_kernels() -> None:
    """Use exp, which is a function of OpenCL."""
    x = np.linspace(-3, 3, 50, dtype="float32")
    np.testing.assert_allclose(run(relax.exp, x), np.exp(x), rtol=1e-6)


def test_updates_at_once() -> None:
    x, at = np.zeros(4, "float32"), np.array([1, 3, 1, 1, 3], "int64")
    updates = np.array([1, 2, 3, 4, 5], "float32")
    found = run(lambda x, at, u: relax.scatter_elements(x, at, u, reduction="add"), x, at, updates)
    np.testing.assert_array_equal(found, [0, 8, 0, 7])


def test_kernels_in_opencl_c_raise_assertions() -> None:
    with pytest.raises(IndexError, match="index 9 is out of range for axis 0 of size 4"):
        run(lambda x, at: relax.take(x, at, axis=0), np.zeros((4, 2), "float32"), np.array([0, 9]))


def doubling(dtype: str = "float32") -> rx.runtime.Executable:
    return rx.compile(module_with({"x": rx.tensor((300,), dtype)}, lambda x: relax.add(x, x)), target=TARGET)


def test_the_text_is_what_emit_shows() -> None:
    module = module_with({"x": rx.tensor((300,))}, lambda x: relax.add(x, x))
    text = rx.compile(module, target=TARGET)._artifact.devices[0].data
    assert b"void kernel_add(ulong v0" in bytes(text) and b"FP_CONTRACT OFF" in bytes(text)


@pytest.mark.parametrize(
    ("dtype", "changes", "reason"),
    [
        ("float64", {"has_double": False}, "lacks what the kernels for opencl.*, need: f64"),
        ("float16", {"extensions": frozenset()}, "lacks what the kernels for opencl.*, need: f16"),
        ("float32", {"threads": 64}, "need blocks of 256 threads, at most 64 here; .*threads=64.*' is for it"),
    ],
)
def test_programs_in_opencl_c_refuse_unsuitable_devices(
    dtype: str, changes: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = doubling(dtype)._artifact
    other = driver().device(0)._replace(**changes)  # type: ignore[arg-type]
    monkeypatch.setattr(OpenclDriver, "devices", lambda self: [other])
    with pytest.raises(rx.RelaxError, match=reason):
        rx.runtime.Executable(artifact)


def test_text_that_the_driver_refuses() -> None:
    artifact = doubling()._artifact
    (code,) = artifact.devices
    broken = bytes(code.data).replace(b"const float", b"const flaot")
    with pytest.raises(rx.RelaxError, match=r"refuses the kernels for opencl.*clBuildProgram(.|\n)*flaot"):
        rx.runtime.Executable(replace(artifact, devices=(replace(code, data=memoryview(broken)),)))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("language=glsl", "option 'language' expects spirv or c, got 'glsl'"),
        ("language=c subgroup=8", "OpenCL C does not define the size of a subgroup"),
    ],
)
def test_options(options: str, reason: str) -> None:
    with pytest.raises(rx.RelaxError, match=reason):
        rx.compile(module_with({"x": rx.tensor((3,))}, lambda x: relax.add(x, x)), target=f"opencl{{{options}}}")
