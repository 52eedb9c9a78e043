# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVM's output for programs on their way to code, against numpy: exits from loops, threads, vectors, regions."""

import numpy
import pytest
from example_counts import draws
from hypothesis import given, strategies

import relax_mlir as rx
from relax_mlir.script import tir as T

RNG = numpy.random.default_rng(11)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def run(module, *arguments):
    return rx.compile(module)["main"](*arguments)


def integers(*shape):
    return RNG.integers(-9, 10, shape).astype("int32")


# ---- break and continue ----


@T.prim_func
def first_large(A: T.Buffer((40, 12), "int32"), at: T.Buffer((40,), "int32"), total: T.Buffer((40,), "int32")):
    for i in range(40):
        at[i] = -1
        total[i] = 0
        for j in range(12):
            if A[i, j] < 0:
                continue
            own = T.alloc_buffer((1,), "int32")
            own[0] = A[i, j] * 2
            v: T.int32 = own[0]
            total[i] = total[i] + v
            if A[i, j] > 7:
                at[i] = j
                break
            total[i] += 100


def first_large_of(a):
    at, total = numpy.full(len(a), -1, "int32"), numpy.zeros(len(a), "int32")
    for i, row in enumerate(a):
        for j, value in enumerate(row):
            if value < 0:
                continue
            total[i] += 2 * value
            if value > 7:
                at[i] = j
                break
            total[i] += 100
    return at, total


@T.prim_func
def counted(A: T.Buffer((12,), "int32"), B: T.Buffer((2,), "int32")):
    k = T.alloc_buffer((1,), "int32")
    k[0] = 0
    B[1] = 0
    while A[k[0]] < 9:  # not asked any more once the loop is left: there is no A[12]
        k[0] += 1
        if k[0] == 12:
            T.break_loop()
        if k[0] % 2 == 0:
            T.continue_loop()
        B[1] += k[0]
    B[0] = k[0]


def counted_of(a):
    k = next((place for place, value in enumerate(a) if value >= 9), 12)
    return numpy.array([k, sum(each for each in range(1, k + 1) if each % 2)], "int32")


@T.prim_func
def left_in_a_block(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    for i, j in T.grid(6, 8):
        B[i, j] = T.float32(0)
    for i in range(6):
        for j in T.unroll(8):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                if A[vi, vj] < T.float32(-1):
                    break
                else:
                    if A[vi, vj] > T.float32(1):
                        continue
                B[vi, vj] = A[vi, vj]
        B[i, 0] = T.float32(7)


def left_in_a_block_of(a):
    kept = numpy.cumsum(a < -1, axis=1) == 0
    b = numpy.where(kept & (a <= 1), a, 0)
    b[:, 0] = 7
    return b


# ---- threads ----


@T.prim_func
def launched(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    B[bx, tx] = A[bx, tx] + T.float32(1)


@T.prim_func
def launched_by_name(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(bx, 4):
        T.launch_thread(tx, 32)
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [bx, tx])
            B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def launched_in_a_block(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    with T.block("root"):
        T.reads(A[0:4, 0:32])
        bx = T.launch_thread("blockIdx.x", 4)
        own = T.alloc_buffer((32,), scope="local")
        with T.launch_thread("threadIdx.x", 32) as tx:
            own[tx] = A[bx, tx]
        with T.launch_thread("threadIdx.x", 32) as tx:
            B[bx, tx] = own[31 - tx] + T.float32(1)


# ---- index maps ----


@T.prim_func
def with_index_maps(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr({"layout": lambda i, j: (j, i)})
    for i in T.serial(8, annotations={"map": T.index_map(lambda i: (i // 4, i % 4))}):
        for j in range(8):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"map": lambda i, j: (i // 4, j), "other": T.index_map(lambda *i: i)})
                B[vi, vj] = A[vi, vj] * T.float32(2)


# ---- vectors ----


@T.prim_func
def vectors(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    for j, i in T.grid(4, 8):
        C[j, i * 4 : i * 4 + 4] = T.max(
            A[j, i * 4 : i * 4 - 1 + 5] + B[j, T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2), 4),
            T.Broadcast(A[j, i], 4),
        )


@T.prim_func
def vectors_of_other_steps(A: T.Buffer((16,), "int32"), C: T.Buffer((32,), "float32")):
    C[T.Ramp(0, 2, 16)] = T.Cast("float32x16", A[0:16])
    C[1:32:2] = T.Cast("float32x16", T.Ramp(5, 3, 16))
    C[8:16] = 1.0
    C[0:4] += T.Broadcast(T.float32(10), 4)
    C[31 : 29 + 3] = C[31:32] * 2.0


def vectors_of_other_steps_of(a):
    c = numpy.zeros(32, "float32")
    c[::2], c[1::2] = a, 5 + 3 * numpy.arange(16)
    c[8:16] = 1
    c[:4] += 10
    c[31] *= 2
    return c


# ---- regions ----


@T.prim_func
def tiles(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32")):
    for io, jo in T.grid(4, 3):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [io, jo])
            T.reads(A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
            T.writes(B[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
            own = T.match_buffer(
                A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16],
                (16, 16),
                "float32",
                strides=("s0", 1),
                offset_factor=1,
            )
            out = T.match_buffer(B[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16], [16, 16], offset_factor=1)
            for i, j in T.grid(16, 16):
                with T.block("element"):
                    vii, vjj = T.axis.remap("SS", [i, j])
                    T.reads(own[vjj, vii])
                    T.writes(out[vii, vjj])
                    out[vii, vjj] = own[vjj, vii] + T.float32(1)


def tiles_of(a):
    return a.reshape(4, 16, 3, 16).transpose(0, 3, 2, 1).reshape(64, 48) + 1


@T.prim_func
def regions_of_regions(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            a = T.match_buffer(A[vi, 0:8], (8,))
            b = T.match_buffer(B[vi, 0:8], (8,))
            end = T.match_buffer(b[4:8], (4,))
            whole = T.match_buffer(A, (4, 8))
            b[0:4] = a[T.Ramp(7, -1, 4)]
            for j in range(4):
                end[j] = b[j] + whole[vi, 0]


def regions_of_regions_of(a):
    begin = a[:, :3:-1]
    return numpy.concatenate([begin, begin + a[:, :1]], 1)


CASES = {
    "first_large": (first_large, (integers(40, 12),), first_large_of),
    "counted": (counted, (numpy.zeros(12, "int32"),), counted_of),
    "counted to 5": (counted, (numpy.eye(12, dtype="int32")[5] * 100,), counted_of),
    "left_in_a_block": (left_in_a_block, (floats(6, 8),), left_in_a_block_of),
    "launched": (launched, (floats(4, 32),), lambda a: a + 1),
    "launched_by_name": (launched_by_name, (floats(4, 32),), lambda a: a + 1),
    "launched_in_a_block": (launched_in_a_block, (floats(4, 32),), lambda a: a[:, ::-1] + 1),
    "with_index_maps": (with_index_maps, (floats(8, 8),), lambda a: a * 2),
    "vectors": (
        vectors,
        (floats(4, 32), floats(4, 32)),
        lambda a, b: numpy.maximum(a + b * 2, numpy.repeat(a[:, :8], 4, 1)),
    ),
    "vectors_of_other_steps": (vectors_of_other_steps, (integers(16),), vectors_of_other_steps_of),
    "tiles": (tiles, (floats(64, 48),), tiles_of),
    "regions_of_regions": (regions_of_regions, (floats(4, 8),), regions_of_regions_of),
}


@pytest.mark.parametrize("name", CASES)
def test_program_gives_what_numpy_gives(name):
    module, arguments, expected = CASES[name]
    found, wanted = run(module, *arguments), expected(*arguments)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-6)


def test_launched_threads_become_linalg():
    assert "linalg.generic" in str(launched) and "linalg.generic" in str(launched_by_name)


# ---- loops that are left, at random ----


def statements(draw, depth, loops):
    """Draw lines of a body that Python and a tensor program read alike."""
    lines = []
    for _ in range(draw(strategies.integers(1, 3))):
        kind = draw(strategies.sampled_from(["add", "if", "leave", "for", "while"] if depth < 4 else ["add", "leave"]))
        place = "+".join([str(draw(strategies.integers(0, 7))), *loops])
        if kind == "if":
            lines.append(f"if A[({place}) % 16] < {draw(strategies.integers(-4, 4))}:")
            lines += indented(statements(draw, depth + 1, loops))
            if draw(strategies.booleans()):
                lines += ["else:", *indented(statements(draw, depth + 1, loops))]
        elif kind == "leave" and loops:
            lines.append(draw(strategies.sampled_from(["break", "continue"])))
        elif kind == "for":
            name = f"i{depth}"
            lines += [f"for {name} in range(4):", *indented(statements(draw, depth + 1, [*loops, name]))]
        elif kind == "while":
            name = f"k{depth}[0]"
            inner = [f"{name} += 1", *statements(draw, depth + 1, [*loops, name])]
            lines += [f"{name} = 0", f"while {name} < 4:", *indented(inner)]
        else:
            lines.append(f"B[({place}) % 8] += {draw(strategies.integers(1, 9))}")
    return lines


def indented(lines):
    return [f"    {line}" for line in lines]


@strategies.composite
def bodies(draw):
    return statements(draw, 0, [])


@draws(20)
@given(bodies(), strategies.integers(0, 99))
def test_break_and_continue_have_pythons_effect(body, seed):
    counters = [f"k{depth}" for depth in range(4)]
    head = ["from relax_mlir.script import tir as T", "@T.prim_func",
            'def f(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):']  # fmt: skip
    memory = [f'{name} = T.alloc_buffer((1,), "int32")' for name in counters]
    clear = ["for i in range(8):", "    B[i] = 0"]
    text = "\n".join([*head, *indented([*memory, *clear, *body])])
    values = numpy.random.default_rng(seed).integers(-9, 9, 16).astype("int32")
    held = {"A": values, "B": numpy.zeros(8, "int32"), **{name: [0] for name in counters}}
    exec("\n".join(body), held)
    numpy.testing.assert_array_equal(run(rx.Module.from_script(text), values), held["B"])
