# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the lit tests' IR in which no two values share a name: it reads back equal, with the same locations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from relax_mlir.bindings.mlir import print_asm as print_usual
from relax_mlir.bindings.unique_names import print_asm
from relax_mlir.tools.opt.split_input import split_input

import relax_mlir as rx

LIT = Path(__file__).resolve().parents[2]
FILES = [*sorted(LIT.glob("dialects/tir/*.mlir")), *sorted(LIT.glob("passes/relax_[a-l]*.mlir"))]

SEVERAL = """
func.func @f(%x: index, %y: index) -> index {
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %x to %y step %c1 iter_args(%a = %x, %b = %y) -> (index, index) {
    %1 = arith.addi %a, %i : index
    scf.yield %1, %b : index, index
  }
  return %0#1 : index
}
func.func @g(%x: index) attributes {note = "%arg0 % %0"} {
  %c1 = arith.constant 1 : index
  cf.br ^bb1(%c1 : index)
^bb1(%0: index):
  return
}
"""


def definitions(text: str) -> list[str]:
    """Return the names that a text in generic form defines."""
    results = re.findall(r'^\s*(%[\w$.-]+)(?::\d+)? = "', text, re.MULTILINE)
    arguments = re.findall(r"^\s*\^bb\d+\((.*)\):", text, re.MULTILINE)
    return [*results, *(name for each in arguments for name in re.findall(r"(%[\w$.-]+):", each))]


def parsed(text: str) -> rx.Module | None:
    try:
        return rx.Module.parse(text, "test", allow_unregistered=True)
    except rx.RelaxError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reads_back_as_the_same(path: Path) -> None:
    modules = [parsed(chunk.text) for chunk in split_input(path.read_text())]
    for module in filter(None, modules):
        before = module.print(debug_info=True)
        names = definitions(print_asm(module.operation, print_generic_op_form=True))
        assert len(names) == len(set(names)) == len(definitions(module.print(generic=True)))
        again = parsed(print_asm(module.operation, enable_debug_info=True))
        assert again is not None and again.print(debug_info=True) == before
        assert module.print(debug_info=True) == before


def test_printed_names_are_unique_in_the_module() -> None:
    module = rx.Module.parse(SEVERAL)
    text = print_asm(module.operation)
    assert "func.func @f(%arg0: index, %arg1: index)" in text
    assert "%0:2 = scf.for %arg2 = %arg0 to %arg1 step %c1 iter_args(%arg3 = %arg0, %arg4 = %arg1)" in text
    assert "return %0#1" in text
    assert 'func.func @g(%arg5: index) attributes {note = "%arg0 % %0"}' in text
    assert "%c1_0 = arith.constant 1 : index" in text
    assert "^bb1(%2: index)" in text


def test_a_failure_leaves_the_locations(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rx.Module.parse(SEVERAL)
    before = module.print(debug_info=True)

    def fail(operation: object, **options: object) -> str:
        if "use_name_loc_as_prefix" in options:
            raise MemoryError
        return print_usual(operation, **options)

    monkeypatch.setattr("relax_mlir.bindings.mlir.print_asm", fail)
    with pytest.raises(MemoryError):
        print_asm(module.operation)
    monkeypatch.undo()
    assert module.print(debug_info=True) == before
