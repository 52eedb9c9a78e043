# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of a target as steps: their results equal those of plans, and files of schedules can change them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16
from relax_mlir.targets.core.code import find_backend
from relax_mlir.targets.core.registry import parse_target
from schedule_kernels import KERNELS, Kernel, kernel

import relax_mlir as rx
from relax_mlir import relax

#: Reasons of plans without steps. The machine decides which kernels have such plans.
WITHOUT = (
    "which no schedule step can express",
    "reduces block by block",
    "other loops in its text",
    "its padding is a copy with a border",
)
#: Kernels that have steps on every machine.
ALWAYS = ("matmul", "matmul_relu", "softmax", "chain", "convolution", "rows", "means")


def results(program: rx.Executable, arrays: list[np.ndarray]) -> list[np.ndarray]:
    given = program["main"](*arrays)
    return [np.from_dlpack(each) for each in (given if isinstance(given, tuple) else (given,))]


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_steps_give_what_plans_give(each: Kernel, tmp_path: Path) -> None:
    module = each.module()
    text = rx.schedules.chosen(module)
    if f"def {each.name}(sch):" not in text:
        assert any(reason in text for reason in WITHOUT) and each.name not in ALWAYS, text
        return
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    planned, scheduled = rx.compile(module), rx.compile(module, schedules=file)
    for seed in range(3):
        arrays = each.arrays(seed)
        for expected, found in zip(results(planned, arrays), results(scheduled, arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def product_and_relu(rows: int | str) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 40)), "w": rx.tensor((40, 37)), "b": rx.tensor((37,))}) as f:
        x, w, b = f
        f.returns(relax.nn.relu(relax.add(relax.matmul(x, w), b)))
    return module


@pytest.mark.parametrize("rows", [13, "n"])
def test_the_kernel_of_a_graph(rows: int | str) -> None:
    """Change one kernel's trace by name. The other kernels keep the compiler's schedule."""
    module = product_and_relu(rows)
    name = "fused_matmul_add_nn_relu"
    text = rx.schedules.chosen(module)
    assert f"def {name}(sch):" in text and "sch.vectorize(" in text
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    serial = [line for line in lines if ".unroll(" not in line and ".parallel(" not in line and "grain" not in line]
    arrays = [np.random.default_rng(n).standard_normal(size).astype("float32")
              for n, size in enumerate([(13, 40), (40, 37), (37,)])]  # fmt: skip
    program = rx.compile(module, schedules={name: "\n".join(["# schedule 1", *serial])})
    expected = np.maximum(arrays[0] @ arrays[1] + arrays[2], 0)
    np.testing.assert_allclose(results(program, arrays)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"kernels\.py:1: a file of schedules begins with the line '# schedule 1', which is its version"),
        ("# schedule 1\nx = 1\n", r"kernels\.py:2: expected 'def <kernel>\(sch\):', got 'x = 1'"),
        ("# schedule 1\ndef C(sch:\n", r"kernels\.py:2: "),
        (
            "# schedule 1\ndef matmull(sch):\n    pass\n",
            r"kernels\.py:2: there is no kernel 'matmull'; did you mean 'matmul'",
        ),
        (
            '# schedule 1\ndef matmul(sch):\n    # its block\n    C = sch.get_block("C")\n    sch.get_block("D")\n',
            r"kernels\.py:5: 'sch\.get_block\('D'\)': get_block\('D', 'matmul'\): there is no block 'D'.*kernel matmul",
        ),
        ("# schedule 1\ndef matmul(sch):\n    import os\n", r"kernels\.py:3: 'import os': expected a call of sch"),
        ("# schedule 1\n" + 2 * "def matmul(sch):\n    pass\n", r"kernels\.py:4: 'matmul' already has a schedule"),
    ],
)
def test_malformed_schedule_files_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(rx.RelaxError, match=problem):
        rx.compile(kernel("matmul").module(), schedules=file)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError, match=r"none\.py: cannot be read: No such file or directory"):
        rx.compile(kernel("matmul").module(), schedules=tmp_path / "none.py")


def product_with(weights: np.ndarray, rows: int | str = 20) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, weights.shape[0]))}) as f:
        (x,) = f
        f.returns(relax.matmul(x, relax.const(weights)))
    return module


@pytest.mark.parametrize("rows", [1, 20, "n"])
def test_constants_are_packed_before_any_call(rows: int | str, tmp_path: Path) -> None:
    """Pack a constant in its readers' layout before any call."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((70, 50)).astype("float32")
    module = product_with(weights, rows)
    text = rx.schedules.chosen(module)
    assert '_global, ("write", 0), lambda row, column: (column//' in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    given = random.standard_normal((20 if rows == "n" else rows, 70)).astype("float32")
    planned, scheduled = rx.compile(module), rx.compile(module, schedules=file)
    np.testing.assert_allclose(results(scheduled, [given])[0], results(planned, [given])[0], rtol=2e-6, atol=2e-6)


#: Columns of a matrix in groups of eight.
IN_GROUPS = """# schedule 1
C = sch.get_block("matmul")
W = sch.cache_read(C, 1, "global")
sch.transform_layout(W, ("write", 0), lambda k, j: (j // 8, k, j % 8))
"""


@pytest.mark.parametrize("is_constant", [True, False])
def test_all_callers_give_constants_or_none_is_packed(is_constant: bool) -> None:
    random = np.random.default_rng(0)
    first, second = (random.standard_normal((16, 16)).astype("float32") for _ in range(2))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 16)), "w": rx.tensor((16, 16))}) as f:
        x, w = f
        y = relax.matmul(x, relax.const(first))
        f.returns(relax.matmul(y, relax.const(second) if is_constant else w))
    x = random.standard_normal((4, 16)).astype("float32")
    program = rx.compile(module, schedules={"matmul": IN_GROUPS})
    applied = rx.lower(module, pipeline=rx.stages("llvm").until("apply"), schedules={"matmul": IN_GROUPS})
    assert ("tensor<2x16x8xf32>" in str(applied)) == is_constant
    np.testing.assert_allclose(results(program, [x, second])[0], x @ first @ second, rtol=1e-4, atol=1e-4)


def rows_of_a_table(rows: int | str = "n") -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 8)), "at": rx.tensor(("k",), "i64")}) as f:
        x, at = f
        f.returns(relax.take(x, at, axis=0))
    return module


def test_checks_stand_before_what_they_guard(tmp_path: Path) -> None:
    """Compute the least and the largest index in blocks with their own steps."""
    module = rows_of_a_table()
    text = rx.schedules.chosen(module)
    assert "def take(sch):" in text and "sch.rfactor(" in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    program = rx.compile(module, schedules=file)
    random = np.random.default_rng(0)
    x = random.standard_normal((9, 8)).astype("float32")
    for count in (0, 1, 3, 16, 100):
        at = random.integers(-9, 9, count)
        np.testing.assert_array_equal(results(program, [x, at])[0], x[at])
    for wrong in ([9], [-10], [0] * 40 + [55]):
        with pytest.raises(IndexError, match=f"index {wrong[-1]} is out of range for axis 0 of size 9"):
            program["main"](x, np.array(wrong))


def test_checks_stand_behind_copies_of_what_they_load() -> None:
    """Load operands of the check from the buffer in which another block writes them, after that block."""
    module = rows_of_a_table(9)
    name = next(line.split('"')[1] for line in rx.schedules.chosen(module).splitlines() if "get_block(" in line)
    lines = ["# schedule 1", f'a = sch.get_block("{name}")', 'sch.cache_write(a, 0, "local")']
    lines += ['sch.cache_write(a, 1, "local")', "i, = sch.get_loops(a)", "sch.decompose_reduction(a, i)"]
    program = rx.compile(module, schedules={"take": "\n".join(lines)})
    x, at = np.random.default_rng(0).standard_normal((9, 8)).astype("float32"), np.array([8, -9, 3])
    np.testing.assert_array_equal(results(program, [x, at])[0], x[at])
    for wrong in ([0, 9, 1], [0, -10, 1]):
        with pytest.raises(IndexError, match=f"index {wrong[1]} is out of range for axis 0 of size 9"):
            program["main"](x, np.array(wrong))


def test_a_merge_across_a_runtime_check_is_refused() -> None:
    module = rows_of_a_table(9)
    names = [line.split('"')[1] for line in rx.schedules.chosen(module).splitlines() if "get_block(" in line]
    first, last = names
    lines = ["# schedule 1", f'a = sch.get_block("{first}")', f'b = sch.get_block("{last}")', "i, = sch.get_loops(a)"]
    lines += ["j, k = sch.get_loops(b)", "sch.merge(i, j)"]
    with pytest.raises(rx.RelaxError, match=f"'{last}' would run before the function has checked '{first}'"):
        rx.compile(module, schedules={"take": "\n".join(lines)})


def long_product(rows: int | str, weights: np.ndarray | None, columns: int) -> rx.Module:
    module = rx.Module()
    inputs = {"x": rx.tensor((rows, 3000)), "b": rx.tensor((columns,))}
    with module.function("main", inputs if weights is not None else {**inputs, "w": rx.tensor((3000, columns))}) as f:
        x, b, *w = f
        product = relax.matmul(x, relax.const(weights) if weights is not None else w[0])
        f.returns(relax.nn.relu(relax.add(product, b)))
    return module


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(33, 200), ("n", 200), (20, 131)])
def test_reductions_block_by_block(rows: int | str, columns: int, is_constant: bool, tmp_path: Path) -> None:
    """Add the sum of a block of steps to memory, and run the epilogue after all blocks."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((3000, columns)).astype("float32")
    module = long_product(rows, weights if is_constant else None, columns)
    target = "llvm{caches=32K,256K cores=2}"
    text = rx.schedules.chosen(module, target)
    assert "# Without steps" not in text and "sch.rfactor(" in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    program = rx.compile(module, target, schedules=file)
    for count in (33, 1, 20) if rows == "n" else (rows,):
        x, b = (
            random.standard_normal((count, 3000)).astype("float32"),
            random.standard_normal(columns).astype("float32"),
        )
        given = [x, b] if is_constant else [x, b, weights]
        expected = np.maximum(x.astype("float64") @ weights + b, 0)
        np.testing.assert_allclose(results(program, given)[0], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rows", [1, 7, 64, "n"])
@pytest.mark.parametrize("columns", [5, 33, 400])
def test_sums_along_vectors_of_several_rows(rows: int | str, columns: int, tmp_path: Path) -> None:
    """Sum up several rows lane by lane, also rows of two matrices."""
    module = rx.Module()
    inputs = {"x": rx.tensor((rows, columns)), "w": rx.tensor((6, columns)), "s": rx.tensor((columns,))}
    with module.function("main", inputs) as f:
        x, w, s = f
        f.returns(relax.einsum(x, w, subscripts="ij,kj->ik"), relax.nn.layer_norm(x, s, s, axes=[-1]), relax.sum(x))
    text = rx.schedules.chosen(module)
    assert "several results" not in text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    planned, scheduled = rx.compile(module), rx.compile(module, schedules=file)
    random = np.random.default_rng(0)
    for count in (1, 3, 20) if rows == "n" else (rows,):
        shapes = ((count, columns), (6, columns), (columns,))
        arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
        np.testing.assert_allclose(results(scheduled, arrays)[0], arrays[0] @ arrays[1].T, rtol=1e-4, atol=1e-4)
        for expected, found in zip(results(planned, arrays), results(scheduled, arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((100, 77), (1, 0)),
        (("n", "m"), (1, 0)),
        ((3, 20, 33), (0, 2, 1)),
        ((2, 17, 3, 24), (0, 2, 3, 1)),
        ((9, 6, 21), (2, 1, 0)),
    ],
)
def test_transpositions(shape: tuple[int | str, ...], axes: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    """Transpose squares in registers, with as many shuffles as in plans."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype), rx.tensor(shape, dtype)]) as f:
        x, y = (relax.permute_dims(each, axes=axes) for each in f)
        f.returns(relax.subtract(relax.add(x, x), y))
    text = rx.schedules.chosen(module)
    assert "cache_read" in text and '"local"' in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    planned, scheduled = rx.compile(module), rx.compile(module, schedules=file)
    for sizes in ((100, 77), (8, 16), (3, 5), (64, 9)):
        known = dict(zip(("n", "m"), sizes, strict=True))
        random = np.random.default_rng(sizes)
        arrays = [
            random.integers(-9, 9, [known.get(str(size), size) for size in shape]).astype(dtype) for _ in range(2)
        ]
        expected = (2 * arrays[0] - arrays[1]).transpose(axes)
        for program in (planned, scheduled):
            np.testing.assert_array_equal(results(program, arrays)[0], expected)


def test_kernels_whose_padding_would_be_cut() -> None:
    """Keep the padding of kernels with a schedule, which uses its blocks."""
    module = rx.Module()
    inputs = {"x": rx.tensor((1, 16, 28, 28)), "w": rx.tensor((16, 1, 3, 3))}
    with module.function("main", inputs) as f:
        f.returns(relax.nn.conv2d(*f, padding=[1, 1, 1, 1], groups=16))
    module = rx.lower(module, pipeline=rx.stages("llvm").until("fuse"))
    sch = rx.Schedule(module)
    padding, windows = (sch.get_block(name, "nn_conv2d") for name in ("nn_conv2d", "nn_conv2d_1"))
    channel = sch.get_loops(windows)[1]
    sch.compute_at(padding, channel)
    sch.parallel(channel)
    program = rx.compile(module, schedules={"nn_conv2d": sch})
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype("float32") for shape in ((1, 16, 28, 28), (16, 1, 3, 3)))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    parts = [padded[:, :, i : i + 28, j : j + 28] * w[:, 0, i, j][:, None, None] for i in range(3) for j in range(3)]
    np.testing.assert_allclose(results(program, [x, w])[0], sum(parts), rtol=1e-4, atol=1e-4)


#: Numbers of each type: numpy's type and the bounds of random elements.
NARROW = {"uint8": (np.uint8, 0, 256), "int8": (np.int8, -128, 128), "bfloat16": (bfloat16, -8, 9)}


@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("bfloat16", "bfloat16")])
@pytest.mark.parametrize(("rows", "channels"), [(1, 0), (13, 0), ("n", 0), (4, 32)])
def test_sums_of_groups(rows: int | str, channels: int, types: tuple[str, str], tmp_path: Path) -> None:
    """Sum with an intrinsic for each of the machine's instructions, and pack weights in groups before any call."""
    random = np.random.default_rng(0)
    shapes = [(1, 32, 9, 9), (channels, 32, 3, 3)] if channels else [(13 if rows == "n" else rows, 64), (64, 48)]
    x, weights = (
        random.integers(low, high, shape).astype(dtype)
        for shape, (dtype, low, high) in zip(shapes, map(NARROW.get, types), strict=True)
    )
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape if channels else (rows, 64), types[0])]) as f:
        operator = relax.nn.conv2d if channels else relax.matmul
        f.returns(operator(*f, relax.const(weights), out_dtype="float32" if "bfloat16" in types else "int32"))
    file = tmp_path / "kernels.py"
    text = rx.schedules.chosen(module)
    file.write_text(text, encoding="utf-8")
    planned, scheduled = rx.compile(module), rx.compile(module, schedules=file)
    np.testing.assert_array_equal(results(scheduled, [x])[0], results(planned, [x])[0])
    dots = find_backend("llvm").machine(parse_target("llvm")).dots
    if any(each.by_halves for each in dots) and "bfloat16" not in types:
        kinds = ".".join("u8" if each == "uint8" else "s8" for each in types)
        assert f'pmadd.wd.{kinds}")' in text, text


@pytest.mark.parametrize(("steps", "columns"), [(63, 64), (64, 60)])
def test_groups_that_are_not_whole_are_told(steps: int, columns: int) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((16, steps), "uint8")]) as f:
        f.returns(relax.matmul(*f, relax.const(np.ones((steps, columns), "int8")), out_dtype="int32"))
    text = rx.schedules.chosen(module, "llvm{cpu=haswell}")
    assert "matmul: it has partial groups or partial vectors, which no schedule step can express" in text


def test_a_targets_intrinsics_are_taken_by_their_names_alone() -> None:
    """Use intrinsics that are registered for a device in auto_tensorize without names."""
    text = """
from relax_mlir.script import tir as T

@T.prim_func
def product(A: T.Buffer((16, 64), "uint8"), B: T.Buffer((64, 48), "int8"), C: T.Buffer((16, 48), "int32")):
    for i, j, k in T.grid(16, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
"""
    name = "llvm.x86.avx2.pmadd.wd.u8.s8"
    asked, unasked = (rx.Schedule(rx.Module.from_script(text)) for _ in range(2))
    asked.auto_tensorize("C", name)
    assert f'"{name}"' in asked.trace
    with suppress(rx.RelaxError):  # other intrinsics come from other registrations
        unasked.auto_tensorize("C")
    assert "pmadd" not in unasked.trace


def test_an_instruction_that_the_machine_lacks(tmp_path: Path) -> None:
    """Refuse an unsupported instruction, for which LLVM would end the process."""
    module = rx.Module()
    with module.function("main", [rx.tensor((16, 64), "uint8")]) as f:
        f.returns(relax.matmul(*f, relax.const(np.ones((64, 64), "int8")), out_dtype="int32"))
    text = rx.schedules.chosen(module, "llvm{cpu=skylake-avx512 features=+avx512vnni}")
    assert "llvm.x86.avx512.vpdpbusd.512.u8.s8" in text, text
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(rx.RelaxError) as refused:
        rx.lower(module, "llvm{cpu=haswell}", schedules=file)
    assert "'llvm.x86.avx512.vpdpbusd.512.u8.s8' needs avx512vnni, which the target's machine lacks" in str(
        refused.value
    )
