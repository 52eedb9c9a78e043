# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that stay where a program computes, and donated arguments among them, which calls update in place."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
import real_devices
from gpu_emulator.driver import EmulatedCuda
from relax_mlir.runtime import UnsupportedArray
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

PAGES, PLACES, HEADS, SIZE = 6, 4, 2, 8


@pytest.fixture(params=["llvm", "cuda", *real_devices.KINDS])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a target: cuda runs on the emulator, vulkan and opencl on devices if there are any."""
    if request.param == "llvm":
        yield "llvm"
    elif request.param == "cuda":
        device = EmulatedCuda()
        with use_library(device):
            yield "cuda"
            gc.collect()
        device.check()
    else:
        for kind in real_devices.device_without_leaks(request.param):
            yield real_devices.target(kind)


def appending(target: str) -> rx.runtime.Executable:
    """Return a program that writes rows to donated pages, and returns the sum of each page."""
    module = rx.Module()
    types = {"rows": rx.tensor(("t", HEADS, SIZE)), "slots": rx.tensor(("t",), "int32")}
    types["pages"] = rx.tensor(("n", PLACES, HEADS, SIZE))
    with module.function("main", types) as f:
        rows, slots, pages = f
        new = relax.append_pages(pages, rows, slots)
        f.returns(relax.sum(new, axis=[1, 2, 3]), new)
    return rx.compile(module, target, donate=["pages"])


def normal(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def with_rows(pages: Any, rows: Any, slots: Sequence[int]) -> Any:
    """Return pages with rows at slots."""
    found = pages.copy()
    found.reshape(-1, HEADS, SIZE)[list(slots)] = rows
    return found


def test_donated_arrays_are_updated_in_place(target: str) -> None:
    program, expected = appending(target), numpy.zeros((PAGES, PLACES, HEADS, SIZE), "float32")
    pages, main = program.memory.zeros(expected.shape, "float32"), program.copying()["main"]
    for seed, slots in enumerate(([5, 0], [23], [1, 2, 3, 6])):
        rows = normal(len(slots), HEADS, SIZE, seed=seed)
        expected = with_rows(expected, rows, slots)
        sums = main(rows, numpy.array(slots, "int32"), pages)
        assert isinstance(sums, numpy.ndarray)
        numpy.testing.assert_allclose(sums, expected.sum((1, 2, 3)), rtol=1e-5, atol=1e-5)
    numpy.testing.assert_array_equal(program.memory.download(pages), expected)


def test_a_call_copies_no_array_of_the_memory(target: str) -> None:
    """Count copies by the trace of a call: two arguments and a result, and the pages only if they are on the CPU."""
    program = appending(target)
    pages = numpy.zeros((PAGES, PLACES, HEADS, SIZE), "float32")
    for given, copies in ((pages, (3, 2)), (program.memory.upload(pages), (2, 1))):
        trace = program.trace("main", normal(1, HEADS, SIZE), numpy.array([7], "int32"), given, warmup=0)
        found = Counter(each.name for each in trace.events if each.kind == "copy")
        expected = (0, 0) if target == "llvm" else copies
        assert (found["copy to the device"], found["copy from the device"]) == expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint8", "int64", "bool"])
def test_elements_of_all_types(target: str, dtype: str) -> None:
    memory = appending(target).memory
    kind = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    assert (memory.download(memory.zeros((3, 2), dtype)) == numpy.zeros((3, 2), kind)).all()
    given = numpy.array([[0, 1, 1], [1, 0, 1]], kind)
    given.flags.writeable = False
    for each in (given, given.T, given[:, :0]):
        found = memory.download(memory.upload(each))
        assert found.dtype == kind and found.shape == each.shape and (found == each).all()


def test_an_uploaded_array_is_a_copy(target: str) -> None:
    memory, given = appending(target).memory, normal(2, 3)
    held, before = memory.upload(given), given.copy()
    given[:] = 7
    first = memory.download(held)
    first[:] = 8
    numpy.testing.assert_array_equal(memory.download(held), before)


@pytest.mark.parametrize(("at", "first", "count"), [(0, 3, 2), (4, 0, 1), (1, 2, 3), (2, 1, 3), (3, 3, 2), (5, 0, 0)])
def test_rows_are_copied_also_onto_themselves(target: str, at: int, first: int, count: int) -> None:
    memory, given, other = appending(target).memory, normal(5, 3, seed=1), normal(5, 3, seed=2)
    one, two = memory.upload(given), memory.upload(other)
    memory.copy_rows(one, at, one, first, count)
    memory.copy_rows(two, at, one, first, count)
    expected = given.copy()
    expected[at : at + count] = given[first : first + count]
    other[at : at + count] = expected[first : first + count]
    numpy.testing.assert_array_equal(memory.download(one), expected)
    numpy.testing.assert_array_equal(memory.download(two), other)


def test_arrays_outlive_the_program(target: str) -> None:
    program = appending(target)
    memory, given = program.memory, normal(4, 2)
    held = memory.upload(given)
    del program
    gc.collect()
    numpy.testing.assert_array_equal(memory.download(held), given)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((4, 0, 2), "to has 5 rows, expected rows 4 to 6"),
        ((0, 5, 1), "source has 5 rows, expected rows 5 to 6"),
        ((-1, 0, 1), "to has 5 rows, expected rows -1 to 0"),
        ((0, 0, -1), "to has 5 rows, expected rows 0 to -1"),
    ],
)
def test_rows_out_of_range(target: str, rows: tuple[int, int, int], message: str) -> None:
    memory, given = appending(target).memory, normal(5, 3)
    held = memory.upload(given)
    with pytest.raises(IndexError, match=f"^copy_rows: {message}$"):
        memory.copy_rows(held, rows[0], held, *rows[1:])
    numpy.testing.assert_array_equal(memory.download(held), given)


def test_arrays_that_do_not_fit(target: str) -> None:
    memory = appending(target).memory
    held = memory.upload(normal(5, 3))
    for other in (normal(5, 4), normal(5, 3).astype("float64"), normal(5), numpy.array(1, "float32")):
        with pytest.raises(UnsupportedArray, match=r"^copy_rows: expected arrays with equal rows, got "):
            memory.copy_rows(held, 0, memory.upload(other), 0, 1)
    with pytest.raises(UnsupportedArray, match=r"^upload: expected an array, got an object of type list$"):
        memory.upload([1.0])  # type: ignore[arg-type]
    if target == "llvm":
        return
    elsewhere = rf"expected an array on {appending(target).device}, got one on the CPU$"
    with pytest.raises(UnsupportedArray, match=f"^copy_rows: {elsewhere}"):
        memory.copy_rows(held, 0, normal(5, 3), 0, 1)
    with pytest.raises(UnsupportedArray, match=f"^download: {elsewhere}"):
        memory.download(normal(5, 3))
    with pytest.raises(UnsupportedArray, match=r"^upload: expected an array on the CPU, got one on device 0 of DLPack"):
        memory.upload(held)
