# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documentation of operators for people and tools: help, signatures, completion, stubs."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import pydoc
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy
import pytest
from relax_mlir.dialects import relax, tir
from relax_mlir.dialects.core.attributes import Float, Int
from relax_mlir.dialects.core.operator import Operator

import relax_mlir as rx

DEV = Path(__file__).resolve().parents[3] / "tools" / "dev"
OPERATORS = [*relax.dialect.ops.values(), *tir.dialect.ops.values()]


def _stub(name: str) -> dict[str, ast.FunctionDef]:
    """Return the functions in a dialect's stub, by operator."""
    package = {"relax": relax, "tir": tir}[name]
    path = Path(inspect.getfile(package)).with_suffix(".pyi")
    found: dict[str, ast.FunctionDef] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[prefix + node.name] = node
            elif isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name.removeprefix('_')}.")

    collect(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.full_name)
def test_every_operator_has_help_and_a_signature(operator):
    named = list(inspect.signature(operator).parameters)
    assert sorted(named) == sorted([*operator.parameters, "loc", "ip"]), f"{operator}: {named}"
    text = operator.__doc__
    assert text.startswith(operator.full_name + "(") and operator.doc in text
    assert all(f"\n  {name}" in text or f"\n  *{name}" in text for name in operator.parameters), text


def test_the_pages_of_operators_are_current():
    """Check the pages of operators in a process of its own, since other tests declare operators."""
    stale = "[str(path) for path, text in gen_operators.pages().items() if path.read_text(encoding='utf-8') != text]"
    command = [sys.executable, "-c", f"import gen_operators; print({stale})"]
    done = subprocess.run(command, cwd=DEV, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout == "[]\n", f"run make generate: {done.stdout}{done.stderr}"


def test_help_tells_the_call_the_meaning_and_each_argument():
    shown = io.StringIO()
    with redirect_stdout(shown):
        pydoc.Helper(output=shown).help(relax.nn.conv2d)
    text = shown.getvalue()
    assert "relax.nn.conv2d(data, weight, strides: ints = (1, 1)" in text
    assert "Convolution over H and W." in text
    assert "out_dtype      dtype = None: element type; default: as the operands" in text


def test_signatures_bind_as_the_builder_does():
    signature = inspect.signature(relax.nn.softmax)
    assert signature.parameters["axis"].default == -1
    assert inspect.signature(relax.tril).parameters["k"].default == 0
    assert inspect.signature(relax.arange).parameters["end"].default is None
    assert inspect.signature(relax.matmul).return_annotation == "Value"
    with pytest.raises(TypeError):
        signature.bind()


def test_choices_are_documented_next_to_the_meaning():
    assert "'TopLeft', 'BottomRight'" in relax.nn.attention.__doc__
    assert "corner where the triangle" in relax.nn.attention.__doc__


def test_classes_keep_their_own_documentation():
    assert "builds an operation" in Operator.__doc__
    assert "variable number" in type(relax.concat).__doc__
    assert relax.nn.conv2d.__name__ == "conv2d"


def test_defaults_of_operands_fill_what_is_left_out_or_none():
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 3))]) as f:
        (x,) = f
        for made in (relax.tril(x), relax.tril(x, None), relax.tril(x, 0)):
            assert made.owner.operands[1].owner.attributes["value"].value == 0
        assert str(relax.arange(5).type) == "tensor<5xi64>"
        assert str(relax.arange(2, 8, None).type) == "tensor<6xi64>"
        assert str(relax.eye(3).type) == "tensor<3x3xf32>"
        assert str(relax.eye(3, 4).type) == "tensor<3x4xf32>"
        f.returns(x)


def test_defaults_of_no_operand_are_refused():
    with pytest.raises(rx.RelaxError, match="defaults= names 'y', which is no operand"):
        rx.Dialect("wrong_defaults").op("f", "x", defaults={"y": 1}, infer=lambda call: call.x)


@pytest.mark.parametrize("name", ["relax", "tir"])
def test_stubs_have_every_operator_that_python_can_name(name):
    dialect, stub = {"relax": relax.dialect, "tir": tir.dialect}[name], _stub(name)
    # Other tests declare intrinsics of their own, in their files.
    own = {each for each, operator in dialect.ops.items() if "test_" not in operator.family}
    assert own - set(stub) <= {"assert"}
    for operator, function in stub.items():
        arguments = function.args
        named = [argument.arg for argument in [*arguments.args, *arguments.kwonlyargs]]
        assert arguments.kwarg is not None and ast.unparse(arguments.kwarg) == "at: Unpack[At]"
        assert [*named, "loc", "ip"] == list(inspect.signature(dialect.ops[operator]).parameters), operator


@pytest.mark.parametrize("name", ["load", "op", "ops", "types", "name", "doc", "irdl_module", "load.fast", "_hidden"])
def test_operators_that_a_dialects_own_members_would_hide(name: str) -> None:
    """Refused where they are declared; behind a prefix nothing is in the way."""
    space = f"acme_{name.replace('.', '_').strip('_')}_own"
    acme, first = rx.Dialect(space), name.partition(".")[0]
    message = f"operator {space}.{name} could not be called: {space}.{first} is .*; name it otherwise, '(.*)' for"
    with pytest.raises(rx.RelaxError, match=message) as raised:
        acme.op(name, "x", infer=lambda call: call.x, doc="Hidden.")
    assert name not in acme.ops
    advised = re.findall(r"'([\w.]+)' for instance", str(raised.value))[0]
    for free in (advised, f"nn.{name.strip('_')}"):
        made = acme.op(free, "x", infer=lambda call: call.x, doc="Not hidden.")
        assert functools.reduce(getattr, free.split("."), acme) is made


def test_own_dialects_hand_out_their_operators():
    acme = rx.Dialect("acme_documented", doc="A test's.")
    acme.op("scaled.relu", "x", attrs={"scale": Float(1.0), "axis": Int(0)}, infer=lambda call: call.x, doc="Scaled.")
    assert "scaled" in dir(acme) and dir(acme.scaled) == ["relu"]
    assert acme.scaled.relu is rx.find_op("acme_documented.scaled.relu")
    with pytest.raises(AttributeError, match=r"no operator 'scald'; did you mean 'scaled\.relu'"):
        _ = acme.scald
    module = rx.Module()
    with module.function("main", [rx.tensor((3,))]) as f:
        made = acme.scaled.relu(*f, scale=2.0)
        f.returns(made)
    assert made.owner.name == "acme_documented.scaled.relu"
    assert numpy.isclose(made.owner.attributes["scale"].value, 2.0)
