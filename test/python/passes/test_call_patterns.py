# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of calls of PrimFuncs: names, kinds, structures, and both levels in one table.

Situations of Apache TVM's test_dataflow_pattern.py (is_call_tir) and test_tir_schedule_utilities' structural patterns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from before_after import functions_by_name, keeps_results
from partitioning import codegen
from relax_mlir.bindings.navigation import functions_in, operations_in
from relax_mlir.passes.graph.relax_fuse_ops_by_pattern import FuseOpsByPattern
from relax_mlir.passes.graph.relax_merge_composite_functions import MergeCompositeFunctions
from relax_mlir.passes.kernels.structures import canonical as canonical_file
from relax_mlir.passes.kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from relax_mlir.passes.patterns.match import by_head
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    GraphPattern,
    Match,
    find,
    is_call_tir,
    is_op,
    match,
    outputs,
    rewrite,
    structure,
    structures,
    why_not,
    wildcard,
)

M = "tensor<?x?xf32>"
HEAD = """
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : {out}) -> {out}"""


def product_text(name: str, a: str = M, b: str = M, out: str = M) -> str:
    return f"""func.func @{name}(%a: {a}, %b: {b}, %out: {out}) -> {out} attributes {{tir.prim_func}} {{
      {HEAD.format(out=out)}
      %1 = linalg.matmul ins(%a, %b : {a}, {b}) outs(%0 : {out}) -> {out}
      return %1 : {out}
    }}"""


def pointwise_text(name: str, body: str, parameters: str) -> str:
    """Return a pointwise function. `body` computes %y from %x, the element of %a; `parameters` come after it."""
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 2)
    return f"""func.func @{name}(%a: {M}, {parameters}%out: {M}) -> {M} attributes {{tir.prim_func}} {{
      %1 = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
          ins(%a : {M}) outs(%out : {M}) {{
      ^bb0(%x: f32, %o: f32):
        {body}
        linalg.yield %y : f32
      }} -> {M}
      return %1 : {M}
    }}"""


LITERAL = '%{}: f32 {{relax.literal = "{}"}}, '
PRODUCT = structure(product_text("product"))
RELU = structure(pointwise_text("relu", "%zero = arith.constant 0.0 : f32\n%y = arith.maximumf %x, %zero : f32", ""))
SUM = structure(
    f"func.func @sum(%a: {M}, %b: {M}, %out: {M}) -> {M} attributes {{tir.prim_func}} {{\n"
    f"%1 = linalg.add ins(%a, %b : {M}, {M}) outs(%out : {M}) -> {M}\nreturn %1 : {M}\n}}"
)
x, w = wildcard().named("x"), wildcard().named("w")
product = is_call_tir(structure=PRODUCT)(x, w)


def legalized(body: Callable[..., Any], *shapes: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes or [(4, 4), (4, 4)]]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    rx.Pipeline("builtin.module(relax-legalize-ops)").run(module)
    return module


def found(pattern: GraphPattern, body: Callable[..., Any], *shapes: Any) -> list[list[str]]:
    """Return the functions that each match calls."""
    module = legalized(body, *shapes)
    return [[op.attributes["func"].value for op in each.operations] for each in find(module, pattern)]


def layer(a: Any, b: Any) -> Any:
    return relax.nn.relu(relax.add(relax.matmul(a, b), b))


# ---- names and kinds ----
def test_by_name() -> None:
    assert found(is_call_tir("matmul"), layer) == [["matmul"]]
    assert found(is_call_tir("mat*", "add")(wildcard(), ...), layer) == [["matmul"], ["add"]]
    assert found(is_call_tir("Matmul"), layer) == []
    assert found(is_call_tir("nn_relu")(is_call_tir("add")(is_call_tir("matmul")(x, w), w)), layer) == [
        ["matmul", "add", "nn_relu"]
    ]
    assert found(is_call_tir("add")(w, is_call_tir("matmul")), layer) == []


def test_by_kind() -> None:
    assert found(is_call_tir().has_kind("elemwise"), layer) == [["add"], ["nn_relu"]]
    assert found(is_call_tir().has_kind(rx.OpPattern.OUT_EWISE_FUSABLE), layer) == [["matmul"]]
    assert found(is_call_tir("nn_*").has_kind("broadcast", "elemwise"), layer) == [["nn_relu"]]
    module = legalized(layer)
    for function in functions_in(module.operation):
        if "tir.op_pattern" in function.attributes:
            del function.attributes["tir.op_pattern"]
    kinds = [each.root.attributes["func"].value for each in find(module, is_call_tir().has_kind("elemwise"))]
    assert kinds == ["add", "nn_relu"], "by what the body does, where it is not stated"


def test_conditions_work_around_calls() -> None:
    wide = is_call_tir("matmul")(x, w).has_shape(None, 5).has_dtype("float32")
    assert found(wide, relax.matmul, (3, 4), (4, 5)) == [["matmul"]]
    assert found(wide, relax.matmul, (3, 4), (4, 4)) == []
    assert found(product.optional(lambda y: is_call_tir("nn_relu")(y)), layer) == [["matmul"]]
    never = product.where(lambda found: "no reason at all")
    module = legalized(layer)
    root = next(find(module, product)).root
    assert str(why_not(never, root)) == "relax.call_tir: no reason at all"
    either = is_call_tir("nothing") | product
    assert [each["x"] for each in find(module, either)] == [next(find(module, product))["x"]]


def test_several_results_and_outputs() -> None:
    halves = lambda a, b: relax.nn.relu(relax.split(a, 2, axis=1)[1])  # noqa: E731
    split = is_call_tir("split")(x)
    assert found(is_call_tir("nn_relu")(split[1]), halves) == [["split", "nn_relu"]]
    assert found(is_call_tir("nn_relu")(split[0]), halves) == []
    assert found(is_call_tir("nn_relu")(split), halves) == []
    both = outputs(is_call_tir("exp")(x), is_call_tir("tanh")(x))
    assert len(found(both, lambda a, b: (relax.exp(a), relax.tanh(a)))) == 1
    assert len(found(both, lambda a, b: (relax.exp(a), relax.tanh(b)))) == 0


# ---- structures ----
def test_operands_are_those_of_the_structure() -> None:
    swapped = is_call_tir(
        structure=structure(product_text("f").replace("%a: tensor<?x?xf32>, %b:", "%b: tensor<?x?xf32>, %a:"))
    )
    module = legalized(relax.matmul)
    first, second = next(find(module, product)), next(find(module, swapped(w, x)))
    arguments = list(first.root.operands)
    assert [first["x"], first["w"]] == [second["x"], second["w"]] == arguments


@pytest.mark.parametrize("sizes", [((4, 7), (7, 3)), (("m", "k"), ("k", "n")), (("m", 7), (7, 3)), ((0, 7), (7, 1))])
def test_sizes_of_any_kind(sizes: Any) -> None:
    assert found(product, relax.matmul, *sizes) == [["matmul"]]


def test_inputs_that_are_alike_are_tried_both_ways() -> None:
    one = is_call_tir(structure=SUM)(is_call_tir(structure=RELU), wildcard())
    for body in (lambda a, b: relax.add(relax.nn.relu(a), b), lambda a, b: relax.add(b, relax.nn.relu(a))):
        assert found(one, body) == [["nn_relu", "add"]]


def test_stated_sizes() -> None:
    def of(*shapes: tuple[object, object]) -> GraphPattern:
        sym = lambda size: f'"{size}"' if isinstance(size, str) else str(size)  # noqa: E731
        types = []
        for shape in shapes:
            sizes = "x".join("?" if isinstance(each, str) else str(each) for each in shape)
            named = f", #relax.sym<[{', '.join(map(sym, shape))}]>" if any(isinstance(s, str) for s in shape) else ""
            types.append(f"tensor<{sizes}xf32{named}>")
        return is_call_tir(structure=structure(product_text("product", *types)))

    square = of(("n", "n"), ("n", "n"), ("n", "n"))
    assert found(square, relax.matmul, (4, 4), (4, 4)) == found(square, relax.matmul, ("k", "k"), ("k", "k")) != []
    assert found(square, relax.matmul, (4, 4), (4, 5)) == []
    assert found(square, relax.matmul, ("m", "k"), ("k", "m")) == []
    tile = of(("m", 16), (16, 16), ("m", 16))
    assert found(tile, relax.matmul, (3, 16), (16, 16)) == found(tile, relax.matmul, ("b", 16), (16, 16)) != []
    assert found(tile, relax.matmul, (3, 16), (16, 8)) == []
    module = legalized(relax.matmul, (3, 16), (16, 8))
    root = next(find(module, product)).root
    assert str(why_not(tile, root)) == (
        "relax.call_tir calls @matmul, which has size 8 where @product has 16; pattern: call_tir{as @product}"
    )


def test_literals_may_be_wildcards() -> None:
    body = "%z = arith.constant 0.0 : f32\n%p = arith.mulf %x, %s : f32\n%c = arith.cmpf ogt, %x, %z : f32\n"
    body += "%y = arith.select %c, %x, %p : f32"
    leaky = structure(pointwise_text("leaky", body, LITERAL.format("s", "slope")))
    module = legalized(lambda a, b: (relax.nn.leakyrelu(a, alpha=0.25), relax.nn.relu(b)))
    pattern = is_call_tir(structure=leaky)(x)
    slopes = [each.literal("slope") for each in find(module, pattern)]
    assert slopes == [0.25]
    scaled = structure(pointwise_text("scaled", "%y = arith.mulf %x, %s : f32", LITERAL.format("s", "factor")))
    own = scaled_module(0.5)
    (one,) = find(own, is_call_tir(structure=scaled)(x))
    assert one.literal("factor") == 0.5
    with pytest.raises(RelaxError, match=r"no literal named 'facto' has matched; did you mean 'factor'"):
        one.literal("facto")
    half = is_call_tir(
        structure=structure(pointwise_text("half", "%s = arith.constant 0.5 : f32\n%y = arith.mulf %s, %x : f32", ""))
    )
    assert len(list(find(own, half))) == 1 and not list(find(scaled_module(0.75), half))
    assert "which has the literal 0.75, expected 0.5" in str(
        why_not(half, next(find(scaled_module(0.75), is_call_tir())).root)
    )


def scaled_module(factor: float) -> rx.Module:
    return pointwise_module(f"%s = arith.constant {factor} : f32\n%y = arith.mulf %x, %s : f32")


def pointwise_module(body: str) -> rx.Module:
    text = pointwise_text("scale", body, "")
    return rx.Module.parse(f"""module {{
      {text}
      func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {{
        %0 = "relax.call_tir"(%a) {{func = @scale}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
        return %0 : tensor<4x4xf32>
      }}
    }}""")


def test_one_literal_in_two_places_is_one_number() -> None:
    def both(one: object, other: object) -> str:
        body = f"%s = arith.constant {one} : f32\n%t = arith.constant {other} : f32\n"
        return body + "%p = arith.mulf %x, %s : f32\n%y = arith.addf %p, %t : f32"

    body = "%p = arith.mulf %x, %s : f32\n%y = arith.addf %p, %s : f32"
    same = is_call_tir(structure=structure(pointwise_text("same", body, LITERAL.format("s", "s"))))
    for one, other, matches in ((2.0, 2.0, 1), (2.0, 3.0, 0)):
        assert len(list(find(pointwise_module(both(one, other)), same))) == matches


def test_several_structures_of_one_pattern() -> None:
    table = structures(product_text("single") + product_text("double").replace("f32", "f64"))
    pattern = is_call_tir(structure=list(table.values()))(x, w)
    for dtype, name in (("float32", "single"), ("float64", "double")):
        (one,) = find(legalized(relax.matmul, dtype=dtype), pattern)
        assert one.structures[pattern].name == name
    assert repr(pattern) == "call_tir{as @single, 1 more}(x, w)"


def test_both_levels_stand_in_one_pattern() -> None:
    """Part of a graph legalized, the rest operators."""
    text = str(legalized(relax.matmul)).replace(
        "return %0 : tensor<4x4xf32>",
        '%r = "relax.nn.relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>\nreturn %r : tensor<4x4xf32>',
        1,
    )
    mixed = rx.Module.parse(text)
    (one,) = find(mixed, is_op("relax.nn.relu")(product))
    assert [op.name for op in one.operations] == ["relax.call_tir", "relax.nn.relu"]


# ---- reasons of refusals ----
def test_why_not() -> None:
    module = legalized(layer)
    (root,) = [each.root for each in find(module, is_call_tir("nn_relu"))]
    why = lambda pattern: str(why_not(pattern, root)).partition("; ")[0]  # noqa: E731
    assert why(is_call_tir("matmul")) == "relax.call_tir calls @nn_relu"
    assert why(is_call_tir().has_kind("broadcast")) == "relax.call_tir calls @nn_relu, which is elemwise"
    assert why(product) == "relax.call_tir calls @nn_relu, which computes something else"
    assert why(is_call_tir()(x, w)) == "relax.call_tir reads 1 value, not 2"
    assert why(is_op("relax.nn.relu")) == "is made by relax.call_tir"
    assert why(is_call_tir("nn_relu")(is_op("relax.add"))) == "is made by relax.call_tir"


def test_unreadable_bodies_are_explained() -> None:
    text = """module {
      func.func @fill(%out: memref<4xf32>) attributes {tir.prim_func} { return }
      func.func private @far(%out: memref<4xf32>) attributes {tir.prim_func}
      func.func @main() -> (tensor<4xf32>, tensor<4xf32>) {
        %0 = "relax.call_tir"() {func = @fill} : () -> tensor<4xf32>
        %1 = "relax.call_tir"() {func = @far} : () -> tensor<4xf32>
        return %0, %1 : tensor<4xf32>, tensor<4xf32>
      }
    }"""
    module = rx.Module.parse(text)
    near, far = [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]
    assert "calls @fill, which works on memory, not on tensors" in str(why_not(product, near))
    assert "calls @far, which has no body to read" in str(why_not(product, far))


WRONG: dict[str, Callable[[], object]] = {
    "structures of one pattern must have the same number of inputs, got 1 and 2": lambda: is_call_tir(
        structure=[PRODUCT, RELU]
    ),
    "@product has 2 inputs, not 1": lambda: is_call_tir(structure=PRODUCT)(x),
    "@product has 2 inputs, not 3": lambda: is_call_tir(structure=PRODUCT)(x, w, x),
    "arguments of a PrimFunc must be patterns, by position": lambda: is_call_tir("f")(a=x),
    "unknown operator pattern 'elementwise'": lambda: is_call_tir("f").has_kind("elementwise"),
    "calls of PrimFuncs have no attributes": lambda: is_call_tir("f").has_attr(func="g"),
}


@pytest.mark.parametrize("problem", WRONG)
def test_meaningless_call_patterns_are_refused(problem: str) -> None:
    with pytest.raises(RelaxError, match=problem):
        WRONG[problem]()


# ---- passes ----
def test_parts_of_calls_become_functions() -> None:
    rows = [("npu.layer", is_call_tir("nn_relu")(is_call_tir("add")(product, w))), ("npu.mm", product)]
    module = legalized(lambda a, b: relax.matmul(layer(a, b), a))
    with codegen(rows) as name:
        after = keeps_results(module, FuseOpsByPattern((name,)))
        assert {key: each.attributes["relax.composite"].value for key, each in functions_by_name(after).items()
                if "relax.composite" in each.attributes} == {
            "fused_matmul_add_nn_relu": "npu.layer",
            "fused_matmul": "npu.mm",
        }  # fmt: skip
        merged = keeps_results(after, MergeCompositeFunctions())
    (whole,) = [each for each in functions_by_name(merged).values() if "relax.codegen" in each.attributes]
    assert [op.name for op in operations_in(whole)] == ["func.call", "func.call", "func.return"]
    rx.Pipeline("builtin.module(symbol-dce)").run(merged)
    assert "matmul" in functions_by_name(merged), "what composites call stays"


def test_rewriting_calls() -> None:
    """Rewrite relu(relu(x)) at the level of calls. PrimFuncs are read once in a run."""
    twice = is_call_tir(structure=RELU)(is_call_tir(structure=RELU)(x).named("inner"))
    module = legalized(lambda a, b: relax.nn.relu(relax.nn.relu(relax.nn.relu(a))))

    def once(found: Match) -> Any:
        return found["inner"]

    after = keeps_results(module, lambda each: rx.apply_greedy(each, [rewrite(twice, once)]))
    assert [op.name for op in operations_in(functions_by_name(after)["main"])] == ["relax.call_tir", "func.return"]


def test_each_prim_func_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = canonical_file.read_body
    monkeypatch.setattr(
        canonical_file, "read_body", lambda each: read.append(each.attributes["sym_name"].value) or whole(each)
    )

    def chain(a: Any, b: Any) -> Any:
        for _ in range(20):
            a = layer(a, b)
        return a

    module = legalized(chain)
    assert len(list(find(module, is_op("relax.nn.relu") | product))) == 20
    assert sorted(read) == ["add", "matmul", "nn_relu"]
    read.clear()
    relus, sums = is_call_tir(structure=RELU), is_call_tir(structure=SUM)
    with codegen([("npu.mm", product), ("npu.relu", relus), ("npu.sum", sums)]) as name:
        rx.Pipeline(f"builtin.module(relax-fuse-ops-by-pattern{{codegen={name}}})").run(module)
    assert sorted(read) == ["add", "matmul", "nn_relu"]


def test_linear_in_the_number_of_calls() -> None:
    """Match fifty structures against chains of calls: the time per call does not grow with the graph."""

    def seconds(length: int) -> float:
        def chain(a: Any, b: Any) -> Any:
            for _ in range(length):
                a = layer(a, b)
            return a

        operations = operations_in(legalized(chain).operation)
        candidates = by_head([product, is_call_tir(structure=RELU), is_call_tir(structure=SUM)] * 10)
        best = float("inf")
        for _ in range(3):
            with remembering(KnownPrimFuncs()):
                start = time.thread_time()
                for op in operations:
                    for pattern in candidates.get(op.name, ()):
                        match(pattern, op)
                best = min(best, time.thread_time() - start)
        return best / length

    assert seconds(400) < 2.5 * seconds(40)
