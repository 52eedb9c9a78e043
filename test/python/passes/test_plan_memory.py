# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-plan-memory: stated plans, also edited ones, are followed, and refused where they would not work."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import blocks
import numpy
import pytest
from before_after import functions_by_name, random_arrays
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.mlir import string_array
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.aliases import root_of
from relax_mlir.dialects.core.ir_attributes import MEMORY, MEMORY_PLAN
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax


def chain(size: int | str = 64, count: int = 4) -> rx.Module:
    """Return a chain of operators that cannot write over their operands."""
    module = rx.Module()
    with module.function("main", [rx.tensor((size,))]) as f:
        (x,) = f
        for _ in range(3 * count):
            x = relax.flip(x, axis=0)
        f.returns(relax.flip(x, axis=0))
    return module


def planned(module: rx.Module) -> rx.Module:
    copied = module.copy()
    rx.Pipeline("relax-legalize-ops,tir-lower-intrinsics,tir-bufferize,relax-plan-memory").run(copied)
    return copied


def places(module: rx.Module) -> dict[Any, str]:
    """Return the stated place of each operation with one result."""
    found = [op for op in operations_in(module.operation) if MEMORY in op.attributes]
    return {op: op.attributes[MEMORY][0].value for op in found}


def state(module: rx.Module, op: Any, text: str) -> None:
    with module.context:
        op.attributes[MEMORY] = string_array([text])


def finished(module: rx.Module) -> Any:
    return rx.compile(module, pipeline=rx.stages().between("bufferize").replace("bufferize", "relax-lower-calls"))


def refusal(module: rx.Module) -> str:
    before = str(module)
    with pytest.raises(rx.RelaxError) as raised:
        rx.Pipeline("relax-lower-calls").run(module)
    assert str(module) == before
    return str(raised.value)


def test_memory_apart() -> None:
    """Place all tensors separately, the results first in the arena: this works, with more memory."""
    module = chain()
    changed = planned(module)
    for index, op in enumerate(places(changed)):
        state(changed, op, f"arena {index * 256}")
    x = numpy.linspace(-1, 1, 64, dtype="float32")
    assert (to_numpy(finished(changed)["main"](x)) == to_numpy(rx.compile(module)["main"](x))).all()
    lowered = changed.copy()
    rx.Pipeline("relax-lower-calls").run(lowered)
    assert f"memref<{13 * 256}xi8>" in str(lowered)
    assert f"{MEMORY} =" not in str(lowered)


def test_the_manifest_tells_of_memory() -> None:
    executable = rx.compile(chain(count=1), pipeline=rx.stages("llvm", 0), opt_level=0)
    assert executable.signature("main")["memory"] == {"arena": 512, "peak": 512, "slots": [], "sum": 768}
    symbolic = rx.compile(chain("n", count=1), pipeline=rx.stages("llvm", 0), opt_level=0)
    assert symbolic.signature("main")["memory"]["slots"] == ["8*n"]


def test_sizes_of_a_range() -> None:
    """Plan for the largest size: the smallest and the largest work, and others are refused by name."""
    options: Any = {"pipeline": rx.stages("llvm", 0), "opt_level": 0}
    executable = rx.compile(chain("n", count=1), bind={"n": "2..64"}, **options)
    expected = {"arena": 512, "peak": 512, "slots": [], "sum": 768, "ranges": {"n": [2, 64]}}
    assert executable.signature("main")["memory"] == expected
    for size in (2, 7, 64):
        x = numpy.arange(size, dtype="float32")
        assert (to_numpy(executable["main"](x)) == x).all()
    for size in (1, 65):
        with pytest.raises(ValueError, match=rf"argument #0 .*dimension 0: n is {size}, expected 2 to 64"):
            executable["main"](numpy.zeros(size, "float32"))
    fixed = rx.compile(chain("n", count=1), bind={"n": 8}, **options)
    assert "ranges" not in fixed.signature("main")["memory"]
    with pytest.raises(rx.RelaxError, match="has no symbolic size 'm'; it has: n"):
        rx.compile(chain("n", count=1), bind={"m": 8}, **options)
    numbers = "no symbolic size 'm'; all sizes of its inputs are numbers\n.*--shape <input>:n"
    with pytest.raises(rx.RelaxError, match=numbers):
        rx.compile(chain(8, count=1), bind={"m": 8}, **options)


def test_a_range_says_nothing_of_what_has_no_sizes() -> None:
    module = rx.Module.parse("""
func.func @main(%k: i64, %o: !relax.object, %x: tensor<?xf32, #relax.sym<["n"]>>, %s: f32)
    -> tensor<?xf32, #relax.sym<["n"]>> {
  %y = "relax.exp"(%x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %y : tensor<?xf32, #relax.sym<["n"]>>
}
""")
    rx.Pipeline('relax-bind-symbolic-vars{vars="n:2..64"},relax-legalize-ops,tir-bufferize,relax-lower-calls').run(
        module
    )
    (named,) = re.findall(r"argument #(\d.*) is {}, expected 2 to 64", str(module))
    assert named == "2 'arg2' dimension 0: n"


def test_sizes_that_a_range_lets_be_negative() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 4))]) as f:
        (x,) = f
        shorter = relax.strided_slice(x, axes=[0], begin=[2], end=[100])
        f.returns(relax.flip(relax.flip(shorter, axis=0), axis=0))
    executable = rx.compile(module, pipeline=rx.stages("llvm", 0), opt_level=0, bind={"n": "1..64"})
    for size in (1, 2, 64):
        x = numpy.arange(4 * size, dtype="float32").reshape(size, 4)
        assert (to_numpy(executable["main"](x)) == x[2:]).all()


def test_memory_of_its_own() -> None:
    module = chain()
    changed = planned(module)
    for op in places(changed):
        state(changed, op, "own")
    x = numpy.linspace(-1, 1, 64, dtype="float32")
    assert (to_numpy(finished(changed)["main"](x)) == to_numpy(rx.compile(module)["main"](x))).all()


def test_slots() -> None:
    module = chain("n", 1)
    changed = planned(module)
    for index, op in enumerate(places(changed)):
        state(changed, op, f"slot {10 - index}")
    x = numpy.linspace(-1, 1, 37, dtype="float32")
    assert (to_numpy(finished(changed)["main"](x)) == to_numpy(rx.compile(module)["main"](x))).all()


@pytest.mark.parametrize(
    ("which", "text", "expected"),
    [
        (1, "arena 0", "it overlaps the result of 'relax.call_tir', which is read later still"),
        (1, "arena 192", "it overlaps the result of 'relax.call_tir', which is read later still"),
        (1, "arena 100", "places are multiples of 64 bytes"),
        (1, "slot 0", "its size is a number: its place is in the arena"),
        (1, "result 0", "it cannot be written into result 0 of the function"),
        (3, "result 1", "it cannot be written into result 1 of the function"),
        (1, "arena", "'result <number>', 'operand <number>', 'stack' or 'own'"),
        (1, "stack", "on the stack are small tensors of fixed size, in loops and branches"),
        (1, "arena -64", "expected 'arena <bytes>'"),
        (1, "heap 3", "expected 'arena <bytes>'"),
        (1, "", "expected 'arena <bytes>'"),
    ],
)
def test_plans_that_do_not_work(which: int, text: str, expected: str) -> None:
    module = planned(chain(count=1))
    state(module, list(places(module))[which], text)
    found = refusal(module)
    assert expected in found and f'relax.memory = "{text}"' in found and "test_plan_memory.py:" in found


def test_slots_for_several_sizes() -> None:
    """Make a slot as large as its largest tensor."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",)), rx.tensor(("m",))]) as f:
        x, y = f
        f.returns(relax.flip(relax.flip(x, axis=0), axis=0), relax.flip(relax.flip(y, axis=0), axis=0))
    module = planned(module)
    ops = list(places(module))
    state(module, ops[0], "slot 0")
    state(module, ops[2], "slot 0")
    arrays = [numpy.linspace(-1, 1, size, dtype="float32") for size in (7, 300)]
    for inputs in (arrays, arrays[::-1]):
        for actual, expected in zip(finished(module)["main"](*inputs), inputs, strict=True):
            numpy.testing.assert_array_equal(to_numpy(actual), expected)
    state(module, ops[2], "arena 0")
    assert "its size is symbolic: its place is in a slot" in refusal(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("slot 0 + 4*n", ""),
        ("slot 0 + 8*n + 64", ""),
        ("slot 0 + 3*n", "places of such elements are multiples of 4 bytes"),
        ("slot 0 + 4*n - 4", "it is unknown where 4*n - 4 is, or that it is in the slot"),
        ("slot 0 + 4*m", "it is unknown where 4*m is, or that it is in the slot"),
        ("slot 0 + 4*", "column 3: expected a name, an integer"),
        ("slot 0 + 2*n + 2*max(n - 2, 0)", "multiples of 4 bytes"),
        ("slot 0 + 4*max(n - 2, 0)", "it overlaps the result of 'relax.call_tir', which is read later still"),
        ("result 0 + 4", "expected 'arena <bytes>'"),
    ],
)
def test_places_in_slots(text: str, expected: str) -> None:
    module = planned(chain("n", 1))
    ops = list(places(module))
    assert places(module)[ops[1]].startswith("slot 0 + 4*n;")
    state(module, ops[1], text)
    if expected:
        assert expected in refusal(module)
        return
    x = numpy.linspace(-1, 1, 37, dtype="float32")
    assert (to_numpy(finished(module)["main"](x)) == to_numpy(rx.compile(chain("n", 1))["main"](x))).all()


@pytest.mark.parametrize("block", [blocks.resnet, blocks.transformer, blocks.llama])
def test_the_arena_is_hardly_more_than_what_is_alive(block: Any) -> None:
    module = block(4)
    rx.Pipeline("relax-lower{stop=apply},tir-bufferize,relax-plan-memory").run(module)
    plan = functions_by_name(module)["main"].attributes[MEMORY_PLAN]
    assert 0 < plan["peak"].value <= plan["arena"].value <= 1.2 * plan["peak"].value < plan["sum"].value


@draws(20, deadline=None)
@given(st.one_of(blocks.images(), blocks.sequences()))
def test_a_stated_plan_is_the_plan(module: rx.Module) -> None:
    """Check that lowering by the stated plan gives the same code as planning during lowering."""
    rx.Pipeline("relax-lower{stop=apply},tir-bufferize").run(module)
    texts = []
    for passes in ("relax-plan-memory,relax-lower-calls", "relax-lower-calls"):
        copied = module.copy()
        rx.Pipeline(passes).run(copied)
        stated = functions_by_name(copied)["main"].attributes
        if MEMORY_PLAN in stated:
            del stated[MEMORY_PLAN]
        texts.append(str(copied))
    assert texts[0] == texts[1]


def test_results_with_memory_planned() -> None:
    module = blocks.transformer(2)
    arrays = random_arrays(module)
    usual = rx.compile(module, opt_level=0)
    stages = rx.stages("llvm", 0).replace("bufferize", "tir-bufferize,relax-lower-calls")
    without = rx.compile(module, pipeline=stages, opt_level=0)
    assert (to_numpy(usual["main"](*arrays)) == to_numpy(without["main"](*arrays))).all()


class Entry(NamedTuple):
    """Stated place, size and lifetime of a result."""

    place: str
    size: int
    first: int
    last: int


def stated_of(function: Any) -> dict[Any, Entry]:
    """Return the entry of each tensor, parsed from the texts."""
    found = {}
    for op in operations_in(function):
        texts = list(op.attributes[MEMORY]) if MEMORY in op.attributes else []
        for value, text in zip(op.results, texts, strict=False):
            match = re.fullmatch(r"([a-z0-9 ]+); (\d+) bytes; live (\d+) to (\d+)", text.value)
            assert match, text
            found[value] = Entry(match[1], (int(match[2]) + 63) // 64 * 64, int(match[3]), int(match[4]))
    return found


def is_in_arena(value: Any, entries: dict[Any, Entry]) -> bool:
    """Check whether a tensor is in the arena, by following operands and views to a tensor with a place of its own."""
    word, _, number = entries[value].place.partition(" ")
    op = value.owner
    if word == "operand":
        return is_in_arena(root_of(op.operands[int(number)]), entries)
    if word == "view":
        return any(is_in_arena(root, entries) for root in map(root_of, op.operands) if root in entries)
    if word == "part":
        users = [use.owner for use in value.uses if MEMORY in use.owner.attributes]
        return any(is_in_arena(user.results[0], entries) for user in users if entries[user.results[0]].place != "view")
    return word == "arena"


@pytest.mark.parametrize("block", [blocks.resnet, blocks.transformer, blocks.llama])
def test_arena_peak_and_sum_are_what_the_places_say(block: Any) -> None:
    module = block(2)
    rx.Pipeline("relax-lower{stop=apply},tir-bufferize,relax-plan-memory").run(module)
    function = functions_by_name(module)["main"]
    entries = stated_of(function)
    placed = [each for each in entries.values() if each.place.startswith("arena")]
    plan = {name: function.attributes[MEMORY_PLAN][name].value for name in ("arena", "peak", "sum")}
    assert plan["arena"] == max(int(each.place.split()[1]) + each.size for each in placed)
    assert plan["sum"] == sum(each.size for value, each in entries.items() if is_in_arena(value, entries))
    positions = range(max(each.last for each in placed) + 1)
    alive = max(sum(each.size for each in placed if each.first <= at <= each.last) for at in positions)
    # A tensor may overlap another one that is read for the last time when the tensor is made.
    apart = max(sum(each.size for each in placed if each.first <= at < each.last) for at in positions)
    assert apart <= plan["peak"] <= alive and plan["peak"] <= plan["arena"]


def test_a_size_that_is_known_where_its_symbol_is_not() -> None:
    """Keep memory of 8*n + 8 for n + 1 separate: no rule derives it."""
    module = chain("n + 1", 1)
    x = numpy.arange(5, dtype="float32")
    assert (to_numpy(rx.compile(module, opt_level=0)["main"](x)) == x).all()


@pytest.mark.parametrize("size", ["n", "n - 3", "2*n - 2*m"])
def test_sizes_that_may_seem_negative_share_a_slot(size: str) -> None:
    """Share slots for n - 3 elements: only the tensors themselves show that the size is not negative."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",)), rx.tensor(("m",)), rx.tensor((size,))]) as f:
        *_, x = f
        one = relax.flip(x, axis=0)
        other = relax.flip(relax.cumsum(one, axis=0), axis=0)
        f.returns(relax.add(relax.cumsum(other, axis=0), relax.multiply(relax.cumsum(one, axis=0), other)))
    slots = {text.partition(";")[0] for text in places(planned(module)).values() if text.startswith("slot")}
    assert len(slots) > 1 and all(text.startswith("slot 0") for text in slots), slots
    n, m = numpy.zeros(9, "float32"), numpy.zeros(6, "float32")
    given = numpy.arange(9 if size == "n" else 6, dtype="float32")
    one = given[::-1]
    other = one.cumsum()[::-1]
    expected = other.cumsum() + one.cumsum() * other
    numpy.testing.assert_allclose(rx.compile(module)["main"](n, m, given), expected)
