# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the emulator: for each kind of fault a kernel with the fault, and a similar kernel without it."""

from __future__ import annotations

import re

import numpy
import pytest
from emulated import Result, kernel, run
from gpu_emulator.driver import Checks
from gpu_emulator.faults import Fault

_SHARED = ".shared .align 16 .b8 tile[4096];"
_PLACE = "mul.wide.u32 %d10, %r63, 4; add.s64 %d11, %d1, %d10;"
_TILE = "shl.b32 %r1, %r60, 2; mov.u32 %r2, tile; add.u32 %r3, %r2, %r1;"


def fault(text: str, *arguments: object, **options: object) -> Fault:
    with pytest.raises(Fault) as caught:
        run(text, *arguments, **options)  # type: ignore[arg-type]
    return caught.value


def _out(count: int = 64) -> Result:
    return Result((count,), numpy.uint32)


# A reversal of 64 numbers by shared memory.
_REVERSE = f"""{_SHARED} {_PLACE} {_TILE}
    st.shared.u32 [%r3], %r60;
    BARRIER
    mov.u32 %r4, 252; sub.u32 %r5, %r4, %r1; add.u32 %r6, %r2, %r5;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%d11], %r7;"""


def test_a_barrier_orders_shared_memory() -> None:
    (found,) = run(kernel(_REVERSE.replace("BARRIER", "bar.sync 0;")), _out(), block=64)
    assert (found == numpy.arange(64)[::-1]).all()


def test_a_missing_barrier_is_a_race() -> None:
    found = fault(kernel(_REVERSE.replace("BARRIER", "")), _out(), block=64)
    assert found.kind == "race" and "ld.shared.u32" in found.text
    assert "byte 252 of tile (4096 bytes)" in str(found) and "thread 63 of block 0" in str(found)


def test_a_barrier_of_the_warp_orders_a_warp_only() -> None:
    text = kernel(_REVERSE.replace("BARRIER", "bar.warp.sync 0xffffffff;").replace("252", "124"))
    (found,) = run(text, _out(32), block=32)
    assert (found == numpy.arange(32)[::-1]).all()
    wide = kernel(_REVERSE.replace("BARRIER", "bar.warp.sync 0xffffffff;"))
    assert fault(wide, _out(), block=64).kind == "race"


def test_a_tile_that_is_written_again_before_all_have_read() -> None:
    """Two rounds over one buffer: a second barrier is needed at the end of each."""
    body = f"""{_SHARED} {_PLACE} {_TILE}
    mov.u32 %r10, 0;
again:
    st.shared.u32 [%r3], %r60;
    bar.sync 0;
    xor.b32 %r11, %r1, 4; add.u32 %r12, %r2, %r11;
    ld.shared.u32 %r13, [%r12];
    SECOND
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 2;
    @%p1 bra again;
    st.global.u32 [%d11], %r13;"""
    run(kernel(body.replace("SECOND", "bar.sync 0;")), _out(), block=64)
    found = fault(kernel(body.replace("SECOND", "")), _out(), block=64)
    assert found.kind == "race" and "st.shared" in found.text


_SAME = f"""{_PLACE} shr.u64 %d12, %d10, 3; shl.b64 %d12, %d12, 2; add.s64 %d13, %d1, %d12;
    ACTION"""


@pytest.mark.parametrize("block, grid", [(64, 1), (1, 64)])
def test_two_threads_write_one_place(block: int, grid: int) -> None:
    bad = kernel(_SAME.replace("ACTION", "st.global.u32 [%d13], 7;"))
    found = fault(bad, _out(), block=block, grid=grid)
    assert found.kind == "race" and "write at" in str(found)
    good = kernel(_SAME.replace("ACTION", "red.global.add.u32 [%d13], 7;"))
    (sums,) = run(good, numpy.zeros(64, numpy.uint32), block=block, grid=grid)
    assert (sums[:32] == 14).all()


def test_races_can_be_let_through() -> None:
    bad = kernel(_SAME.replace("ACTION", "st.global.u32 [%d13], 7;"))
    run(bad, _out(32), block=64, checks=Checks(races=False, unwritten=False))


@pytest.mark.parametrize("order", ["forward", "backward", "random"])
def test_a_block_that_reads_what_another_writes(order: str) -> None:
    """Detect the race in any order of the blocks, and in chunks of one block."""
    body = f"""{_PLACE} st.global.u32 [%d11], %r63;
    xor.b32 %r10, %r63, OTHER; mul.wide.u32 %d14, %r10, 4; add.s64 %d15, %d1, %d14;
    bar.sync 0;
    ld.global.u32 %r11, [%d15]; add.s64 %d16, %d2, %d10; st.global.u32 [%d16], %r11;"""
    checks = Checks(order=order, chunk_threads=1)
    zeros = numpy.zeros(128, numpy.uint32)
    _, found = run(kernel(body.replace("OTHER", "1"), 2), zeros, _out(128), block=32, grid=4, checks=checks)
    assert (found == numpy.arange(128) ^ 1).all()
    assert (
        fault(kernel(body.replace("OTHER", "32"), 2), zeros, _out(128), block=32, grid=4, checks=checks).kind == "race"
    )


def test_an_atomic_and_a_plain_read_race_unless_a_barrier_is_between() -> None:
    body = f"""{_SHARED} {_PLACE} mov.u32 %r2, tile;
    setp.ne.u32 %p1, %r60, 0; @%p1 bra zeroed; st.shared.u32 [%r2], 0; zeroed:
    bar.sync 0;
    red.shared.add.u32 [%r2], 1;
    BARRIER
    ld.shared.u32 %r5, [%r2]; st.global.u32 [%d11], %r5;"""
    (found,) = run(kernel(body.replace("BARRIER", "bar.sync 0;")), _out(128), block=64, grid=2)
    assert (found == 64).all()
    assert fault(kernel(body.replace("BARRIER", "")), _out(128), block=64, grid=2).kind == "race"


@pytest.mark.parametrize(
    "offset, kind, words",
    [
        (0, None, ""),
        (4, "out of bounds", "0 bytes behind argument 0 (128 bytes)"),
        (-4, "out of bounds", "4 bytes before argument 0 (128 bytes)"),
        (2, "misaligned", "no multiple of 4"),
        (1 << 40, "out of bounds", "near to no allocation"),
    ],
)
@pytest.mark.parametrize("action", ["st.global.u32 [%d12], 1;", "ld.global.u32 %r1, [%d12];", "st.u32 [%d12], 1;"])
def test_bounds_of_global_memory(action: str, offset: int, kind: str | None, words: str) -> None:
    text = kernel(f"{_PLACE} add.s64 %d12, %d11, {offset}; {action}")
    array = numpy.zeros(32, numpy.uint32)
    if kind is None:
        run(text, array)
        return
    found = fault(text, array)
    assert found.kind == kind and words in str(found)
    assert found.thread == ({4: 31}.get(offset, 0), 0, 0) and action.rstrip(";") == found.text


def test_a_vector_has_to_lie_on_a_multiple_of_its_size() -> None:
    body = "mul.wide.u32 %d10, %r63, 16; add.s64 %d11, %d1, %d10; ld.global.v2.u32 {%r1, %r2}, [%d11+OFFSET];"
    run(kernel(body.replace("OFFSET", "8")), numpy.zeros(128, numpy.uint32))
    assert fault(kernel(body.replace("OFFSET", "4")), numpy.zeros(128, numpy.uint32)).kind == "misaligned"


def test_bounds_of_shared_memory() -> None:
    text = kernel(f".shared .align 4 .b8 tile[128]; {_TILE} st.shared.u32 [%r3+OFFSET], 1;", 0)
    run(text.replace("OFFSET", "0"))
    found = fault(text.replace("OFFSET", "4"))
    assert found.kind == "out of bounds" and "0 bytes behind tile (128 bytes)" in str(found)
    assert fault(text.replace("OFFSET", "100000")).kind == "out of bounds"


def test_reads_of_unwritten_memory_are_faults() -> None:
    body = f"{_PLACE} ld.global.u32 %r1, [%d11]; add.s64 %d12, %d2, %d10; st.global.u32 [%d12], %r1;"
    run(kernel(body, 2), numpy.zeros(32, numpy.uint32), _out(32))
    assert fault(kernel(body, 2), _out(32), _out(32)).kind == "unwritten"
    run(kernel(body, 2), _out(32), _out(32), checks=Checks(unwritten=False))
    shared = fault(kernel(f"{_SHARED} {_TILE} ld.shared.u32 %r1, [%r3];", 0))
    assert shared.kind == "unwritten" and "byte 0 of tile" in str(shared)


def test_unwritten_memory_of_a_thread_has_set_bits() -> None:
    read = ".local .align 4 .b8 own[8]; mov.u64 %d5, own; st.local.u32 [%d5], 1; ld.local.u32 %r1, [%d5+OFFSET];"
    text = f"{_PLACE} {read} st.global.u32 [%d11], %r1;"
    for offset, value in (("0", 1), ("4", 0xFFFFFFFF)):
        (out,) = run(kernel(text.replace("OFFSET", offset), 1), _out(32))
        assert (out == value).all()
    assert fault(kernel(text.replace("OFFSET", "8"), 1), _out(32)).kind == "out of bounds"


def test_constants_are_not_written() -> None:
    before = ".const .align 4 .u32 table[4] = {1, 2, 3, 4};"
    read = "mov.u64 %d5, table; ld.const.u32 %r1, [%d5+8]; mul.wide.u32 %d6, %r60, 4; add.s64 %d7, %d1, %d6; "
    (found,) = run(kernel(read + "st.global.u32 [%d7], %r1;", 1, before), _out(32))
    assert (found == 3).all()
    assert fault(kernel("mov.u64 %d5, table; st.global.u32 [%d5], 1;", 0, before)).kind == "write to read-only memory"


def test_a_barrier_that_part_of_a_warp_passes() -> None:
    """Report threads of a warp at another barrier."""
    body = """setp.lt.u32 %p1, %r60, BOUND; @%p1 bra low; bar.sync 0; bra.uni end;
    low: bar.sync 0; end:"""
    run(kernel(body.replace("BOUND", "32"), 0), block=64)
    found = fault(kernel(body.replace("BOUND", "16"), 0), block=64)
    assert found.kind == "divergent barrier" and "lines" in str(found)
    ended = "setp.lt.u32 %p1, %r60, 16; @%p1 ret; bar.sync 0;"
    run(kernel(ended, 0), block=64)


def test_threads_that_wait_for_others_that_never_come() -> None:
    body = """setp.lt.u32 %p1, %r60, 32; @%p1 bra low; bar.sync 1;
    low: bar.sync 0;"""
    found = fault(kernel(body, 0), block=96)
    assert found.kind == "deadlock" and "0 threads have ended" in str(found)
    first, second = r"64 threads wait at line 9 \(bar.sync 1\)", r"32 threads wait at line 10 \(bar.sync 0\)"
    assert re.search(rf"{first}[^;]*thread \(32, 0, 0\)[^;]*; {second}[^;]*thread \(0, 0, 0\)", str(found)), str(found)
    missing = "setp.lt.u32 %p1, %r60, 16; @%p1 bra end; shfl.sync.bfly.b32 %r1, %r60, 1, 31, MASK; end:"
    run(kernel(missing.replace("MASK", "0xffff0000"), 0))
    assert "shfl" in str(fault(kernel(missing.replace("MASK", "-1"), 0)))


def test_a_loop_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_emulator.machine.RUNS_LIMIT", 100)
    assert fault(kernel("again: bra.uni again;", 0)).kind == "no end"


_COPY = f"""{_SHARED} mul.wide.u32 %d10, %r60, 16; add.s64 %d11, %d1, %d10; add.s64 %d12, %d2, %d10;
    shl.b32 %r1, %r60, 4; mov.u32 %r2, tile; add.u32 %r3, %r2, %r1;
    cp.async.cg.shared.global [%r3], [%d11], 16;
    cp.async.commit_group;
    WAIT
    xor.b32 %r4, %r1, OTHER; add.u32 %r5, %r2, %r4;
    ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r5];
    st.global.v4.b32 [%d12], {{%r10, %r11, %r12, %r13}};"""


@pytest.mark.parametrize("wait", ["cp.async.wait_group 0;", "cp.async.wait_all;"])
def test_a_copy_that_is_waited_for(wait: str) -> None:
    array = numpy.arange(256, dtype=numpy.uint32)
    own = _COPY.replace("WAIT", wait).replace("OTHER", "0")
    assert (run(kernel(own, 2), array, _out(256), block=64)[1] == array).all()
    others = _COPY.replace("WAIT", f"{wait} bar.sync 0;").replace("OTHER", "16")
    swapped = array.reshape(-1, 2, 4)[:, ::-1].reshape(-1)
    assert (run(kernel(others, 2), array, _out(256), block=64)[1] == swapped).all()


@pytest.mark.parametrize(
    "wait, other, kind",
    [("", 0, "missing wait"), ("cp.async.wait_group 1;", 0, "missing wait"), ("cp.async.wait_all;", 16, "race")],
)
def test_a_copy_that_is_not_waited_for(wait: str, other: int, kind: str) -> None:
    array = numpy.arange(256, dtype=numpy.uint32)
    text = kernel(_COPY.replace("WAIT", wait).replace("OTHER", str(other)), 2)
    found = fault(text, array, _out(256), block=64)
    assert found.kind == kind and "ld.shared.v4" in found.text


def test_a_copy_of_fewer_bytes_fills_up_with_zeros() -> None:
    text = kernel(
        _COPY.replace("], 16;", "], 16, %r20;").replace("WAIT", "cp.async.wait_all;").replace("OTHER", "0"), 2
    )
    text = text.replace("shl.b32 %r1, %r60, 4;", "shl.b32 %r1, %r60, 4; and.b32 %r20, %r60, 15;")
    array = numpy.arange(1, 1025, dtype=numpy.uint64).astype(numpy.uint8)[:512].copy()
    _, found = run(text, array, Result((512,), numpy.uint8), block=32)
    lengths = numpy.arange(32) % 16
    expected = numpy.where(numpy.arange(16) < lengths[:, None], array.reshape(32, 16), 0)
    assert (found.reshape(32, 16) == expected).all()


def test_a_lane_that_does_not_take_part_is_read() -> None:
    body = "shfl.sync.idx.b32 %r1, %r60, LANE, 31, 0x0000ffff;"
    text = kernel(f"setp.ge.u32 %p1, %r60, 16; @%p1 ret; {body}", 0)
    run(text.replace("LANE", "15"))
    assert fault(text.replace("LANE", "16")).kind == "shuffle"


def test_a_trap() -> None:
    found = fault(kernel("setp.eq.u32 %p1, %r63, 37; @%p1 trap;", 0), grid=2)
    assert found.kind == "trap" and found.block == (1, 0, 0) and found.thread == (5, 0, 0)
