# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host calls between the kernels of a device's program: functions by their names, parts of codegens.

Their tensors are copied, and their outputs are copied back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
import tvm_ffi
from real_webgpu import compiled, graph, skip_without
from relax_mlir import relax

RANDOM = numpy.random.default_rng(8)


@pytest.fixture(autouse=True)
def _device() -> None:
    skip_without()


@pytest.fixture
def name() -> str:
    """Register a function that adds a number to a tensor, and return its name."""

    def add_into(x: Any, number: int, out: Any) -> None:
        numpy.from_dlpack(out)[...] = numpy.from_dlpack(x) + numpy.array(number, numpy.from_dlpack(x).dtype)

    tvm_ffi.register_global_func("test_other_functions.add_into", add_into, override=True)
    return "test_other_functions.add_into"


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
def test_a_function_between_kernels(name: str, dtype: str) -> None:
    """Call a function with tensors that end inside of a word."""

    def build(x: Any) -> Any:
        added = relax.call_dps_packed(name, [relax.negative(x), relax.prim_value(3)], rx.tensor(("n", 7), dtype))
        return relax.multiply(added, x), added

    f = compiled(build, rx.tensor(("n", 7), dtype))
    for count in (3, 1, 0, 50):
        x = RANDOM.integers(-9, 9, (count, 7)).astype(dtype)
        wanted = (3 - x).astype(dtype)
        for found, expected in zip(f(x), (wanted * x, wanted), strict=True):
            numpy.testing.assert_array_equal(found, expected)


def test_its_errors_come_through() -> None:
    def refuse(x: Any, out: Any) -> None:
        raise KeyError("not today")

    tvm_ffi.register_global_func("test_other_functions.refuse", refuse, override=True)
    info = rx.tensor((3,))
    f = compiled(lambda x: relax.call_dps_packed("test_other_functions.refuse", [x], info), info)
    g = compiled(lambda x: relax.call_dps_packed("test_other_functions.nobody", [x], info), info)
    with pytest.raises(KeyError, match="not today"):
        f(numpy.ones(3, "float32"))
    with pytest.raises(RuntimeError, match=r"calls 'test_other_functions.nobody', which is not registered"):
        g(numpy.ones(3, "float32"))


def test_a_function_cannot_call_its_calling_program() -> None:
    """Both would take the program's memory, and wait for each other."""
    functions: list[Any] = []

    def again(x: Any, out: Any) -> None:
        functions[0](x)

    tvm_ffi.register_global_func("test_other_functions.again", again, override=True)
    info = rx.tensor((3,))
    functions.append(compiled(lambda x: relax.call_dps_packed("test_other_functions.again", [x], info), info))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"@main is called by 'test_other_functions.again'"):
            functions[0](numpy.ones(3, "float32"))


def test_parts_of_a_codegen(tmp_path: Path) -> None:
    """Compute the product in a library of this machine. The program is saved and loaded like others."""
    weight = RANDOM.standard_normal((9, 5), "float32")
    module = graph(lambda x: relax.nn.softmax(relax.matmul(relax.exp(x), relax.const(weight))), rx.tensor(("n", 9)))
    executable = rx.compile(module, "webgpu", partition=["example_npu"], strict_partition=True)
    assert set(executable._parts().values()) == {"webgpu", "example_npu"}
    executable.save(tmp_path / "model.rxa")
    for each, count in ((executable, 4), (rx.runtime.load(tmp_path / "model.rxa"), 1)):
        x = RANDOM.standard_normal((count, 9), "float32")
        powers = numpy.exp(numpy.exp(x) @ weight)
        found = each["main"](x)
        numpy.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_functions_that_give_values_are_refused() -> None:
    info = rx.tensor((3,))
    module = graph(lambda x: relax.call_pure_packed("test_other_functions.nobody", [x], info), info)
    with pytest.raises(rx.RelaxError) as refusal:
        rx.compile(module, target="webgpu")
    assert (
        "cannot write 'tir.packed' op of host code: 'test_other_functions.nobody' takes text or returns values"
        in str(refusal.value)
    )
    assert "use relax.call_dps_packed for such functions" in str(refusal.value)
