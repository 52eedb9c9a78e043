# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that all programs share: compiled once, next to each program and not in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.context import load_dialects, new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import has_body, operations_of, symbol_name
from relax_mlir.dialects.context import create_context
from relax_mlir.targets.host.native.unit import LibraryUnit
from relax_mlir.targets.host.passes.host_define_support import define_support, parsed_unit
from relax_mlir.targets.host.support import Support
from relax_mlir.targets.host.units import copied_unit, library_units, needed_units, pool_unit
from relax_mlir.targets.llvm.objects import native_code, unit_compiler
from relax_mlir.targets.llvm.objects.object_file import check_compilable

import relax_mlir as rx
from relax_mlir import relax


def program(size: int, **options: Any) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", size))]) as f:
        f.returns(relax.nn.relu(*f))
    return rx.compile(module, **{"jobs": 1, **options})  # here, where it is counted


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the units that a fresh process would compile from here on."""
    compiled: list[bytes] = []
    original = unit_compiler.unit_object

    def counted(code: bytes, **options: Any) -> bytes:
        compiled.append(code)
        return original(code, **options)

    monkeypatch.setattr(unit_compiler, "unit_object", counted)
    monkeypatch.setattr(native_code, "_fixed", {})
    return compiled


def test_the_support_unit_is_compiled_once_per_level(made: list[bytes]) -> None:
    for size in (7, 11):
        for opt_level in (1, 2):
            run = program(size, opt_level=opt_level, cache=False)
            with pytest.raises(ValueError, match=rf"expected size {size}, got 5: shape \(2, 5\)"):
                run["main"](numpy.ones((2, 5), "float32"))
    assert made.count(native_code.lowered(library_units()[:1])[0]) == 2


def test_another_process_finds_it_in_the_cache(
    made: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for size in (13, 17):
        monkeypatch.setattr(native_code, "_fixed", {})
        program(size, cache=tmp_path)
    assert made.count(native_code.lowered(library_units()[:1])[0]) == 1


def types(module: Any) -> dict[str, str]:
    """Return the types of a module's functions."""
    functions = [view.operation for view in module.body if view.operation.name == "llvm.func"]
    return {ir.StringAttr(op.attributes["sym_name"]).value: str(op.attributes["function_type"]) for op in functions}


def test_declarations_equal_the_units_definitions() -> None:
    """Check that calls declare functions with the types of the file's text."""
    with create_context() as context, ir.Location.unknown():
        load_dialects(context, ("llvm",))
        modules = [parsed_unit(unit.text) for unit in library_units()]
        defined = {name: each for module in modules for name, each in types(module).items()}
        defined |= types(ir.Module.parse(copied_unit().text))
        module = ir.Module.parse("")
        support = Support(module.operation)
        functions = [op for module in modules for op in operations_of(module.body) if op.name == "llvm.func"]
        shared = [
            symbol_name(op)[8:] for op in functions if has_body(op) and "internal" not in str(op.attributes["linkage"])
        ]
        assert {"fail", "allocate", "check_tensor", "profile_begin"} <= {*shared, "profile_begin"}
        for name in (*shared, "profile_begin", "profile_end"):
            with ir.InsertionPoint(module.body):
                inputs = ir.Type.parse(defined[f"__relax_{name}"]).inputs  # type: ignore[attr-defined]
                support.call(name, *(ir.Operation.create("llvm.mlir.undef", results=[each]).result for each in inputs))
        declared = types(module)
        assert declared == {name: defined[name] for name in declared} and len(declared) == len(shared) + 2


def test_files_need_those_before_them_and_declare_what_these_define() -> None:
    """Check each file as a unit: a declaration of a wrong type would only show as a crash."""
    with new_context(("llvm",)), ir.Location.unknown():
        modules = [parsed_unit(unit.text) for unit in library_units()]
        seen: dict[str, str] = {}
        for module in modules:
            private = {
                symbol_name(op) for op in operations_of(module.body) if "internal" in str(op.attributes["linkage"])
            }
            own = {name: each for name, each in types(module).items() if name.startswith("__relax_")}
            own = {name: own[name] for name in {*own} - private}
            with_body = {symbol_name(op) for op in operations_of(module.body) if has_body(op)} - private
            assert {name: seen[name] for name in {*own} - with_body} == {name: own[name] for name in {*own} - with_body}
            assert not with_body & {*seen}
            seen |= own


@pytest.mark.parametrize("unit", [*library_units(), *map(pool_unit, ("x86_64", "aarch64", "riscv64"))])
def test_each_unit_becomes_code_by_itself(unit: LibraryUnit) -> None:
    with new_context(("llvm",)):
        check_compilable(parsed_unit(unit.text), 2)


def test_units_fit_into_one_module() -> None:
    """Check that a name means the same in all units that one module may contain."""
    seen: dict[str, str] = {}
    with new_context(("llvm",)), ir.Location.unknown():
        for library_unit in library_units():
            unit = parsed_unit(library_unit.text, is_shared=False)
            defined = [op for op in operations_of(unit.body) if has_body(op) or "value" in op.attributes]
            for op in defined:
                assert seen.setdefault(symbol_name(op), str(op)) == str(op)


def test_needed_units_include_their_dependencies() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse("llvm.func hidden @__relax_device_keep_if(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32")
        needed = needed_units(module.operation)
    assert [library_units().index(unit) for unit in needed] == [0, 2, 4, 5, 6]


def test_a_program_has_the_units_that_it_needs(made: list[bytes]) -> None:
    common, kept, *rare = native_code.lowered(library_units())
    program(19, cache=False)
    assert common in made and not {kept, *rare} & {*made}
    weights = numpy.arange(19 * 300, dtype="float32").reshape(19, 300)  # too large for the code itself
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 19))]) as f:
        f.returns(relax.matmul(*f, relax.const(weights)))
    run = rx.compile(module, jobs=1, cache=False)
    assert kept in made and not {*rare} & {*made}
    x = numpy.ones((2, 19), "float32")
    assert (run["main"](x) == x @ weights).all()


RELEASE = "llvm.func hidden @__relax_release(!llvm.ptr)"
CALLER = """
llvm.func @own(%any: !llvm.ptr) {
  llvm.call @__relax_release(%any) : (!llvm.ptr) -> ()
  llvm.return
}"""


def test_declared_support_functions_can_be_defined() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(RELEASE + CALLER)
        assert needed_units(module.operation) == [*library_units()[:1]]
        define_support(module.operation)
        assert module.operation.verify()
        assert "llvm.func internal @__relax_release(%arg0: !llvm.ptr)" in str(module)
        assert not needed_units(module.operation)


@pytest.mark.parametrize("own", ["llvm.func internal @__relax_release(%any: !llvm.ptr) { llvm.return }", ""])
def test_functions_of_a_module_of_its_own_stay(own: str) -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(own + (CALLER if own else CALLER.replace("__relax_release", "own")))
        before = str(module)
        define_support(module.operation)
        assert str(module) == before
