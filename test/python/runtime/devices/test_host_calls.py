# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rare requirements of a device, on Vulkan and OpenCL: caches, registered functions, slices, many parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from real_devices import KINDS, compiled, device_without_leaks, page

import relax_mlir as rx
from relax_mlir import relax

_HEADS, _SIZE = 2, 8


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from device_without_leaks(request.param)


def random(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def attention() -> rx.Module:
    """Return attention of queries to all keys and values so far, which are results, too."""
    module, given = rx.Module(), rx.tensor(("b", _HEADS, "s", _SIZE))
    kept = rx.tensor(("b", _HEADS, "p", _SIZE))
    with module.function("main", {"q": given, "past.key": kept, "k": given, "past.value": kept, "v": given}) as f:
        q, past_key, k, past_value, v = f
        keys, values = (relax.concat(*pair, axis=2) for pair in ((past_key, k), (past_value, v)))
        scores = relax.nn.softmax(relax.matmul(q, relax.permute_dims(keys, axes=[0, 1, 3, 2])))
        f.returns(keys, relax.matmul(scores, values), values)
    return module


@pytest.mark.slow
def test_rows_of_caches_stay_on_the_device(kind: str) -> None:
    main: Any = compiled(kind, attention(), donate=["past*"]).copying()["main"]
    cache, given = main.cache(), [random(3, 2, _HEADS, rows, _SIZE, seed=rows) for rows in (60, 1, 10)]
    for place, (q, k, v) in enumerate(given):
        y = numpy.asarray(main(q, k, v, cache))
        keys, values = (numpy.concatenate([each[which] for each in given[: place + 1]], 2) for which in (1, 2))
        scores = q @ keys.transpose(0, 1, 3, 2)
        powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        expected = powers / powers.sum(-1, keepdims=True) @ values
        numpy.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    assert cache.length == 71 and cache.capacity == 128
    numpy.testing.assert_array_equal(cache["past.key"], keys)
    numpy.testing.assert_array_equal(cache["past.value"], values)


def test_registered_functions_get_and_give_tensors_of_the_device(kind: str) -> None:
    seen: list[object] = []
    uploads: list[Any] = []

    def same(x: Any) -> Any:
        seen.append(x.__dlpack_device__())
        return uploads[-1](numpy.full((4, 2), 5, "float32"))

    tvm_ffi.register_global_func("test_devices.same", same, override=True)
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 2))]) as f:
        (x,) = f
        f.returns(relax.add(relax.call_pure_packed("test_devices.same", [relax.exp(x)], rx.tensor(("n", 2))), x))
    program, x = compiled(kind, module), random(4, 2)
    uploads.append(program.copying().upload)
    numpy.testing.assert_allclose(numpy.asarray(program.copying()["main"](x)), x + 5, rtol=1e-6)
    assert seen == [({"vulkan": 7, "opencl": 4}[kind], 0)]
    uploads.clear()  # the program holds the function


def test_a_kernel_of_many_parameters(kind: str) -> None:
    """Launch a kernel of 20 tensors and their sum, which need more than the room of push constants."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",))] * 20) as f:
        first, *rest = f
        for each in rest:
            first = relax.add(first, each)
        f.returns(first)
    program, given = compiled(kind, module), [random(50, seed=seed) for seed in range(20)]
    call = program.copying()["main"]
    for _ in range(3):
        numpy.testing.assert_allclose(numpy.asarray(call(*given)), numpy.sum(given, 0), rtol=1e-4, atol=1e-5)
    assert 8 * max(each.words for each in kernels_of(program)) > 128


def kernels_of(program: rx.runtime.Executable) -> Any:
    """Return the kernels of a program, in either format: SPIR-V, or the OpenCL C that a device without SPIR-V takes."""
    from relax_mlir_spirv.device_kernels import FORMAT, TEXT_FORMAT, read_kernels

    return read_kernels(program._artifact.devices[0], FORMAT, TEXT_FORMAT)


def test_work_goes_on_without_waits(kind: str) -> None:
    """Launch more kernels than a command buffer and their ring can hold, before a wait."""
    module = rx.Module()
    with module.function("main", [rx.tensor((3,))]) as f:
        (x,) = f
        f.returns(relax.add(x, relax.const(numpy.float32(1))))
    program = compiled(kind, module)
    x = program.copying().upload(numpy.zeros(3, "float32"))
    for _ in range(3000):
        x = program["main"](x)
    assert list(numpy.from_dlpack(program.copying()["main"](x))) == [3001] * 3
    assert page(kind).pieces_taken < 100


def test_trace(kind: str, tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((64, 64))]) as f:
        (x,) = f
        f.returns(relax.matmul(x, x))
    path = tmp_path / "t.json"
    compiled(kind, module).trace("main", random(64, 64)).write(path)
    names = {each.get("name") for each in json.loads(path.read_text())["traceEvents"]}
    assert {"copy to the device", "copy from the device", "wait for kernels"} <= names
