# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that are the same in every program: compiled once, beside each program and not in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.targets.llvm import native_code
from relax_mlir.targets.llvm.packed_support import SUPPORT
from relax_mlir.targets.llvm.support_unit import leave_out_support, support_unit

import relax_mlir as rx
from relax_mlir import relax


def program(size: int, **options: Any) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", size))]) as f:
        f.returns(relax.nn.relu(*f))
    return rx.compile(module, **options)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The units that are compiled from here on, by a process that has made none before."""
    compiled: list[bytes] = []
    original = native_code.unit_object

    def counted(code: bytes, **options: Any) -> bytes:
        compiled.append(code)
        return original(code, **options)

    monkeypatch.setattr(native_code, "unit_object", counted)
    monkeypatch.setattr(native_code, "_supports", {})
    return compiled


def test_it_is_compiled_once_for_a_level(made: list[bytes]) -> None:
    for size in (7, 11):
        for opt_level in (1, 2):
            run = program(size, opt_level=opt_level, cache=False)
            with pytest.raises(ValueError, match=rf"expected size {size}, got 5: shape \(2, 5\)"):
                run["main"](numpy.ones((2, 5), "float32"))
    assert made.count(support_unit().code) == 2


def test_another_process_finds_it_in_the_cache(
    made: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for size in (13, 17):
        monkeypatch.setattr(native_code, "_supports", {})
        program(size, cache=tmp_path)
    assert made.count(support_unit().code) == 1


CALLER = """
llvm.func internal @own(%any: !llvm.ptr) {
  llvm.call @__relax_release(%any) : (!llvm.ptr) -> ()
  llvm.return
}"""


def test_a_module_declares_what_it_needs_of_it() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(SUPPORT + CALLER)
        assert leave_out_support(module)
        assert module.operation.verify()
        assert "llvm.func hidden @__relax_release(!llvm.ptr)" in str(module)
        assert "llvm.func internal @own" in str(module)
        assert not leave_out_support(module), "what is declared already was replaced again"


def test_functions_that_a_stage_has_changed_stay() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse("llvm.func internal @__relax_release(%any: !llvm.ptr) { llvm.return }" + CALLER)
        before = str(module)
        assert not leave_out_support(module)
        assert str(module) == before
