# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of parts that are lists of C calls: made by a program's own code, and from Python."""

from __future__ import annotations

import ctypes
import gc
import struct
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from partitioning import built, codegen
from relax_mlir.runtime import Call, CallList, Given, NativeFunction, Passed, executable, native_calls, to_numpy
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

C = ctypes.CDLL(None)
ROWS = [("joiner.concat", is_op("relax.concat"))]


def joined(first: Any, second: Any, result: Any) -> CallList:
    """Return a list of calls that concatenates vectors."""
    size = 4 * first.shape[0]
    return CallList(
        [
            Call(C.memcpy, [Passed(2), Passed(0), size]),
            Call(C.memcpy, [Passed(2, size), Passed(1), 4 * second.shape[0]]),
        ]
    )


class Joiner(rx.Codegen):
    """Codegen that returns the lists of `make`."""

    make: Callable[..., CallList | None] = staticmethod(joined)
    most_idle = native_calls.MOST_IDLE

    def compile(self, module: Any, options: Any) -> bytes:
        return "\n".join(self.functions(module)).encode()

    def load(self, data: memoryview) -> dict[str, Any]:
        names = bytes(data).decode().split("\n")
        return {name: NativeFunction(self.make, 3, self.most_idle) for name in names}


@pytest.fixture(params=["by the program", "from Python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make lists from Python for programs without the native function for them."""
    if request.param == "from Python":
        monkeypatch.setattr(executable, "_NATIVE_FUNCTION", "__relax_of_another_backend")
    return str(request.param)


def program(*shapes: Any) -> Any:
    """Compile a single concatenation with the codegen."""
    module = built(lambda *xs: relax.concat(xs, axis=0), *(shapes or [(3,), (4,)]))
    return rx.compile(module, partition=["joiner"], strict_partition=True)


def of(*sizes: int) -> list[Any]:
    return [numpy.arange(size, dtype="float32") + place * 100 for place, size in enumerate(sizes)]


def check(function: Any, *sizes: int) -> None:
    numpy.testing.assert_array_equal(to_numpy(function(*of(*sizes))), numpy.concatenate(of(*sizes)))


def noting(asked: list[Any], make: Callable[..., Any] = joined) -> Any:
    """Return `make` with a record of its calls."""

    def noted(*tensors: Any) -> Any:
        asked.append(tuple(each.shape[0] for each in tensors))
        return make(*tensors)

    return staticmethod(noted)


def test_a_list_is_made_once(way: str) -> None:
    asked: list[Any] = []
    with codegen(ROWS, "joiner", Joiner, make=noting(asked)):
        main = program()["main"]
        for _ in range(5):
            check(main, 3, 4)
    assert asked == [(3, 4, 7)]


def test_symbolic_sizes_keep_as_many_lists_as_they_may(way: str) -> None:
    asked: list[Any] = []
    with codegen(ROWS, "joiner", Joiner, make=noting(asked), most_idle=2):
        main = program(("n",), ("m",))["main"]
        for sizes in ((3, 4), (1, 2), (3, 4), (0, 5), (1, 2), (0, 5), (1, 2), (3, 4)):
            check(main, *sizes)
    # (3, 4) was used after (1, 2), which goes first; then (3, 4).
    assert [each[:2] for each in asked] == [(3, 4), (1, 2), (0, 5), (1, 2), (3, 4)]


def test_lists_that_are_forgotten_are_given_back() -> None:
    owners: list[Any] = []

    def make(*tensors: Any) -> CallList:
        owner = ctypes.c_int64()
        owners.append(weakref.ref(owner))
        return CallList(joined(*tensors).calls, keeps=owner)

    with codegen(ROWS, "joiner", Joiner, make=staticmethod(make), most_idle=3):
        main = program(("n",), ("m",))["main"]
        for size in range(20):
            check(main, size, 2)
        assert sum(each() is not None for each in owners) == 3
        check(main, 19, 2)
        assert len(owners) == 20


def test_threads_have_lists_of_their_own(way: str) -> None:
    """Call from several threads at once: each waits for the others in the middle of its list."""
    count, asked = 4, []
    barrier = threading.Barrier(count, timeout=60)
    waits = ctypes.CFUNCTYPE(None)(lambda: barrier.wait() and None)

    def make(*tensors: Any) -> CallList:
        before, after = joined(*tensors).calls
        return CallList([before, Call(waits), after])

    with codegen(ROWS, "joiner", Joiner, make=noting(asked, make)):
        main = program()["main"]

        def run(number: int) -> Any:
            given = [[each + 1000 * (5 * number + turn) for each in of(3, 4)] for turn in range(5)]
            return [(each, to_numpy(main(*each)).copy()) for each in given]

        with ThreadPoolExecutor(count) as pool:
            for found in pool.map(run, range(count)):
                for given, result in found:
                    numpy.testing.assert_array_equal(result, numpy.concatenate(given))
    assert len(asked) == count


def test_a_list_is_not_shared_while_it_is_in_use(way: str) -> None:
    """Call the same program inside of its list: the inner call has another list, and both are reused afterwards."""
    inner: list[Any] = []

    def make(*tensors: Any) -> CallList:
        before, after = joined(*tensors).calls
        return CallList([before, Call(again), after])

    def call_again() -> None:
        if not inner:
            inner.append(None)
            inner.append(main(*[each + 1000 for each in of(3, 4)]))

    asked: list[Any] = []
    again = ctypes.CFUNCTYPE(None)(call_again)
    with codegen(ROWS, "joiner", Joiner, make=noting(asked, make)):
        main = program()["main"]
        for _ in range(3):
            inner.clear()
            check(main, 3, 4)
            numpy.testing.assert_array_equal(to_numpy(inner[1]), numpy.concatenate(of(3, 4)) + 1000)
    assert len(asked) == 2


def test_a_later_call_reads_an_earlier_calls_result(way: str) -> None:
    """Restore a value that an earlier call of the list returned, like the number of threads."""

    def make(*tensors: Any) -> CallList:
        copied = joined(*tensors).calls
        return CallList([Call(C.labs, [-12]), copied[0], Call(C.memcpy, [Passed(2, 12), Passed(1), Given(0)])])

    with codegen(ROWS, "joiner", Joiner, make=staticmethod(make)):
        main = program((3,), (3,))["main"]
        check(main, 3, 3)
        check(main, 3, 3)


def test_words_and_floats_have_places_of_their_own(way: str) -> None:
    """Pass 24 integers and 8 floats of both kinds, in any order."""
    kinds = [ctypes.c_double, ctypes.c_float, ctypes.c_int64] * 4 + [ctypes.c_int64] * 20
    seen: list[Any] = []
    function = ctypes.CFUNCTYPE(None, *kinds)(lambda *given: seen.append(given))
    makes = {ctypes.c_double: float, ctypes.c_float: lambda place: ctypes.c_float(place + 0.25), ctypes.c_int64: int}
    given = [makes[kind](place) for place, kind in enumerate(kinds)]
    expected = tuple(getattr(each, "value", each) for each in given)
    with codegen(ROWS, "joiner", Joiner, make=staticmethod(lambda *_: CallList([Call(function, given)]))):
        program()["main"](*of(3, 4))
    assert seen == [expected]


def test_pointers_are_written_before_the_calls(way: str) -> None:
    """Pass an array of pointers."""
    seen: list[Any] = []
    pointers = (ctypes.POINTER(ctypes.c_float) * 2)()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda at: seen.append([each[1] for each in pointers]))

    def make(*tensors: Any) -> CallList:
        at = ctypes.addressof(pointers)
        return CallList([Call(function, [pointers])], pointers={at: Passed(1, 4), at + 8: Passed(0)})

    with codegen(ROWS, "joiner", Joiner, make=staticmethod(make)):
        program()["main"](*of(3, 4))
    assert seen == [[102.0, 1.0]]


def test_a_failure_is_reported_and_what_follows_is_left_out(way: str) -> None:
    made: list[str] = []

    def noted(name: str) -> Any:
        return ctypes.CFUNCTYPE(None)(lambda: made.append(name))

    fails = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: -7)
    calls = [Call(fails), Call(noted("before")), Call(fails, is_status=True, name="close"), Call(noted("left out"))]
    calls += [Call(fails, is_status=True, always=True), Call(noted("always"), always=True)]
    with codegen(ROWS, "joiner", Joiner, make=staticmethod(lambda *_: CallList(calls))):
        main = program()["main"]
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"codegen 'joiner', part '\w+'.*: .*close gave -7"):
                main(*of(3, 4))
    assert made == ["before", "always"] * 2


def test_exceptions_of_make_name_codegen_and_part(way: str) -> None:
    def make(*tensors: Any) -> CallList:
        raise ValueError("no such sizes")

    with codegen(ROWS, "joiner", Joiner, make=staticmethod(make)):
        main = program()["main"]
        with pytest.raises(RuntimeError, match=r"codegen 'joiner', part '\w+'.*: ValueError: no such sizes"):
            main(*of(3, 4))


def test_make_may_do_it_itself(way: str) -> None:
    def make(*tensors: Any) -> None:
        numpy.concatenate(list(map(numpy.from_dlpack, tensors[:2])), out=numpy.from_dlpack(tensors[2]))

    asked: list[Any] = []
    with codegen(ROWS, "joiner", Joiner, make=noting(asked, make)):
        main = program()["main"]
        check(main, 3, 4)
        check(main, 3, 4)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([Call(C.abs, [0] * 25)], "abs is called with 25 integers and addresses and 0 floats: 24 and 8 can be passed"),
        ([Call(C.abs, [0.0] * 9, name="f")], "f is called with 0 integers and addresses and 9 floats"),
        ([Call(C.abs, [1]), Call(C.abs, [Given(0), Given(0)])], "what call 0 of the list gives is read twice"),
        ([Call(C.abs, [Given(0)])], "call 0 of the list reads what call 0 gives, which is not made before it"),
        ([Call(C.abs, [Passed(3)])], "argument 3 is passed to abs, of 3"),
    ],
)
def test_lists_that_cannot_be_made(calls: list[Call], message: str) -> None:
    function = NativeFunction(lambda *_: CallList(calls), 3)
    with pytest.raises(RelaxError, match=message):
        function(*of(3, 4, 7))


def test_the_number_of_tensors() -> None:
    with pytest.raises(RelaxError, match="takes 3 tensors, inputs and outputs, got 2"):
        NativeFunction(joined, 3)(*of(3, 4))


def native(function: NativeFunction, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Yield a function as a program calls it, but for any tensors."""
    found: list[Any] = []
    bound = NativeFunction.bound
    monkeypatch.setattr(NativeFunction, "bound", lambda *given: found.append(bound(*given)) or found[-1])
    with codegen(ROWS, "joiner", Joiner, load=lambda self, data: {bytes(data).decode(): function}):
        holder = program()["main"]
    return holder, *found


def test_tensors_that_lie_in_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a list for each layout of strides and offsets."""
    asked: list[Any] = []

    def make(*tensors: Any) -> CallList:
        asked.append([tuple(each.strides) for each in tensors])
        return joined(*tensors)

    holder, function = native(NativeFunction(make, 3), monkeypatch)
    base = numpy.arange(20, dtype="float32")
    for first, second in ((base[2:5], base[7:9]), (base[3:6], base[8:10]), (base[0:6:2], base[7:9])):
        result = numpy.zeros(5, "float32")
        function(*map(tvm_ffi.from_dlpack, (first, second, result)))
        numpy.testing.assert_array_equal(result[3:], second)
    assert asked == [[(1,), (1,), (1,)], [(2,), (1,), (1,)]]
    for wrong in ([base], [base, base, base, base], [1, 2, 3], [base, None, base]):
        with pytest.raises(RuntimeError, match="codegen 'joiner', part"):
            function(*wrong)
    del holder


def test_nothing_stays_of_programs_that_are_gone(tmp_path: Path) -> None:
    path, owners = tmp_path / "joined.rxa", []

    class Owned(NativeFunction):
        pass

    def load(self: Any, data: memoryview) -> dict[str, Any]:
        made = Owned(joined, 3)
        owners.append(weakref.ref(made))
        return {bytes(data).decode(): made}

    with codegen(ROWS, "joiner", Joiner, load=load):
        program().save(path)
        for _ in range(50):
            check(rx.runtime.load(path)["main"], 3, 4)
        gc.collect()
        assert len(owners) == 50 and not any(each() for each in owners)


def test_programs_with_parts_of_one_name(tmp_path: Path) -> None:
    with codegen(ROWS, "joiner", Joiner):
        (one := program((3,), (4,))).save(tmp_path / "one.rxa")
        other = program((2,), (2,))
        names = [[each.name for each in made._artifact.externals] for made in (one, other)]
        assert names[0] == names[1]
        again = rx.runtime.load(tmp_path / "one.rxa")
        for _ in range(2):
            check(one["main"], 3, 4)
            check(other["main"], 2, 2)
            check(again["main"], 3, 4)
        del one
        gc.collect()
        check(other["main"], 2, 2)
        check(again["main"], 3, 4)


def test_arguments_of_the_exported_list_function_are_checked() -> None:
    with codegen(ROWS, "joiner", Joiner):
        made = program()
        check(made["main"], 3, 4)
    export = made._module.get_function("__relax_native_function")
    pointer, function = ctypes.c_void_p(8), tvm_ffi.convert(lambda: None)
    for wrong in ((), (pointer,), (function, pointer), (3, function), (pointer, function, 1)):
        with pytest.raises(TypeError, match="__relax_native_function takes a pointer and a function"):
            export(*wrong)


def test_the_workspace_is_the_last_argument(way: str) -> None:
    """Copy the second vector by way of the workspace."""

    def make(first: Any, second: Any, result: Any, workspace: Any) -> CallList:
        assert workspace.shape[0] == 64
        before, after = joined(first, second, result).calls
        place, _, size = after.arguments
        return CallList(
            [before, Call(C.memcpy, [Passed(3), Passed(1), size]), Call(C.memcpy, [place, Passed(3), size])]
        )

    def load(self: Any, data: memoryview) -> dict[str, Any]:
        return {bytes(data).decode(): NativeFunction(make, 4)}

    with codegen(ROWS, "joiner", Joiner, load=load, workspace=lambda self, function: 64):
        module = built(lambda *xs: relax.concat(xs, axis=0), (3,), (4,))
        rx.Pipeline("relax-partition{codegens=joiner},relax-allocate-workspace,relax-run-codegen{codegen=joiner}").run(
            module
        )
        main = rx.compile(module)["main"]
        check(main, 3, 4)
        check(main, 3, 4)


def test_a_profile_has_the_part() -> None:
    with codegen(ROWS, "joiner", Joiner):
        profile = program().profile("main", *of(3, 4), repeat=4)
    (part,) = profile.kernels
    assert "concat" in part.kernel, part
    assert part.calls == 1 and part.seconds > 0


def test_tensors_without_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass DLPack structures without strides, which are optional for contiguous tensors."""
    asked: list[Any] = []
    holder, function = native(NativeFunction(noting(asked).__func__, 3), monkeypatch)
    arrays = [*of(3, 4), numpy.zeros(7, "float32")]
    for _ in range(2):
        function(*map(tvm_ffi.from_dlpack, arrays))
    sizes = [(ctypes.c_int64 * 1)(each.size) for each in arrays]
    structures = [
        ctypes.create_string_buffer(
            struct.pack("=qiiiiqqq", each.ctypes.data - 4, 1, 0, 1, 0x00012002, ctypes.addressof(size), 0, 4)
        )
        for each, size in zip(arrays, sizes, strict=True)
    ]
    arrays[2][:] = 0
    arguments = b"".join(struct.pack("=qQ", 7, ctypes.addressof(each)) for each in structures)
    packed, result = ctypes.create_string_buffer(arguments), ctypes.create_string_buffer(16)
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    handle = ctypes.c_void_p(function.__chandle__())
    assert library.TVMFFIFunctionCall(handle, packed, 3, result) == 0
    numpy.testing.assert_array_equal(arrays[2], numpy.concatenate(arrays[:2]))
    assert len(asked) == 1
    del holder
