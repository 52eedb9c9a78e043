# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions, also from signal handlers, while MLIR calls Python: they are raised unchanged, and all else keeps
working."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.cache import drop
from relax_mlir.support.callbacks import Entrance, callback, enters, fragile

import relax_mlir as rx
from relax_mlir import relax

PROGRAM = Path(__file__).parents[1] / "helpers" / "interrupting.py"
VALID = """func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "failing.call"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "failing.call"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""

failing = rx.Dialect("failing")
#: Actions of the verifier of failing.call.
on_verify: list[Callable[[], None]] = []


def _infer(call: Any) -> Any:
    for action in on_verify:
        action()
    return call.x


failing.op("call", "x", infer=_infer)
failing.op("many", "*x", infer=lambda call: call.x[0])


@pytest.fixture(autouse=True)
def _raising_interrupts() -> Iterator[None]:
    """Restore SIGINT, which is ignored where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    on_verify.clear()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler was not given back"
    signal.signal(signal.SIGINT, before)


def module_of_one() -> rx.Module:
    """Return a module with operators that verification visits, whatever was verified before."""
    module = rx.Module.parse(VALID)
    drop(id(module.context))
    return module


def raise_(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(("work", "times"), [("small", 60), ("compiled", 6)])
@pytest.mark.parametrize("seed", [1, 2])
def test_interrupts_at_random_steps_leave_the_process_whole(work: str, times: int, seed: int) -> None:
    command = [sys.executable, str(PROGRAM), work, str(seed), str(times)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(command[1:])} ended with {result.returncode}:\n{result.stderr[-2000:]}"
    counts = json.loads(result.stdout)
    assert counts["interrupted"] > times // 2, f"only {counts['interrupted']} of {times} interrupts came through"
    assert counts["late"] < 100_000, f"an interrupt came {counts['late']} steps late"


WAYS: dict[str, Callable[[rx.Module], Any]] = {
    "verify": lambda module: module.operation.verify(),
    "str": lambda module: str(module.operation),
    "print": lambda module: module.operation.print(),
    "the printed value": lambda module: str(module.body.operations[0].regions[0].blocks[0].operations[0].result),
    "get_asm": lambda module: module.operation.get_asm(),
    "pass manager": lambda module: rx.Pipeline("cse").run(module),
    "parse": lambda module: rx.Module.parse(VALID),
    "operation's parse": lambda module: ir.Operation.parse(VALID, context=module.context),
    "module's parse": lambda module: ir.Module.parse(VALID, context=module.context),
}


ERRORS = [KeyError("lost"), RuntimeError("mine"), SystemExit(3), MemoryError(), RecursionError()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exceptions_of_verifiers_are_raised_with_the_line(way: str, error: BaseException) -> None:
    module = module_of_one()
    on_verify[:] = [raise_(error)]
    with pytest.raises((rx.RelaxError, MemoryError)) as caught:
        WAYS[way](module)
    if isinstance(error, MemoryError):
        assert caught.value is error
    else:
        assert caught.value.__cause__ is error
        assert f"the inference of 'failing.call': {type(error).__name__}" in str(caught.value)
        assert "test_callbacks.py:" in str(caught.value)
    on_verify.clear()
    WAYS[way](module)


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_in_a_verifier(way: str) -> None:
    module = module_of_one()
    reached: list[bool] = []
    on_verify[:] = [interrupt, lambda: reached.append(True)]
    with pytest.raises(KeyboardInterrupt):
        WAYS[way](module)
    assert not reached, "the verifier's own code must be interrupted at once"
    on_verify.clear()
    WAYS[way](module)


def test_an_interrupt_in_a_variadic_operators_verifier_leaves_its_operands(monkeypatch: Any) -> None:
    module = rx.Module()
    with module.function("f", ["tensor<2xf32>", "tensor<3xf32>"]) as f:
        failing.ops["many"]([*f.args])
        f.returns()
    text = module.print(assume_verified=True)
    uniform = type(failing.ops["many"])._make_uniform

    def interrupted(self: Any, operation: Any) -> None:
        uniform.__get__(self)(operation)
        interrupt()

    monkeypatch.setattr(type(failing.ops["many"]), "_make_uniform", fragile(interrupted))
    with pytest.raises(KeyboardInterrupt):
        module.operation.verify()
    assert module.print(assume_verified=True) == text


@pytest.mark.parametrize("error", [KeyError("lost"), KeyboardInterrupt(), StopIteration()])
def test_exceptions_of_walks_are_raised(error: BaseException) -> None:
    visited: list[str] = []

    def visit(op: Any) -> Any:
        visited.append(op.name)
        raise error

    with pytest.raises(type(error)) as caught:
        module_of_one().operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    assert caught.value is error
    assert visited == ["builtin.module"]


class Full:
    """File on a full disk."""

    def write(self, data: Any) -> int:
        raise OSError(28, "No space left on device")


def test_files_that_cannot_be_written() -> None:
    module = module_of_one()
    for write in (module.operation.write_bytecode, lambda file: module.operation.print(file=file)):
        with pytest.raises(OSError, match="No space left"):
            write(Full())
    module.verify()


def test_a_pattern_is_interrupted_while_it_runs() -> None:
    module = rx.Module.parse(VALID.replace("failing.call", "relax.exp"))
    reached: list[bool] = []

    def pattern(op: Any, rewriter: Any) -> None:
        relax.sin(op.x)
        interrupt()
        reached.append(True)

    for apply in (rx.apply_greedy, rx.apply_walk):
        with pytest.raises(KeyboardInterrupt):
            apply(module.operation, [rx.Pattern("relax.exp", pattern)])
    assert not reached
    assert "relax.sin" not in str(module)
    assert rx.apply_greedy(module.operation, [rx.Pattern("relax.exp", lambda op, rewriter: relax.cos(op.x))])


def test_a_handler_that_does_not_raise_changes_nothing() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        module = module_of_one()
        on_verify[:] = [lambda: signal.raise_signal(signal.SIGTERM)]
        assert module.operation.verify()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]


def test_a_handler_that_is_set_meanwhile_stays() -> None:
    def mine(number: int, frame: Any) -> None:
        pass

    enters(signal.signal)(signal.SIGINT, mine)
    assert signal.getsignal(signal.SIGINT) is mine
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_signals_wait_while_state_is_set() -> None:
    order: list[str] = []

    @fragile
    def set_state() -> None:
        interrupt()
        order.append("set")

    @enters
    def work() -> None:
        set_state()
        order.append("entered again")
        module_of_one()
        order.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert order == ["set", "entered again"]


def test_a_signal_that_waits_comes_out_even_where_something_else_fails() -> None:
    @fragile
    def fail() -> None:
        interrupt()
        raise KeyError("lost")

    with pytest.raises(KeyboardInterrupt) as caught:
        enters(fail)()
    assert isinstance(caught.value.__context__, KeyError)


def test_after_an_error_callbacks_are_not_called_again() -> None:
    calls: list[int] = []
    cleaned: list[bool] = []

    @callback(failed="no", clean_up=lambda: cleaned.append(True))
    def called(number: int) -> str:
        calls.append(number)
        raise KeyError(number)

    with Entrance() as entrance:
        assert [called(1), called(2)] == ["no", "no"]
    with pytest.raises(KeyError, match="1"):
        entrance.check()
    assert (calls, cleaned) == ([1], [True])


def test_another_thread_leaves_signals_alone() -> None:
    seen: list[Any] = []

    def work() -> None:
        on_verify[:] = [lambda: seen.append(signal.getsignal(signal.SIGINT))]
        seen.append(module_of_one().operation.verify())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    *handlers, is_valid = seen
    assert is_valid is True
    assert set(handlers) == {signal.default_int_handler}  # memoized results make the number of calls vary


def test_a_stack_that_is_nearly_full_is_refused_before_mlir_is_entered() -> None:
    module = module_of_one()
    called: list[bool] = []
    on_verify[:] = [lambda: called.append(True)]

    refused, verified = [], []

    def deep() -> None:
        try:
            deep()
        except RecursionError:
            if verified:
                return
            try:
                verified.append(module.operation.verify())
            except RecursionError:
                refused.append(len(called))
                raise

    gc.disable()  # a finalizer of another test's object has no room there, which pytest would tell
    try:
        deep()
    finally:
        gc.enable()
    assert len(refused) > 10, "the first calls in the fullest stack must be refused"
    assert not any(refused), "a verifier was called although the stack was nearly full"
    assert verified == [True]


def test_the_bindings_methods_are_given_back() -> None:
    methods = [ir._OperationBase.erase, ir._OperationBase.detach_from_parent, ir.SymbolTable.erase]
    module = rx.Module.parse(VALID.replace("failing.call", "relax.exp"))
    inside: list[bool] = []

    def pattern(op: Any, rewriter: Any) -> None:
        inside.append(ir._OperationBase.erase is not methods[0])
        raise KeyError("lost")

    with pytest.raises(rx.RelaxError, match="KeyError"):
        rx.apply_greedy(module.operation, [rx.Pattern("relax.exp", pattern)])
    assert inside == [True]
    assert [ir._OperationBase.erase, ir._OperationBase.detach_from_parent, ir.SymbolTable.erase] == methods
