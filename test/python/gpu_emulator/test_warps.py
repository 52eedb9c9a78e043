# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperation of threads: shuffles, votes, reductions by barriers, atomics, matrices; against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from emulated import Result, kernel, run

_RANDOM = numpy.random.default_rng(7)
_LANES = numpy.arange(32)


def _each_thread(body: str, *arrays: Any, count: int = 64, block: int = 64, dtype: Any = numpy.uint32) -> Any:
    """Run `body` in each thread, with its argument in %r1 and its result in %r0."""
    given = arrays or (numpy.arange(count, dtype=numpy.uint32),)
    text = f"""mul.wide.u32 %d10, %r63, 4; add.s64 %d11, %d1, %d10; ld.global.u32 %r1, [%d11];
        {body}
        add.s64 %d12, %d2, %d10; st.global.u32 [%d12], %r0;"""
    return run(kernel(text, 2), *given, Result((count,), dtype), block=block, grid=count // block)[-1]


def test_shuffles() -> None:
    lanes = numpy.arange(64).reshape(2, 32)

    def shuffled(text: str) -> Any:
        return _each_thread(f"shfl.sync.{text}, -1;").reshape(2, 32)

    assert (shuffled("bfly.b32 %r0, %r1, 5, 31") == lanes[:, _LANES ^ 5]).all()
    assert (shuffled("up.b32 %r0, %r1, 3, 0") == lanes[:, numpy.where(_LANES >= 3, _LANES - 3, _LANES)]).all()
    assert (shuffled("down.b32 %r0, %r1, 3, 31") == lanes[:, numpy.where(_LANES < 29, _LANES + 3, _LANES)]).all()
    assert (shuffled("idx.b32 %r0, %r1, 9, 31") == lanes[:, numpy.full(32, 9)]).all()
    # in groups of 8 lanes
    down = numpy.where(_LANES % 8 < 6, _LANES + 2, _LANES)
    assert (shuffled("down.b32 %r0, %r1, 2, 0x1807") == lanes[:, down]).all()
    inside = _each_thread("shfl.sync.down.b32 %r2|%p1, %r1, 2, 0x1807, -1; selp.u32 %r0, 1, 0, %p1;")
    assert (inside.reshape(2, 32) == (_LANES % 8 < 6)).all()


def test_lanes_that_come_at_different_times() -> None:
    """Shuffle each half of a warp separately, in another branch."""
    body = """setp.lt.u32 %p1, %r1, 16; @%p1 bra low;
        shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xffff0000; bra.uni end;
        low: shfl.sync.bfly.b32 %r0, %r1, 2, 31, 0x0000ffff;
        end:"""
    assert (_each_thread(body, count=32, block=32) == numpy.where(_LANES < 16, _LANES ^ 2, _LANES ^ 1)).all()


def test_votes_and_matches() -> None:
    values = _RANDOM.integers(0, 4, 64).astype(numpy.uint32)
    warps = values.reshape(2, 32)
    ballot = ((warps == 1).astype(numpy.uint64) << _LANES.astype(numpy.uint64)).sum(axis=1)
    found = _each_thread("setp.eq.u32 %p1, %r1, 1; vote.sync.ballot.b32 %r0, %p1, -1;", values)
    assert (found.reshape(2, 32) == ballot[:, None]).all()
    for mode, bound, expected in (("any", 3, 1), ("any", 4, 0), ("all", 3, 0), ("all", 0, 1)):
        text = f"setp.ge.u32 %p1, %r1, {bound}; vote.sync.{mode}.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;"
        assert (_each_thread(text, values) == expected).all()
    same = ((warps[:, :, None] == warps[:, None, :]).astype(numpy.uint64) << _LANES.astype(numpy.uint64)).sum(axis=2)
    assert (_each_thread("match.any.sync.b32 %r0, %r1, -1;", values).reshape(2, 32) == same).all()
    assert (_each_thread("match.all.sync.b32 %r0|%p1, %r1, -1;", numpy.full(64, 9, "u4")) == 0xFFFFFFFF).all()


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_of_a_warp(name: str) -> None:
    values = _RANDOM.integers(0, 1 << 32, 64, dtype=numpy.uint32)
    ufuncs: dict[str, Any] = {"add": numpy.add, "min": numpy.minimum, "max": numpy.maximum}
    ufuncs |= {"and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor}
    kind = "b32" if name in ("and", "or", "xor") else "u32"
    found = _each_thread(f"redux.sync.{name}.{kind} %r0, %r1, -1;", values)
    expected = ufuncs[name].reduce(values.reshape(2, 32), axis=1, dtype=numpy.uint32)
    assert (found.reshape(2, 32) == expected[:, None]).all()


def test_active_lanes() -> None:
    body = "mov.u32 %r0, 0; setp.lt.u32 %p1, %r1, 5; @!%p1 bra end; activemask.b32 %r0; end:"
    assert (_each_thread(body, count=32, block=32) == numpy.where(_LANES < 5, 31, 0)).all()


def test_reductions_by_barriers() -> None:
    values = numpy.arange(128, dtype=numpy.uint32)
    count = "setp.lt.u32 %p1, %r1, 70; bar.red.popc.u32 %r0, 0, %p1;"
    assert (_each_thread(count, values, count=128).reshape(2, 64) == [[64], [6]]).all()
    for mode, expected in (("and", [[1], [0]]), ("or", [[1], [1]])):
        text = f"setp.lt.u32 %p1, %r1, 70; bar.red.{mode}.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;"
        assert (_each_thread(text, values, count=128).reshape(2, 64) == expected).all()


def test_a_barrier_of_some_warps() -> None:
    """Let one warp produce and continue, and the other warp wait for it."""
    body = """.shared .align 4 .b8 tile[128]; mov.u32 %r0, 0; shl.b32 %r2, %r60, 2; mov.u32 %r3, tile;
        setp.ge.u32 %p1, %r60, 32; @%p1 bra consume;
        add.u32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1; bar.arrive 1, 64; bra.uni end;
        consume: bar.sync 1, 64; add.u32 %r4, %r3, %r2; ld.shared.u32 %r0, [%r4+-128];
        end:"""
    found = _each_thread(body)
    assert (found[32:] == numpy.arange(32)).all() and not found[:32].any()


def test_atomics_take_turns() -> None:
    """Check that each thread gets a different number."""
    text = """atom.global.add.u32 %r2, [%d1], 1; mul.wide.u32 %d10, %r2, 4; add.s64 %d11, %d2, %d10;
        st.global.u32 [%d11], %r63;"""
    counter, order = run(kernel(text, 2), numpy.zeros(1, "u4"), Result((256,), numpy.uint32), block=64, grid=4)
    assert counter[0] == 256 and (numpy.sort(order) == numpy.arange(256)).all()


@pytest.mark.parametrize(
    ("instruction", "start", "expected"),
    [
        ("red.global.add.u32 [%d1], %r63;", 5, 5 + sum(range(128))),
        ("red.global.min.s32 [%d1], %r63;", 1 << 31, 1 << 31),
        ("red.global.max.u32 [%d1], %r63;", 5, 127),
        ("red.global.xor.b32 [%d1], %r63;", 5, 5),
        ("red.global.or.b32 [%d1], %r63;", 128, 255),
        ("red.global.and.b32 [%d1], %r63;", 5, 0),
        ("atom.global.inc.u32 %r1, [%d1], 9;", 0, 8),
        ("atom.global.dec.u32 %r1, [%d1], 9;", 0, 2),
        ("atom.global.exch.b32 %r1, [%d1], 77;", 0, 77),
        ("add.u32 %r2, %r63, 1; atom.global.cas.b32 %r1, [%d1], %r63, %r2;", 3, 128),
        ("cvt.rn.f32.u32 %r2, %r63; atom.add.f32 %r1, [%d1], %r2;", 0, int(numpy.float32(8128).view("u4"))),
        ("mov.b32 %r2, 0x3c003c00; red.global.add.noftz.f16x2 [%d1], %r2;", 0, 0x58005800),
    ],
)
def test_atomics(instruction: str, start: int, expected: int) -> None:
    (found,) = run(kernel(instruction), numpy.array([start], numpy.uint32), block=64, grid=2)
    assert found[0] == expected


def test_a_loop_of_compare_and_swap() -> None:
    text = """ld.relaxed.gpu.global.u32 %r1, [%d1];
        again: mul.lo.u32 %r2, %r1, 3; mov.u32 %r3, %r1; atom.global.cas.b32 %r1, [%d1], %r3, %r2;
        setp.ne.u32 %p1, %r1, %r3; @%p1 bra again;"""
    (found,) = run(kernel(text), numpy.ones(1, numpy.uint32), block=20)
    assert found[0] == 3**20 % (1 << 32)


# Matrices: laid out by hand in the fragments that PTX's manual draws.


def _fragments(matrix: Any, per: int, is_left: bool) -> Any:
    """Return the elements of each lane's registers."""
    group, inner = _LANES[:, None, None] // 4, _LANES[:, None, None] % 4
    at = numpy.arange(per)[None, None, :]
    rows, depth = matrix.shape if is_left else matrix.shape[::-1]
    halves = rows // 8 if is_left else 1
    number = numpy.arange(rows * depth // (32 * per) if is_left else depth // (4 * per))[None, :, None]
    along = inner * per + at + 4 * per * (number // halves)
    across = group + 8 * (number % halves) + 0 * at
    return matrix[across, along] if is_left else matrix[along, across]


_SHAPES = [
    ("m16n8k16", "f32", "f16", "f32"),
    ("m16n8k8", "f32", "f16", "f32"),
    ("m16n8k16", "f32", "bf16", "f32"),
    ("m16n8k8", "f32", "bf16", "f32"),
    ("m16n8k8", "f32", "tf32", "f32"),
    ("m16n8k4", "f32", "tf32", "f32"),
    ("m16n8k16", "f16", "f16", "f16"),
    ("m16n8k32", "s32", "s8", "s32"),
    ("m16n8k16", "s32", "u8", "s32"),
    ("m8n8k16", "s32", "s8", "s32"),
]


@pytest.mark.parametrize(("shape", "result", "kind", "start"), _SHAPES, ids=["-".join(each[:3]) for each in _SHAPES])
def test_products_of_matrices(shape: str, result: str, kind: str, start: str) -> None:
    rows, depth = int(shape[1:].split("n")[0]), int(shape.split("k")[1])
    dtypes = {"f16": "f2", "bf16": ml_dtypes.bfloat16, "tf32": "f4", "s8": "i1", "u8": "u1", "f32": "f4", "s32": "i4"}
    dtype = numpy.dtype(dtypes[kind])
    low, high = (0, 9) if kind == "u8" else (-8, 9)
    a, b = (_RANDOM.integers(low, high, size).astype(dtype) for size in ((rows, depth), (depth, 8)))
    c = _RANDOM.integers(-8, 9, (rows, 8)).astype(dtypes[start])
    per = 4 // dtype.itemsize
    left, right = _fragments(a, per, True), _fragments(b, per, False)
    group, inner = _LANES[:, None] // 4, _LANES[:, None] % 4
    number = numpy.arange(rows // 4)[None]
    spread = group + 8 * (number // 2), 2 * inner + number % 2
    packed = [numpy.ascontiguousarray(each).reshape(32, -1).view("u4") for each in (left, right, c[spread])]
    counts = [each.shape[1] for each in packed]
    loads, names, register = [], [], 1
    for place, count in enumerate(counts, 1):
        names.append([f"%r{register + each}" for each in range(count)])
        register += count
        loads.append(f"mul.wide.u32 %d10, %r60, {4 * count}; add.s64 %d11, %d{place}, %d10;")
        loads += [f"ld.global.u32 {name}, [%d11+{4 * each}];" for each, name in enumerate(names[-1])]
    out = [f"%r{40 + each}" for each in range(counts[2])]
    vectors = ", ".join("{" + ", ".join(each) + "}" for each in (out, *names))
    text = "\n".join(loads) + f"mma.sync.aligned.{shape}.row.col.{result}.{kind}.{kind}.{start} {vectors};"
    text += f"mul.wide.u32 %d10, %r60, {4 * len(out)}; add.s64 %d11, %d4, %d10;"
    text += "".join(f"st.global.u32 [%d11+{4 * each}], {name};" for each, name in enumerate(out))
    found = run(kernel(text, 4), *packed, Result((32, len(out)), numpy.uint32))[-1]
    wide = numpy.int64 if result == "s32" else numpy.float64
    expected = (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(c.dtype)
    assert (found.view(c.dtype).reshape(32, -1) == expected[spread]).all()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("turned", [False, True])
def test_matrices_come_from_shared_memory(count: int, turned: bool) -> None:
    matrices = _RANDOM.integers(0, 1 << 16, (4, 8, 8)).astype(numpy.uint16)
    names = [f"%r{10 + each}" for each in range(count)]
    text = f""".shared .align 16 .b8 tile[512]; mov.u32 %r2, tile; shl.b32 %r3, %r60, 4; add.u32 %r4, %r2, %r3;
        mul.wide.u32 %d10, %r60, 16; add.s64 %d11, %d1, %d10;
        ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%d11]; st.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x{count}{".trans" if turned else ""}.shared.b16 {{{", ".join(names)}}}, [%r4];
        mul.wide.u32 %d10, %r60, {4 * count}; add.s64 %d11, %d2, %d10;"""
    text += "".join(f"st.global.u32 [%d11+{4 * each}], {name};" for each, name in enumerate(names))
    found = run(kernel(text, 2), matrices, Result((32, count), numpy.uint32))[1]
    source = matrices.transpose(0, 2, 1) if turned else matrices
    expected = numpy.ascontiguousarray(source).reshape(4, 32, 2).view("u4")[:count, :, 0].T
    assert (found == expected).all()


def test_matrices_go_to_shared_memory() -> None:
    given = _RANDOM.integers(0, 1 << 32, 32, dtype=numpy.uint32)
    text = """.shared .align 16 .b8 tile[512]; mov.u32 %r2, tile; shl.b32 %r3, %r60, 4; add.u32 %r4, %r2, %r3;
        stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r1};
        bar.sync 0; shl.b32 %r5, %r60, 2; add.u32 %r6, %r2, %r5; ld.shared.u32 %r0, [%r6];"""
    assert (_each_thread(text, given, count=32, block=32) == given).all()
