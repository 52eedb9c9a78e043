# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for the order of reductions: equal bits for code of several CPUs, static and dynamic sizes, and refusals."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from example_counts import DRAW
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.emit.reduction_order import parse_order
from relax_mlir.passes.kernels.schedule.plan import Plan, parse_plan
from relax_mlir.runtime import cpu, to_numpy

import relax_mlir as rx
from relax_mlir import relax

#: Code with long and short vectors, and for one core and several.
TARGETS = ("llvm", "llvm{cores=1}", "llvm{cores=8}", "llvm{cpu=x86-64-v3}", "llvm{cpu=x86-64-v3 vector-bytes=16}")
pytestmark = pytest.mark.skipif(
    not {"avx2", "fma"} <= set(cpu.host_features()), reason="code for x86-64-v3 does not run on this CPU"
)


def turned(x: Any, y: Any) -> Any:
    return relax.matmul(x, relax.permute_dims(y))


def windows(x: Any, y: Any) -> Any:
    return relax.nn.conv1d(x, y, data_layout="NWC", kernel_layout="OWI")


#: An operator, the shapes of its operands, and dynamic forms of these.
CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]], list[list[tuple[Any, ...]]]]] = {
    "a long sum": (lambda x: relax.sum(x, axis=[1]), [(2, 1 << 18)], [[("b", 1 << 18)]]),
    "a sum": (lambda x: relax.sum(x, axis=[1]), [(2, 1001)], [[(2, "n")], [("b", "n")]]),
    "a short sum": (lambda x: relax.sum(x, axis=[1]), [(3, 50)], [[("b", 50)]]),
    "a sum of columns": (lambda x: relax.sum(x, axis=[0]), [(300, 50)], [[("a", "b")], [(300, "b")]]),
    "a sum of two axes": (lambda x: relax.sum(x, axis=[0, 2]), [(30, 5, 11)], [[(30, "a", 11)]]),
    "a product of numbers": (lambda x: relax.prod(x, axis=[1]), [(5, 77)], [[("a", "n")]]),
    "softmax": (relax.nn.softmax, [(5, 197)], [[("a", 197)]]),
    "layer_norm": (lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1]), [(4, 200), (200,), (200,)], []),
    "a product": (relax.matmul, [(5, 100), (100, 37)], [[("a", "k"), ("k", "b")]]),
    "a product with a vector": (relax.matmul, [(9, 100), (100,)], [[("m", "k"), ("k",)]]),
    "a product of vectors": (relax.matmul, [(1000,), (1000,)], [[("k",), ("k",)]]),
    "a product of rows": (turned, [(5, 100), (37, 100)], [[("a", 100), ("b", 100)], [("a", "k"), ("b", "k")]]),
    "a product of one row": (turned, [(1, 100), (37, 100)], [[("a", "k"), ("b", "k")]]),
    "a convolution": (
        lambda x, y: relax.nn.conv2d(x, y, padding=1),
        [(2, 8, 14, 14), (16, 8, 3, 3)],
        [[("n", 8, "h", "w"), (16, 8, 3, 3)]],
    ),
    "attention": (relax.nn.attention, [(2, 300, 4, 16)] * 3, [[("b", "m", 4, 16)] * 3]),
    "attention of few queries": (
        relax.nn.attention,
        [(2, 1, 4, 16), (2, 197, 4, 16), (2, 197, 4, 16)],
        [[("b", "m", 4, 16), ("b", "n", 4, 16), ("b", "n", 4, 16)]],
    ),
}  # fmt: skip


def module_of(build: Callable[..., Any], shapes: list[tuple[Any, ...]]) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(build(*f))
    return module


@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_the_machine(name: str) -> None:
    build, shapes, dynamic = CASES[name]
    random = numpy.random.default_rng(0)
    arrays = [random.normal(size=shape).astype("f4") for shape in shapes]
    modules = [(target, module_of(build, shapes)) for target in TARGETS]
    modules += [(f"llvm{{numerics={'same'}}}", module_of(build, each)) for each in dynamic]
    results = [(target, to_numpy(rx.compile(module, target)["main"](*arrays))) for target, module in modules]
    expected = results[0][1].tobytes()
    assert [target for target, result in results if result.tobytes() != expected] == []


#: Layers of drawn sizes: their operator, and the shapes of operands. Names are sizes that may be dynamic.
DRAWN: dict[str, Callable[..., tuple[Callable[..., Any], list[list[tuple[str, int]]]]]] = {
    "a convolution": lambda n, h, w, c, o: (
        lambda x, k: relax.nn.relu(relax.nn.conv2d(x, k, padding=1, strides=1 + o % 2)),
        [[("n", n), ("", c), ("h", h), ("w", w)], [("", o), ("", c), ("", 3), ("", 3)]],
    ),
    "a depthwise convolution": lambda n, h, w, c, o: (
        lambda x, k: relax.nn.conv2d(x, k, padding=1, groups=c),
        [[("n", n), ("", c), ("h", h), ("w", w)], [("", c), ("", 1), ("", 3), ("", 3)]],
    ),
    "a product": lambda m, n, k, b, _: (relax.matmul, [[("b", b), ("m", m), ("k", 16 * k)], [("k", 16 * k), ("n", n)]]),
    "a pool": lambda n, h, w, c, _: (
        lambda x: relax.nn.avg_pool2d(x, pool_size=2, padding=1),
        [[("n", n), ("", c), ("h", h), ("w", w)]],
    ),
    "a normalization": lambda n, m, c, *_: (
        lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1]),
        [[("n", n), ("m", m), ("", 9 * c)], [("", 9 * c)], [("", 9 * c)]],
    ),
    "a softmax": lambda n, m, c, *_: (relax.nn.softmax, [[("n", n), ("m", m), ("", 9 * c)]]),
    "attention": lambda m, n, h, d, _: (
        relax.nn.attention,
        [[("b", 2), (name, size), ("", h), ("", d)] for name, size in (("m", m), ("k", 8 * n), ("k", 8 * n))],
    ),
    "a step of an LSTM": lambda b, c, h, *_: (
        lambda x, s, w, u: gates_of(relax.add(relax.matmul(x, w), relax.matmul(s, u)), s),
        [[("b", b), ("", c)], [("b", b), ("", h)], [("", c), ("", 4 * h)], [("", h), ("", 4 * h)]],
    ),
}


def gates_of(sums: Any, state: Any) -> Any:
    a, b, c, d = relax.split(sums, 4, axis=1)
    state = relax.add(relax.multiply(relax.sigmoid(a), state), relax.multiply(relax.sigmoid(b), relax.tanh(c)))
    return relax.multiply(relax.sigmoid(d), relax.tanh(state))


@pytest.mark.parametrize("name", DRAWN)
def test_bits_of_drawn_sizes_do_not_depend_on_the_plan(name: str) -> None:
    """Compare 1 and 2 threads, numbers of cores, CPUs, and dynamic sizes with static ones, for sizes of 1 to 17."""
    seed = f"{DRAW}{name}"
    build, operands = DRAWN[name](*(random.Random(seed).choices(range(1, 18), k=5)))
    shapes = [tuple(size for _, size in operand) for operand in operands]
    arrays = [numpy.random.default_rng(0).normal(size=shape).astype("f4") for shape in shapes]
    dynamic = [tuple(label or size for label, size in operand) for operand in operands]
    strict = [("llvm{numerics=same}", shapes), ("llvm{numerics=same}", dynamic), ("llvm{cpu=x86-64-v3}", dynamic)]
    usual = [(target, shapes) for target in (*TARGETS[:4], "llvm{cores=2}", "llvm{cores=4}")]
    for variants in (usual, strict):
        results = {}
        for target, sizes in variants:
            program = rx.compile(module_of(build, sizes), target, numerics="same" if variants is strict else None)
            for threads in (1, 2):
                program.threads = threads
                results[target, str(sizes), threads] = to_numpy(program["main"](*arrays)).tobytes()
        first = next(iter(results.values()))
        assert [variant for variant, result in results.items() if result != first] == [], (seed, shapes)


#: Operators with one static column, and dynamic forms of their operands.
COLUMNS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "a product": (relax.matmul, [(9, 100), (100, 1)], [("m", "k"), ("k", "n")]),
    "a product of one row": (relax.matmul, [(1, 1000), (1000, 1)], [("m", "k"), ("k", "n")]),
    "products of a batch": (relax.matmul, [(3, 9, 100), (3, 100, 1)], [("b", "m", "k"), ("b", "k", "n")]),
    "a product of rows": (turned, [(9, 100), (1, 100)], [("m", "k"), ("n", "k")]),
    "a sum": (lambda x: relax.sum(x, axis=[0]), [(300, 1)], [(300, "n")]),
    "a sum of two axes": (lambda x: relax.sum(x, axis=[0, 2]), [(30, 1, 11)], [(30, "n", 11)]),
    "a sum of images": (lambda x: relax.sum(x, axis=[1, 2]), [(2, 12, 13, 1)], [(2, 12, 13, "n")]),
    "a convolution to one element": (
        relax.nn.conv2d,
        [(1, 8, 3, 3), (1, 8, 3, 3)],
        [("n", 8, "h", "w"), ("o", 8, 3, 3)],
    ),
    "a convolution of one element": (
        relax.nn.conv2d,
        [(2, 40, 1, 1), (5, 40, 1, 1)],
        [("n", 40, "h", "w"), (5, 40, 1, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_strict_bits_do_not_depend_on_static_unit_sizes(name: str) -> None:
    build, shapes, dynamic = COLUMNS[name]
    random = numpy.random.default_rng(0)
    arrays = [random.normal(size=shape).astype("f4") for shape in shapes]
    targets = ("llvm{numerics=same}", "llvm{cpu=x86-64-v3 numerics=same}")
    results = [
        to_numpy(rx.compile(module_of(build, each), target)["main"](*arrays))
        for target in targets
        for each in (shapes, dynamic)
    ]
    assert [result.tobytes() == results[0].tobytes() for result in results] == [True] * 4


def test_constant_kernels_have_the_bits_of_passed_kernels() -> None:
    """Constant kernels are blocked by channels, given ones are not: taps come before channels in both."""
    random = numpy.random.default_rng(0)
    data, kernel = (random.normal(size=size).astype("f4") for size in ((2, 32, 9, 11), (32, 32, 3, 3)))
    given = module_of(lambda x, y: relax.nn.conv2d(x, y, padding=1), [data.shape, kernel.shape])
    known = module_of(lambda x: relax.nn.conv2d(x, relax.const(kernel), padding=1), [data.shape])
    one, other = rx.compile(given)["main"](data, kernel), rx.compile(known)["main"](data)
    assert to_numpy(one).tobytes() == to_numpy(other).tobytes()


def test_fast_code_adds_in_the_order_of_its_vectors() -> None:
    """Show that the order matters: without it, the bits depend on the vectors."""
    random = numpy.random.default_rng(0)
    x = random.normal(size=(50, 100)).astype("f4")
    module = module_of(lambda x: relax.sum(x, axis=[1]), [x.shape])
    bits = [to_numpy(rx.compile(module, target, numerics="fast")["main"](x)).tobytes() for target in TARGETS[3:]]
    assert bits[0] != bits[1]


# ---- text ----


@pytest.mark.parametrize("text", ["2", "2 4 3", "(2 3) by 16 lanes", "1 (2 3) by 4 x 16 lanes"])
def test_text_is_parsed_and_printed(text: str) -> None:
    assert str(parse_order(text)) == text


@pytest.mark.parametrize("text", ["", "x", "1 by lanes", "(1) 2", "1 by 4 x lanes", "1, 2"])
def test_other_text_is_no_order(text: str) -> None:
    assert parse_order(text) is None


# ---- refusals ----

SUMS = """
func.func private @sums(%a: tensor<6x7x9xf32>, %b: tensor<6xf32>) -> tensor<6xf32> attributes {{tir.prim_func}} {{
  %0 = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>],
      iterator_types = ["parallel", "reduction", "reduction"]}} ins(%a : tensor<6x7x9xf32>) outs(%b : tensor<6xf32>)
      attrs = {{tir.order = "{order}", tir.plan = "{plan}"}} {{
  ^bb0(%x: f32, %y: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  }} -> tensor<6xf32>
  return %0 : tensor<6xf32>
}}
"""
ALONG, ACROSS = "order 0 1 2; carried 2; vector 2 x 8", "order 0 2 1; carried 2; vector 0 x 4"


@pytest.mark.parametrize(
    ("order", "plan", "reason"),
    [
        ("2 1 by 16 lanes", ALONG, "its reductions run in the order 1 2, and 'tir.order' states 2 1"),
        ("1 2", ALONG, "'tir.order' states no lanes, and its vectors are along loop 2"),
        ("2 1 by 16 lanes", ACROSS, "'tir.order' states 16 lanes along a reduction, and its vectors are along loop 0"),
        ("backwards", ALONG, 'tir.order "backwards": expected loops, like'),
        (
            "1 2 by 4 x 16 lanes",
            ALONG,
            "it has 8 partial results, 1 vectors of 8 lanes, and 'tir.order' states '1 2 by 4 x 16 lanes': "
            "expected 16 or 64, in vectors of at most 16 lanes",
        ),
        (
            "1 2 by 16 lanes",
            "order 0 1 2; carried 2; vector 2 x 8; tile 2: 4",
            "it has 32 partial results, 4 vectors of 8 lanes, and 'tir.order' states '1 2 by 16 lanes': expected 16,",
        ),
        ("1 2 by 2 x 4 lanes", "order 0 1 2; carried 2; vector 2 x 8", "in vectors of at most 4 lanes"),
        (
            "(1 2) by 16 lanes",
            "order 0 1 2; carried 2; vector 2 x 8; tile 2: 2",
            "it has lanes along 2, and 'tir.order' states lanes along 1 2",
        ),
        (
            "1 2",
            "order 0 1 2; carried 2; vector 0 x 4; tile 1: 2",
            "a step has 2 points of loop 1, and 'tir.order' states the loop 2 inside of it: expected 1 point",
        ),
        (
            "1 2",
            "order 0 1 2; carried 2; vector 0 x 4; blocks 2: 4",
            "it has blocks of loop 2, and 'tir.order' states its steps at once: blocks of loop 1 only",
        ),
        (
            "(1 2) by 16 lanes",
            "order 0 (1 2); carried 1; vector 1 x 8; tile 1: 2; blocks 1: 16",
            "it has blocks of loop 1, and 'tir.order' states its steps at once: no blocks of lanes",
        ),
    ],
)
def test_plans_that_break_the_order_are_refused(order: str, plan: str, reason: str) -> None:
    module = rx.Module.parse(SUMS.format(order=order, plan=plan))
    with pytest.raises(rx.RelaxError, match=r"^|\n") as caught:
        rx.Pipeline(["tir-apply-plan{target=llvm{vector-bytes=32}}"]).run(module)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("order", "plan"),
    [
        ("1 2 by 16 lanes", "order 0 1 2; carried 2; vector 2 x 8; tile 2: 2"),
        ("1 2 by 4 x 16 lanes", "order 0 1 2; carried 2; vector 2 x 8; tile 2: 2"),
        ("1 2 by 4 x 16 lanes", "order 0 1 2; carried 2; vector 2 x 8; tile 2: 8"),
        ("1 2", "order 0 1 2; carried 2; vector 0 x 4; tile 2: 4; blocks 1: 4"),
    ],
)
def test_plans_that_keep_the_order(order: str, plan: str) -> None:
    """A short loop may leave out accumulators that it does not reach."""
    module = rx.Module.parse(SUMS.format(order=order, plan=plan))
    rx.Pipeline(["tir-apply-plan{target=llvm{vector-bytes=32}}"]).run(module)


def test_a_window_has_as_many_accumulators_as_its_order_states() -> None:
    """No tile of results keeps the adders busy, so that each result has several accumulators."""
    shapes: list[tuple[Any, ...]] = [(2, 9, 128), (4, 3, 128)]
    target = "llvm{cpu=x86-64-v3}"
    text = str(rx.lower(module_of(windows, shapes), target, pipeline=rx.stages(target).until("plan")))
    assert 'by 4 x 16 lanes"' in text and "vector 3 x 8; tile 3: 8;" in text


def test_plan_rules_take_the_number_of_accumulators_from_the_order() -> None:
    module = rx.Module.parse(SUMS.replace("6x7x9", "6x7x90").format(order="(1 2) by 2 x 16 lanes", plan="x"))
    text = str(module).replace(', tir.plan = "x"', "")
    module = rx.Module.parse(text)
    rx.Pipeline(["tir-plan{target=llvm{vector-bytes=32}}"]).run(module)
    assert "vector 1 x 8; tile 1: 4;" in str(module)


def test_rules_that_break_the_order_are_refused() -> None:
    """Name the rule, its place, the operation and the way out."""
    rx.register_target(rx.Target("test-backwards", parents=("llvm",)))

    @rx.schedules.register_plan(target="test-backwards")
    def plan_backwards(op: Any, machine: Any) -> Plan:
        del machine
        if len(op.reductions) != 2:
            raise Decline("it has not two reductions")
        plan = parse_plan("order 2 1 0; vector 2 x 1")
        assert isinstance(plan, Plan)
        return plan

    module = module_of(lambda x: relax.sum(x, axis=[0, 2]), [(30, 5, 11)])
    with pytest.raises(rx.RelaxError) as caught:
        rx.compile(module, "test-backwards")
    text = str(caught.value)
    assert "the plan rule 'backwards' (" in text and "test_reduction_order.py" in text
    assert "its reductions run in the order 2 0, and 'tir.order' states 0 2" in text
    assert "numerics=fast lets plans choose the order of sums" in text


# ---- the option ----


def test_numerics_is_stated_by_the_program() -> None:
    module = module_of(relax.nn.softmax, [(5, 40)])
    assert rx.compile(module).numerics == ("same", (), ())
    assert rx.compile(module, numerics="fast").numerics == ("fast", (), ())
    assert rx.compile(module, "llvm{cpu=x86-64}").numerics.order == "fast"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"numerics": "sam"}, "numerics=sam: expected one of same, fast; did you mean 'same'?"),
        ({"numerics": "same", "target": "llvm{cpu=x86-64}"}, "the CPU has no fused multiply-add"),
        ({"numerics": "same", "target": "llvm{winograd=2}"}, "numerics=same and winograd exclude each other"),
        ({"numerics": "same", "target": "llvm{numerics=fast}"}, "contradicts the target 'llvm{numerics=fast}'"),
        ({"numerics": "same", "target": "c"}, "numerics='same': target 'c' has no such option"),
        ({"numerics": "same", "target": "cuda"}, "numerics=same applies to the code of CPUs"),
    ],
)
def test_wrong_numerics_options_are_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.compile(module_of(relax.nn.relu, [(4,)]), **options)
    assert reason in str(caught.value)


# ---- schedules ----

PRODUCT = """
from relax_mlir.script import tir as T

@T.prim_func
def matmul(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j, k in T.grid(16, 8, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def scheduled(change: Callable[[Any, Any, Any, Any, Any], object]) -> rx.Module:
    module = rx.Module.from_script(PRODUCT, "product.py")
    sch = rx.Schedule(module)
    block = sch.get_block("C")
    change(sch, block, *sch.get_loops(block))
    return sch.mod


def swapped(sch: Any, block: Any, i: Any, j: Any, k: Any) -> None:
    outer, inner = sch.split(k, [None, 4])
    sch.reorder(i, j, inner, outer)


def kept(sch: Any, block: Any, i: Any, j: Any, k: Any) -> None:
    outer, inner = sch.split(k, [None, 4])
    sch.reorder(outer, i, inner, j)
    sch.vectorize(j)


def factored(sch: Any, block: Any, i: Any, j: Any, k: Any) -> None:
    outer, _ = sch.split(k, [None, 4])
    sch.rfactor(outer, 0)


def factored_and_copied(sch: Any, block: Any, i: Any, j: Any, k: Any) -> None:
    outer, _ = sch.split(k, [None, 4])
    partial = sch.rfactor(outer, 0)
    sch.cache_write(partial, 0, "local")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (swapped, "steps of 'C' run in another order than its reduction"),
        (factored, "rfactor keeps partial results in 'C_rf', which are added at the end"),
        (factored_and_copied, "rfactor keeps partial results in 'C_rf', which are added at the end"),
    ],
)
def test_schedules_that_change_the_order(change: Callable[..., None], reason: str) -> None:
    """Refuse them for the same numerics, and note them otherwise."""
    module = scheduled(change)
    with pytest.raises(rx.RelaxError) as caught:
        rx.lower(module, numerics="same")
    assert "the schedule of @matmul (a PrimFunc) changes the order of a sum" in str(caught.value)
    assert reason in str(caught.value) and "llvm{numerics=same}" in str(caught.value)
    lowered = rx.lower(module, pipeline=rx.stages("llvm").until("apply"))
    assert 'tir.numerics = ["same", "matmul"]' in str(lowered)


LARGEST = """
from relax_mlir.script import tir as T

@T.prim_func
def largest(A: T.Buffer((24, 16), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vk, vi]
    for i, k in T.grid(16, 24):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.min_value("float32")
            C[vi] = T.max(C[vi], A[vk, vi])
"""


def test_partial_results_that_are_not_rounded_keep_the_order() -> None:
    """Only the sum rounds, and rfactor does not change it."""
    sch = rx.Schedule(rx.Module.from_script(LARGEST, "largest.py"))
    block = sch.get_block("C")
    sch.rfactor(sch.get_loops(block)[1], 0)
    target = "llvm{numerics=same}"
    assert 'tir.numerics = ["same"]' in str(rx.lower(sch.mod, target, pipeline=rx.stages(target).until("apply")))


@pytest.mark.parametrize("steps", ["sch.split(j, [None, 8])", "sch.vectorize(i)"])
def test_schedules_of_sums_with_lanes_are_refused(steps: str) -> None:
    """Schedules of rx.compile are set after the pass that states the orders."""
    module = module_of(lambda x: relax.sum(x, axis=[1]), [(16, 100)])
    text = f'# schedule 1\nsum = sch.get_block("sum")\ni, j = sch.get_loops(sum)\n{steps}\n'
    with pytest.raises(rx.RelaxError, match="'sum' has the order 1 by 4 x 16 lanes, and a schedule adds in the order"):
        rx.compile(module, numerics="same", schedules={"sum": text})
    assert rx.compile(module, schedules={"sum": text}, cache=False).numerics == ("same", ("sum",), ())


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("sch.reorder(n, o, m)", ""),
        ("sch.vectorize(j)", "steps of 'nn_conv2d' run in another order"),
        ("sch.reorder_block_iter_var(b, [0, 1, 2, 3, 5, 6, 4])", "steps of 'nn_conv2d' run in another order"),
        (
            "sch.transform_block_layout(b, lambda i, j, k, l, m, n, o: (i, j, k, l, n, o, m))",
            "a step has replaced the iters of 'nn_conv2d'",
        ),
    ],
)
def test_schedules_of_convolutions_add_taps_first(steps: str, reason: str) -> None:
    module = module_of(relax.nn.conv2d, [(2, 6, 8, 8), (5, 6, 3, 3)])
    loops = "i, j, k, l, m, n, o"
    text = f'# schedule 1\nb = sch.get_block("nn_conv2d")\n{loops} = sch.get_loops(b)\n{steps}\n'
    base = rx.compile(module, numerics="same")
    if reason:
        with pytest.raises(rx.RelaxError, match=reason):
            rx.compile(module, numerics="same", schedules={"nn_conv2d": text})
        return
    random = numpy.random.default_rng(0)
    arrays = [random.normal(size=size).astype("f4") for size in ((2, 6, 8, 8), (5, 6, 3, 3))]
    assert rx.same_bits(base, rx.compile(module, numerics="same", schedules={"nn_conv2d": text}), *arrays)


def test_schedules_that_keep_the_order() -> None:
    target = "llvm{numerics=same}"
    lowered = rx.lower(scheduled(kept), target, pipeline=rx.stages(target).until("apply"))
    assert 'tir.numerics = ["same"]' in str(lowered)
