# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C functions of the emulated driver: their answers in the right and in the wrong order."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from emulated import HEADER, kernel, loaded, must, pointers, started
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.faults import Fault
from gpu_emulator.tensors import CudaTensor, _handed_out, to_numpy

_ADD = kernel(
    "mul.wide.u32 %d10, %r63, 4; add.s64 %d11, %d1, %d10; ld.u32 %r1, [%d11]; add.u32 %r1, %r1, 1; st.u32 [%d11], %r1;"
)
_BAD = kernel("st.global.u32 [%d1], 1;", 1)
_SIZES = (1, 1, 1, 32, 1, 1, 0)


def _allocate(driver: EmulatedCuda, size: int) -> int:
    found = ctypes.c_uint64()
    must(driver, driver.cuMemAlloc_v2(ctypes.byref(found), size))
    return found.value


def _upload(driver: EmulatedCuda, array: Any) -> int:
    address = _allocate(driver, array.nbytes)
    must(driver, driver.cuMemcpyHtoD_v2(address, array.ctypes.data, array.nbytes))
    return address


def _download(driver: EmulatedCuda, address: int, like: Any) -> Any:
    found = numpy.zeros_like(like)
    must(driver, driver.cuMemcpyDtoH_v2(found.ctypes.data, address, found.nbytes))
    return found


def _launch(driver: EmulatedCuda, function: Any, *addresses: int, sizes: Any = _SIZES, stream: Any = None) -> int:
    given = pointers([ctypes.c_uint64(each) for each in addresses])
    return int(driver.cuLaunchKernel(function, *sizes, stream, given, None))


def test_a_program_from_start_to_end() -> None:
    driver = started()
    array = numpy.arange(32, dtype=numpy.uint32)
    address = _upload(driver, array)
    must(driver, _launch(driver, loaded(driver, _ADD, "kernel"), address))
    must(driver, driver.cuCtxSynchronize())
    assert (_download(driver, address, array) == array + 1).all()
    driver.check()
    assert driver.leaks() == ["cuMemAlloc 0: 128 bytes"]
    must(driver, driver.cuMemFree_v2(address))
    assert not driver.leaks()
    assert [call.name for call in driver.log][:3] == ["cuInit", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2"]
    assert len(driver.calls("cuLaunchKernel")) == 1


def test_nothing_before_init_and_without_a_context() -> None:
    driver = EmulatedCuda()
    count = ctypes.c_int()
    assert driver.cuDeviceGetCount(ctypes.byref(count)) == 3
    must(driver, driver.cuInit(0))
    must(driver, driver.cuDeviceGetCount(ctypes.byref(count)))
    found = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(found), 4) == 201
    context = ctypes.c_void_p(4)
    assert driver.cuCtxPushCurrent_v2(context) == 201
    must(driver, driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(driver, driver.cuCtxPushCurrent_v2(context))
    must(driver, driver.cuMemAlloc_v2(ctypes.byref(found), 4))
    must(driver, driver.cuCtxPopCurrent_v2(None))
    assert driver.cuMemFree_v2(found.value) == 201


def test_contexts_are_each_threads_own() -> None:
    driver = started()
    found: list[int] = []

    def other() -> None:
        found.append(driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 4))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [201]


def test_devices() -> None:
    driver = started(devices=2, capability=(9, 0), memory_bytes=1 << 20)
    value, name = ctypes.c_int(), ctypes.create_string_buffer(40)
    for which, expected in ((75, 9), (76, 0), (1, 1024), (10, 32), (97, 227 << 10), (115, 1)):
        must(driver, driver.cuDeviceGetAttribute(ctypes.byref(value), which, 1))
        assert value.value == expected
    assert driver.cuDeviceGetAttribute(ctypes.byref(value), 75, 2) == 101
    must(driver, driver.cuDeviceGetName(name, 40, 0))
    assert name.value == b"Emulated device"
    size = ctypes.c_size_t()
    must(driver, driver.cuDeviceTotalMem_v2(ctypes.byref(size), 0))
    assert size.value == 1 << 20
    assert EmulatedCuda(devices=0).cuInit(0) == 100


def test_memory_ends() -> None:
    driver = started(memory_bytes=1000)
    first = _allocate(driver, 600)
    found = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(found), 500) == 2
    assert driver.cuMemAlloc_v2(ctypes.byref(found), 0) == 1
    must(driver, driver.cuMemFree_v2(first))
    for _ in range(100_000 // 500):
        must(driver, driver.cuMemFree_v2(_allocate(driver, 900)))
    assert driver.cuMemFree_v2(1) == 1


def test_a_place_is_used_again_when_all_have_been() -> None:
    driver = started(memory_bytes=1 << 22)
    kept = _upload(driver, numpy.arange(16, dtype=numpy.uint32))
    for _ in range(40):
        must(driver, driver.cuMemFree_v2(_allocate(driver, 1 << 21)))
    assert (_download(driver, kept, numpy.zeros(16, numpy.uint32)) == numpy.arange(16)).all()


def test_freed_memory_is_reused_late() -> None:
    """Reuse memory late, so that a use after free is recognized however long a process runs."""
    driver = started(memory_bytes=1 << 22)
    before = 0
    for _ in range(40):
        found = _allocate(driver, 1 << 21)
        assert found != before
        must(driver, driver.cuMemFree_v2(found))
        before = found


def test_modules_that_cannot_be_loaded() -> None:
    driver = started()
    module = ctypes.c_void_p()
    load = driver.cuModuleLoadData
    assert load(ctypes.byref(module), b"nothing") == 218
    assert load(ctypes.byref(module), b"\x7fELF...") == 209
    assert load(ctypes.byref(module), _ADD.replace("sm_80", "sm_90").encode()) == 209
    assert load(ctypes.byref(module), _ADD.replace("sm_80", "sm_75").encode()) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(ctypes.c_void_p()), module, b"other") == 500
    exact = _ADD.replace("sm_80", "sm_90a").encode()
    assert started(capability=(9, 0)).cuModuleLoadData(ctypes.byref(module), exact) == 0
    assert started(capability=(10, 0)).cuModuleLoadData(ctypes.byref(module), exact) == 209


def test_a_log_says_what_was_wrong() -> None:
    driver = started()
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(200)
    names = (ctypes.c_int * 2)(5, 6)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 200)
    text = kernel("frobnicate.b32 %r1, %r2;").encode()
    assert driver.cuModuleLoadDataEx(ctypes.byref(module), text, 2, names, values) == 218
    assert b"line 10" in log.value and b"frobnicate.b32" in log.value
    assert values[1] == len(log.value)


def test_variables_of_a_module() -> None:
    driver = started()
    before = """.global .align 4 .u32 numbers[4] = {1, 2, 3, 4};
        .global .align 8 .u64 place[2] = {numbers, generic(numbers)+8};"""
    module, address, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
    must(driver, driver.cuModuleLoadData(ctypes.byref(module), kernel("", 1, before).encode()))
    must(driver, driver.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module, b"numbers"))
    assert size.value == 16 and (_download(driver, address.value, numpy.zeros(4, "u4")) == [1, 2, 3, 4]).all()
    place = ctypes.c_uint64()
    must(driver, driver.cuModuleGetGlobal_v2(ctypes.byref(place), None, module, b"place"))
    assert _download(driver, place.value, numpy.zeros(2, "u8")).tolist() == [address.value, address.value + 8]
    assert driver.cuModuleGetGlobal_v2(ctypes.byref(place), None, module, b"other") == 500
    must(driver, driver.cuModuleUnload(module))
    assert not driver.leaks() and driver.cuModuleUnload(module) == 400


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ((1, 1, 1, 1024, 1, 1, 0), 0),
        ((1, 1, 1, 1025, 1, 1, 0), 1),
        ((1, 1, 1, 1024, 2, 1, 0), 1),
        ((0, 1, 1, 32, 1, 1, 0), 1),
        ((1, 65536, 1, 32, 1, 1, 0), 1),
        ((1, 1, 1, 1, 1, 65, 0), 1),
        ((1, 1, 1, 32, 1, 1, 48 << 10), 0),
        ((1, 1, 1, 32, 1, 1, (48 << 10) + 1), 1),
    ],
)
def test_limits_of_launches(sizes: tuple[int, ...], code: int) -> None:
    driver = started()
    assert _launch(driver, loaded(driver, kernel("", 0), "kernel"), sizes=sizes) == code


def test_bounds_that_kernels_state() -> None:
    driver = started()
    most = loaded(driver, kernel("", 0).replace("{", ".maxntid 64, 1, 1\n{", 1), "kernel")
    exact = loaded(driver, kernel("", 0).replace("{", ".reqntid 64, 1, 1\n{", 1), "kernel")
    found = [[_launch(driver, each, sizes=(1, 1, 1, n, 1, 1, 0)) for n in (32, 64, 96)] for each in (most, exact)]
    assert found == [[0, 0, 701], [1, 0, 1]]


def test_more_shared_memory_has_to_be_asked_for() -> None:
    driver = started()
    text = kernel("mov.u32 %r1, tile; st.shared.u32 [%r1+90000], 1;", 0, ".extern .shared .align 16 .b8 tile[];")
    function, sizes = loaded(driver, text, "kernel"), (1, 1, 1, 1, 1, 1, 90004)
    assert _launch(driver, function, sizes=sizes) == 1
    assert driver.cuFuncSetAttribute(function, 8, 1 << 20) == 1
    must(driver, driver.cuFuncSetAttribute(function, 8, 90004))
    must(driver, _launch(driver, function, sizes=sizes))
    driver.check()
    must(driver, _launch(driver, function, sizes=(*sizes[:6], 90000)))
    with pytest.raises(Fault, match="out of bounds"):
        driver.check()


def test_the_error_of_a_kernel_persists() -> None:
    driver = started()
    address = _allocate(driver, 2)
    must(driver, _launch(driver, loaded(driver, _BAD, "kernel"), address))
    assert driver.cuCtxSynchronize() == 700
    assert driver.cuMemFree_v2(address) == 700
    must(driver, driver.cuCtxPopCurrent_v2(None))
    with pytest.raises(Fault, match=r"kernel, PTX line \d+: 'st.global.u32 .*out of bounds by thread \(0, 0, 0\)"):
        driver.check()


def test_freed_memory_is_known() -> None:
    driver = started()
    address = _upload(driver, numpy.zeros(32, numpy.uint32))
    must(driver, driver.cuMemFree_v2(address))
    must(driver, _launch(driver, loaded(driver, _ADD, "kernel"), address))
    freed = r"use after free.*cuMemAlloc 0 \(128 bytes\), which was freed by cuMemFree \(call \d+ of the driver\)"
    with pytest.raises(Fault, match=freed):
        driver.check()


def test_errors_can_be_asked_for() -> None:
    driver = started(fail={"cuLaunchKernel": (2, 719), "cuMemAllocAsync": 2})
    function = loaded(driver, kernel("", 0), "kernel")
    assert [_launch(driver, function) for _ in range(3)] == [0, 719, 0]
    assert driver.cuMemAllocAsync(ctypes.byref(ctypes.c_uint64()), 4, None) == 2
    name = ctypes.c_char_p()
    must(driver, driver.cuGetErrorName(719, ctypes.byref(name)))
    assert name.value == b"CUDA_ERROR_LAUNCH_FAILED"
    must(driver, driver.cuGetErrorString(2, ctypes.byref(name)))
    assert name.value == b"out of memory"
    assert driver.cuGetErrorName(12345, ctypes.byref(name)) == 1


def test_copies_and_fills() -> None:
    driver = started()
    array = numpy.arange(64, dtype=numpy.uint32)
    first, second = _upload(driver, array), _allocate(driver, 256)
    must(driver, driver.cuMemcpyDtoD_v2(second + 128, first, 128))
    must(driver, driver.cuMemsetD32_v2(second, 7, 16))
    must(driver, driver.cuMemsetD8Async(second + 64, 0xFF, 64, None))
    found = _download(driver, second, array)
    assert found.tolist() == [7] * 16 + [0xFFFFFFFF] * 16 + list(range(32))
    assert driver.cuMemcpyDtoH_v2(found.ctypes.data, second + 4, 256) == 1
    assert driver.cuMemsetD32_v2(second + 2, 7, 1) == 1
    driver.check()
    _download(driver, _allocate(driver, 256), array)
    with pytest.raises(Fault, match="256 of 256 bytes that the host reads were never written"):
        driver.check()


def test_memory_of_the_host() -> None:
    driver = started()
    host, device = ctypes.c_void_p(), ctypes.c_uint64()
    must(driver, driver.cuMemHostAlloc(ctypes.byref(host), 128, 2))
    must(driver, driver.cuMemHostGetDevicePointer_v2(ctypes.byref(device), host, 0))
    assert host.value and device.value != host.value
    numbers = (ctypes.c_uint32 * 32).from_address(host.value)
    numbers[:] = range(32)
    must(driver, _launch(driver, loaded(driver, _ADD, "kernel"), device.value))
    driver.check()
    assert list(numbers) == list(range(1, 33))
    must(driver, driver.cuMemFreeHost(host))
    assert not driver.leaks() and driver.cuMemFreeHost(host) == 1


def test_managed_memory_has_one_address() -> None:
    driver = started()
    address = ctypes.c_uint64()
    must(driver, driver.cuMemAllocManaged(ctypes.byref(address), 128, 1))
    numbers = (ctypes.c_uint32 * 32).from_address(address.value)
    numbers[:] = range(32)
    must(driver, _launch(driver, loaded(driver, _ADD, "kernel"), address.value))
    driver.check()
    assert list(numbers) == list(range(1, 33))
    must(driver, driver.cuMemFree_v2(address.value))
    assert not driver.leaks()


def test_streams_and_events() -> None:
    driver = started()
    stream, first, last = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    must(driver, driver.cuStreamCreate(ctypes.byref(stream), 1))
    for event in (first, last):
        must(driver, driver.cuEventCreate(ctypes.byref(event), 0))
        must(driver, driver.cuEventRecord(event, stream))
    time = ctypes.c_float(-1)
    must(driver, driver.cuEventElapsedTime_v2(ctypes.byref(time), first, last))
    assert time.value >= 0
    assert driver.cuStreamSynchronize(stream) == driver.cuStreamQuery(stream) == 0
    must(driver, driver.cuStreamDestroy_v2(stream))
    assert driver.cuStreamSynchronize(stream) == 400
    assert _launch(driver, loaded(driver, kernel("", 0), "kernel"), stream=stream) == 400


def test_graphs_are_recorded_and_replayed() -> None:
    driver = started()
    stream, graph, ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    must(driver, driver.cuStreamCreate(ctypes.byref(stream), 1))
    array = numpy.arange(32, dtype=numpy.uint32)
    address, function = _upload(driver, array), loaded(driver, _ADD, "kernel")
    must(driver, driver.cuStreamBeginCapture_v2(stream, 0))
    place = ctypes.c_uint64()
    must(driver, driver.cuMemAllocAsync(ctypes.byref(place), 128, stream))
    must(driver, driver.cuMemcpyDtoDAsync_v2(place.value, address, 128, stream))
    must(driver, _launch(driver, function, place.value, stream=stream))
    must(driver, driver.cuMemcpyDtoDAsync_v2(address, place.value, 128, stream))
    must(driver, driver.cuMemFreeAsync(place.value, stream))
    must(driver, driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
    assert (_download(driver, address, array) == array).all()
    must(driver, driver.cuGraphInstantiateWithFlags(ctypes.byref(ready), graph, 0))
    must(driver, driver.cuGraphDestroy(graph))
    for _ in range(3):
        must(driver, driver.cuGraphLaunch(ready, stream))
    driver.check()
    assert (_download(driver, address, array) == array + 3).all()
    must(driver, driver.cuGraphExecDestroy(ready))
    must(driver, driver.cuMemFree_v2(address))
    assert driver.cuGraphLaunch(ready, stream) == 400
    must(driver, driver.cuStreamDestroy_v2(stream))
    assert not driver.leaks()


def test_a_graph_has_what_it_allocates_only_while_it_runs() -> None:
    driver = started()
    stream, graph, ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    must(driver, driver.cuStreamCreate(ctypes.byref(stream), 1))
    address = _upload(driver, numpy.arange(32, dtype=numpy.uint32))
    must(driver, driver.cuStreamBeginCapture_v2(stream, 1))
    place = ctypes.c_uint64()
    must(driver, driver.cuMemAllocAsync(ctypes.byref(place), 128, stream))
    must(driver, driver.cuMemcpyDtoDAsync_v2(place.value, address, 128, stream))
    must(driver, driver.cuMemFreeAsync(place.value, stream))
    # Each launch has new shared memory: values of the last launch do not count.
    must(driver, driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
    must(driver, driver.cuGraphInstantiateWithFlags(ctypes.byref(ready), graph, 0))
    must(driver, driver.cuGraphLaunch(ready, stream))
    state = driver.memory.state[driver.memory.offset(place.value)]
    assert not state
    assert driver.cuGraphLaunch(graph, stream) == 400  # which is not executable


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_calls_that_cannot_be_captured_end_the_capture(mode: int) -> None:
    driver = started()
    address = _upload(driver, numpy.arange(32, dtype=numpy.uint32))
    refused: dict[str, Callable[[Any], int]] = {
        "cuMemAlloc": lambda stream: driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 128),
        "cuMemcpyDtoH": lambda stream: driver.cuMemcpyDtoH_v2(ctypes.create_string_buffer(4), address, 4),
        "cuCtxSynchronize": lambda stream: driver.cuCtxSynchronize(),
        "cuStreamSynchronize": driver.cuStreamSynchronize,
    }
    for name, call in refused.items():
        stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
        must(driver, driver.cuStreamCreate(ctypes.byref(stream), 1))
        must(driver, driver.cuStreamBeginCapture_v2(stream, mode))
        is_refused = mode < 2 or name == "cuStreamSynchronize"
        assert call(stream) == (900 if is_refused else 0), name
        assert driver.cuStreamEndCapture(stream, ctypes.byref(graph)) == (901 if is_refused else 0), name


def test_other_threads_are_refused_by_the_mode_of_a_capture() -> None:
    driver = started()
    for mode, expected in ((0, 900), (1, 0)):
        stream, place = ctypes.c_void_p(), ctypes.c_uint64()
        must(driver, driver.cuStreamCreate(ctypes.byref(stream), 1))
        must(driver, driver.cuStreamBeginCapture_v2(stream, mode))
        results: list[int] = []

        def other(results: list[int] = results, stream: Any = stream, place: Any = place) -> None:
            must(driver, driver.cuCtxPushCurrent_v2(driver._all_devices[0].context))
            results.append(driver.cuMemAlloc_v2(ctypes.byref(place), 16))
            results.append(driver.cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p())))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60)
        assert results == [expected, 908]
        driver.cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))


def test_parameters_of_all_widths() -> None:
    text = f"""{HEADER}
.visible .entry kernel(.param .u8 a, .param .u64 out, .param .u16 b, .param .f32 c, .param .align 8 .b8 d[24])
{{ .reg .b32 %r<9>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [out]; ld.param.u8 %r1, [a]; ld.param.u16 %r2, [b]; ld.param.f32 %r3, [c];
    ld.param.u64 %d2, [d+8]; ld.param.v2.u32 {{%r4, %r5}}, [d+16];
    st.global.v2.u32 [%d1], {{%r1, %r2}}; st.global.u32 [%d1+8], %r3; st.global.u64 [%d1+16], %d2;
    st.global.v2.u32 [%d1+24], {{%r4, %r5}}; ret; }}"""
    driver = started()
    out = _upload(driver, numpy.zeros(8, "u4"))
    structure = (ctypes.c_uint32 * 6)(*range(10, 16))
    values = [ctypes.c_uint8(200), ctypes.c_uint64(out), ctypes.c_uint16(60000), ctypes.c_float(1.0), structure]
    function = loaded(driver, text, "kernel")
    must(driver, driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, pointers(values), None))
    driver.check()
    assert _download(driver, out, numpy.zeros(8, "u4")).tolist() == [200, 60000, 0x3F800000, 0, 12, 13, 14, 15]


def test_tensors_are_handed_over() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    driver = started()
    for dtype in ("float32", "int8", "uint64", "bool", "float16"):
        values = numpy.arange(6).reshape(2, 3).astype(dtype)
        taken = tvm_ffi.from_dlpack(CudaTensor(driver, values))
        assert taken.shape == (2, 3) and str(taken.dtype) == dtype and str(taken.device) == "cuda:0"
        assert (to_numpy(driver, taken) == values).all()
        assert (to_numpy(driver, CudaTensor(driver, values)) == values).all()
    del taken
    assert not _handed_out
    tensor = CudaTensor(driver, values)
    must(driver, driver.cuMemcpyDtoH_v2(values.ctypes.data, tensor.address, values.nbytes))
    tensor.free()
    assert len(driver.leaks()) == 10
