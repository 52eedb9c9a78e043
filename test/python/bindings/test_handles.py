# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles: those of erased operations say so, those of existing operations work, and memory lives as long as its
users."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.bindings import handles
from relax_mlir.bindings.mlir import ir

import relax_mlir as rx
from relax_mlir import relax

TEXT = """
func.func @main(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.exp"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}"""


def fill_memory() -> None:
    """Parse modules, which reuse memory that others have released."""
    for _ in range(5):
        rx.Module.parse(TEXT.replace("relax.exp", "relax.sin"))


def twice_exp() -> tuple[rx.Module, list[Any]]:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,))]) as f:
        (x,) = f
        a, b = relax.exp(x), relax.exp(x)
        y = relax.add(a, b)
        f.returns(y)
    return module, [x, a, b, y]


def first_function(module: rx.Module) -> Any:
    return module.body.operations[0]


#: How to get something of a module that is not kept.
WAYS: dict[str, Callable[[rx.Module], Any]] = {
    "function": first_function,
    "operation in it": lambda module: next(iter(first_function(module).regions[0].blocks[0].operations)),
    "body": lambda module: module.body,
    "module operation": lambda module: module.operation,
    "owner": lambda module: module.owner,
    "argument": lambda module: first_function(module).arguments[0],
    "result": lambda module: first_function(module).regions[0].blocks[0].operations[0].result,
    "region": lambda module: first_function(module).regions[0],
    "of a copy": lambda module: first_function(module.copy()),
}


def shown(handle: Any) -> str:
    if isinstance(handle, ir.Region):
        return str(handle.blocks[0])
    return str(handle)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_handle_keeps_its_module_in_memory(way: str) -> None:
    module = rx.Module.parse(TEXT)
    handle = WAYS[way](module)
    before = shown(handle)
    del module
    gc.collect()
    fill_memory()
    assert "relax.exp" in before or "block argument" in before
    assert shown(handle) == before


@pytest.mark.parametrize("way", ["body", "module operation"])
def test_handles_derived_later_keep_the_module_alive(way: str) -> None:
    """Keep the context alive through blocks of the module, which hold only its operation."""
    handle = WAYS[way](rx.Module.parse(TEXT))
    fill_memory()
    function = (handle if way == "body" else handle.regions[0].blocks[0]).operations[0]
    del handle
    owners = [owner for owner, _, _ in handles._released]
    assert any(owner.context is function.operation.context for owner in owners)
    fill_memory()
    assert "relax.exp" in str(function)


def test_values_of_a_builder_keep_their_module_in_memory() -> None:
    values = twice_exp()[1]
    gc.collect()
    fill_memory()
    assert "relax.add" in str(values[3])
    assert values[3].owner.operands[0].owner.name == "relax.exp"


def test_operations_have_the_location_of_the_user_code() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        line = sys._getframe().f_lineno + 1
        made = relax.exp(*f)
        f.returns(made)
    assert f'"test_handles.py":{line}:' in str(made.owner.location)


@pytest.mark.slow
@pytest.mark.parametrize("way", [*WAYS, "nothing"])
def test_modules_without_handles_are_freed(way: str) -> None:
    module = rx.Module.parse(TEXT)
    context = weakref.ref(module.context)
    module.verify()
    str(module)
    handle = WAYS[way](module) if way != "nothing" else None
    rx.Pipeline("cse").run(module)
    rx.lower(module)
    del module
    # Drivers of patterns hold themselves.
    gc.collect()
    fill_memory()
    assert (context() is None) == (handle is None)
    del handle
    fill_memory()
    assert context() is None, "a module without a handle is still in memory"


def test_copies_that_were_not_looked_into_go_at_once() -> None:
    module = rx.Module.parse(TEXT)
    function = first_function(module)
    before = len(handles._released)
    for _ in range(5):
        copied = module.copy()
        rx.Pipeline("cse").run(copied)
        copied.verify()
        str(copied)
    del copied
    assert len(handles._released) == before
    assert "relax.exp" in str(function)


def test_values_erased_by_a_pass_name_the_pass() -> None:
    module, (x, a, b, y) = twice_exp()
    rx.Pipeline("func.func(cse)").run(module)
    assert str(b) == repr(b) == "<a value of 'relax.exp' was erased by pass cse>"
    for use in (
        lambda: b.owner,
        lambda: b.type,
        lambda: list(b.uses),
        lambda: b.location,
        lambda: b.replace_all_uses_with(a),
    ):
        with pytest.raises(
            rx.RelaxError, match=r"a value of 'relax.exp' was erased by pass cse: look up in the module"
        ):
            use()
    assert str(x).startswith("BlockArgument")
    assert "relax.exp" in str(a)
    assert [operand == a for operand in y.owner.operands] == [True, True]


def test_constants_erased_by_a_pass_name_the_pass() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,))]) as f:
        unused = relax.const([1.0, 2.0])
        f.returns(*f)
    rx.Pipeline("func.func(canonicalize)").run(module)
    with pytest.raises(rx.RelaxError, match=r"a value of 'arith.constant' was erased by pass canonicalize"):
        str(unused.type)


def test_an_erased_value_is_no_operand() -> None:
    module, (_, a, b, _) = twice_exp()
    rx.Pipeline("cse").run(module)
    with module.function("other", [rx.tensor((2,))]) as f:
        with pytest.raises(rx.RelaxError, match="was erased by pass cse"):
            relax.add(f.args[0], b)
        with pytest.raises(rx.RelaxError, match="was erased by pass cse"):
            f.returns(b)
        f.returns(f.args[0])
    assert hash(a) != hash(b)
    assert a != b


def test_views_of_what_a_pass_erases() -> None:
    module, (_, _, b, y) = twice_exp()
    exp, add = b.owner, y.owner
    inner = exp.operation
    rx.Pipeline("canonicalize,cse").run(module)
    assert str(exp) == "<'relax.exp' was erased by one of the passes canonicalize, cse>"
    with pytest.raises(rx.RelaxError, match=r"'relax.exp' was erased by one of the passes canonicalize, cse"):
        str(exp.operands)
    with pytest.raises(RuntimeError, match="invalidated"):
        str(inner)
    assert add.name == "relax.add"


def test_a_function_that_a_pass_erases() -> None:
    module = rx.Module()
    with module.function("unused", [rx.tensor((2,))], private=True) as f:
        x = f.args[0]
        f.returns(relax.exp(x))
    with module.function("main", [rx.tensor((2,))]) as main:
        main.returns(main.args[0])
    rx.Pipeline("symbol-dce").run(module)
    for use in (lambda: f.operation, lambda: f.block, lambda: f.args, lambda: x.type):
        with pytest.raises(rx.RelaxError, match="was erased by pass symbol-dce"):
            use()
    assert str(x) == "<an argument was erased by pass symbol-dce>"
    assert "func.func @main" in str(main.operation)


def test_erased_values_name_their_pattern_or_conversion() -> None:
    module, (_, a, b, y) = twice_exp()
    rx.apply_greedy(module.operation, [rx.Pattern("relax.exp", lambda op, rewriter: relax.sin(op.x))], what="to sin")
    assert str(a) == str(b) == "<a value of 'relax.exp' was erased by to sin>"
    conversion = rx.Conversion("no-add")
    conversion.illegal("relax.add")
    conversion.add("relax.add", lambda op, operands, rewriter: operands[0])
    conversion.run(module.operation)
    assert str(y) == "<a value of 'relax.add' was erased by no-add>"


def test_values_erased_by_a_failed_pipeline_name_its_passes() -> None:
    module, (_, _, b, _) = twice_exp()
    with pytest.raises(rx.RelaxError):
        rx.Pipeline("cse,transform-interpreter").run(module)
    assert "was erased by one of the passes cse, transform-interpreter" in str(b)


def test_a_function_that_was_not_finished_is_gone_with_its_values() -> None:
    module = rx.Module()
    with pytest.raises(KeyError), module.function("main", [rx.tensor((2,))]) as f:
        x = f.args[0]
        y = relax.exp(x)
        raise KeyError
    assert str(y) == "<a value of 'relax.exp' was erased by the error in function @main>"
    assert str(x) == "<an argument was erased by the error in function @main>"
    with pytest.raises(rx.RelaxError, match=r"'func.func' was erased by the error in function @main"):
        str(f.operation)


@pytest.mark.parametrize("copied", [False, True])
def test_values_of_another_module_are_refused(copied: bool) -> None:
    one, (x, a, *_) = twice_exp()
    other = one.copy() if copied else rx.Module()
    with other.function("g", [rx.tensor((2,))]) as g:
        for value in (x, a):
            with pytest.raises(rx.RelaxError, match=r"'relax.exp' op operand 'x' is a value of another module"):
                relax.exp(value)
            with pytest.raises(rx.RelaxError, match=r"@g must return values of its own, got a value of another module"):
                g.returns(value)
        with pytest.raises(rx.RelaxError, match=r"'relax.add' op operand 'x2' is a value of another module"):
            relax.add(g.args[0], a)
        with pytest.raises(rx.RelaxError, match=r"'relax.concat' op operand 'tensors' is a value of another module"):
            relax.concat([g.args[0], a])
        g.returns(relax.exp(g.args[0]))
    other.verify()


def test_a_raw_value_of_another_context_is_refused() -> None:
    one = rx.Module.parse(TEXT)
    other = rx.Module()
    with other.function("g", [rx.tensor((2,))]) as g:
        with pytest.raises(rx.RelaxError, match="is a value of another module"):
            relax.exp(first_function(one).arguments[0])
        g.returns()


def test_many_values_that_are_not_kept_are_forgotten() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,))]) as f:
        value = f.args[0]
        for _ in range(10_000):
            value = relax.exp(value)
        f.returns(value)
    assert len(module.handles._values) < 5000


WITHOUT_A_CLASS = """
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings import handles
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.mlir import ir

module = rx.Module()
with module.function("main", [rx.tensor((2,))]) as f:
    load_dialects(f.args[0].context, ("llvm",))
    type_ = ir.Type.parse("!llvm.ptr", f.args[0].context)
    zero = ir.Operation.create("llvm.mlir.zero", [type_], ip=ir.InsertionPoint.current).result
    view = handles.building.get().result(zero, type_, "llvm.mlir.zero").owner
    print(type(zero.owner.opview) is ir.OpView, view.name)
    f.returns(*f)
rx.Pipeline("canonicalize").run(module)
print(view)
"""


def test_a_view_of_an_operation_without_a_class() -> None:
    """Use the bindings' generic view, which has no attributes, in a process where the class is not loaded."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_CLASS], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True llvm.mlir.zero", "<'llvm.mlir.zero' was erased by pass canonicalize>"], (
        done.stderr
    )


def test_a_python_that_counts_otherwise_is_refused() -> None:
    """Refuse a Python that counts references otherwise. Its behaviour decides, not its version."""
    program = "import sys; sys.getrefcount = lambda held: 4; import relax_mlir.bindings.handles"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    assert "does not count references as CPython 3.10 to 3.13 do" in done.stderr.splitlines()[-1]
