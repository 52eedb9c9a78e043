# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a target chooses as steps: they give what its plans give, and can be changed, in files of schedules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from schedule_kernels import KERNELS, Kernel, kernel

import relax_mlir as rx
from relax_mlir import relax

#: What no step says; which kernels have such plans depends on the machine.
WITHOUT = ("which no step says", "reduces block by block", "other loops in its text")
#: Those that have steps on every machine.
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
    """By name, as a trace that was changed; the other kernels are the compiler's."""
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
        ("# schedule 1\n" + 2 * "def matmul(sch):\n    pass\n", r"kernels\.py:4: a second schedule of 'matmul'"),
    ],
)
def test_what_is_wrong_with_a_file(text: str, problem: str, tmp_path: Path) -> None:
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
    """What only copies a constant, in the layout that its readers want, is none of a call's work."""
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
