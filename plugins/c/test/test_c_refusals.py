# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals of target c with names and locations. No module is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import relax


def built(infos: Any, body: Callable[..., Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def refusal(module: rx.Module, target: str = "c", **options: Any) -> str:
    before = str(module)
    with pytest.raises(rx.RelaxError) as caught:
        rx.sources(module, target, **options)
    assert str(module) == before
    return str(caught.value)


def test_sizes_that_the_data_decide() -> None:
    module = built([rx.tensor((3, 4), "int64")], relax.nonzero)
    assert "the size of 'result' depends on the data" in refusal(module)


def test_calls_of_packed_functions() -> None:
    module = built([rx.tensor((4,))], lambda x: relax.call_dps_packed("mine.work", [x], rx.tensor((4,))))
    text = refusal(module)
    assert "cannot write 'tir.packed' op in @main" in text and "test_c_refusals.py" in text


def test_a_module_without_public_functions() -> None:
    assert "the module has no public graph function" in refusal(rx.Module())


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("c{name=a-b}", "name=a-b: expected a C identifier"),
        ("c{name=int}", "name=int: expected a C identifier"),
        ("c{memory=stack}", "memory=stack: expected static or heap"),
        ("c{ffi=a/b}", "ffi=a/b: expected a name of letters"),
        ("c{cpu=haswell}", "target 'c' has no option 'cpu'"),
        ("llvm", "target 'llvm' makes no source files"),
    ],
)
def test_options(target: str, words: str) -> None:
    assert words in refusal(built([rx.tensor((4,))], relax.exp), target)


def test_no_program_is_made() -> None:
    module = built([rx.tensor((4,))], relax.exp)
    with pytest.raises(rx.RelaxError, match="target 'c' writes source files, not a program to load"):
        rx.compile(module, "c")


def test_vectors_that_somebody_wrote() -> None:
    module = rx.Module.parse(
        """
func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%zero], %pad : memref<4xf32>, vector<4xf32>
  vector.transfer_write %v, %y[%zero] : vector<4xf32>, memref<4xf32>
  return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "relax.call_tir"(%x) {func = @kernel} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
    )
    assert "cannot write 'vector.transfer_read' op in @kernel: it has no counterpart in C" in refusal(module)


@pytest.mark.parametrize("name", ["main", "while", "exp", "x y", "3", "model_numbers"])
def test_names_that_c_has_for_something_else(name: str) -> None:
    module = rx.Module()
    with module.function("double", {name: rx.tensor((4,))}) as f:
        f.returns(relax.exp(*f))
    header = rx.sources(module)["model.h"]
    assert "int model_double(const float *" in header
    taken = header.partition("int model_double(const float *")[2].partition(",")[0]
    assert taken.isidentifier() and taken not in ("main", "while", "exp", "x y", "model_numbers")


def test_the_same_module_gives_the_same_text() -> None:
    module = built([rx.tensor((2, 3))], lambda x: relax.nn.softmax(relax.exp(x)))
    assert rx.sources(module) == rx.sources(module)
