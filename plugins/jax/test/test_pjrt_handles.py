# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of jax's platform: handles that C code holds, reads and releases. Needs no jax."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading

from relax_mlir_jax.pjrt.api import NAMES, VERSION
from relax_mlir_jax.pjrt.c_handles import Held, clear, held_by_handle, hold, stubs


def call(address: int, handle: int, *rest: int) -> list[int]:
    """Call a function of the platform, which must give no error, and return the arguments after the call."""
    words = (ctypes.c_size_t * 6)(48, 0, handle, *rest)
    assert ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)(ctypes.addressof(words)) is None
    return list(words)[3:]


def test_released_objects_are_deleted_at_the_next_clearing() -> None:
    kept, gone = Held(), Held()
    hold(kept)
    call(stubs().let_go, hold(gone))
    call(stubs().let_go, 0)
    assert gone.handle in held_by_handle
    clear()
    assert gone.handle not in held_by_handle and held_by_handle[kept.handle] is kept
    call(stubs().let_go, kept.handle)
    clear()


def test_memory_that_others_hold_stays() -> None:
    thing = Held()
    handle = hold(thing)
    call(stubs().one_more, handle)
    call(stubs().let_go, handle)
    clear()
    assert handle not in held_by_handle and thing.node[1] == 1
    call(stubs().one_less, handle)
    assert thing.node[1] == 0
    clear()


def test_words_are_told() -> None:
    thing = Held(7, 9)
    assert call(stubs().first_word, thing.handle)[:2] == [7, 0]
    assert call(stubs().second_word, thing.handle)[:2] == [9, 0]
    assert call(stubs().both_words, thing.handle)[:2] == [7, 9]
    assert call(stubs().nothing, thing.handle) == [0, 0, 0]


def test_a_callback_is_called_with_its_argument_and_no_error() -> None:
    found: list[tuple[int | None, int | None]] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda *given: found.append(given))
    call(stubs().call_back, 0, ctypes.cast(callback, ctypes.c_void_p).value or 0, 5)
    assert found == [(None, 5)]


def test_threads_let_go_at_once() -> None:
    things = [Held() for _ in range(800)]
    for each in things:
        hold(each)

    def let_go(start: int) -> None:
        for each in things[start::4]:
            call(stubs().let_go, each.handle)

    threads = [threading.Thread(target=let_go, args=(start,)) for start in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    clear()
    assert not any(each.handle in held_by_handle for each in things)


def test_a_handle_is_let_go_of_while_an_exception_unwinds() -> None:
    """Release a handle from C code that Python calls with an error set. A Python function would lose the error."""
    program = """
import ctypes
from relax_mlir_jax.pjrt.c_handles import Held, hold, stubs
let_go = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(stubs().let_go)
class Owner:
    def __init__(self):
        self.words = (ctypes.c_size_t * 3)(24, 0, hold(Held()))
    def __del__(self):
        let_go(ctypes.addressof(self.words))
def work():
    owner = Owner()
    raise KeyError(3)
for _ in range(50):
    try:
        work()
    except KeyError as error:
        assert error.args == (3,)
last = Owner()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_the_table_is_whole() -> None:
    assert VERSION == (0, 90) and len(NAMES) == len(set(NAMES)) == 128
    assert (NAMES[0], NAMES[-1]) == ("Error_Destroy", "Event_Set")
