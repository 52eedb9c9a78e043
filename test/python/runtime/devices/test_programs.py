# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on devices of Vulkan and OpenCL: arrays in and out, tensors that stay there, errors, threads, files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from real_devices import KINDS, compiled, device_without_leaks, page, target
from relax_mlir.runtime.watching import VARIABLE
from relax_mlir_proof.testing.checking import subject_of
from relax_mlir_proof.testing.every_model import all_models
from relax_mlir_proof.testing.trial import tried
from relax_mlir_spirv.paged import PagedProgram

import relax_mlir as rx
from relax_mlir import relax


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from device_without_leaks(request.param)


def scaled(by: float = 3.0) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 5), "float32")]) as f:
        (x,) = f
        f.returns(relax.multiply(x, relax.const(numpy.float32(by))))
    return module


def taken() -> rx.Module:
    """Return a module that takes rows by indices, which kernels check before later kernels read the rows."""
    module = rx.Module()
    with module.function("main", [rx.tensor((11, 4), "float32"), rx.tensor(("n",), "int64")]) as f:
        rows, numbers = f
        f.returns(relax.sum(relax.take(rows, numbers, axis=0), axis=[1]))
    return module


def random(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def test_arrays_of_any_size(kind: str) -> None:
    program = compiled(kind, scaled())
    for rows in (1, 7, 1000, 0, 7):
        x = random(rows, 5, seed=rows)
        numpy.testing.assert_array_equal(numpy.asarray(program.copying()["main"](x)), x * numpy.float32(3))


def test_a_device_without_room(kind: str) -> None:
    """Fill the device's memory inside of the context, and release it."""
    program, x = compiled(kind, scaled()), random(4, 5)
    call = program.copying()["main"]
    before = page(kind).pieces_taken
    assert isinstance(program._on_device, PagedProgram)
    with program._on_device.without_room(), pytest.raises(MemoryError):
        call(x)
    assert page(kind).pieces_taken == before
    numpy.testing.assert_array_equal(numpy.asarray(call(x)), x * numpy.float32(3))


@pytest.mark.slow
def test_a_model_that_is_used_in_all_ways(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run relax-check's trial: often, saved and loaded, from two threads, without memory, with wrong arguments."""
    monkeypatch.setenv(VARIABLE, "1")  # which it sets, and leaves
    case = next(each for each in all_models() if each.name == "until_small").case
    verdict = tried(subject_of(target(kind)), case, 0)
    assert verdict is not None and verdict.verdict == "right", verdict


def test_tensors_stay_on_the_device(kind: str) -> None:
    """Pass results to the next call, also of other programs, without a copy. They outlive their program."""
    x = random(8, 5)
    first, second = compiled(kind, scaled()), compiled(kind, scaled(0.5))
    given = first.copying().upload(x)
    result = first["main"](given)
    assert result.__dlpack_device__() == ({"vulkan": 7, "opencl": 4}[kind], 0)
    del first
    result = second["main"](result)
    second.synchronize()
    found = numpy.from_dlpack(second.copying()["main"](result))
    numpy.testing.assert_array_equal(found, x * numpy.float32(3) * numpy.float32(0.25))


def test_a_tensor_of_the_cpu_is_refused(kind: str) -> None:
    program = compiled(kind, scaled())
    with pytest.raises(ValueError, match=rf"expected a tensor on {kind}:0, got one on cpu:0; executable.copying"):
        program["main"](random(2, 5))


def test_what_kernels_assert(kind: str) -> None:
    program = compiled(kind, taken())
    call, rows = program.copying()["main"], random(11, 4)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 12 is out of range for axis 0 of size 11"):
            call(rows, numpy.array([1, 12, 10]))
        numbers = numpy.array([1, 2, 10])
        numpy.testing.assert_allclose(numpy.asarray(call(rows, numbers)), rows[numbers].sum(1), rtol=1e-5)


def test_threads(kind: str) -> None:
    """Check that each thread gets its own results and errors."""
    program, rows = compiled(kind, taken()), random(11, 4)
    wrong: list[object] = []

    def work(seed: int) -> None:
        call, generator = program.copying()["main"], numpy.random.default_rng(seed)
        for turn in range(20):
            numbers = generator.integers(0, 11, 1 + turn)
            if turn % 5 == 4:
                numbers[0] = 100 + seed
                try:
                    call(rows, numbers)
                    wrong.append("no error")
                except IndexError as error:
                    if f"index {100 + seed} " not in str(error):
                        wrong.append(error)
            elif not numpy.allclose(numpy.asarray(call(rows, numbers)), rows[numbers].sum(1), rtol=1e-4, atol=1e-5):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_files(kind: str, tmp_path: Path) -> None:
    path, x = tmp_path / "scaled.rxa", random(3, 5)
    compiled(kind, scaled()).save(path)
    loaded = rx.runtime.load(path)
    assert loaded.device == f"{kind}:0" and f"1 kernel for {kind}" in repr(loaded)
    numpy.testing.assert_array_equal(numpy.asarray(loaded.copying()["main"](x)), x * numpy.float32(3))
    with pytest.raises(rx.RelaxError, match=rf"no device {kind}:77: there (is|are) {kind}:0"):
        rx.runtime.load(path, device=f"{kind}:77")
    with pytest.raises(rx.RelaxError, match=rf"the program is compiled for {kind}"):
        rx.runtime.load(path, device="cuda:0")


def test_constants_are_on_the_device_as_long_as_the_program(kind: str) -> None:
    before, weights = page(kind).bytes_taken, random(64, 64)
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 64), "float32")]) as f:
        (x,) = f
        f.returns(relax.matmul(x, relax.const(weights)))
    program, x = compiled(kind, module), random(3, 64, seed=1)
    numpy.testing.assert_allclose(numpy.asarray(program.copying()["main"](x)), x @ weights, rtol=1e-4, atol=1e-4)
    # Includes the flags for kernels' assertions.
    assert page(kind).bytes_taken == before + weights.nbytes + 64 * 64


def test_memory_is_used_again(kind: str) -> None:
    program, x = compiled(kind, scaled()), random(100, 5)
    call = program.copying()["main"]
    call(x)
    before = page(kind).bytes_of_chunks
    for _ in range(200):
        call(x)
    assert page(kind).bytes_of_chunks == before


def test_profile(kind: str) -> None:
    profile = compiled(kind, scaled()).profile("main", random(64, 5), repeat=3, warmup=1)
    assert [each.calls for each in profile.kernels] == [1]
