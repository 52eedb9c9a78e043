# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prospects: the places at which many patterns are tried include all matches of every pattern at every operation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import blocks
import pytest
from before_after import changed
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import built, codegen, product, rows
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.graph.partition import planning
from relax_mlir.passes.graph.partition.planning import Planner, Taken, register_planner
from relax_mlir.passes.graph.partition.sequence import sort_by_graph
from relax_mlir.passes.kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from relax_mlir.passes.patterns.match import matches_of
from relax_mlir.passes.patterns.prospects import Prospects
from relax_mlir_blas.products import biases, products, relus

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    GraphPattern,
    every,
    is_call_tir,
    is_const,
    is_filled,
    is_op,
    match,
    outputs,
    structure,
    wildcard,
)

STRUCTURES = [*products()[:84:5], products()[0], products()[5], *biases()[:3], *relus()[:4]]


def main_block(module: rx.Module) -> Any:
    return body_of(next(each for each in functions_in(module.operation) if not is_prim_func(each)))


def compared(module: rx.Module, patterns: Sequence[GraphPattern]) -> tuple[dict[int, list[Any]], dict[int, list[Any]]]:
    """Return the tried and the matching operations by the pattern's number."""
    block = main_block(module)
    with remembering(KnownPrimFuncs()):
        tried = Prospects(patterns).in_block(block)
        ops = [op for op in operations_of(block) if len(op.results)]
        there = {
            number: [op for op in ops if op.name in (pattern.heads or ()) and match(pattern, op)]
            for number, pattern in enumerate(patterns)
        }
    return dict(tried), {number: found for number, found in there.items() if found}


def exact(module: rx.Module, *patterns: GraphPattern) -> list[int]:
    """Return the number of tries per pattern, where every try must match."""
    tried, there = compared(module, patterns)
    assert tried == there
    return [len(tried.get(number, ())) for number in range(len(patterns))]


# ---- all that needs no more than a look ----
def test_operators_attributes_types_and_numbers() -> None:
    x = wildcard()
    softmax, add, relu = is_op("relax.nn.softmax"), is_op("relax.add"), is_op("relax.nn.relu")

    def body(a: Any, b: Any) -> Any:
        soft = relax.nn.softmax(relax.matmul(a, b), axis=0)
        ranks = relax.add(relax.nn.relu(relax.abs(b)), relax.nn.relu(relax.sum(b)))
        numbers = relax.add(relax.nn.relu(relax.const(5.0)), relax.const(6.0))
        return relax.add(soft, relax.const(2.0)), relax.nn.relu(relax.add(b, relax.nn.softmax(a))), numbers, ranks

    found = exact(
        built(body),
        softmax(x),
        softmax(x).has_attr(axis=0),
        softmax(product),
        add(is_const(2.0), softmax(x)),
        add(is_const(3.0), softmax(x)),
        add(x, is_const(6.0)),
        relu(add(x, wildcard())) | add(softmax(product), x),
        relu(x),
        relu(x).has_rank(2),
        relu(x.has_rank(3)),
        relu(add(x.has_dtype("float32"), softmax(x).has_shape(4, 4)).has_dtype("float16")),
    )
    assert found == [2, 1, 1, 1, 0, 1, 2, 4, 2, 0, 0]


def test_patterns_that_the_index_cannot_exclude_are_tried() -> None:
    """Try patterns of uses, of fill values, and of every operand."""
    x = wildcard()
    relu, add, concat = is_op("relax.nn.relu"), is_op("relax.add"), is_op("relax.concat")
    patterns = [
        add(relu(x).used_once(), is_filled(2.0)),
        concat(every(lambda: relu(wildcard()), least=2)),
        relu(add.in_order()(is_filled(), x)),
    ]

    def body(a: Any, b: Any) -> Any:
        once, twice = relax.nn.relu(a), relax.nn.relu(b)
        filled = relax.full((4, 4), relax.const(2.0), dtype="float32")
        sums = relax.add(once, filled), relax.add(twice, filled), relax.nn.relu(relax.add(filled, b))
        return relax.concat([twice, relax.nn.relu(a)]), relax.concat([a, b]), *sums

    tried, there = compared(built(body), patterns)
    assert [len(there[number]) for number in range(3)] == [1, 1, 1]
    for number, found in there.items():
        assert set(found) <= set(tried[number])


def test_functions_are_asked_where_all_else_fits() -> None:
    asked: list[int] = []
    softmax = is_op("relax.nn.softmax")(wildcard()).has_attr(axis=lambda axis: asked.append(axis) or axis == 0)
    pattern = is_op("relax.matmul")(softmax, wildcard())

    def body(a: Any, b: Any) -> Any:
        return relax.nn.relu(relax.nn.softmax(a, axis=1)), relax.matmul(relax.nn.softmax(a, axis=-1), b)

    tried, there = compared(built(body), [pattern])
    assert len(tried[0]) == 1 and there == {} and asked == [-1]


def test_chains_and_several_results() -> None:
    x = wildcard()
    relu, split, concat = is_op("relax.nn.relu"), is_op("relax.split"), is_op("relax.concat")
    chain = is_op("relax.exp")(x).repeated(relu, least=1)

    def body(a: Any, b: Any) -> Any:
        low, high = relax.split(relax.nn.relu(relax.nn.relu(relax.exp(a))), 2, axis=0)
        return relax.concat([high, low]), relax.nn.relu(b)

    found = exact(
        built(body),
        chain,
        split(chain, ...),
        concat([split[1], split[0]]),
        concat([split[0], split[0]]),
        concat([split[1], x, wildcard()]),
        x.repeated(relu, least=1),
        relu(is_op("relax.tanh")(x).repeated(lambda y: relu(y) | is_op("relax.abs")(y))),
    )
    assert found == [2, 1, 1, 0, 0, 3, 0]


def test_kernels() -> None:
    """Match kernels by name, kind and structure, among operators and other kernels."""
    x = wildcard()

    def body(a: Any, b: Any) -> Any:
        whole = relax.nn.relu(relax.matmul(relax.matmul(a, b), relax.nn.relu(b)))
        return relax.subtract(relax.tanh(whole), relax.sigmoid(b)), relax.multiply(whole, b)

    module = legalized(built(body))
    mm, relu = is_call_tir(structure=products()), is_call_tir(structure=relus())
    found = exact(
        module,
        mm(x, wildcard()),
        mm(mm(x, wildcard()), relu(wildcard())),
        mm(relu(x), relu(wildcard())),
        is_call_tir("matmul*"),
        is_call_tir("multiply", "exp", "tanh"),
        is_call_tir("matmul*")(x),
        is_call_tir("nn_*").has_kind("elemwise")(is_call_tir().has_kind("comm_reduce", "out_ewise_fusable")(x, ...)),
        is_call_tir(structure=biases())(x, wildcard()),
        relu(is_op("relax.matmul")(x, wildcard())),
    )
    assert found == [2, 1, 0, 2, 2, 0, 1, 0, 0]


RELU = """
func.func private @f(%a: tensor<ROWSx?xf32>, %out: tensor<ROWSx?xf32>) -> tensor<ROWSx?xf32>
    attributes {tir.prim_func} {
  %z = arith.constant 0.0 : f32
  %r = linalg.map ins(%a : tensor<ROWSx?xf32>) outs(%out : tensor<ROWSx?xf32>)
    (%x: f32, %old: f32) {
      %m = arith.maximumf %x, %z : f32
      linalg.yield %m : f32
    }
  return %r : tensor<ROWSx?xf32>
}"""


def test_structures_with_sizes() -> None:
    """Match one PrimFunc in calls with more and with fewer rows."""
    calls = """
func.func @main(%x: tensor<4x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  %0 = "relax.call_tir"(%x) {func = @f} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.call_tir"(%y) {func = @f} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<8x4xf32>
}"""
    module = rx.Module.parse(RELU.replace("ROWS", "?") + calls)
    rows = [is_call_tir(structure=structure(RELU.replace("ROWS", each))) for each in ("?", "8", "2")]
    assert exact(module, *rows) == [2, 1, 0]


def test_operands_that_may_be_absent() -> None:
    name, x = "relax.nn.attention_var_len", wildcard()

    def body(q: Any, lengths: Any, most: Any) -> Any:
        attend = relax.nn.attention_var_len
        one = attend(q, q, q, lengths, seqstart_k=lengths, max_seqlen_q=most)
        return one, attend(q, q, q, lengths, max_seqlen_q=most, max_seqlen_k=most)

    module = rx.Module()
    infos = [rx.tensor((1, 6, 2, 4)), rx.tensor((3,), "int32"), rx.tensor((), "int32")]
    with module.function("main", infos) as f:
        f.returns(*body(*f))
    q, k, v, start, start_k, most = (wildcard() for _ in range(6))
    patterns = [is_op(name)(q, k, v, start, start_k, most, None), is_op(name)(q, k, v, start, None, most, x)]
    assert [len(found) for found in compared(module, patterns)[0].values()] == [1, 1]


def test_equal_operations_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the time grows by one lookup per operation, whatever the table's length."""
    worked: list[str] = []
    whole: Any = Prospects._work_out
    monkeypatch.setattr(
        Prospects, "_work_out", lambda self, op, *rest: worked.append(op.name) or whole(self, op, *rest)
    )

    def counted(length: int) -> int:
        def chain(a: Any, b: Any) -> Any:
            for _ in range(length):
                a = relax.nn.relu(relax.matmul(a, b))
            return a

        worked.clear()
        x = wildcard()
        layers = is_call_tir(structure=products())(x, wildcard()).repeated(is_call_tir(structure=relus()))
        compared(legalized(built(chain)), [layers, *(is_call_tir(structure=each) for each in STRUCTURES)])
        return len(worked)

    assert counted(40) == counted(4) <= 6


def test_values_of_other_blocks_are_no_operators() -> None:
    """Treat an outer value in a region as a constant or any value, not as an operator."""
    text = """
func.func @main(%x: tensor<4xf32>, %n: index, %c: i1) -> tensor<4xf32> {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %e = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = scf.if %c -> tensor<4xf32> {
    %0 = "relax.multiply"(%e, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %e : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""
    module = rx.Module.parse(text)
    (branch,) = (op for op in operations_of(main_block(module)) if op.name == "scf.if")
    multiply = is_op("relax.multiply")
    patterns = [multiply(wildcard(), is_const(2.0)), multiply(is_op("relax.exp"), is_const()), multiply.has_rank(1)]
    assert {number: len(ops) for number, ops in Prospects(patterns).in_block(body_of(branch)).items()} == {0: 1, 2: 1}


# ---- random patterns against a comparison of all pairs ----
class Drawn:
    """Random patterns that are in a graph, or might be."""

    def __init__(self, source: random.Random, module: rx.Module):
        self._source = source
        self._ops = [op for op in operations_of(main_block(module)) if op.name.startswith("relax.") and len(op.results)]
        self._known: list[GraphPattern] = [wildcard()]

    def patterns(self, count: int) -> list[GraphPattern]:
        found = [self._of_op(self._source.choice(self._ops), 3) for _ in range(count)]
        whole = [each for each in found if len(each.heads or ()) == 1]
        shared = wildcard()
        pair = [is_op("relax.matmul")(shared, each) for each in (wildcard(), wildcard())]
        return [*found, outputs(*pair), *(each.where(lambda _: self._source.random() < 0.5) for each in whole[:1])]

    def _of_value(self, value: Any, depth: int) -> GraphPattern:
        owner = getattr(value.owner, "operation", None)
        choice = self._source.random()
        if choice < 0.15:
            return self._source.choice(self._known)
        if choice < 0.3:
            return self._source.choice([is_const(), is_const(1.0), wildcard().has_rank(2, 3)])
        if owner is None or depth == 0 or choice < 0.4 or not owner.name.startswith("relax."):
            return wildcard()
        op = owner if choice < 0.95 else self._source.choice(self._ops)
        made = self._of_op(op, depth - 1)
        self._known.append(made)
        return made

    def _of_op(self, op: Any, depth: int) -> GraphPattern:
        made: Any = self._with_operands(op, depth)
        if len(op.results) > 1:
            return made[self._source.randrange(len(op.results))]  # type: ignore[no-any-return]
        other = is_op(self._source.choice(self._ops).name)
        if op.name != "relax.call_tir":
            for name, kind in op.opview.definition.attrs.items():
                if self._source.random() < 0.3 and name in op.attributes:
                    made = made.has_attr(**{name: lambda _: True})
                elif self._source.random() < 0.1 and name in op.attributes:
                    made = made.has_attr(**{name: kind.decode(op.attributes[name])})
        around = self._source.choice([lambda y: is_op("relax.nn.relu")(y), lambda y: is_op("relax.add")(y, wildcard())])
        return self._source.choice([  # type: ignore[no-any-return]
            made, made, made.named("it"), made.has_dtype("float32"), made.has_dtype("float16", "int64"),
            made | other, other | made, made.used_inside_only(), made.optional(around), made.repeated(around),
            made.repeated(around, least=1), wildcard().repeated(lambda y: is_op(op.name)(y, ...), least=1)
            if len(op.operands) == 1 and op.name != "relax.call_tir" else made,
        ])  # fmt: skip

    def _with_operands(self, op: Any, depth: int) -> GraphPattern:
        values = list(op.operands)
        if op.name == "relax.call_tir":
            structure = self._source.choice([STRUCTURES, self._source.sample(STRUCTURES, 3)])
            alike = [each for each in structure if each.input_count == len(values)]
            name = op.attributes["func"].value
            call = self._source.choice([is_call_tir(name), is_call_tir(name[:2] + "*"), is_call_tir()])
            call = is_call_tir(structure=alike) if alike and self._source.random() < 0.6 else call
            if self._source.random() < 0.2:
                call = call.has_kind("elemwise", "out_ewise_fusable")
            return call(*(self._of_value(each, depth) for each in values))
        definition = op.opview.definition
        if any(operand.arity != "single" for operand in definition.operands):
            return is_op(op.name)
        return is_op(op.name)(*(self._of_value(each, depth) for each in values))


def legalized(module: rx.Module) -> rx.Module:
    rx.Pipeline("relax-legalize-ops").run(module)
    return module


@draws(60)
@given(seed=st.integers(0, 1 << 20), module=blocks.images() | blocks.sequences(), are_kernels=st.booleans())
def test_whatever_matches_is_tried(seed: int, module: rx.Module, are_kernels: bool) -> None:
    source = random.Random(seed)
    if are_kernels:
        legalized(module)
    patterns = [each for each in Drawn(source, module).patterns(12) if each.heads is not None]
    tried, there = compared(module, patterns)
    for number, found in there.items():
        missing = [op for op in found if op not in tried.get(number, [])]
        assert not missing, f"{patterns[number]} is not tried at {missing[0]}\n{module}"
    for ops in tried.values():
        assert all(one.is_before_in_block(other) for one, other in pairwise(ops))


def each_against_each(block: Any, composites: Sequence[Any]) -> Iterator[Taken]:
    """Plan like plan_by_priority, without Prospects."""
    for composite in composites:
        groups: dict[Any, list[Any]] = {}
        for op in sort_by_graph(operations_of(block)):
            if op.name in composite.heads:
                found = _first(composite, op, groups)
                groups.update(dict.fromkeys(found, found))
        for group in list({id(group): group for group in groups.values()}.values()):
            yield Taken(composite, group)


def _first(composite: Any, op: Any, groups: Mapping[Any, list[Any]]) -> list[Any]:
    for found in matches_of(composite.pattern, op):
        if all(set(found.operations).issuperset(groups.get(each, ())) for each in found.operations):
            return found.operations
    return []


@draws(30)
@given(first=rows(), second=rows(), module=blocks.images() | blocks.sequences())
def test_plans_do_not_depend_on_the_index(first: Any, second: Any, module: rx.Module) -> None:
    """Check that plans are equal. The second codegen asks for the calls that the first one made."""
    taken = [("cpu.taken", is_op("func.call")), *((name.replace("npu", "cpu"), each) for name, each in second)]
    planner: Planner = each_against_each
    planning._PLANNERS.entries.pop("each_against_each", None)
    register_planner("each_against_each")(planner)
    with codegen(first) as npu, codegen(taken, "cpu") as cpu:
        plans = [f"relax-partition{{codegens={npu},{cpu} plan={plan}}}" for plan in ("priority", "each_against_each")]
        one, other = (str(changed(module, plan)) for plan in plans)
    assert one == other
