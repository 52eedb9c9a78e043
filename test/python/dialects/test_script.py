# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--print-script on anything: every operator, unknown operations, random modules, large constants, deep nests."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.attributes import DType, Float, Floats, Int, Ints, Number, Str, Strs, Symbol
from relax_mlir.dialects.core.dialect import registered_dialects
from relax_mlir.dialects.core.operator import Operator
from relax_mlir.dialects.script import print_script

import relax_mlir as rx
from relax_mlir import Module

FOLDER = Path(__file__).resolve().parents[2] / "dialects"
VALID_FILES = sorted(file for file in FOLDER.rglob("*.mlir") if "invalid" not in file.stem)
# A constant cannot be made with just any attribute; test_a_constant_of_unsigned_integers prints it.
OPERATORS = [
    op for dialect in registered_dialects().values() for op in dialect.ops.values() if op.full_name != "relax.constant"
]
# Written as what they stand for.
_SHAPES = {"relax.shape_expr", "relax.prim_value"}
_TYPES = {
    "tensor": 'tensor<?x4xf32, #relax.sym<["n", 4]>>',
    "shape": '!relax.shape<["n", 4]>',
    "scalar": "i64",
    "elementwise": "f32",
    "object": "!relax.object",
    "any": "f32",
    "tensor_or_scalar": "tensor<2xi64>",
}


def script(source: str, *, allow_unregistered: bool = False) -> str:
    module = Module.parse(source, allow_unregistered=allow_unregistered)
    text = print_script(module.operation)
    assert text == print_script(module.operation)
    return text


def some_value(kind: Any) -> Any:
    """A value for a required attribute, right for the common kinds."""
    values = {Int: 1, Number: 1, Float: 0.5, Ints: (1, 2), Floats: (0.5,), Strs: ("a",), Symbol: "callee", DType: "f32"}
    if isinstance(kind, Str):
        return kind.choices[0] if kind.choices else "name"
    return values.get(type(kind))


def create_with_anything(op: Operator, context: Any) -> tuple[Any, Any]:
    """An operation with operands and results as the table has them; nobody has verified it. And its module."""
    with context, ir.Location.unknown():
        module = ir.Module.create()
        counts = [2 if operand.arity == "variadic" else 1 for operand in op.operands]
        kinds = [op.operands[i].kind for i, count in enumerate(counts) for _ in range(count)]
        sizes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(counts)} if op.segmented else {}
        required = {name: kind for name, kind in op.attrs.items() if kind.required}
        attributes = {
            name: ir.UnitAttr.get() if some_value(kind) is None else kind.encode(some_value(kind), context)
            for name, kind in required.items()
        }
        result = ir.Type.parse(_TYPES["tensor"] if op.dialect.name == "relax" else "f32")
        with ir.InsertionPoint(module.body):
            holder = ir.Operation.create("builtin.module", regions=1)
            block = holder.regions[0].blocks.append(*[ir.Type.parse(_TYPES[kind]) for kind in kinds])
        with ir.InsertionPoint(block):
            ir.Operation.create(
                op.full_name,
                results=[result] * len(op.results),
                operands=list(block.arguments),
                attributes={**attributes, **sizes},
            )
    return module, block


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.full_name)
def test_every_operator_can_be_printed(op: Operator) -> None:
    context = shared_context()
    module, block = create_with_anything(op, context)
    text = print_script(module.operation)
    if op.full_name in _SHAPES:
        return
    shown = op.name if op.dialect.name == "relax" else op.full_name
    call = re.search(rf"(?<![\w.]){re.escape(shown)}\((.*)\)", text, re.DOTALL)
    assert call is not None, text
    arguments = [f"arg{index}" for index in range(len(block.arguments))]
    assert re.findall(r"arg\d+", call.group(1)) == arguments, text
    for name, kind in op.attrs.items():
        if kind.required and name != op.parameters[0]:
            assert f"{name}=" in call.group(1), text


def test_a_constant_of_unsigned_integers() -> None:
    module = rx.Module()
    with module.function("f") as f:
        f.returns(rx.relax.const([1, 255], "uint8"))
    assert 'const([1, 255], "uint8")' in print_script(module.operation)


_contexts: list[Any] = []


def shared_context() -> Any:
    if not _contexts:
        _contexts.append(create_context())
    return _contexts[0]


@pytest.mark.parametrize("file", VALID_FILES, ids=lambda file: file.stem)
def test_every_valid_module_of_the_lit_tests(file: Path) -> None:
    for source in file.read_text().split("// -----"):
        text = script(source, allow_unregistered=True)
        assert text.startswith("@module") and text.endswith("\n")


# ---- random modules: unknown operations with any attributes, types and regions ----

_types = st.sampled_from([
    "i64", "f32", "bf16", "index", "ui8", "complex<f32>", "tensor<2x?xf32>", "tensor<*xi8>", "memref<4xf32, 3>",
    'tensor<?x4xf32, #relax.sym<["2*n", 4]>>', "tensor<2xf32, \"e\">", "vector<[4]x2xf16>", "!relax.object",
    "!relax.shape<unit>", "!my.type<1>", "memref<?x?xf32, strided<[?, 1], offset: ?>>", "memref<*xf32>", "(i1) -> f32",
    "tuple<i1, f32>", "none", "!llvm.ptr", "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>", "tensor<f32>",
])  # fmt: skip
_attributes = st.recursive(
    st.one_of(
        st.integers(-(2**63), 2**63 - 1).map(lambda number: f"{number} : i64"),
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda number: f"{number:e} : f32"),
        st.binary(max_size=200).map(lambda data: '"' + "".join(f"\\{byte:02X}" for byte in data) + '"'),
        _types.filter(lambda text: "->" not in text),
        st.sampled_from([
            "unit", "true", "@a", "@a::@b", "array<i64: 1, -2>", "array<f32: 0.5>", "array<i1: true>", "array<i8>",
            "affine_map<(a)[b] -> (a + b * 2)>", "affine_set<(a) : (a >= 0)>", "#arith.fastmath<fast>",
            "dense<0> : tensor<9999xi32>", "dense<[1, 2]> : tensor<2xi64>", "dense<(1.0, 2.0)> : tensor<complex<f32>>",
            "dense<1.5> : vector<4xbf16>", "dense_resource<a> : tensor<4xf32>", "sparse<0, 1> : tensor<3xi32>",
            'loc("place")', "distinct[0]<unit>", "strided<[1, 2]>", "#my.attr<x>", "7 : i128", "1 : index",
        ]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=20).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(lambda items: f"{{{', '.join(f'k{i} = {a}' for i, a in enumerate(items))}}}"),
    ),
    max_leaves=30,
)  # fmt: skip
_operations = st.recursive(
    st.tuples(st.lists(st.integers(0, 99), max_size=3), st.lists(_types, max_size=3), st.just([])),
    lambda inner: st.tuples(
        st.lists(st.integers(0, 99), max_size=3),
        st.lists(_types, max_size=3),
        st.lists(st.tuples(st.lists(_types, max_size=2), st.lists(inner, max_size=4)), max_size=2),
    ),
    max_leaves=12,
)


class RandomModule:
    """Text of a module from a tree of operations."""

    def __init__(self, attributes: list[str]):
        self.attributes = attributes
        self.values = 0
        self.operations = 0

    def operation(self, node: Any, scope: list[tuple[str, str]]) -> str:
        uses, results, regions = node
        operands = [scope[use % len(scope)] for use in uses] if scope else []
        self.operations += 1
        name = f"%r{self.operations}"
        attributes = self.attributes[self.operations % len(self.attributes)] if self.attributes else "unit"
        bodies = ", ".join(self.region(region, scope) for region in regions)
        scope.extend((f"{name}#{index}", type_) for index, type_ in enumerate(results))
        return (
            (f"{name}:{len(results)} = " if results else "")
            + f'"my.op"({", ".join(value for value, _ in operands)})'
            + (f" ({bodies})" if regions else "")
            + f" {{a = {attributes}}} : ({', '.join(type_ for _, type_ in operands)}) -> "
            + f"({', '.join(results)})"
        )

    def region(self, region: Any, scope: list[tuple[str, str]]) -> str:
        types, nodes = region
        arguments = []
        for type_ in types:
            self.values += 1
            arguments.append((f"%b{self.values}", type_))
        inner = [*scope, *arguments]
        header = f"^bb0({', '.join(f'{name}: {type_}' for name, type_ in arguments)}):"
        return "\n".join(["{", header, *(self.operation(node, inner) for node in nodes), "}"])


@given(st.lists(_operations, max_size=8), st.lists(_attributes, max_size=5))
@draws(100)
def test_random_modules_can_be_printed(nodes: list[Any], attributes: list[str]) -> None:
    random = RandomModule(attributes)
    scope: list[tuple[str, str]] = []
    body = "\n".join(random.operation(node, scope) for node in nodes)
    text = script(f"module {{\n{body}\n}}", allow_unregistered=True)
    assert text.count("my.op(") == random.operations
    assert all(line.isprintable() for line in text.split("\n"))
    assert max(map(len, text.splitlines())) < 4000


# ---- constants ----


@given(
    st.sampled_from(
        ["f32", "f64", "f16", "bf16", "i1", "i4", "i8", "i64", "i128", "index", "f8E4M3FN", "complex<f32>"]
    ),
    st.lists(st.integers(0, 5), max_size=6),
    st.booleans(),
)
@draws(60)
def test_no_constant_is_long(dtype: str, shape: list[int], splat: bool) -> None:
    count = 1
    for size in shape:
        count *= size
    number = "(1.5, -2.25)" if "complex" in dtype else "1.5" if "f" in dtype else "1"
    values = number
    if not splat and count:
        for size in reversed(shape):
            values = f"[{', '.join([values] * size)}]"
        # One other value, so that it is no splat.
        values = values.replace(number, {"1": "0", "1.5": "0.25"}.get(number, "(0.0, 0.0)"), 1)
    sizes = "".join(f"{size}x" for size in shape)
    text = script(f"%0 = arith.constant dense<{values}> : tensor<{sizes}{dtype}>")
    (line,) = (line for line in text.splitlines() if "const(" in line)
    assert len(line) < 600


def test_a_large_constant_costs_no_time() -> None:
    size = 4_000_000
    context = create_context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        type_ = ir.RankedTensorType.get([size], ir.F32Type.get())
        attribute = ir.DenseElementsAttr.get(numpy.arange(size, dtype=numpy.float32))
        with ir.InsertionPoint(module.body):
            ir.Operation.create("arith.constant", results=[type_], attributes={"value": attribute})
    start = time.thread_time()
    text = print_script(module.operation)
    assert time.thread_time() - start < 1
    assert re.search(r'const\(\[0\.0, 1\.0, 2\.0, 3\.0, \.\.\.\], "float32", shape=\(4000000,\)\)$', text, re.MULTILINE)


# ---- extremes ----


def test_deep_nests_are_cut() -> None:
    depth = 300
    source = "%x = arith.constant true\n" + "scf.if %x {\n" * depth + "}\n" * depth
    text = script(source)
    assert "nested too deep to be shown" in text
    assert max(map(len, text.splitlines())) < 400


def test_names_do_not_repeat() -> None:
    source = """
      func.func @f(%a: tensor<2xf32> {relax.name = "exp_0"}, %b: tensor<2xf32> {relax.name = "exp_0"},
                   %c: tensor<2xf32> {relax.name = "if"}, %d: tensor<?xf32, #relax.sym<["n"]>> {relax.name = "n"},
                   %e: tensor<2xf32> {relax.name = "1/x:0"}, %f: tensor<2xf32> {relax.name = "\\FF"}) {
        %0 = "relax.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
        return
      }"""
    names = re.findall(r"^ +(\w+)(?: = |: )", script(source), re.MULTILINE)
    assert names == ["exp_0", "exp_0_1", "if_", "n_1", "_1_x_0", "xff", "exp_1"]


@pytest.mark.parametrize(("name", "line"), [
    ("graph", '%{next} = "relax.exp"(%{this}) : (tensor<4xf32>) -> tensor<4xf32>'),
    ("expression", "%{next} = math.exp %{this} : tensor<4xf32>"),
    ("in place", "%{next} = tensor.insert %x into %{this}[%c] : tensor<4xf32>"),
])  # fmt: skip
def test_time_grows_with_size_only(name: str, line: str) -> None:
    def seconds(count: int) -> float:
        lines = [line.replace("{next}", f"v{i + 1}").replace("{this}", f"v{i}") for i in range(count)]
        header = "func.func @f(%v0: tensor<4xf32>, %x: f32, %c: index) -> tensor<4xf32> {"
        module = Module.parse("\n".join([header, *lines, f"return %v{count} : tensor<4xf32>", "}"]))
        start = time.thread_time()
        print_script(module.operation)
        return time.thread_time() - start

    seconds(100)
    small = min(seconds(500) for _ in range(3))
    # Ten times the size; quadratic would be a hundred times the time.
    assert min(seconds(5000) for _ in range(2)) < 30 * small
