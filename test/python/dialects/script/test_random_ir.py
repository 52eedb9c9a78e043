# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random IR of unknown operations: any attributes, types, regions, names."""

from __future__ import annotations

from typing import Any

from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.script.print_script import print_script
from round_trip import check, parse

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
            "dense<1.5> : vector<4xbf16>", "sparse<0, 1> : tensor<3xi32>",
            'loc("place")', "strided<[1, 2]>", "#my.attr<x>", "7 : i128", "1 : index",
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


_names = st.one_of(
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(
        ["class", "cls", "I", "T", "range", "arg0", "v0", "x", "segments", "attrs", "to", "mask", "None", "Module"]
    ),
)


def quoted(name: str) -> str:
    return '"' + "".join(f"\\{byte:02X}" for byte in name.encode()) + '"'


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


@given(st.lists(_operations, max_size=8), st.lists(_attributes, max_size=5), st.booleans())
@draws(120)
def test_unknown_operations(nodes: list[Any], attributes: list[str], is_function: bool) -> None:
    random = RandomModule(attributes)
    body = "\n".join(random.operation(node, []) for node in nodes)
    text = f"func.func @f() {{\n{body}\nreturn }}" if is_function else body
    module = parse(text)
    # Operations without a class in the bindings are printed as MLIR's text.
    check(module, fragments=print_script(module.operation).count("I.mlir("))


@given(st.lists(st.tuples(_names, _attributes), max_size=6, unique_by=lambda each: each[0]), _names, _names)
@draws(60)
def test_names(attributes: list[tuple[str, str]], function: str, location: str) -> None:
    """Print and read any text as the name of an attribute, function, module or location."""
    named = ", ".join(f"{quoted(name)} = {value}" for name, value in attributes)
    text = f"""module @{quoted(function)} {{ func.func @{quoted(function)}(%a: i32) -> i32 {{
      %0 = "my.op"(%a) {{{named}}} : (i32) -> i32 loc({quoted(location)})
      %1 = func.call @{quoted(function)}(%0) : (i32) -> i32 loc({quoted(location)})
      return %1 : i32 }} }}"""
    module = parse(text)
    check(module, fragments=print_script(module.operation).count("I.mlir("))
