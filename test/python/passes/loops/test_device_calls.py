# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Declining functions that emit a device's copies, waits and instructions, and errors with their line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import relax_mlir as rx
from relax_mlir import relax, tir
from relax_mlir.script import tir as T

NUMBERS = count()


@T.prim_func
def dot(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for j, k in T.grid(8, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            C[vj] = C[vj] + A[vk] * B[vk, vj]


def copy_elements(source: Any, target: Any) -> None:
    rx.loops.nest(rx.loops.sizes(source), lambda *at: rx.loops.store(rx.loops.load(source, *at), target, *at) and None)


def emit_dot(a: Any, b: Any, c: Any) -> None:
    rx.loops.nest((8, 8), lambda j, k: rx.loops.store(
        rx.loops.load(c, j) + rx.loops.load(a, k) * rx.loops.load(b, k, j), c, j) and None)  # fmt: skip


def wait_for_nothing(pending: int) -> None:
    del pending


def device(
    parent: str,
    copy: Callable[..., object] = copy_elements,
    emit: Callable[..., object] = emit_dot,
    wait: Callable[..., object] | None = None,
) -> str:
    """Register a target with an instruction for products in a memory of its own, and return its name."""
    name = f"declining{next(NUMBERS)}"
    rx.schedules.register_memory(f"{name}.sram", bytes=8 << 10, copy=copy, wait=wait)
    memories = {each: f"{name}.sram" for each in "ABC"}
    rx.schedules.register_tensor_intrin(f"{name}.dot", dot, memories=memories)(emit)
    rx.register_target(rx.Target(name, parents=(parent,), doc="Of a test."))

    @rx.schedules.register_schedule(operator="relax.matmul", target=name)
    def by_the_unit(function: Any, context: Any) -> Any:
        return context.tensorized(function, f"{name}.dot", stages=2)

    return name


def product(dtype: str = "f32") -> rx.Module:
    module = rx.Module()
    with module.function("main", {"a": rx.tensor((8, 16), dtype), "b": rx.tensor((16, 8), dtype)}) as f:
        f.returns(relax.matmul(*f))
    return module


def lowered(module: rx.Module, target: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the code, and the facts about schedules."""
    with rx.Journal(schedules=True).recording() as journal:
        text = str(rx.lower(module, target))
    return text, journal.of("schedule")


def declining(*arguments: Any) -> Any:
    raise rx.Decline("contiguous rows only")


def returning(*arguments: Any) -> Any:
    return rx.Decline("contiguous rows only")


DECLINES: dict[str, dict[str, Any]] = {
    "copy": {"copy": declining},
    "copy, returned": {"copy": returning},
    "intrinsic": {"emit": declining},
    "intrinsic, returned": {"emit": returning},
    "wait": {"wait": declining},
}


@pytest.mark.parametrize("parent", ["llvm", "c"])
@pytest.mark.parametrize("case", DECLINES)
def test_a_function_may_decline(parent: str, case: str) -> None:
    """Schedule the PrimFunc as without the rule, if the rule declines."""
    target = device(parent, **DECLINES[case])
    text, (fact,) = lowered(product(), target)
    assert text == str(rx.lower(product(), parent))
    (declined, *_) = fact["declined"]
    assert declined["schedule"].startswith(f"by_the_unit for {target} (")
    assert "contiguous rows only" in declined["reason"] and "test_device_calls.py:" in declined["reason"]
    assert fact["schedule"] != "by_the_unit" and fact["intrinsics"] == []


def test_results_are_right_after_a_decline() -> None:
    x = np.random.default_rng(0).standard_normal((8, 16)).astype("float32")
    result = rx.compile(product(), device("llvm", copy=declining))["main"](x, x.reshape(16, 8))
    np.testing.assert_allclose(np.from_dlpack(result), x @ x.reshape(16, 8), rtol=1e-5, atol=1e-5)


def test_an_accepting_rule_is_used() -> None:
    target = device("llvm", wait=wait_for_nothing)
    _, (fact,) = lowered(product(), target)
    assert fact["schedule"] == "by_the_unit" and fact["intrinsics"] == [f"{target}.dot"]


def test_a_schedule_that_was_asked_for_is_an_error() -> None:
    name = device("llvm", copy=declining)
    sch = rx.Schedule(dot)
    sch.cache_read("C", "A", f"{name}.sram")
    with pytest.raises(rx.RelaxError) as caught:
        rx.compile(sch.mod)
    message = str(caught.value)
    assert "the schedule of @dot cannot be applied: copy= of memory" in message and "contiguous rows only" in message


def test_a_buffer_that_c_cannot_get_is_a_decline() -> None:
    def to_columns(source: Any, target: Any) -> None:
        tir.call_extern("declining_copy", [source, target, len(rx.loops.strides(source))], ())

    module = rx.Module()
    with module.function("main", {"a": rx.tensor((64, 16)), "b": rx.tensor((16, 12))}) as f:
        f.returns(relax.matmul(*f))
    _, (fact,) = lowered(module, device("llvm", copy=to_columns))
    reason = fact["declined"][0]["reason"]
    assert reason.startswith("C function 'declining_copy': it is given buffers whose last dimension is contiguous")


# ---- mistakes ----


def with_a_mistake(*memrefs: Any) -> None:
    memrefs[0].no_such_thing()


def with_a_wrong_operand(*memrefs: Any) -> None:
    tir.call_extern("some", ["one"], ())


MISTAKES = {
    "copy": ("copy= of memory 'declining", {"copy": with_a_mistake}),
    "intrinsic": ("tensor intrinsic 'declining", {"emit": with_a_mistake}),
    "wait": ("wait= at '", {"wait": with_a_mistake}),
}


@pytest.mark.parametrize("parent", ["llvm", "c"])
@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_names_the_function_and_the_line(parent: str, case: str) -> None:
    what, functions = MISTAKES[case]
    line = with_a_mistake.__code__.co_firstlineno + 1
    with pytest.raises(rx.RelaxError) as caught:
        rx.lower(product(), device(parent, **functions))
    message = str(caught.value)
    assert what in message and "AttributeError: " in message and f"(at loops/test_device_calls.py:{line})" in message
    assert isinstance(caught.value.__cause__, AttributeError)


def test_a_refusal_names_the_function_and_the_line() -> None:
    line = with_a_wrong_operand.__code__.co_firstlineno + 1
    with pytest.raises(rx.RelaxError) as caught:
        rx.lower(product(), device("llvm", emit=with_a_wrong_operand))
    message = str(caught.value)
    assert "operand 'args' must be an SSA value, got str" in message
    assert "in tensor intrinsic 'declining" in message and f"at loops/test_device_calls.py:{line}" in message


# ---- explanations ----


def test_rules_and_intrinsics_that_are_not_used_say_why() -> None:
    target = device("llvm")
    module = rx.Module()
    with module.function("main", {"a": rx.tensor((8, 16), "f64"), "b": rx.tensor((16, 8), "f64"),
                                  "c": rx.tensor(("n",), "f32")}) as f:  # fmt: skip
        a, b, c = f
        f.returns(relax.matmul(a, b), relax.exp(c))
    _, facts = lowered(module, target)
    by_kernel = {fact["kernel"]: fact for fact in facts}
    (declined, *_) = by_kernel["matmul"]["declined"]
    assert (
        f"'{target}.dot': the intrinsic's elements are f32, f32, f32, but 'matmul' has f64, f64, f64"
        in declined["reason"]
    )
    unused = {each["name"]: each["reason"] for each in by_kernel["exp"]["unused"]}
    (rule,) = [reason for name, reason in unused.items() if name.startswith("by_the_unit for")]
    assert rule == "is for operator 'relax.matmul'"
    assert unused[f"{target}.dot"] == "the intrinsic has 2 inputs, 'exp' has 1"
    text = rx.schedules.explain(facts)
    assert text.startswith("kernel  computes") and "not used" in text and "is for operator 'relax.matmul'" in text


@pytest.mark.parametrize(
    "dtype, out_dtype, reason",
    [
        ("ui8", "int32", "the intrinsic's elements are i8, i8, i32, but 'matmul' has ui8, ui8, i32"),
        ("i8", "int32", "the intrinsic fits 'matmul', but no rule has chosen it"),
        ("f32", "float32", "the intrinsic's elements are i8, i8, i32, but 'matmul' has f32, f32, f32"),
    ],
)
def test_the_reason_of_an_intrinsic(dtype: str, out_dtype: str, reason: str) -> None:
    name = f"declining{next(NUMBERS)}"
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int8"), B: T.Buffer((8, 8), "int8"), C: T.Buffer((8,), "int32")):
    for j, k in T.grid(8, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            C[vj] = C[vj] + T.cast(A[vk], "int32") * T.cast(B[vk, vj], "int32")
"""
    rx.schedules.register_tensor_intrin(f"{name}.dot", rx.Module.from_script(text))(emit_dot)
    rx.register_target(rx.Target(name, parents=("llvm",), doc="Of a test."))

    @rx.schedules.register_schedule(operator="relax.matmul", target=name)
    def never(function: Any, context: Any) -> Any:
        return context.decline("never")

    module = rx.Module()
    with module.function("main", {"a": rx.tensor((8, 16), dtype), "b": rx.tensor((16, 8), dtype)}) as f:
        f.returns(relax.matmul(*f, out_dtype=out_dtype))
    with rx.Journal(schedules=True).recording() as journal:
        rx.lower(module, name, pipeline=rx.stages(name).until("plan"))
    (fact,) = journal.of("schedule")
    assert {each["name"]: each["reason"] for each in fact["unused"]}[f"{name}.dot"] == reason


def test_a_journal_without_schedules_explains_nothing() -> None:
    with rx.Journal().recording() as journal:
        rx.lower(product(), device("llvm"), pipeline=rx.stages("llvm").until("plan"))
    assert all(fact["unused"] == [] == fact["intrinsics"] for fact in journal.of("schedule"))
