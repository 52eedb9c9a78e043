# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that call themselves are refused before any code is made; long chains of calls are not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.navigation import functions_in, symbol_name
from relax_mlir.dialects.core.call_graph import refuse_recursion
from relax_mlir.tools.relax_compile import run as relax_compile

import relax_mlir as rx

TYPE = "tensor<4xf32>"


def function(name: str, *callees: str, private: bool = True) -> str:
    calls = "".join(f"  %{i + 1} = func.call @{each}(%{i}) : ({TYPE}) -> {TYPE}\n" for i, each in enumerate(callees))
    visibility = "private " if private else ""
    return (
        f"func.func {visibility}@{name}(%0: {TYPE}) -> {TYPE} {{\n{calls}"
        f'  %r = "relax.abs"(%{len(callees)}) : ({TYPE}) -> {TYPE}\n  return %r : {TYPE}\n}}\n'
    )


CASES = {
    "itself": ("main calls @main", function("main", "main", private=False)),
    "by one": ("g calls @g", function("main", "g", private=False) + function("g", "g")),
    "by others": (
        "a calls @b calls @c calls @a",
        function("main", "a", private=False) + function("a", "b") + function("b", "c") + function("c", "leaf", "a")
        + function("leaf"),
    ),
    "it is not needed": ("g calls @g", function("main", private=False) + function("g", "g")),
}  # fmt: skip
WAYS: dict[str, Callable[[rx.Module], Any]] = {
    "llvm": rx.compile,
    "llvm, no passes": lambda module: rx.compile(module, opt_level=0),
    "cuda": lambda module: rx.compile(module, "cuda"),
    "c": lambda module: rx.sources(module, "c"),
    "lower": rx.lower,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_calls_itself(way: str, case: str) -> None:
    cycle, text = CASES[case]
    with pytest.raises(rx.RelaxError, match=rf"calls itself \(@{cycle}\): nothing bounds the memory") as caught:
        WAYS[way](rx.Module.parse(text, "some.mlir"))
    assert str(caught.value).startswith("some.mlir:")


@pytest.mark.parametrize("emit", ["artifact", "tir", "llvm"])
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], emit: str) -> None:
    path = tmp_path / "some.mlir"
    path.write_text(CASES["by others"][1], encoding="utf-8")
    assert relax_compile([str(path), f"--emit={emit}", "-o", str(tmp_path / "out")]) == 1
    assert "some.mlir:" in (errors := capsys.readouterr().err) and "calls itself" in errors
    assert [each.name for each in tmp_path.iterdir()] == ["some.mlir"]


@pytest.mark.parametrize("level", [0, 2])
def test_one_that_two_call_does_not_call_itself(level: int) -> None:
    text = function("main", "a", "b", "c", private=False) + function("a", "c") + function("b", "c") + function("c")
    main = rx.compile(rx.Module.parse(text), opt_level=level)["main"]
    assert numpy.array_equal(main(numpy.arange(-2, 2, dtype="float32")), [2, 1, 0, 1])


def test_long_chains() -> None:
    """Compile chains that are longer than Python's stack."""
    names = [f"f{i}" for i in range(3000)]
    text = "".join(function(*each) for each in pairwise(names)) + function(names[-1])
    module = rx.Module.parse(text)
    assert refuse_recursion({symbol_name(each): each for each in functions_in(module.operation)}) == names[::-1]
