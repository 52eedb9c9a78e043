# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that are the same in every program: compiled once, beside each program and not in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.context import load_dialects, new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.targets.host.support import Support, define_support, needs_support, unit_text
from relax_mlir.targets.llvm.objects import native_code

import relax_mlir as rx
from relax_mlir import relax


def program(size: int, **options: Any) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", size))]) as f:
        f.returns(relax.nn.relu(*f))
    return rx.compile(module, **{"jobs": 1, **options})  # here, where it is counted


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The units that are compiled from here on, by a process that has made none before."""
    compiled: list[bytes] = []
    original = native_code.unit_object

    def counted(code: bytes, **options: Any) -> bytes:
        compiled.append(code)
        return original(code, **options)

    monkeypatch.setattr(native_code, "unit_object", counted)
    monkeypatch.setattr(native_code, "_fixed", {})
    return compiled


def test_it_is_compiled_once_for_a_level(made: list[bytes]) -> None:
    for size in (7, 11):
        for opt_level in (1, 2):
            run = program(size, opt_level=opt_level, cache=False)
            with pytest.raises(ValueError, match=rf"expected size {size}, got 5: shape \(2, 5\)"):
                run["main"](numpy.ones((2, 5), "float32"))
    assert made.count(unit_text().encode()) == 2


def test_another_process_finds_it_in_the_cache(
    made: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for size in (13, 17):
        monkeypatch.setattr(native_code, "_fixed", {})
        program(size, cache=tmp_path)
    assert made.count(unit_text().encode()) == 1


def types(module: Any) -> dict[str, str]:
    """The types of the functions of a module."""
    functions = [view.operation for view in module.body if view.operation.name == "llvm.func"]
    return {ir.StringAttr(op.attributes["sym_name"]).value: str(op.attributes["function_type"]) for op in functions}


def test_what_is_declared_is_what_the_unit_defines() -> None:
    """Calls declare functions by what the file's text says of their types."""
    with create_context() as context, ir.Location.unknown():
        load_dialects(context, ("llvm",))
        defined = types(ir.Module.parse(unit_text()))
        module = ir.Module.parse("")
        support = Support(module.operation)
        shared = re.findall(r"llvm.func hidden @__relax_(\w+)\(", unit_text())
        assert {"fail", "allocate", "check_tensor", "profile_begin"} <= {*shared, "profile_begin"}
        for name in (*shared, "profile_begin", "profile_end"):
            with ir.InsertionPoint(module.body):
                inputs = ir.Type.parse(defined[f"__relax_{name}"]).inputs  # type: ignore[attr-defined]
                support.call(name, *(ir.Operation.create("llvm.mlir.undef", results=[each]).result for each in inputs))
        declared = types(module)
        assert declared == {name: defined[name] for name in declared} and len(declared) == len(shared) + 2


RELEASE = "llvm.func hidden @__relax_release(!llvm.ptr)"
CALLER = """
llvm.func @own(%any: !llvm.ptr) {
  llvm.call @__relax_release(%any) : (!llvm.ptr) -> ()
  llvm.return
}"""


def test_a_module_that_declares_functions_of_it_can_define_them() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(RELEASE + CALLER)
        assert needs_support(module)
        define_support(module.operation)
        assert module.operation.verify()
        assert "llvm.func internal @__relax_release(%arg0: !llvm.ptr)" in str(module)
        assert not needs_support(module)


@pytest.mark.parametrize("own", ["llvm.func internal @__relax_release(%any: !llvm.ptr) { llvm.return }", ""])
def test_functions_of_a_module_of_its_own_stay(own: str) -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(own + (CALLER if own else CALLER.replace("__relax_release", "own")))
        before = str(module)
        define_support(module.operation)
        assert str(module) == before
