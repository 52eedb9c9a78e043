# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that compiled graphs call by name: their arguments, results and exceptions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import tvm_ffi
from compiling import array, built, floats

import relax_mlir as rx
from relax_mlir import relax


@pytest.fixture(scope="module", autouse=True)
def packed_functions() -> None:
    def scale(x: Any, factor: int) -> Any:
        return tvm_ffi.from_dlpack(numpy.from_dlpack(x) * numpy.float32(factor))

    def negate_into(x: Any, out: Any) -> None:
        numpy.from_dlpack(out)[...] = -numpy.from_dlpack(x)

    def refuse(x: Any) -> Any:
        raise KeyError("not today")

    def turned(x: Any) -> Any:
        return tvm_ffi.from_dlpack(numpy.ascontiguousarray(numpy.from_dlpack(x).transpose(1, 2, 0)))

    for function in (scale, negate_into, refuse, turned):
        tvm_ffi.register_global_func(f"test_packed.{function.__name__}", function, override=True)


def test_packed_functions_in_a_graph() -> None:
    def body(x: Any) -> Any:
        info = rx.tensor(("n", 2))
        negated = relax.call_dps_packed("test_packed.negate_into", [relax.exp(x)], info)
        three = relax.prim_value(3)
        return relax.add(relax.call_pure_packed("test_packed.scale", [negated, three], info), x)

    executable = built([rx.tensor(("n", 2))], body)
    for n in (1, 4):
        x = floats(n, 2)
        numpy.testing.assert_allclose(array(executable["main"](x)), x - 3 * numpy.exp(x), rtol=1e-5)


def test_an_exception_of_a_packed_function_comes_back() -> None:
    def body(x: Any) -> Any:
        info = rx.tensor(("n",))
        return relax.add(relax.call_packed("test_packed.refuse", [relax.exp(x)], info), x)

    executable = built([rx.tensor(("n",))], body)
    for _ in range(3):
        with pytest.raises(KeyError, match="not today"):
            executable["main"](floats(3))


def test_what_a_packed_function_returns_is_checked() -> None:
    def body(x: Any) -> Any:
        return relax.call_packed("test_packed.scale", [x, relax.prim_value(2)], rx.tensor((7,)))

    executable = built([rx.tensor(("n",))], body)
    numpy.testing.assert_allclose(array(executable["main"](floats(7))), 2 * floats(7))
    with pytest.raises(ValueError, match=r"test_packed.scale: result #0 .*expected.*7.*got 3|expected 7, got 3"):
        executable["main"](floats(3))


def test_a_packed_function_returns_any_sizes() -> None:
    unknown = rx.tensor((None, None, None))
    executable = built([rx.tensor((2, "n", 3))], lambda x: relax.call_packed("test_packed.turned", [x], unknown))
    for n in (1, 5):
        x = floats(2, n, 3)
        numpy.testing.assert_array_equal(array(executable["main"](x)), x.transpose(1, 2, 0))


def test_an_unregistered_packed_function() -> None:
    executable = built([rx.tensor((2,))], lambda x: relax.call_packed("test_packed.missing", [x], rx.tensor((2,))))
    with pytest.raises((RuntimeError, ValueError), match=r"'test_packed.missing'"):
        executable["main"](floats(2))
