# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of wrong types in users' calls: the error names the argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import pytest
from relax_mlir.support.argument_types import types_checked

import relax_mlir as rx
from relax_mlir import relax

PRIM_FUNC = """
from relax_mlir.script import tir as T

@T.prim_func
def k(A: T.Buffer((8,), 'float32'), C: T.Buffer((8,), 'float32')):
    for i in T.grid(8):
        with T.block('C'):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
"""
#: Of no type that any of the functions takes.
WRONG = [5, b"x", 3.5, object(), lambda: 0]


def program() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        f.returns(relax.sum(relax.exp(*f)))
    return module


def kernel() -> rx.Module:
    return rx.Module.from_script(PRIM_FUNC)


CALLS: dict[str, Callable[[Any], Any]] = {
    "Module.parse: 'source'": rx.Module.parse,
    "Module.from_file: 'path'": rx.Module.from_file,
    "Module.function: 'inputs'|a function's name|an argument's type": lambda wrong: rx.Module().function("f", wrong),
    "a function's name": lambda wrong: rx.Module().function(wrong),
    "rx.compile takes an rx.Module": rx.compile,
    "compile: 'pipeline'": lambda wrong: rx.compile(program(), pipeline=wrong, cache=False),
    "compile: 'journal'": lambda wrong: rx.compile(program(), journal=wrong, cache=False),
    "compile: 'bind'": lambda wrong: rx.compile(program(), bind=wrong, cache=False),
    "compile: 'precision'": lambda wrong: rx.compile(program(), precision=wrong, cache=False),
    "compile: 'instruments'": lambda wrong: rx.compile(program(), instruments=wrong, cache=False),
    "lower: 'module'": rx.lower,
    "sources: 'module'": rx.sources,
    "to_onnx: 'module'": rx.to_onnx,
    "passes run on a Module|grad: 'module'": lambda wrong: rx.grad(wrong, "main", wrt=["x"]),
    "grad: 'function'": lambda wrong: rx.grad(program(), wrong, wrt=["x"]),
    "expected a Module or a PrimFunc for a schedule": rx.Schedule,
    "Schedule: 'trace'": lambda wrong: rx.Schedule(kernel(), trace=wrong),
    "there is no PrimFunc": lambda wrong: rx.Schedule(kernel()).show(wrong),
    "passes run on a Module": lambda wrong: rx.Pipeline("cse").run(wrong),
    "find_op: 'full_name'": rx.find_op,
    "find_target: 'name'": rx.find_target,
    "find_codegen: 'name'": rx.find_codegen,
    "register_codegen: 'name'": rx.register_codegen,
    "register_target: 'target'": rx.register_target,
    "register_pass is for subclasses": rx.register_pass,
    "expected a name, or a list of names": lambda wrong: rx.register_gradient(wrong)(lambda call: None),
    "register_onnx: a domain": lambda wrong: rx.register_onnx(wrong, "Op")(lambda node: None),
    "rewrite: 'pattern'": lambda wrong: rx.rewrite(wrong, lambda match: None),
    "runtime.load|load: 'path'": rx.runtime.load,
    "Conversion: 'max_rounds'|must be 1 or more": lambda wrong: rx.Conversion("c", max_rounds=wrong),
    "is no dialect name": rx.Dialect,
    "codegens= expects a list": lambda wrong: rx.Partition(codegens=wrong),
}


@pytest.mark.parametrize("named", CALLS)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_an_argument_of_a_wrong_type_is_named(named: str, wrong: Any) -> None:
    if (named, type(wrong)) in ALLOWED:
        return
    with pytest.raises(rx.RelaxError, match=re.escape(named).replace(r"\|", "|")):
        CALLS[named](wrong)


#: Bytes are a valid module to parse, and numbers are ordered.
ALLOWED = {
    ("Module.function: 'inputs'|a function's name|an argument's type", bytes),
    ("Module.parse: 'source'", bytes),
    ("Conversion: 'max_rounds'|must be 1 or more", int),
    ("Conversion: 'max_rounds'|must be 1 or more", float),
}


@pytest.mark.parametrize(
    ("annotation", "right", "wrong"),
    [
        (int, [1, True], ["1", None, [1]]),
        (float, [1, 1.5], ["1.5", None]),
        (str | None, ["", None], [5, b""]),
        (Sequence[str], [["a"], ("a",), []], [5, ["a", 5], [b"a"]]),
        (Iterable[int], [[1], iter([1])], [5, ["a"]]),
        (Mapping[str, int], [{"a": 1}, {}], [[], {1: 1}, {"a": "b"}]),
        (Literal["a", "b"], ["a"], ["c", 5]),
        (Callable[..., Any], [len, int], [5, "len"]),
        (Any, [5, None], []),
        ("Unknown", [5, None], []),
    ],
)
def test_arguments_are_checked_against_annotations(annotation: Any, right: list[Any], wrong: list[Any]) -> None:
    def fails(value: Any) -> None:
        raise TypeError("as it was")

    fails.__annotations__["value"] = annotation
    checked = types_checked(fails)
    for value in right:
        with pytest.raises(TypeError, match="as it was"):
            checked(value)
    for value in wrong:
        with pytest.raises(rx.RelaxError, match="fails: 'value' is ") as caught:
            checked(value)
        assert isinstance(caught.value.__cause__, TypeError)


def test_only_failing_calls_are_checked() -> None:
    @types_checked
    def half(number: int) -> float:
        return number / 2

    assert half(2.5) == 1.25  # type: ignore[arg-type]
    with pytest.raises(rx.RelaxError, match=r"half: 'number' is int, got str 'a'"):
        half("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required"):
        half()  # type: ignore[call-arg]
