# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bulk copies and mbarriers in the emulator: positions and order of the copies, and errors that a device would make."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
import pytest
from emulated import kernel, loaded, must, pointers, started
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.faults import Fault
from gpu_emulator.tensors import CudaTensor

#: A box of 16 lines of 64 halves, of a matrix of 20 lines of 72.
_LINES, _LINE, _ROWS, _COLUMNS = 16, 64, 20, 72
_BYTES = _LINES * 128
_BEFORE = ".extern .shared .align 1024 .b8 memory[];"
_COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
_PARTS = {
    "place": f"""mov.u64 %d12, memory; add.s64 %d13, %d12, {_BYTES}; setp.eq.u32 %p1, %r60, 0;
        mov.b64 %d14, p1; cvta.param.u64 %d15, %d14; mov.b32 %r1, 16; mov.b32 %r2, 6;""",
    "init": "@%p1 mbarrier.init.shared::cta.b64 [%d13], 1;",
    "show": "@%p1 fence.proxy.async.shared::cta;",
    "meet": "bar.sync 0;",
    "expect": f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%d13], {_BYTES};",
    "copy": f"@%p1 {_COPY} [%d12], [%d15, {{%r1, %r2}}], [%d13];",
    "wait": "again: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%d13], 0; @!%p2 bra again;",
    "read": """mul.wide.u32 %d9, %r60, 16; add.s64 %d10, %d12, %d9; add.s64 %d11, %d2, %d9;
        ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%d10]; st.global.v4.b32 [%d11], {%r3, %r4, %r5, %r6};""",
    "after": "",
}
_ENCODED = {
    "kind": 6, "address": 0, "sizes": [_COLUMNS, _ROWS], "strides": [2 * _COLUMNS], "box": [_LINE, _LINES],
    "steps": [1, 1], "interleave": 0, "swizzle": 3, "promotion": 2, "fill": 0, "at": 0,
}  # fmt: skip


class _Map:
    """128 bytes at a multiple of 64, the alignment of tensor maps."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(256)
        start = ctypes.addressof(self._memory)
        self.address = start + -start % 64


def encoded(driver: EmulatedCuda, map_: _Map, **changes: Any) -> int:
    """Return the driver's status for a tensor map with these values."""
    given = {**_ENCODED, **changes}
    lists = [
        (kind * len(given[name]))(*given[name])
        for name, kind in (
            ("sizes", ctypes.c_uint64), ("strides", ctypes.c_uint64),
            ("box", ctypes.c_uint32), ("steps", ctypes.c_uint32),
        )
    ]  # fmt: skip
    modes = [given[name] for name in ("interleave", "swizzle", "promotion", "fill")]
    rank, at = len(given["sizes"]), map_.address + given["at"]
    return int(driver.cuTensorMapEncodeTiled(at, given["kind"], rank, given["address"], *lists, *modes))


def copied(matrix: Any = None, **changes: str) -> Any:
    """Return the shared memory that threads read after the copy, 16 bytes each."""
    driver, map_ = started(capability=(9, 0)), _Map()
    if matrix is None:
        matrix = numpy.arange(_ROWS * _COLUMNS, dtype=numpy.uint16).reshape(_ROWS, _COLUMNS)
    tensor = CudaTensor(driver, matrix)
    result = CudaTensor(driver, numpy.zeros((_LINES, _LINE), numpy.uint16))
    must(driver, encoded(driver, map_, address=tensor.address))
    text = kernel("\n".join({**_PARTS, **changes}.values()), 2, _BEFORE).replace("sm_80", "sm_90a")
    text = text.replace(".param .u64 p1", ".param .align 64 .b8 p1[128]").replace("ld.param.u64 %d1, [p1];", "")
    function = loaded(driver, text, "kernel")
    given = pointers([(ctypes.c_byte * 128).from_address(map_.address), ctypes.c_uint64(result.address)])
    must(driver, driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, _BYTES + 64, None, given, None))
    driver.check()
    return result.to_numpy()


def wanted(column: int, row: int) -> Any:
    """Return the box at this position, with zeros beyond the matrix, swizzled by the lines' numbers."""
    matrix = numpy.arange(_ROWS * _COLUMNS).reshape(_ROWS, _COLUMNS)
    around = numpy.pad(matrix, 128)[128 + row :, 128 + column :][:_LINES, :_LINE].reshape(_LINES, 8, 8)
    lines = numpy.arange(_LINES)[:, None]
    return around[lines, numpy.arange(8)[None] ^ lines % 8].reshape(_LINES, _LINE)


@pytest.mark.parametrize("column,row", [(16, 6), (0, 0), (-8, -3), (72, 0)])
def test_boxes(column: int, row: int) -> None:
    place = _PARTS["place"].replace("%r1, 16", f"%r1, {column}").replace("%r2, 6", f"%r2, {row}")
    assert (copied(place=place) == wanted(column, row)).all()


def test_a_second_phase() -> None:
    """Wait for the phase of the other parity, and overwrite the tile after all threads have read it."""
    again = "".join([_PARTS["expect"], _PARTS["copy"].replace("%r2}", "%r1}")])
    wait = _PARTS["wait"].replace("again", "once_more").replace(", 0;", ", 1;")
    text = f"bar.sync 0; {again} {wait} {_PARTS['read']}"
    assert (copied(after=text) == wanted(16, 16)).all()


def test_threads_behind_a_barrier_with_a_waiting_thread_may_read() -> None:
    wait = f"@!%p1 bra others; {_PARTS['wait']} others: bar.sync 0;"
    assert (copied(wait=wait) == wanted(16, 6)).all()


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("wait", "", "no wait for the copy's mbarrier"),
        ("wait", _PARTS["wait"].partition("@!")[0], "no wait for the copy's mbarrier"),
        ("wait", f"@!%p1 bra others; {_PARTS['wait']} others:", "no wait for the copy's mbarrier"),
        ("wait", _PARTS["wait"].replace(", 0;", ", 1;"), "threads wait for others that never come"),
        ("init", "", "there is no mbarrier at"),
        ("show", "", "no fence.proxy.async behind it"),
        ("meet", "", "nothing orders the two"),
        ("expect", _PARTS["expect"].replace(str(_BYTES), str(_BYTES + 16)), "2064 bytes, of which copies bring 2048"),
        ("expect", _PARTS["expect"].replace(str(_BYTES), "1024"), "1024 bytes, of which copies bring 2048"),
        (
            "expect",
            _PARTS["expect"].replace(".expect_tx", "").replace(f", {_BYTES}", ""),
            "that was not waited for writes there",
        ),
        ("expect", _PARTS["expect"].replace("arrive.", "").replace("_, ", ""), "waits for 1 threads"),
        ("expect", _PARTS["expect"].replace("@%p1 ", ""), "more threads arrive than the mbarrier was made for"),
        ("copy", "", "2048 bytes, of which copies bring 0"),
        ("copy", _PARTS["copy"].replace("[%d12]", "[%d12+16]"), "no multiple of 128"),
        ("copy", _PARTS["copy"].replace("[%d12]", "[%d12+1024]"), "out of bounds|beyond shared memory"),
        ("copy", _PARTS["copy"].replace("%d15", "%d2"), "no map of 2 axes"),
        ("copy", _PARTS["copy"].replace("2d", "3d").replace("%r2}", "%r2, %r2}"), "no map of 3 axes"),
        ("after", f"{_PARTS['expect']} {_PARTS['copy']}", "nothing orders the two"),
        ("after", f"bar.sync 0; {_PARTS['expect']} {_PARTS['copy']}", "has ended without a wait for a bulk copy"),
        ("meet", "st.shared.b32 [%d12], %r60; bar.sync 0;", "nothing orders|no fence.proxy.async behind it"),
    ],
)
def test_faulty_bulk_copies_are_detected(part: str, text: str, words: str) -> None:
    with pytest.raises(Fault, match=words):
        copied(**{part: text})


def test_copies_of_unwritten_memory_are_faults() -> None:
    with pytest.raises(Fault, match=r"reads 1 bytes .* it is unwritten|out of bounds"):
        copied(matrix=numpy.zeros((_LINES, _COLUMNS), numpy.uint16))


@pytest.mark.parametrize(
    "changes",
    [
        {"at": 16},
        {"kind": 13},
        {"move": 8},
        {"strides": [150]},
        {"strides": [128]},
        {"strides": [1 << 40]},
        {"sizes": [0, 20]},
        {"box": [64, 257]},
        {"box": [72, 16]},
        {"box": [4, 16]},
        {"steps": [1, 9]},
        {"swizzle": 0},
        {"fill": 1},
        {"sizes": [72, 20, 3], "strides": [144, 160], "box": [64, 16, 1], "steps": [1, 1, 1]},
    ],
    ids=str,
)
def test_maps_that_the_driver_refuses(changes: dict[str, Any]) -> None:
    driver = started(capability=(9, 0))
    tensor = CudaTensor(driver, numpy.zeros((_ROWS, _COLUMNS), numpy.uint16))
    address = tensor.address + changes.get("move", 0)
    given = {name: value for name, value in changes.items() if name != "move"}
    assert encoded(driver, _Map(), address=address, **given) == 1 and driver.refusals
    assert encoded(driver, _Map(), address=tensor.address) == 0
