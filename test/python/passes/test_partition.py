# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitioning of models to codegens: values, plans, reports, refusals.

Situations of Apache TVM's test_transform_codegen_pass.py.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import blocks
import numpy
import pytest
from before_after import changed, keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import Native, built, codegen, product, relu, rows
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.core.external import external_modules
from relax_mlir.passes.graph.partition import planning
from relax_mlir.passes.graph.partition.planning import Taken

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard

LAYER = [("npu.layer", relu(product))]
EXP = [("npu.exp", is_op("relax.exp"))]


def layers(a: Any, b: Any) -> Any:
    return relax.tanh(relax.nn.relu(relax.matmul(a, b)))


def operators(module: rx.Module) -> list[str]:
    """Return the computing operators of a module, including external modules."""
    names = (op.name.removeprefix("relax.") for op in operations_in(module.operation) if op.name.startswith("relax."))
    return sorted(name for name in names if not name.startswith("call_"))


@pytest.mark.parametrize("plan", ["priority", "cost"])
@pytest.mark.parametrize("shapes", [((4, 4), (4, 4)), (("n", 4), (4, 4))])
def test_values_cross_the_boundary(plan: str, shapes: Any) -> None:
    module = built(layers, *shapes)
    a, b = numpy.random.default_rng(1).normal(size=(2, 4, 4)).astype("float32")
    with codegen(LAYER, cost=lambda *_: 0.0) as npu:
        program = rx.compile(module, partition=rx.Partition(codegens=(npu,), plan=plan))
        found = numpy.from_dlpack(program["main"](a, b))
        numpy.testing.assert_allclose(found, numpy.tanh(numpy.maximum(a @ b, 0)), atol=1e-6)
    if plan == "priority":
        assert "1 part by npu" in repr(program)


def test_several_results_and_numbers() -> None:
    pattern = [("npu.split", is_op("relax.split")), ("npu.exp", is_op("relax.exp"))]

    def body(a: Any, b: Any) -> Any:
        low, high = relax.split(relax.exp(a), 2, axis=0)
        return relax.add(low, high), high

    a = numpy.random.default_rng(1).normal(size=(4, 4)).astype("float32")
    with codegen(pattern) as npu:
        first, second = rx.compile(built(body), partition=[npu])["main"](a, a)
        numpy.testing.assert_allclose(numpy.from_dlpack(first), numpy.exp(a[:2]) + numpy.exp(a[2:]), rtol=1e-6)
        numpy.testing.assert_allclose(numpy.from_dlpack(second), numpy.exp(a[2:]), rtol=1e-6)


@draws(30)
@given(
    first=rows(),
    second=rows(),
    module=blocks.images() | blocks.sequences(),
    plan=st.sampled_from(["priority", "cost"]),
    price=st.sampled_from([0.0, 1e-7, 1e-3]),
)
def test_random_graphs_by_random_patterns(first: Any, second: Any, module: rx.Module, plan: str, price: float) -> None:
    """Check that results stay the same, and that each operator is in one place."""
    renamed = [(name.replace("npu", "cpu"), pattern) for name, pattern in second]
    with codegen(first, cost=lambda *_: price) as npu, codegen(renamed, "cpu") as cpu:
        partition = f"relax-partition{{codegens={npu},{cpu} plan={plan}}}"
        assert operators(changed(module, partition)) == operators(module)
        keeps_results(module, f"{partition},relax-run-codegen")


def parts(module: rx.Module, **options: Any) -> list[str]:
    """Return the operators in the external modules of a partition."""
    apart = changed(module, rx.Partition(codegens=("npu",), **options))
    names = [[op.name for op in operations_in(each)] for each in external_modules(apart.operation)]
    return [" ".join(name.removeprefix("relax.") for name in each if name.startswith("relax.")) for each in names]


def test_a_plan_by_cost_takes_what_pays() -> None:
    """Take a large product, and operators between two taken ones, but no operator that is cheaper on the target."""

    def body(a: Any, b: Any) -> Any:
        return relax.tanh(relax.matmul(relax.exp(relax.matmul(a, b)), b))

    patterns = [("npu.product", product), *EXP, ("npu.tanh", is_op("relax.tanh"))]
    prices = {"npu.product": 1e-6, "npu.exp": 1e-6, "npu.tanh": 1.0}
    with codegen(patterns, cost=lambda self, name, operations: prices[name]):
        large = [(512, 512), (512, 512)]
        assert parts(built(body, *large), plan="cost") == ["matmul exp matmul"]
        assert parts(built(body), plan="cost") == []
        assert parts(built(body)) == ["matmul exp matmul tanh"]


def test_a_price_that_is_none() -> None:
    with codegen(EXP, cost=lambda *_: "cheap"), pytest.raises(rx.RelaxError, match="cost\\(\\) returned 'cheap'"):
        parts(built(lambda a, b: relax.exp(a)), plan="cost")
    with codegen(EXP, cost=lambda *_: 1 / 0), pytest.raises(rx.RelaxError, match="'npu': cost\\(\\): ZeroDivisionErr"):
        parts(built(lambda a, b: relax.exp(a)), plan="cost")


def test_a_planner_of_ones_own() -> None:
    """Use a planner that takes only the second of all matches."""

    @rx.register_planner("second")
    def second(block: Any, composites: Sequence[Any]) -> Iterator[Taken]:
        found = [op.operation for op in block.operations if op.name in composites[0].heads]
        yield from (Taken(composites[0], [op]) for op in found[1:2])

    with codegen(EXP):
        assert parts(built(lambda a, b: (relax.exp(a), relax.exp(b))), plan="second") == ["exp"]


def exps(block: Any) -> list[Any]:
    return [op.operation for op in block.operations if op.name == "relax.exp"]


def again_by_other_handles(block: Any, composites: Any) -> Any:
    """Yield handles of erased operations that do not know it."""
    first, second = exps(block), exps(block)
    yield Taken(composites[0], first)
    yield Taken(composites[0], second)


@pytest.mark.parametrize(
    ("planner", "message"),
    [
        (lambda block, composites: None, "TypeError: 'NoneType' object is not iterable"),
        (lambda block, composites: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda block, composites: iter([7]), "yielded 7, expected rx.codegens.Taken"),
        (lambda block, composites: [Taken(composites[0], exps(block)) for _ in range(2)], "takes relax.exp twice"),
        (lambda block, composites: iter([Taken(composites[0], exps(block) * 2)]), "takes relax.exp twice"),
        (lambda block, composites: iter([Taken(composites[0], exps(block))] * 2), "takes an operation twice"),
        (lambda block, composites: again_by_other_handles(block, composites), "takes an operation twice"),
        (lambda block, composites: [Taken(composites[0], [block.owner])], "takes .* one that is not in its block"),
        (lambda block, composites: [Taken(composites[0], [block.operations[1]])], "takes func.return: only operations"),
    ],
)
def test_a_planner_that_is_wrong(planner: Any, message: str) -> None:
    """Name the planner in the error, without access to erased operations."""
    with codegen(EXP), pytest.raises(rx.RelaxError, match=f"planner 'wrong'.*{message}"):
        try:
            rx.register_planner("wrong")(planner)
            parts(built(lambda a, b: relax.exp(a)), plan="wrong")
        finally:
            planning._PLANNERS.entries.pop("wrong")


def refused(reason: Exception) -> type:
    class Refusing(Native):
        def compile(self, module: rx.Module, options: Mapping[str, str]) -> bytes:
            raise reason

    return Refusing


@pytest.mark.parametrize(
    ("reason", "verb", "shown"),
    [
        (rx.RelaxError("too large for the unit"), "declined", "too large for the unit"),
        (KeyError("w"), "failed to compile", "compile(): KeyError: 'w' (at passes/test_partition.py:170)"),
    ],
)
def test_declined_parts_stay_with_the_target(reason: Exception, verb: str, shown: str) -> None:
    module = built(layers)
    a, b = numpy.random.default_rng(1).normal(size=(2, 4, 4)).astype("float32")
    journal = rx.Journal()
    with codegen(LAYER, base=refused(reason)) as npu:
        with pytest.warns(RuntimeWarning, match=f"codegen 'npu' {verb} @") as warned:
            program = rx.compile(module, partition=npu, journal=journal)
        assert [each.filename for each in warned] == [__file__], "the line of who compiles"
        numpy.testing.assert_allclose(program["main"](a, b), numpy.tanh(numpy.maximum(a @ b, 0)), atol=1e-6)
        with pytest.raises(rx.RelaxError, match=f"codegen 'npu' {verb} @fused_matmul_nn_relu_npu") as error:
            rx.compile(module, partition=npu, strict_partition=True)
        place = str(error.value).partition(": ")[0]
        assert place.startswith("test_partition.py:") and str(error.value).count(place) == 1
    table = rx.partition_table(journal.facts)
    assert table.startswith(f"partition: 0 of 3 operators, 1 part {verb}\n") and f": {shown}\n" in table
    assert re.search(rf"\n{verb}: npu, part ", table) and re.search(r"\nnpu +0 +0 +0 bytes +0 bytes +0 bytes", table)


class Driven(Native):
    def requires(self, data: memoryview) -> str:
        raise OSError("no driver")


def test_a_codegen_that_cannot_run_here_is_reported_by_compile() -> None:
    module = built(layers)
    reason = r"requires\(\): OSError: no driver"
    journal = rx.Journal()
    with codegen(LAYER, base=Driven) as npu:
        with pytest.warns(RuntimeWarning, match=f"codegen 'npu' cannot run here @fused_matmul_nn_relu_npu.*{reason}"):
            rx.compile(module, partition=npu, journal=journal)
        assert "cannot run here: npu, part fused_matmul_nn_relu_npu" in rx.partition_table(journal.facts)
        with pytest.raises(rx.RelaxError, match=f"this machine cannot run it: {reason}"):
            rx.compile(module, partition=npu, strict_partition=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rx.compile(module, partition=npu, strict_partition=True, partition_elsewhere=True)


def test_the_table_and_the_explanation_list_all_operators() -> None:
    def body(a: Any, b: Any) -> Any:
        return relax.tanh(relax.matmul(a, b)), relax.nn.relu(relax.matmul(a, b)), relax.matmul(b, a)

    journal = rx.Journal()
    with codegen([*LAYER, *EXP]) as npu:
        rx.compile(built(body), partition=rx.Partition(codegens=(npu,), explain=True), journal=journal, opt_level=0)
    head, columns, row, *_ = rx.partition_table(journal.facts).splitlines()
    assert head == "partition: 2 of 5 operators" and columns.split()[0] == "codegen"
    assert row.split()[:3] == ["npu", "2", "1"] and "128 bytes" in row and "64 bytes" in row and row.endswith("layer 2")
    why = rx.explanation(journal.facts)
    assert "no pattern has relax.tanh" in why
    assert "relax.matmul is used by relax.tanh; the pattern ends with relax.nn.relu" in why
    assert why.count("\n") == 4


def test_operators_of_one_match_are_one_row() -> None:
    journal = rx.Journal()
    pattern = is_op("relax.nn.relu")(is_op("relax.exp")(wildcard()))
    with codegen([("npu.both", pattern)], cost=lambda *_: 1.0) as npu:
        wanted = rx.Partition(codegens=(npu,), plan="cost", explain=True)
        rx.compile(built(lambda a, b: relax.nn.relu(relax.exp(a))), partition=wanted, journal=journal)
    assert [fact["operator"] for fact in journal.facts if fact["kind"] == "kept"] == ["relax.exp", "relax.nn.relu"]
    row = rx.explanation(journal.facts).splitlines()[1]
    assert row.startswith("relax.exp+relax.nn.relu ") and "matches, but the plan 'cost' counts" in row


def test_a_codegen_can_refuse_inner_outputs() -> None:
    layer = is_op("relax.exp")(wildcard()).optional(lambda y: is_op("relax.nn.relu")(y))

    def body(a: Any, b: Any) -> tuple[Any, Any]:
        inner = relax.exp(a)
        return relax.nn.relu(inner), relax.tanh(inner)

    for inner_outputs, parts in ((True, {"npu.layer": 2}), (False, {"npu.layer": 1})):
        journal = rx.Journal()
        with codegen([("npu.layer", layer)], inner_outputs=inner_outputs) as npu:
            rx.compile(built(body), partition=rx.Partition(codegens=(npu,), explain=True), journal=journal)
        (fact,) = (each for each in journal.facts if each["kind"] == "partition")
        assert [dict(each) for each in fact["of_parts"].values()] == [parts]
        refused = "the result of relax.exp inside of the pattern is read outside of the match, too"
        assert (refused in rx.explanation(journal.facts)) is not inner_outputs


def test_inner_outputs_are_true_or_false() -> None:
    with pytest.raises(rx.RelaxError, match="codegen 'asked': inner_outputs has to be True or False, not 1"):
        rx.codegens.register_codegen("asked")(type("Asked", (rx.codegens.Codegen,), {"inner_outputs": 1}))


def test_each_codegen_tells_what_its_own_check_says() -> None:
    journal, module = rx.Journal(), built(lambda a, b: relax.exp(a))
    first = [
        ("npu.exp", is_op("relax.exp"), lambda match: "too hot"),
        ("npu.again", is_op("relax.exp"), lambda _: "no"),
    ]
    with codegen(first) as npu, codegen([("cpu.exp", is_op("relax.exp"), lambda match: "too slow")], "cpu") as cpu:
        rx.compile(module, partition=rx.Partition(codegens=(npu, cpu), explain=True), journal=journal)
    rows = [(fact["pattern"], fact["reason"]) for fact in journal.facts if fact["kind"] == "kept"]
    assert rows == [("npu.exp", "relax.exp: too hot"), ("cpu.exp", "relax.exp: too slow")]


def test_operators_that_do_not_pay_are_reported() -> None:
    """Report an operator that the codegen could compute but that does not pay."""
    journal = rx.Journal()
    with codegen(EXP, cost=lambda *_: 1.0) as npu:
        wanted = rx.Partition(codegens=(npu,), plan="cost", explain=True)
        rx.compile(built(lambda a, b: relax.exp(a)), partition=wanted, journal=journal)
    text = rx.explanation(journal.facts)
    assert "matches, but the plan 'cost' counts 1 s, 2.01 us for codegen and border, 0.0128 us for the target" in text
    assert text.splitlines()[-1].split()[2:] == ["target", "1", "s", "2.01", "us", "0.0128", "us"]


def test_wrong_partition_arguments_are_refused() -> None:
    module = built(layers)
    with codegen(LAYER) as npu:
        for wanted, message in (
            (["npo"], "unknown codegen 'npo'; did you mean 'npu'"),
            ([npu, 3], "not 3"),
            (f"{npu}{{cores=2}}", "codegen 'npu' has no option 'cores' \\(it has none\\)"),
            (f"{npu}{{cores=2", "expected '}' at the end, behind the options"),
            ([f"{npu}{{cores=2"], "expected '}' at the end"),
        ):
            with pytest.raises(rx.RelaxError, match=message):
                rx.compile(module, partition=wanted)


def test_results_whose_sizes_only_the_run_tells_stay() -> None:
    """Keep data-dependent results: programs allocate results before a call."""
    a = numpy.eye(4, dtype="float32")
    with codegen([("npu.nonzero", is_op("relax.nonzero"))]) as npu:
        with pytest.warns(RuntimeWarning, match="codegen 'npu' declined @.*: the sizes of a result are known at run"):
            program = rx.compile(built(lambda x, y: relax.nonzero(x)), partition=[npu])
        numpy.testing.assert_array_equal(program["main"](a, a), numpy.nonzero(a))


def test_commas_in_options_separate_no_codegens() -> None:
    seen: list[str] = []

    def compile_(self: Any, module: rx.Module, options: Mapping[str, Any]) -> bytes:
        seen.append(options["sizes"])
        return Native.compile(self, module, options)

    with codegen(EXP, compile=compile_, options={"sizes": "text"}):
        for wanted in ("npu{sizes=n:1,m:2},example_npu", ["npu{sizes=n:1,m:2}", "example_npu"]):
            rx.compile(built(lambda a, b: relax.exp(a)), partition=wanted)
        rx.Pipeline("relax-partition{codegens=npu{sizes=n:1,m:2},example_npu}").run(built(lambda a, b: relax.exp(a)))
    assert seen == ["n:1,m:2"] * 2


def test_two_programs_with_parts_of_one_name(tmp_path: Path) -> None:
    """Keep separate functions for each program, also from files."""
    a = numpy.ones((4, 4), "float32")
    programs = []
    with codegen(EXP):
        for count in (1, 2):

            def body(x: Any, y: Any, times: float = float(count)) -> Any:
                return relax.exp(relax.multiply(x, relax.const(times)))

            path = tmp_path / f"{count}.rxa"
            rx.compile(built(body), partition=["npu"]).save(path)
            programs.append(rx.runtime.load(path))
        for count, program in enumerate(programs, 1):
            numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](a, a)), numpy.exp(a * count), rtol=1e-6)


def test_memory_for_the_time_of_a_call() -> None:
    """Share the memory with tensors that live before and after, with the size of the largest."""
    sizes: list[int] = []

    class Working(rx.Codegen):
        def workspace(self, function: Any) -> int:
            return 4096

        def compile(self, module: rx.Module, options: Mapping[str, str]) -> bytes:
            return " ".join(self.functions(module)).encode()

        def load(self, data: memoryview) -> dict[str, Any]:
            def exp(x: Any, out: Any, work: Any) -> None:
                room = numpy.from_dlpack(work)
                sizes.append(room.size)
                room[:] = 255
                numpy.from_dlpack(out)[...] = numpy.exp(numpy.from_dlpack(x))

            return dict.fromkeys(bytes(data).decode().split(), exp)

    def body(a: Any, b: Any) -> Any:
        return relax.exp(relax.tanh(relax.exp(a)))

    a = numpy.random.default_rng(1).normal(size=(4, 4)).astype("float32")
    with codegen(EXP, base=Working) as npu:
        program = rx.compile(built(body), partition=npu)
        numpy.testing.assert_allclose(program["main"](a, a), numpy.exp(numpy.tanh(numpy.exp(a))), rtol=1e-6)
    assert sizes == [4096, 4096]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda *_: -1, "needs -1 bytes of workspace"),
        (lambda *_: True, "needs True bytes of workspace"),
        (lambda *_: 1 << 63, "needs 9223372036854775808 bytes of workspace"),
        (lambda *_: 1 / 0, r"workspace\(\) of @fused_exp_npu: ZeroDivisionError"),
    ],
)
def test_a_workspace_that_is_none(asked: Any, message: str) -> None:
    with codegen(EXP, workspace=asked) as npu, pytest.raises(rx.RelaxError, match=f"codegen 'npu'.*{message}"):
        rx.compile(built(lambda a, b: relax.exp(a)), partition=npu)


@pytest.mark.parametrize(
    ("members", "seen"),
    [
        ({}, "relax.exp"),
        ({"pipeline": "relax-inline,relax-canonicalize,cse"}, "relax.exp"),
        ({"target": "llvm", "stage": "legalize"}, "relax.call_tir"),
        ({"target": "llvm", "stage": "bufferize"}, "memref<4x4xf32>"),
        ({"target": "llvm"}, "llvm.func"),
    ],
)
def test_parts_come_as_far_lowered_as_is_asked_for(members: dict[str, str], seen: str) -> None:
    """Lower a copy: the declined part returns in its original form."""
    found: list[str] = []

    def compile_(self: Any, module: rx.Module, options: Mapping[str, str]) -> bytes:
        found.append(str(module))
        raise rx.RelaxError("not today")

    a = numpy.ones((4, 4), "float32")
    with codegen(EXP, compile=compile_, **members) as npu, pytest.warns(RuntimeWarning, match="not today"):
        program = rx.compile(built(lambda a, b: relax.exp(a)), partition=npu)
    assert len(found) == 1 and seen in found[0]
    numpy.testing.assert_allclose(program["main"](a, a), numpy.exp(a), rtol=1e-6)


def test_a_pipeline_that_fails_is_a_reason() -> None:
    with codegen(EXP, pipeline="relax-bind-params{params=none}") as npu, pytest.warns(RuntimeWarning, match="declined"):
        rx.compile(built(lambda a, b: relax.exp(a)), partition=npu)


def test_passes_on_parts_as_objects() -> None:
    """Run passes on the parts of one codegen. rx.External prints as external{...}(...)."""
    other = [("dsp.tanh", is_op("relax.tanh"))]
    with codegen(EXP) as npu, codegen(other, "dsp") as dsp:
        passes = [rx.Partition(codegens=(npu, dsp)), rx.External(npu, "symbol-dce,func.func(cse)"), "cse"]
        pipeline = rx.Pipeline([*passes, rx.External(dsp, [MarkAll()])])
        assert "external{codegen=npu}(symbol-dce,func.func(cse))" in str(pipeline)
        assert str(rx.Pipeline(str(pipeline).replace("test-mark-all", "cse")))
        apart = built(lambda a, b: relax.tanh(relax.exp(a)))
        pipeline.run(apart)
    marked = {
        str(each.attributes["sym_name"]): "test.mark" in each.attributes for each in external_modules(apart.operation)
    }
    assert sorted(marked.values()) == [False, True] and "dsp" in next(name for name, is_ in marked.items() if is_)


def test_wrong_options_of_an_anchor_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match=r"external has no option 'core' .*codegen, symbol, and attributes"):
        rx.External("example_npu", "cse", attributes={"core": "1"})
    with pytest.raises(rx.RelaxError, match=r"external: unknown codegen 'example_np'; did you mean 'example_npu'"):
        rx.Pipeline(rx.External("example_np", "cse")).run(built(layers))
    rx.Pipeline(rx.External("example_npu", "cse", attributes={"npu.core": "1"})).run(built(layers))


@dataclass(frozen=True)
class MarkAll(rx.Pass):
    name: ClassVar[str] = "test-mark-all"

    def run(self, op: Any) -> None:
        op.attributes["test.mark"] = rx.ir.UnitAttr.get(op.context)


def test_kernels_that_are_declined_come_back() -> None:
    """Return declined kernels together with their PrimFuncs, under free names."""
    module = built(layers)
    a, b = numpy.random.default_rng(1).normal(size=(2, 4, 4)).astype("float32")
    base, warned = refused(rx.RelaxError("not today")), pytest.warns(RuntimeWarning, match="codegen 'dsp' declined")
    with codegen([("dsp.any", is_op("relax.call_tir"))], "dsp", base=base) as dsp, warned:
        program = rx.compile(module, partition=dsp)
    numpy.testing.assert_allclose(program["main"](a, b), numpy.tanh(numpy.maximum(a @ b, 0)), atol=1e-6)


def test_only_the_part_itself_is_called_from_outside() -> None:
    """Copy a public function into each part that calls it."""
    text = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    apart = changed(rx.Module.parse(text), "relax-outline-external")
    (part,) = external_modules(apart.operation)
    assert list(rx.Codegen.functions(part)) == ["part"]
    assert "func.func @twice" in str(apart)
