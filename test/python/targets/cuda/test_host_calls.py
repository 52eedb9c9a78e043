# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code of programs for cuda, on the emulator: slices, registered functions, lists of results, profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import tvm_ffi
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.memory import ADDRESS, WRITTEN
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.support.errors import RelaxError
from trace_format import checked_trace

import relax_mlir as rx
from relax_mlir import relax


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    """Yield an emulated device, and check at the end that it has no findings and that no thread keeps its context."""
    library = EmulatedCuda(devices=2)
    with use_library(library):
        yield library
    library.check()
    assert not library.stack()


class Slice(CudaTensor):
    """Tensor that begins after the first element of memory, like a slice of a vector."""

    def __init__(self, driver: EmulatedCuda, array: Any) -> None:
        super().__init__(driver, numpy.concatenate([[0], array.reshape(-1)]).astype(array.dtype))
        self.shape = array.shape

    @property
    def address(self) -> int:
        return self.allocation.address + self.dtype.itemsize

    def held(self) -> Any:
        return self.driver.memory.data[self._span].copy().view(self.dtype)[1:].reshape(self.shape)


def taken(device: EmulatedCuda) -> list[str]:
    """Return the device memory that programs allocated and did not release."""
    return [each for each in device.leaks() if each.startswith("cuMemAllocAsync")]


def program(inputs: Any, body: Any, **options: Any) -> rx.Executable:
    module = rx.Module()
    with module.function("main", inputs) as f:
        values = body(*f)
        f.returns(*(values if isinstance(values, tuple) else (values,)))
    return rx.compile(module, target="cuda", **options)


def floats(*shape: int) -> Any:
    return numpy.random.default_rng(7).normal(size=shape).astype("float32")


# ---- arguments that begin anywhere ----


def test_slices_have_copies_for_the_time_of_a_call(device: EmulatedCuda) -> None:
    """Copy slices for a call, since kernels read 16 bytes at once. The emulator finds misaligned reads."""
    x, w = floats(64, 64), floats(64, 64)
    run = program([rx.tensor((64, 64)), rx.tensor((64, 64))], relax.matmul)
    for make in (Slice, CudaTensor):
        device.log.clear()
        y = run["main"](make(device, x), Slice(device, w))
        assert numpy.allclose(to_numpy(device, y), x @ w, rtol=1e-3, atol=1e-4)
        copies = 2 if make is Slice else 1
        assert len(device.calls("cuMemcpyDtoDAsync_v2")) == copies
        assert len(device.calls("cuMemAllocAsync")) == len(device.calls("cuMemFreeAsync")) + 1  # the result
        del y
        assert not taken(device)


def test_up_to_one_element_is_not_copied(device: EmulatedCuda) -> None:
    run = program([rx.tensor(("n",)), rx.tensor(())], relax.add)
    for count in (0, 1, 2):
        device.log.clear()
        y = run["main"](Slice(device, floats(count)), Slice(device, numpy.array(2, "float32")))
        assert to_numpy(device, y).tolist() == (floats(count) + 2).tolist()
        assert len(device.calls("cuMemcpyDtoDAsync_v2")) == (count > 1)


def test_writes_to_an_aligned_copy_are_copied_back(device: EmulatedCuda) -> None:
    """Pass a buffer with the existing rows, and room for new rows."""
    inputs = {"x": rx.tensor(("k", 2)), "past": rx.tensor(("m", 2))}

    def grown(x: Any, past: Any) -> Any:
        rows = relax.concat([past, x], 0)
        return relax.matmul(x, relax.permute_dims(rows)), rows

    run = program(inputs, grown, donate=["past"])
    rows, old = floats(3, 2), floats(8, 2)
    buffer = Slice(device, old)
    given = {"x": CudaTensor(device, rows), "past": buffer}
    length = CudaTensor(device, numpy.zeros((4, 1), "int8"))
    length.shape = (4, 0)
    names = [each["name"] for each in run.signature("main")["inputs"]]
    products = run["main"].packed(*(tvm_ffi.from_dlpack(given.get(name, length)) for name in names))
    expected = numpy.concatenate([old[:4], rows, old[7:]])
    assert (buffer.held() == expected).all()
    numpy.testing.assert_allclose(to_numpy(device, products), rows @ expected[:7].T, rtol=1e-4, atol=1e-5)


def test_no_room_for_a_copy(device: EmulatedCuda) -> None:
    run = program([rx.tensor((8,)), rx.tensor((8,))], relax.add)
    given = [Slice(device, floats(8)), Slice(device, floats(8))]
    calls = len(device.calls("cuMemAllocAsync"))
    device.fail["cuMemAllocAsync"] = (calls + 3, 2)  # the result and the first copy are there
    with pytest.raises(MemoryError, match="a copy of an argument that begins at no multiple of 16: cuMemAllocAsync"):
        run["main"](*given)
    device.fail.clear()
    assert not taken(device)
    assert numpy.allclose(to_numpy(device, run["main"](*given)), 2 * floats(8))


# ---- registered functions ----


def register(name: str, function: Any) -> None:
    tvm_ffi.register_global_func(f"test_host_calls.{name}", function, override=True)


def written(device: EmulatedCuda, tensor: Any, values: Any) -> None:
    """Write values like an external kernel would."""
    start = tensor.data_ptr() - ADDRESS
    device.memory.data[start : start + values.nbytes] = values.reshape(-1).view("uint8")
    device.memory.state[start : start + values.nbytes] |= WRITTEN


def with_functions(x: Any) -> Any:
    info = rx.tensor(("n", 2))
    into = relax.call_dps_packed("test_host_calls.negate_into", [relax.exp(x)], info)
    return relax.add(relax.call_pure_packed("test_host_calls.scale", [into, relax.prim_value(3)], info), x)


def test_functions_get_and_give_tensors_of_the_device(device: EmulatedCuda) -> None:
    seen: list[Any] = []

    def negate_into(x: Any, out: Any) -> None:
        seen.append((x.__dlpack_device__(), out.__dlpack_device__()))
        written(device, out, -to_numpy(device, x))

    def scale(x: Any, factor: int) -> Any:
        return tvm_ffi.from_dlpack(CudaTensor(device, to_numpy(device, x) * numpy.float32(factor), device=1))

    register("negate_into", negate_into)
    register("scale", scale)
    run, x = program([rx.tensor(("n", 2))], with_functions), floats(5, 2)
    there = rx.runtime.Executable(run._artifact, device="cuda:1")
    y = there.copying()["main"](x)
    numpy.testing.assert_allclose(y, x - 3 * numpy.exp(x), rtol=1e-5)
    assert seen == [((2, 1), (2, 1))]
    # Results of functions are checked: their device, and their type.
    with pytest.raises(ValueError, match=r"scale: result #0 expected a tensor on cuda:0, got one on cuda:1$"):
        run.copying()["main"](x)
    for given, expected in ((floats(5, 2), r"on cuda:1, got one on cpu:0$"), (1, "expected a tensor, got int")):
        value = given if isinstance(given, int) else tvm_ffi.from_dlpack(given)
        register("scale", lambda x, factor, value=value: value)
        fresh = rx.runtime.Executable(run._artifact, device="cuda:1")
        with pytest.raises((TypeError, ValueError), match=expected):
            fresh.copying()["main"](x)


def test_nothing_leaks_where_a_function_fails_or_keeps(device: EmulatedCuda) -> None:
    kept: list[Any] = []

    def copy(x: Any, out: Any) -> None:
        written(device, out, to_numpy(device, x))

    def fail(x: Any, factor: int) -> Any:
        raise KeyError("not today")

    run = program([rx.tensor(("n", 2))], with_functions)
    cases = [
        (lambda x, out: kept.append(x), RuntimeError, "negate_into: a function that was called has kept a tensor"),
        (copy, KeyError, "not today"),
    ]
    for negate_into, error, expected in cases:
        register("negate_into", negate_into)
        register("scale", fail)
        fresh = rx.runtime.Executable(run._artifact)
        call = fresh.copying()["main"]
        for _ in range(2):
            with pytest.raises(error, match=expected):
                call(floats(5, 2))
        assert not taken(device)


def test_a_part_that_works_on_the_cpu_is_refused_by_name() -> None:
    expected = (
        "part '.*' is of codegen 'example_npu', which works on memory of cpu, and the program's tensors are on cuda: "
        "leave the codegen out for this target"
    )
    with pytest.raises(RelaxError, match=expected):
        program([rx.tensor((4, 4)), rx.tensor((4, 4))], relax.add, partition="example_npu")


# ---- lists ----

_JOINED = """
func.func @main(%first: tensor<2xf32>, %data: tensor<?xf32>, %rows: tensor<?x3xi64>, %there: tensor<i1>)
    -> (tensor<i1>, tensor<2xf32>, tensor<?xf32>, tensor<?x3xi64>) attributes {
      relax.result_groups = [{kind = "list", size = 4 : i64, name = "", optional, rest}]} {
  return %there, %first, %data, %rows : tensor<i1>, tensor<2xf32>, tensor<?xf32>, tensor<?x3xi64>
}"""


def _rows(*rows: Any) -> Any:
    return numpy.array(rows, "int64").reshape(-1, 3)


def test_lists_of_any_number_of_tensors(device: EmulatedCuda) -> None:
    run = rx.compile(rx.Module.parse(_JOINED), target="cuda")
    call, first, data = run.copying()["main"], floats(2), floats(8)
    found = call(first, data, _rows((6, 2, 3), (0, 0, 5), (2, 2, 1)), numpy.array(True))
    expected = [first, data[:6].reshape(2, 3), numpy.zeros((0, 5), "float32"), data[6:].reshape(2, 1)]
    for actual, wanted in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(actual, wanted)
    assert call(first, data, _rows((6, 2, 3)), numpy.array(False)) is None
    for row in ((9, 3, 3), (4, 2, 3), (-2, -2, 1), (0, -1, 0), (2**62, 2**31, 2**31)):
        with pytest.raises((ValueError, MemoryError)):
            call(first, data, _rows((1, 1, 1), row), numpy.array(True))
    assert not taken(device)
    device.fail["cuMemcpyDtoDAsync_v2"] = (len(device.calls("cuMemcpyDtoDAsync_v2")) + 4, 719)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        call(first, data, _rows((6, 2, 3), (2, 2, 1)), numpy.array(True))
    assert not taken(device)


# ---- profiles ----


def test_kernels_are_timed_by_events(device: EmulatedCuda) -> None:
    run = program([rx.tensor((8, 16)), rx.tensor((16, 8))], lambda x, w: relax.nn.softmax(relax.matmul(x, w)))
    arguments = floats(8, 16), floats(16, 8)
    run.copying()["main"](*arguments)
    assert not device.calls("cuEventRecord")  # nothing asks
    profile = run.profile("main", *arguments, repeat=3, warmup=1)
    assert [each.calls for each in profile.kernels] == [1] * len(profile.kernels) and len(profile.kernels) >= 2
    assert 0 < sum(each.seconds for each in profile.kernels) <= profile.profiled_seconds
    assert {"relax.matmul", "relax.nn.softmax"} == {each.main_operator for each in profile.kernels}
    assert not device.events  # given back
    recorded = len(device.calls("cuEventRecord"))
    run.copying()["main"](*arguments)
    assert len(device.calls("cuEventRecord")) == recorded == 3 * 2 * len(profile.kernels)
    assert not taken(device)


def test_a_trace_has_launches_kernels_and_copies(device: EmulatedCuda) -> None:
    run = program([rx.tensor((8, 16)), rx.tensor((16, 8))], lambda x, w: relax.nn.softmax(relax.matmul(x, w)))
    trace = run.trace("main", floats(8, 16), floats(16, 8), repeat=2, warmup=1)
    checked_trace(json.dumps(trace.to_dict()))
    kernels = [each.name for each in trace.of_kind("device")]
    assert len(kernels) >= 4 and {each.row for each in trace.of_kind("device")} == {"cuda:0"}
    assert [each.name for each in trace.of_kind("launch")] == [f"launch {name}" for name in kernels]
    assert [each.name for each in trace.of_kind("copy")] == [
        *["copy to the device"] * 2, "copy from the device", *["copy to the device"] * 2, "copy from the device",
    ]  # fmt: skip
    assert {each.name for each in trace.of_kind("wait")} == {"wait for copies", "wait for kernels"}
    first, second = trace.of_kind("call")
    for each in trace.events:
        assert each.is_on_device or any(call.begin <= each.begin <= each.end <= call.end for call in (first, second))
    # A kernel begins behind its launch's beginning: their clocks are laid over one another.
    for launch, kernel in zip(trace.of_kind("launch"), trace.of_kind("device"), strict=True):
        assert launch.begin <= kernel.begin and launch.details["operators"] == kernel.details["operators"]
    assert trace.notes == () and not device.events  # given back
    assert not taken(device)
