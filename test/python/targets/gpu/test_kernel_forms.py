# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Listed forms and plans of a GPU's kernels, and files of schedules that replace single kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import run_emulated
from relax_mlir.bindings.navigation import operations_named, text_in
from relax_mlir.dialects.core.ir_attributes import FORM
from schedule_kernels import KERNELS, Kernel
from scheduled_gpu import code_of

import relax_mlir as rx
from relax_mlir import relax

TARGET = "cuda{arch=sm_80}"
Shapes = dict[str, tuple[int | str, ...]]


def graph(make: Callable[..., Any], inputs: Shapes, dtype: str = "f32") -> rx.Module:
    module = rx.Module()
    with module.function("main", {name: rx.tensor(shape, dtype) for name, shape in inputs.items()}) as f:
        f.returns(make(*f))
    return module


def two_kernels() -> rx.Module:
    def make(x: Any) -> Any:
        return relax.nn.softmax(relax.permute_dims(x, axes=[1, 0]), axis=-1)

    return graph(make, {"x": (70, 33)})


def _convolution(x: Any, w: Any) -> Any:
    return relax.nn.conv2d(x, w, padding=[1, 1, 1, 1])


#: Operators of models.
MODELS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "product": (lambda x, w: relax.nn.relu(relax.matmul(x, w)), {"x": (70, 40), "w": (40, 66)}),
    "split product": (relax.matmul, {"x": (40, 2048), "w": (2048, 40)}),
    "a row": (relax.matmul, {"x": (1, 200), "w": (200, 96)}),
    "convolution": (_convolution, {"x": (1, 9, 14, 14), "w": (20, 9, 3, 3)}),
    "softmax": (lambda x: relax.nn.softmax(x, axis=-1), {"x": ("n", "m")}),
    "sum of long rows": (lambda x: relax.sum(x, axis=[1]), {"x": (3, 9000)}),
    "sum of columns": (lambda x: relax.sum(x, axis=[0]), {"x": (2000, 40)}),
    "transposition": (lambda x: relax.permute_dims(x, axes=[0, 2, 1]), {"x": (2, 45, 70)}),
    "concatenation": (lambda x, y: relax.concat([x, y], axis=1), {"x": (7, 30), "y": (7, 14)}),
    "addition": (relax.add, {"x": ("n", "m"), "y": ("m",)}),
    "running sums": (lambda x: relax.cumsum(x, axis=1), {"x": (7, 30)}),
    "rows in columns": (lambda x: relax.reshape(relax.tile(x, repeats=[1, 3]), (60, 7)), {"x": (7, 20)}),
}


def forms_listed(text: str) -> list[str]:
    return [form for line in re.findall(r"form ([\w, ]+)", text) for form in line.split(", ")]


@pytest.mark.parametrize("target", [TARGET, "vulkan"])
@pytest.mark.parametrize("name", MODELS)
def test_listed_forms_are_the_forms_of_kernels(name: str, target: str) -> None:
    module = graph(*MODELS[name])
    text = rx.schedules.chosen(module, target)
    lowered = rx.lower(module, target, pipeline=rx.stages(target).until("kernels"))
    made = [text_in(each, FORM) for each in operations_named(lowered.operation, "gpu.func")]
    assert made and sorted(forms_listed(text)) == sorted(made), text
    assert "def " not in text and text.count("GPU kernels have no steps") == text.count("\n#   ")


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_kernels_of_scripts_have_a_form(each: Kernel) -> None:
    assert f"#   {each.name}: GPU kernels have no steps: form " in rx.schedules.chosen(each.module(), TARGET)


def test_products_are_listed_with_their_plans() -> None:
    text = rx.schedules.chosen(graph(*MODELS["product"]), TARGET)
    assert re.search(r"form tiles; plan 'start', 'order 0 1 2; carried 1; [^']*rule product', 'epilogue of 0'", text), (
        text
    )


def test_reports_have_the_forms() -> None:
    journal = rx.Journal(steps=True)
    rx.compile(two_kernels(), TARGET, journal=journal)
    told = {fact["kernel"]: fact["steps"] for fact in journal.of("schedule")}
    start = "# GPU kernels have no steps: form"
    assert told == {"permute_dims": [f"{start} turned"], "nn_softmax": [f"{start} rows"]}


ROWS = """
def permute_dims(sch):
    permute_dims = sch.get_block("permute_dims")
    i, j = sch.get_loops(permute_dims)
    f = sch.fuse(i, j)
    blocks, threads = sch.split(f, [None, 128])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
"""


def test_one_kernel_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    """Check that the other kernel's code is exactly the same."""
    module, file = two_kernels(), tmp_path / "kernels.py"
    file.write_text(f"# schedule 1\n{ROWS}", encoding="utf-8")
    planned, changed = rx.compile(module, TARGET), rx.compile(module, TARGET, schedules=file)
    array = np.random.default_rng(0).normal(size=(70, 33)).astype("float32")
    first, second = (np.from_dlpack(run_emulated(each, array)) for each in (planned, changed))
    np.testing.assert_array_equal(first, second)
    before, after = (_kernels(code_of(each)) for each in (planned, changed))
    assert before["nn_softmax"] == after["nn_softmax"]
    assert ".maxntid 128" in after["permute_dims"] and ".maxntid 128" not in before["permute_dims"]


def _kernels(code: str) -> dict[str, str]:
    parts = code.split(".entry ")[1:]
    return {part.partition("(")[0]: part.partition("\n}")[0] for part in parts}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('sch.get_block("none")', r"kernels\.py:3: .*there is no block 'none'.*kernel nn_softmax"),
        ('sch.unroll("nn_softmax")', r"kernels\.py:3: .*expected loops and blocks"),
    ],
)
def test_errors_name_the_line(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(f"# schedule 1\ndef nn_softmax(sch):\n    {line}\n", encoding="utf-8")
    with pytest.raises(rx.RelaxError, match=problem):
        rx.compile(two_kernels(), TARGET, schedules=file)
