# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts in Python programs: Python executes a decorated class without an effect and without an error."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import relax_mlir as rx
from relax_mlir import script
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

SIZE = 3
HEAD = "from relax_mlir.script import llvm, memref, ir as I, relax as R, tir as T\n\n"
ANYTHING = (
    HEAD
    + """\
class Module:
    memref.global_(sym_name="table", type=T.Buffer((2,), "float32"))

    @R.function(attrs={"a.b": I.attr("1 : i8")})
    def main(
        x: I.annotated(R.Tensor(("n", "2*n"), "float32"), {"a.c": 1}), y: I.type("tensor<?xi3>")
    ) -> R.Tuple(R.Tensor(("n", "2*n"), "float32"), R.Shape((1, "n"))):
        return x, undefined

    @T.prim_func(private=True)
    def prim(A: T.Buffer((8,), "float32"), v: T.float32x8): ...

    one = T.int32(1) + 1
    two = -(2 * one) - one // one % one << ~one
    less = I.op("their.less", one < two, two >= one, T.bool)
    two[one] = less[1, 2]
    with I.op("their.regions", T.int32) as word:
        with I.region():
            llvm.unreachable()
    I.resource("w", "tensor<2xf32>", "AAAAAAAAgD8=")
"""
)
GOOD = (
    HEAD
    + '''\
@I.ir_module(ssa=True)
class Module:
    @I.ir_module
    class inner:
        @I.ir_module(name="odd name")
        class Module:
            @R.function(named=False)
            def same(x: I.type("tensor<4xf32>")) -> R.Tensor((4,), "float32"):
                return x

    @R.function(named=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        w = I.const(I.resource("w"))
        return x, w

    I.mlir(r"""
module { func.func private @other() }""")
    with llvm.func(sym_name="f", function_type=I.type("!llvm.func<i32 (i32)>"), linkage=I.attr("#llvm.linkage<external>"), CConv=I.attr("#llvm.cconv<ccc>"), unnamed_addr=0, visibility_=0):

        def bb0(arg0: T.int32):
            llvm.br(arg0, to=(bb1,))

        def bb1(arg1: T.int32):
            llvm.return_(arg1)

    I.resource("w", "tensor<2xf32>", "AAAAAAAAgD8=")
'''  # noqa: E501
)


def imported(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "a_script") -> ModuleType:
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_a_module_of_operations_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = imported(GOOD, tmp_path, monkeypatch).Module
    assert isinstance(made, rx.Module)
    assert str(made) == str(rx.Module.from_script(GOOD))
    text = str(made)
    assert "module @inner" in text and 'module @"odd name"' in text and "llvm.br ^bb1" in text and "@other" in text


def test_python_makes_nothing_of_a_classs_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import a class that no reader reads: Python accepts code that a reader would refuse."""
    module = imported(ANYTHING, tmp_path, monkeypatch).Module
    assert callable(module.main) and callable(module.prim)
    assert repr(module.two) == "T.int32" and repr(module.word) == "I.op"


def test_a_module_may_stand_in_a_class_of_a_program() -> None:
    class Holder:
        @I.ir_module
        class Held:
            @R.function
            def main(x: R.Tensor((4,), "float32")):  # type: ignore[valid-type, no-untyped-def]
                return x

    assert isinstance(Holder.Held, rx.Module)


def test_words_of_other_dialects_are_imported_and_no_others() -> None:
    from relax_mlir.script import llvm

    assert repr(llvm.func) == "llvm.func"
    with pytest.raises(ImportError):
        from relax_mlir.script import llwm  # noqa: F401
    with pytest.raises(AttributeError, match=r"no dialect 'llwm'; did you mean 'llvm'\?"):
        _ = script.llwm
    assert not hasattr(script, "__wrapped__")


def test_a_name_of_the_function_around_hides_that_of_the_file() -> None:
    SIZE = 5  # noqa: F841  # the script uses it

    @R.function
    def main(x: R.Tensor((SIZE,), "float32")):  # type: ignore[valid-type, no-untyped-def]
        return x

    assert "tensor<5xf32>" in str(main)
