# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules that begin with the loops of a text: several blocks in a loop, nested blocks, kinds of loops."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from schedule_kernels import check, kernel

import relax_mlir as rx

HEAD = "from tvm.script import tir as T\n\n\n@T.prim_func\n"


def scheduled(text: str) -> rx.Schedule:
    return rx.Schedule(rx.Module.from_script(HEAD + text))


def shown(sch: rx.Schedule) -> str:
    sch.trees()
    return sch.show()


def test_several_blocks_in_a_loop() -> None:
    sch = rx.Schedule(kernel("tiled").module())
    assert [loop.name for loop in sch.get_loops("sums")] == ["i0", "j0", "k0", "i1_2", "k1_1", "j1_1"]
    assert "for i0 in T.parallel(4):\n        for j0 in range(2):" in sch.show()
    assert 'sums = T.alloc_buffer((24, 32), "float32", scope="local")' in sch.show()
    assert "tir.schedule" not in str(sch.mod)
    sch.vectorize(sch.get_loops("sums")[-1])
    sch.unroll(sch.get_loops("sums")[-2])
    check(kernel("tiled"), sch)
    text = sch.mod.script()
    assert rx.Module.from_script(text).script() == text
    assert rx.Schedule(sch.mod).show() == sch.show()


def test_blocks_in_blocks() -> None:
    sch = rx.Schedule(kernel("nested").module())
    assert [loop.name for loop in sch.get_loops("outer")] == ["i", "j"]
    assert [loop.name for loop in sch.get_loops("B")] == ["i1", "j1"]
    assert 'with T.block("outer"):\n            for i1, j1 in T.grid(4, 8):' in sch.show()
    with pytest.raises(rx.RelaxError, match="block 'outer' is between"):
        sch.reorder(sch.get_loops("B")[0], sch.get_loops("outer")[1])
    sch.unroll(sch.get_loops("B")[0])
    check(kernel("nested"), sch)


def test_an_init_as_a_block_of_its_own() -> None:
    sch = scheduled("""def f(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8,), "float32")):
    for i, k0 in T.grid(8, 3):
        with T.block("outer"):
            vi, vko = T.axis.remap("SR", [i, k0])
            with T.init():
                with T.block("start"):
                    B[vi] = T.float32(0)
            for k1 in range(2):
                with T.block("sum"):
                    vki = T.axis.reduce(2, k1)
                    B[vi] = B[vi] + A[vi, vko * 2 + vki]
""")
    assert 'with T.block("start"):' in shown(sch) and "T.where(k0 < 1)" in sch.show()
    sch.unroll(sch.get_loops("sum")[0])
    a = np.random.default_rng(0).random((8, 6), dtype="float32")
    np.testing.assert_allclose(np.from_dlpack(rx.compile(sch.mod)["main"](a)), a.sum(axis=1), rtol=1e-5)


def test_buffers_read_in_other_steps_have_separate_loops() -> None:
    sch = scheduled("""def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + B[T.max(vi - 1, 0)]
""")
    assert shown(sch).count("range(16)") == 2
    sch.unroll(sch.get_loops("C")[0])
    a = np.arange(16, dtype="float32")
    np.testing.assert_array_equal(np.from_dlpack(rx.compile(sch.mod)["main"](a)), 2 * (a + np.maximum(a - 1, 0)))


def warned(text: str, folder: Path, passes: str = "") -> tuple[list[str], str]:
    """Return the warnings of a schedule of a script in a file `model.py`, without their folder, and the loops."""
    (folder / "model.py").write_text(text if text.startswith("from") else HEAD + text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = rx.Module.from_script(folder / "model.py")
        rx.Pipeline(passes).run(module)
        loops = shown(rx.Schedule(module))
    return [str(warning.message).removeprefix(f"{folder}/") for warning in caught], loops


SUMS = """def f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.parallel(8, annotations={"grain": 2, "mine": "yes"}):
        for k in T.unroll(16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.block_attr({"note": [1, 2]})
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""
UNITS = """def f(A: T.Buffer((8, 1), "float32"), C: T.Buffer((8, 1), "float32")):
    B = T.alloc_buffer((8, 1))
    for i, j in T.grid(8, 1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i in T.parallel(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi, 0] = A[vi, 0] * T.float32(2)
"""
FUSED = """from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.parallel(8):
            B[i] = A[i] * T.float32(2)
    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        return R.nn.relu(R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((8,), "float32")))
"""
LEFT_OUT = "the schedule begins without the loops of the text"
#: (script, passes, warning)
DROPPED = [
    (SUMS.replace("unroll", "vectorized"), "", "7:13: @f: vectorized of 'k' is dropped: 'k' reduces in block 'B'"),
    (SUMS.replace('"grain": 2', '"grain": 0'), "", "6:9: @f: annotation 'grain' of 'i' is dropped: 'grain' must be"),
    (SUMS.replace("[1, 2]", "k"), "", "10:30: annotations {'note': k} are dropped: expected a dictionary of literals"),
    (SUMS.replace('"B"', '""'), "", f"6:9: @f: {LEFT_OUT}: parallel of 'i' is dropped, unrolled of 'k' is dropped, b"),
    (UNITS, "func.func(canonicalize)", "11:9: @f: parallel of 'i' is dropped: a pass has removed its blocks"),
    (
        UNITS,
        "func.func(linalg-fold-unit-extent-dims)",
        f"11:9: @f: {LEFT_OUT}, with parallel: block 'C' has 1 iters, not 2",
    ),
    (FUSED, "relax-lower{stop=fuse}", f"6:13: @fused_f_nn_relu: {LEFT_OUT}: parallel of 'i' is dropped, blocks need"),
]


def test_a_schedule_keeps_kinds_and_annotations(tmp_path: Path) -> None:
    notes, loops = warned(SUMS, tmp_path)
    assert "for i in T.parallel(8, annotations={'grain': 2, 'mine': 'yes'}):\n        for k in T.unroll(16):" in loops
    assert "T.block_attr({'note': [1, 2]})" in loops and notes == []


@pytest.mark.parametrize(("text", "passes", "message"), DROPPED)
def test_a_kind_that_a_schedule_drops_is_a_warning(tmp_path: Path, text: str, passes: str, message: str) -> None:
    (note,) = warned(text, tmp_path, passes)[0]
    assert note.startswith(f"model.py:{message}")


def test_blocks_that_repeat_a_computation_are_kept() -> None:
    check(kernel("overlapping"), rx.Schedule(kernel("overlapping").module()))
    text = """def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vj = T.axis.spatial(8, j)
            B[vj] = A[0, vj] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj] + A[vi, vj]
"""
    sch = scheduled(text)
    assert len(sch.get_loops("B")) == 2
    sch.unroll(sch.get_loops("B")[1])
    a = np.random.default_rng(0).random((4, 8), dtype="float32")
    np.testing.assert_allclose(np.from_dlpack(rx.compile(sch.mod)["main"](a)), 2 * a[:1] + a, rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("loop(4, 'parallel', ", "loop(", "tir.loops cannot be read"),
        ("loop(4, 'parallel', ", "loop(4, 7, 8, ", "tir.loops cannot be read"),
        ("for i in loop(4, 'parallel', ", "left_out(4, (", "tir.loops cannot be read: line 2"),
    ],
)
def test_damaged_lines_of_loops_are_refused(old: str, new: str, problem: str) -> None:
    text = (
        'def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n    for i in T.parallel(4):\n'
        '        with T.block("B"):\n            vi = T.axis.spatial(4, i)\n            B[vi] = A[vi] + T.float32(1)\n'
    )
    damaged = str(rx.Module.from_script(HEAD + text))
    assert old in damaged
    with pytest.raises(rx.RelaxError, match=problem):
        shown(rx.Schedule(rx.Module.parse(damaged.replace(old, new))))
