# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that build, compile and call programs at the same time, independently of each other."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.context_lock import lock_context
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core import cache
from relax_mlir.dialects.core import dialect as dialects
from relax_mlir.dialects.core.cache import arrays_of, cache_of, drop
from relax_mlir.dialects.core.infos import TensorInfo

import relax_mlir as rx
from relax_mlir import relax

#: Seconds, on a busy machine.
PATIENCE = 300
#: Seconds after which a thread gives another one its turn: Python's usual interval is fifty times as long.
OFTEN = 1e-4
X = numpy.linspace(-1, 1, 48, dtype="float32").reshape(3, 16)
FIRST = """
import sys, threading
import numpy
import relax_mlir as rx

def work(first):
    for number in range(first, first + 1):
        try:
            module = rx.Module()
            with module.function("main", {"x": rx.tensor(("n", 16))}) as f:
                y = rx.relax.tanh(rx.relax.matmul(*f, rx.relax.const(numpy.eye(16, dtype="float32"))))
                f.returns(rx.relax.add(y, rx.relax.const(numpy.full((16,), number, "float32"))))
            rx.compile(module, cache=False, jobs=1, opt_level=1)
        except Exception as error:
            found.append(error)

found = []
sys.setswitchinterval(1e-4)
threads = [threading.Thread(target=work, args=(100 * each,)) for each in range(4)]
[each.start() for each in threads], [each.join() for each in threads]
print(found)
"""


@pytest.fixture
def switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(OFTEN)
    yield
    sys.setswitchinterval(before)


def in_threads(*works: Callable[[], object]) -> list[BaseException]:
    """Run each function in a thread of its own, and return the exceptions."""
    found: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
        assert not each.is_alive(), "a thread waits for ever"
    return found


def program(number: int) -> rx.Module:
    """Return tanh(x) + number, twice in sequence, with calls and joins of different types."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 16))}) as f:
        y = relax.tanh(relax.matmul(*f, relax.const(numpy.eye(16, dtype="float32"))))
        z = relax.add(y, relax.const(numpy.full((16,), number, "float32")))
        f.returns(relax.concat([z, relax.astype(relax.astype(z, "f64"), "f32")], axis=0))
    return module


def expect(module: rx.Module, number: int) -> None:
    main: Any = rx.compile(module, cache=False, jobs=1, opt_level=1)["main"]
    expected = numpy.concatenate([numpy.tanh(X) + number] * 2)
    numpy.testing.assert_allclose(numpy.from_dlpack(main(X)), expected, atol=1e-3)


def joining() -> rx.Module:
    """Return a module with an operation on operands of several types."""
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 4)), rx.tensor((3, 4))]) as f:
        f.returns(relax.concat(list(f), axis=0))
    return module


def join_in(module: rx.Module) -> Any:
    return module.body.operations[0].regions[0].blocks[0].operations[0]


def test_programs_of_their_own(switching: None) -> None:
    def work(first: int) -> Callable[[], None]:
        return lambda: [expect(program(number), number) for number in range(first, first + 2)] and None

    expect(program(0), 0)
    assert in_threads(*map(work, (10, 20, 30))) == []


def test_the_first_compilations_of_a_process() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_one_module(switching: None) -> None:
    """Compile, print and verify one module in several threads, which another thread made."""
    module = program(5)
    text, script = str(module), module.script()

    def work() -> None:
        expect(module, 5)
        assert (str(module), module.script()) == (text, script)
        module.verify()

    assert in_threads(*[work] * 3) == []


def test_one_module_by_turns() -> None:
    module, done = program(1), threading.Event()
    thread = threading.Thread(target=lambda: (str(module), done.set()))
    with lock_context(module.context):
        thread.start()
        assert not done.wait(0.2)
        assert str(program(2)), "another module is free"
        assert str(module), "the thread that holds the lock goes on"
    assert done.wait(PATIENCE)
    thread.join()


def test_a_verifier_puts_its_own_operands_back() -> None:
    """Another thread verifies an operation of the same operator between MLIR's two calls."""
    module, other = joining(), joining()
    operation, definition = join_in(module), relax.dialect.ops["concat"]
    operands = list(operation.operation.operands)
    assert definition.verify_invariants(operation)
    assert list(operation.operation.operands) != operands
    assert in_threads(other.verify, other.verify) == []
    assert definition.verify_region_invariants(operation)
    assert list(operation.operation.operands) == operands
    assert len({value.type for value in join_in(other).operands}) == 2


def test_handles_of_other_modules_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, other = joining(), joining()
    checked: list[object] = []
    with other.function("more", [rx.tensor((4,))]) as f:
        value = relax.exp(*f)
        f.returns(value)
    monkeypatch.setattr(type(other.handles), "check", lambda handles, reason: checked.append(handles))
    rx.Pipeline(["relax-dead-code-elimination"]).run(changed)
    assert other.handles not in checked
    rx.Pipeline(["relax-dead-code-elimination"]).run(other)
    assert other.handles in checked and value is not None


def test_modules_come_and_go_while_passes_end(switching: None) -> None:
    def passes() -> None:
        module = joining()
        for _ in range(15):
            rx.Pipeline(["relax-dead-code-elimination"]).run(module)

    def modules() -> None:
        for _ in range(60):
            rx.Module()

    assert in_threads(passes, modules, modules, passes) == []


def test_other_threads_contexts_take_no_memo_away() -> None:
    module = joining()
    memo, arrays = cache_of(module.context), arrays_of(module.context)
    arrays.counts["const"] += 1

    def many() -> None:
        for each in [create_context() for _ in range(30)]:
            cache_of(each)
            arrays_of(each)

    assert in_threads(many) == []
    assert cache_of(module.context) is memo and arrays_of(module.context) is arrays


def test_a_memo_goes_with_its_thread_and_with_its_module() -> None:
    module = joining()
    context_id, known = id(module.context), threading.Event()
    dropped, left = threading.Event(), list[bool]()

    def remember() -> None:
        cache_of(module.context)
        known.set()
        dropped.wait(PATIENCE)
        left.append(context_id in cache._threads[threading.get_ident()])

    thread = threading.Thread(target=remember)
    thread.start()
    known.wait(PATIENCE)
    drop(context_id)  # as the module's finalizer does
    dropped.set()
    thread.join()
    assert left == [False]
    cache._threads[-1] = {}  # tables of a thread that has ended
    cache._threads.pop(threading.get_ident(), None)
    cache_of(module.context)
    assert -1 not in cache._threads


def test_a_dialects_classes_are_made_once(switching: None, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = rx.Dialect("threadedly")
    monkeypatch.delitem(dialects._DIALECTS, "threadedly", raising=False)
    monkeypatch.setitem(dialects._DIALECTS, "threadedly", dialect)
    for number in range(40):
        dialect.op(f"op_{number}", "x", infer=lambda call: TensorInfo((1,), "f32"), doc="An operator.")
    make, barrier = dialects.op_class, threading.Barrier(4)
    monkeypatch.setattr(dialects, "op_class", lambda definition: (time.sleep(0.001), make(definition))[1])

    def load() -> None:
        barrier.wait(PATIENCE)
        create_context()

    assert in_threads(*[load] * 4) == []
    assert len(dialect._classes) == 40


def test_text_is_read_in_threads(switching: None) -> None:
    text = str(program(3))

    def work() -> None:
        for _ in range(4):
            assert str(rx.Module.parse(text)) == text

    assert in_threads(*[work] * 4) == []
