# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The journal: recorded and refused facts, nesting of journals, and the facts of a compilation's passes."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy
import pytest
from relax_mlir.passes.core.journal import StageFact, timed

import relax_mlir as rx


def module() -> rx.Module:
    made = rx.Module()
    relax: Any = rx.relax
    inputs = {"x": rx.tensor((8, 4)), "w": rx.tensor((4, 4))}
    with made, made.function("main", inputs) as f:
        x, w = f

        def at(name: str, make: Any) -> Any:
            with rx.ir.Location.name(name):
                return make()

        product = at("product", lambda: relax.matmul(x, w))
        positive = at("positive", lambda: relax.nn.relu(product))
        shares = at("shares", lambda: relax.nn.softmax(positive, axis=-1))
        turned = at("turned", lambda: relax.permute_dims(shares, axes=[1, 0]))
        flat = at("flat", lambda: relax.reshape(turned, (8, 4)))
        f.returns(at("sum", lambda: relax.add(flat, positive)))
    return made


@pytest.fixture(scope="module")
def journal() -> rx.Journal:
    kept = rx.Journal(steps=True)
    rx.compile(module(), journal=kept)
    return kept


# ---- keeping facts ----


def test_no_journal_listens_by_itself() -> None:
    assert rx.Journal.active() is None


def test_the_innermost_journal_is_written() -> None:
    outer, inner = rx.Journal(), rx.Journal()
    with outer.recording():
        with inner.recording():
            assert rx.Journal.active() is inner
        assert rx.Journal.active() is outer
    assert rx.Journal.active() is None


def test_recording_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), rx.Journal().recording():
        _ = 1 / 0
    assert rx.Journal.active() is None


def test_other_threads_are_not_listened_to() -> None:
    found: list[Any] = []
    with rx.Journal().recording():
        thread = threading.Thread(target=lambda: found.append(rx.Journal.active()))
        thread.start()
        thread.join()
    assert found == [None]


def test_facts_in_their_order_and_by_kind() -> None:
    journal = rx.Journal()
    journal.note("a", x=1)
    journal.add(StageFact("fuse", 0.5))
    journal.note("a", x=2)
    assert journal.kinds == ["a", "stage"]
    assert [fact["x"] for fact in journal.of("a")] == [1, 2]
    assert journal.of("stage") == [{"kind": "stage", "name": "fuse", "seconds": 0.5}]
    assert len(journal) == 3
    assert str(journal).splitlines()[1] == "stage: name='fuse' seconds=0.5"


def test_later_changes_do_not_affect_recorded_facts() -> None:
    journal, sizes = rx.Journal(), [1, 2]
    journal.note("a", sizes=sizes)
    sizes.append(3)
    assert journal.facts[0]["sizes"] == [1, 2]


def test_json() -> None:
    journal = rx.Journal()
    journal.note("a", text='</script>"\n\udc80', values=(1, 2.5, None, True), named={"x": []})
    content = json.loads(journal.to_json())
    fact = {"kind": "a", "text": '</script>"\n\udc80', "values": [1, 2.5, None, True], "named": {"x": []}}
    assert content == {"format": 1, "facts": [fact]}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("nan"), "nan"), (float("inf"), "inf"), (object(), "a object"), ({1: 2}, "a dict"), ([{2}], "a set")],
)
def test_values_that_json_cannot_hold_are_refused(value: Any, shown: str) -> None:
    journal = rx.Journal()
    with pytest.raises(rx.RelaxError, match=f"field 'x' of a fact of kind 'a' is {shown}, which JSON cannot hold"):
        journal.note("a", x=value)
    assert len(journal) == 0


def test_a_fact_needs_a_kind() -> None:
    with pytest.raises(rx.RelaxError, match="needs a kind"):
        rx.Journal().note("", x=1)
    with pytest.raises(rx.RelaxError, match="field 'kind', which is taken"):
        rx.Journal().note("a", **{"kind": 1})


def test_timed() -> None:
    journal = rx.Journal()
    with timed("unheard"):
        pass
    with journal.recording(), timed("heard"):
        pass
    (fact,) = journal.facts
    assert fact["name"] == "heard"
    assert fact["seconds"] >= 0


# ---- facts of passes ----


def test_listening_changes_nothing() -> None:
    heard, unheard = rx.compile(module(), journal=rx.Journal()), rx.compile(module())
    assert [bytes(each) for each in heard._artifact.objects] == [bytes(each) for each in unheard._artifact.objects]
    x, w = numpy.ones((8, 4), "float32"), numpy.ones((4, 4), "float32")
    assert numpy.array_equal(numpy.from_dlpack(heard["main"](x, w)), numpy.from_dlpack(unheard["main"](x, w)))


def test_every_stage_tells_its_time(journal: rx.Journal) -> None:
    assert [fact["name"] for fact in journal.of("stage")] == [*rx.stages("llvm").names, "code"]


def test_every_pass_tells_what_it_did_to_the_graph() -> None:
    kept, made = rx.Journal(), rx.Module()
    relax: Any = rx.relax
    with made.function("main", {"x": rx.tensor((8, 4))}) as f:
        (x,) = f
        f.returns(relax.add(relax.exp(relax.permute_dims(relax.permute_dims(x))), relax.exp(x)))
    rx.compile(made, journal=kept)
    done = {fact["name"]: fact for fact in kept.of("pass")}
    assert done["relax-canonicalize"]["operations"] == {"relax.permute_dims": -2}
    assert sum(done["relax-canonicalize"]["patterns"].values()) > 0
    assert done["cse"]["operations"] == {"relax.exp": -1}
    legalized = {"func.func": 2, "relax.add": -1, "relax.call_tir": 2, "relax.exp": -1}
    assert (done["relax-legalize-ops"]["stage"], done["relax-legalize-ops"]["operations"]) == ("legalize", legalized)
    assert done["tir-fuse"]["operations"] == {"func.func": -1, "relax.call_tir": -1}
    assert "tir-plan" not in done, "it does nothing to the graph"


def test_operators_and_the_rule_that_took_each(journal: rx.Journal) -> None:
    operators = {fact["index"]: fact for fact in journal.of("operator")}
    assert [fact["operator"] for fact in operators.values()] == [
        f"relax.{name}" for name in "matmul nn.relu nn.softmax permute_dims reshape add".split()
    ]
    assert operators[0]["inputs"] == ["x", "w"]
    assert operators[0]["results"] == ["f32[8,4]"]
    assert operators[5]["inputs"] == [4, 1]
    taken = {fact["index"]: fact for fact in journal.of("legalized")}
    kept = [fact["operation"] for fact in journal.of("call") if not fact["callee"]]
    assert sorted(taken) == [0, 1, 2, 3, 5]
    assert kept == ["relax.reshape"]
    for index, fact in taken.items():
        assert fact["operator"] == operators[index]["operator"]
        assert fact["origins"] == operators[index]["origins"]
    assert taken[0]["kernels"] == ["matmul"]
    assert taken[0]["place"].startswith("llvm/legalize_linear_algebra")


def test_each_call_is_made_of_what_was_legalized(journal: rx.Journal) -> None:
    """Check that a legalized PrimFunc is still called, directly or in a fused kernel."""
    made = sorted((kernel, *fact["origins"]) for fact in journal.of("legalized") for kernel in fact["kernels"])
    fused = {(fact["kernel"], *fact["origins"]): fact["members"] for fact in journal.of("fused")}
    assert fused
    found: list[Any] = []
    for call in journal.of("call"):
        if call["callee"]:
            members = fused.get((call["callee"], *call["origins"]), [{"kernel": call["callee"], **call}])
            found += [(member["kernel"], *member["origins"]) for member in members]
    assert sorted(found) == made


def test_why_calls_stay_apart(journal: rx.Journal) -> None:
    apart = {(fact["producer"]["origins"][0], fact["consumer"]["origins"][0]) for fact in journal.of("not-fused")}
    together = [{name for member in fact["members"] for name in member["origins"]} for fact in journal.of("fused")]
    assert apart
    assert not any({one, other} <= names for one, other in apart for names in together)
    assert all(fact["reason"] for fact in journal.of("not-fused"))


def test_buffers_in_use_at_once_do_not_overlap(journal: rx.Journal) -> None:
    (memory,) = journal.of("memory")
    placed = [buffer for buffer in memory["buffers"] if buffer["offset"] is not None]
    assert len(placed) >= 2, f"the arena holds no two buffers: {memory['buffers']}"
    for buffer in placed:
        assert buffer["first"] <= buffer["last"], f"used last before first: {buffer}"
        end = buffer["offset"] + buffer["bytes"]
        assert end <= memory["fixed_bytes"], f"reaches beyond the arena's {memory['fixed_bytes']} bytes: {buffer}"
    for place, one in enumerate(placed):
        for other in placed[place + 1 :]:
            in_use_at_once = one["first"] <= other["last"] and other["first"] <= one["last"]
            one_end, other_end = one["offset"] + one["bytes"], other["offset"] + other["bytes"]
            apart = one_end <= other["offset"] or other_end <= one["offset"]
            assert apart or not in_use_at_once, f"in use at once and on top of each other: {one}, {other}"


def test_calls_use_buffers_only_during_their_lifetime(journal: rx.Journal) -> None:
    (memory,) = journal.of("memory")
    buffers = {buffer["number"]: buffer for buffer in memory["buffers"]}
    positions = [call["position"] for call in journal.of("call")]
    assert positions == sorted(positions)
    used = [(call, place) for call in journal.of("call") for place in [*call["inputs"], *call["outputs"]]]
    for number, buffer in buffers.items():
        uses = [call["position"] for call, place in used if place.get("buffer") == number]
        assert min(uses) == buffer["first"], f"calls {uses} use {buffer}"
        assert max(uses) == buffer["last"] or buffer["output"] is not None, f"calls {uses} use {buffer}"
    assert {"x", "w"} <= {place.get("input") for _, place in used}


def test_kernels_their_schedules_and_loops(journal: rx.Journal) -> None:
    called = {call["callee"] for call in journal.of("call") if call["callee"]}
    kernels = {fact["name"]: fact for fact in journal.of("kernel")}
    schedules = {fact["kernel"]: fact for fact in journal.of("schedule")}
    assert called == set(kernels) == set(schedules)
    assert all(fact["text"].startswith("@T.prim_func") for fact in kernels.values())
    product = next(fact for fact in journal.of("loops") if "matmul" in fact["kernel"] and fact["reductions"])
    assert product["plan"] == "matmul"
    assert sorted(product["sizes"]) == [4, 4, 8]
    assert [product["sizes"][dim] for dim in product["reductions"]] == [4]
    assert product["flops"] == 2
    steps = schedules[product["kernel"]]["steps"]
    assert any(line.startswith("sch.vectorize(") for line in steps) or steps[0].startswith("# "), steps
    plain = rx.Journal()
    rx.compile(module(), journal=plain)
    assert not any(fact["steps"] for fact in plain.of("schedule"))


def test_a_buffer_of_symbolic_size_has_a_slot() -> None:
    made, journal, relax = rx.Module(), rx.Journal(), rx.relax
    with made, made.function("main", {"x": rx.tensor(("n", 4))}) as f:
        (x,) = f
        f.returns(relax.matmul(relax.permute_dims(x), relax.nn.softmax(x, axis=0)))
    rx.compile(made, journal=journal)
    (memory,) = journal.of("memory")
    assert memory["fixed_bytes"] == 0
    placed = [buffer for buffer in memory["buffers"] if buffer["slot"] is not None]
    assert [(buffer["bytes"], buffer["shift"]) for buffer in placed] == [("16*n", "0"), ("16*n", "16*n")]
    assert memory["slots"] == ["32*n"]


@dataclass(frozen=True)
class CountCalls(rx.Pass):
    """Pass that records the number of calls in a module."""

    name: ClassVar[str] = "count-calls"

    def run(self, op: Any) -> None:
        journal = rx.Journal.active()
        if journal is not None:
            text = str(op)
            journal.note("calls", count=text.count("relax.call_tir"))


def test_a_pass_tells_facts_of_its_own() -> None:
    journal = rx.Journal()
    rx.compile(module(), pipeline=rx.stages("llvm").insert_after("fuse", "count", CountCalls()), journal=journal)
    (fact,) = journal.of("calls")
    assert fact["count"] == sum(call["operation"] == "relax.call_tir" for call in journal.of("call"))
    assert "count" in [stage["name"] for stage in journal.of("stage")]


def test_sizes_of_a_kernel_with_an_empty_axis() -> None:
    """Return the size of the tensor's creation behind an axis of size 0."""
    module = rx.Module.parse("""
func.func private @kernel(%x: tensor<?xf32>, %out: tensor<0x?xf32>) -> tensor<0x?xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %zero : tensor<?xf32>
  %new = tensor.empty(%n) : tensor<0x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    outs(%new : tensor<0x?xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<0x?xf32>
  return %y : tensor<0x?xf32>
}
""")
    kept = rx.Journal()
    with kept.recording():
        rx.Pipeline("tir-plan,tir-apply-plan").run(module)
    assert [fact["sizes"] for fact in kept.of("loops")] == [[0, "0.0"]]
