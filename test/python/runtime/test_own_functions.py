# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that belong to a program, next to others with the same symbols, and registered functions."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from relax_mlir.runtime.artifact import artifact_bytes, parse_artifact

import relax_mlir as rx
from relax_mlir import relax

X = numpy.ones(2, "float32")


def times(factor: float) -> Callable[[Any, Any], None]:
    def run(x: Any, out: Any) -> None:
        numpy.from_dlpack(out)[...] = numpy.from_dlpack(x) * factor

    return run


def negative(x: Any, out: Any) -> None:
    """Negate an array. The function has a name, so that it can be pickled."""
    numpy.from_dlpack(out)[...] = -numpy.from_dlpack(x)


@pytest.fixture(autouse=True)
def _registered() -> None:
    tvm_ffi.register_global_func("own.f", times(2), override=True)
    tvm_ffi.register_global_func("own.g", times(3), override=True)


def compiled(functions: dict[str, Any] | None = None) -> rx.runtime.Executable:
    """Compile g(f(x))."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",))}) as f:
        (x,) = f
        inner = relax.call_dps_packed("own.f", [x], x.type)
        f.returns(relax.call_dps_packed("own.g", [inner], x.type))
    return rx.compile(module, functions=functions, jobs=1)


def test_programs_with_equal_symbols_call_their_own_functions() -> None:
    programs = [compiled({"own.f": times(10)}), compiled({"own.g": times(100)}), compiled()]
    assert [program["main"](X)[0] for program in programs] == [30, 200, 6]
    assert [program["main"](X)[0] for program in programs] == [30, 200, 6], "what was found stays"


def test_a_file_is_given_its_functions_again(tmp_path: Path) -> None:
    path = tmp_path / "program.rxa"
    compiled({"own.f": times(10)}).save(path)
    assert rx.runtime.load(path)["main"](X)[0] == 6
    assert rx.runtime.load(path, functions={"own.g": times(0.5)})["main"](X)[0] == 1
    both = rx.runtime.load(path, functions={"own.f": times(7), "own.g": tvm_ffi.convert(times(11))})
    assert both["main"](X)[0] == 77


def test_a_pickled_program_keeps_its_functions() -> None:
    program = pickle.loads(pickle.dumps(compiled({"own.f": negative})))
    assert program["main"](X)[0] == -3


def test_functions_live_as_long_as_the_code() -> None:
    function = times(5)
    alive = weakref.ref(function)
    program = compiled({"own.g": function})
    main = program["main"].packed
    del function, program
    gc.collect()
    assert numpy.from_dlpack(main(tvm_ffi.from_dlpack(X)))[0] == 10
    del main
    gc.collect()
    assert alive() is None


def test_an_exception_is_raised_where_the_program_was_called() -> None:
    def fail(x: Any, out: Any) -> None:
        raise KeyError("not today")

    with pytest.raises(KeyError, match="not today"):
        compiled({"own.g": fail})["main"](X)


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        ({"own.h": print}, rx.runtime.UnknownFunction, "this program calls no function 'own.h'; it calls own.f, own.g"),
        ({"own.f": 3}, TypeError, "function 'own.f' is a int, which cannot be called"),
    ],
)
def test_uncalled_functions_are_refused(functions: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compiled(functions)


def test_the_code_refuses_another_number_of_functions() -> None:
    artifact = compiled()._artifact
    assert artifact.calls == ("own.f", "own.g")
    wrong = replace(artifact, calls=("own.f",), functions={"own.f": times(2)})
    with pytest.raises(rx.runtime.ArtifactError, match="__relax_set_functions: the code has 2 functions, got 1"):
        rx.runtime.Executable(wrong)


def test_the_manifest_names_what_is_called() -> None:
    artifact = compiled()._artifact
    assert parse_artifact(memoryview(artifact_bytes(artifact))).calls == ("own.f", "own.g")
    without = artifact_bytes(replace(artifact, calls=()))
    assert b'"calls"' not in without and parse_artifact(memoryview(without)).calls == ()


def test_a_kernel_can_call_the_programs_functions() -> None:
    text = """
    func.func private @k(%x: memref<2xf32>, %y: memref<2xf32>) attributes {tir.prim_func} {
      "tir.call_packed"(%x, %y) {func = "own.f"} : (memref<2xf32>, memref<2xf32>) -> ()
      return
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "relax.call_tir"(%x) {func = @k} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """
    module = rx.Module.parse(text)
    assert rx.compile(module, functions={"own.f": times(8)}, jobs=1)["main"](X)[0] == 8
    assert rx.compile(module, jobs=1)["main"](X)[0] == 2
