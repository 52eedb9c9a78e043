# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of attributes: it has every attribute exactly once, and its passes and stages are right."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.dialects.core.ir_attributes import APART, TABLE, IRAttribute, attribute_problems

import relax_mlir as rx
from relax_mlir import relax, tir

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = (
    "bindings",
    "dialects",
    "emit",
    "frontends",
    "passes",
    "relax_mlir",
    "runtime",
    "support",
    "targets",
    "tools",
)
TABLE_FILE = Path("dialects/core/ir_attributes.py")
# Types of relax, prefixes of operator names, keys of resources, and a file of programs for browsers.
NO_ATTRIBUTES = {
    *("relax.sym", "relax.shape", "relax.literal", "relax.value", "relax.call_", "relax.is", "tir.call_"),
    "relax.js",
}


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the strings in the product's files that may be names of attributes."""
    for path in sorted(path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\b(relax|tir|gpu)\.", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(ROOT), node.value


def test_every_attribute_stands_in_the_table_alone() -> None:
    assert {relax.dialect.name, tir.dialect.name} == {"relax", "tir"}  # importing these modules declares the operators
    operators = {op.full_name for op in all_ops()} | NO_ATTRIBUTES
    there = list(texts())
    found = [each for each in there if re.fullmatch(r"(relax|tir)\.[a-z_]+", each[1])]
    assert [each for each in found if each[1] not in operators and each[1] not in TABLE] == []
    assert [each for each in there if each[1] in TABLE and each[0] != TABLE_FILE] == []


def test_writers_and_readers_are_passes() -> None:
    named = {word for row in TABLE.values() for word in re.split(r", | -> ", row.flow) if "-" in word}
    named |= {name for row in TABLE.values() for name in row.until.split(", ") if name}
    assert [name for name in sorted(named) if not name.startswith("--") and rx.find_pass(name) is None] == []


def model() -> rx.Module:
    """Return a model of products, a normalization with weights, dynamic sizes, and a part of a loop."""
    module, chosen = rx.Module(), numpy.random.default_rng(0)
    with module.function("main", [rx.tensor(("n", 32)), rx.tensor((4, 32))]) as f:
        x, y = f
        weights = [relax.const(chosen.normal(size=size).astype("float32")) for size in ((32, 96), (96, 32))]
        hidden = relax.nn.gelu(relax.matmul(x, weights[0]))
        x = relax.add(x, relax.nn.softmax(relax.matmul(hidden, weights[1])))
        f.returns(x, relax.sum(relax.matmul(y, weights[0]), axis=[1]))
    return module


@pytest.mark.parametrize("target", ["llvm", "c", "cuda", "opencl"])
def test_each_attribute_is_erased_by_its_last_pass(target: str) -> None:
    module, seen = model(), set()
    for stage in rx.stages(target, opt_level=3):
        # Each pass is verified, and with it the operations in functions.
        replace(stage, verify="each").run(module, target)
        for operation in (module.operation, *operations_in(module.operation)):
            seen |= {*operation.attributes} & {*TABLE}
    assert {"relax.operator", "relax.memory_plan", "relax.inputs", "relax.site"} <= seen


class Forgetful(rx.Pass):
    """Pass that keeps the attributes that end with the pass of its name."""

    name = "host-lower-errors"

    def run(self, op: Any) -> None:
        pass


def annotated(function: str = "", operation: str = "") -> rx.Module:
    """Return a module with these attributes on a function, and on an operation in it."""
    return rx.Module.parse(f"""
      func.func @main(%x: f32) -> f32 attributes {{{function}}} {{
        %y = arith.addf %x, %x {{{operation}}} : f32
        return %y : f32
      }}""")


@pytest.mark.parametrize("verify_each", [True, False])
def test_an_attribute_on_a_function_must_not_outlive_its_last_pass(verify_each: bool) -> None:
    module = annotated(function='relax.written = array<i64: 0>, relax.profile = "{}"')
    with pytest.raises(rx.RelaxError) as caught:
        rx.Pipeline([Forgetful()], verify_each=verify_each).run(module)
    assert str(caught.value).endswith(
        "pass host-lower-errors left attributes that no later pass reads: 'func.func' op @main has attribute "
        "'relax.profile' after host-lower-errors: this pass must erase it, or dialects/core/ir_attributes.py must name "
        "a later pass in the attribute's row (and 1 more errors)"
    )


def test_operations_in_functions_are_searched_when_passes_are_verified() -> None:
    module = annotated(operation="relax.exit = 3")
    with pytest.raises(rx.RelaxError, match=r"'arith.addf' op has attribute 'relax.exit' after host-lower-errors"):
        rx.Pipeline([Forgetful()]).run(module)
    rx.Pipeline([Forgetful()], verify_each=False).run(module)
    rx.Pipeline([Forgetful()]).run(annotated(operation="relax.number = 3"))


def an_operation(row: IRAttribute) -> str:
    """Return the name of an operation that may have the attribute, or an empty text for attributes of arguments."""
    return "" if row.on.is_argument else next(iter(sorted(row.on.names)), f"{row.on.dialect or 'arith'}.x")


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_a_wrong_type_is_refused(row: IRAttribute) -> None:
    with create_context():
        (problem,) = attribute_problems(an_operation(row), {row.name: ir.FloatAttr.get_f64(3.0)})
    assert problem == f"has attribute '{row.name}' that must be {row.kind.text}, got 3.000000e+00 : f64"


@pytest.mark.parametrize(
    "row", [row for row in TABLE.values() if row.on.text != "any operation"], ids=lambda row: row.name
)
def test_a_wrong_place_is_refused(row: IRAttribute) -> None:
    with create_context():
        found = {name: list(attribute_problems(name, {row.name: ir.UnitAttr.get()})) for name in ("arith.addi", "")}
    found.pop("" if row.on.is_argument else "none", None)
    for (problem,) in found.values():
        assert problem.startswith(f"has attribute '{row.name}', which belongs on {row.on.text}")


def test_elements_of_lists_are_looked_at() -> None:
    with create_context():
        mixed = ir.Attribute.parse('["a", 1]')
        assert list(attribute_problems("relax.call_tir", {APART: mixed})) == [
            "has attribute 'relax.apart' that must be an array of strings, got [\"a\", 1]"
        ]
        assert not list(attribute_problems("relax.call_tir", {APART: ir.Attribute.parse('["a", "b"]')}))
        assert not list(attribute_problems("relax.call_tir", {APART: ir.Attribute.parse("[]")}))


def test_unknown_names_of_tir_are_refused() -> None:
    with create_context():
        unit = ir.UnitAttr.get()
        (problem,) = attribute_problems("scf.for", {"tir.paralel": unit, "relax.mine": unit, "gpu.mine": unit})
    assert (
        problem
        == "has unknown attribute 'tir.paralel'; did you mean 'tir.parallel'? (known: tir.parallel, tir.threads)"
    )
