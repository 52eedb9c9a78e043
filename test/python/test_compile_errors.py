# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of compiled functions: their kind, their place, their text; and invalid programs."""

from __future__ import annotations

import builtins
import inspect
import itertools
import threading
from dataclasses import replace
from typing import Any

import numpy
import pytest
import tvm_ffi
from compiling import array, built, compiled, floats

import relax_mlir as rx
from relax_mlir import relax

# ---- options ----


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    module = rx.Module()
    with pytest.raises(rx.OptionError, match=r"^rx\.compile has no option 'opt_lvl'; did you mean 'opt_level'\?$"):
        rx.compile(module, opt_lvl=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^rx\.lower has no option 'jobs'$"):
        rx.lower(module, jobs=3)  # type: ignore[call-arg]
    with pytest.raises(rx.OptionError, match=r"^rx\.sources takes a module, a target and options by name$"):
        rx.sources(module, "c", 3)  # type: ignore[call-arg]


@pytest.mark.parametrize(("function", "target"), [(rx.compile, "llvm"), (rx.lower, "llvm"), (rx.sources, "c")])
def test_signature_and_help_have_all_options(function: Any, target: str) -> None:
    first, *options = inspect.signature(function).parameters.values()
    assert (first.name, options[0].name, options[0].default) == ("module", "target", target)
    assert {each.kind for each in options[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert all(f"\n- {each.name}: " in function.__doc__ for each in options)
    assert ("jobs" in inspect.signature(function).parameters) == (function is rx.compile)


# ---- sizes beyond any memory ----


def test_temporaries_that_no_memory_holds_together() -> None:
    """Add temporaries that fit one by one.

    A tensor that is read backwards cannot share memory with the written tensor.
    """
    with pytest.raises(rx.RelaxError, match=r"a tensor of \d{19,} bytes is needed, which no memory can hold"):
        compiled(
            """
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %s = "relax.shape_expr"() {dims = [576460752303423487]} : () -> !relax.shape<[576460752303423487]>
  %0 = "relax.broadcast_to"(%x, %s)
    : (tensor<1xf32>, !relax.shape<[576460752303423487]>) -> tensor<576460752303423487xf32>
  %1 = "relax.cumsum"(%0) {axis = 0} : (tensor<576460752303423487xf32>) -> tensor<576460752303423487xf32>
  %2 = "relax.flip"(%1) {axis = 0} : (tensor<576460752303423487xf32>) -> tensor<576460752303423487xf32>
  %3 = "relax.max"(%2) {axis = array<i64: 0>, keepdims = true} : (tensor<576460752303423487xf32>) -> tensor<1xf32>
  return %3 : tensor<1xf32>
}"""
        )


# ---- places ----


@pytest.mark.parametrize(
    ("location", "begins"),
    [
        ("unknown", "relax.take: index 9 is"),
        ('"a%s%n\\22q"', 'relax.take "a%s%n"q": index 9 is'),
        ('"f %d.py":3:4', "relax.take at f %d.py:3:4: index 9 is"),
        ('fused["x", "f.py":7:8]', "relax.take at f.py:7:8: index 9 is"),
        ('callsite("in" at "m.py":1:2)', 'relax.take "in": index 9 is'),
        ('fused<"meta">["ab"("f.py":1:2), "g.py":3:4]', 'relax.take "ab" at f.py:1:2: index 9 is'),
        ('"' + "é" * 3000 + '"', 'relax.take "' + "é" * 400),
    ],
)
def test_errors_name_the_place(location: str, begins: str) -> None:
    executable = compiled(
        f"""
func.func @main(%x: tensor<3xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {{
  %0 = "relax.take"(%x, %i) {{axis = 0}} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32> loc({location})
  return %0 : tensor<2xf32>
}}"""
    )
    with pytest.raises(IndexError) as caught:
        executable["main"](floats(3), numpy.array([0, 9]))
    assert str(caught.value).startswith(begins)
    assert str(caught.value).endswith("index 9 is out of range for axis 0 of size 3")


@pytest.mark.parametrize("name", ["a.b", 'q"', "%s", "é"])
def test_errors_name_the_function(name: str) -> None:
    symbol = '@"' + name.replace('"', '\\"') + '"'
    executable = compiled(
        f"""
func.func private {symbol}(%x: tensor<?xf32>) -> tensor<3xf32> {{
  %0 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<3xf32> loc("m.py":3:4)
  %1 = "relax.exp"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}}
func.func @main(%x: tensor<?xf32>) -> tensor<3xf32> {{
  %0 = func.call {symbol}(%x) : (tensor<?xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}}"""
    )
    executable["main"](floats(3))
    with pytest.raises(ValueError) as caught:
        executable["main"](floats(4))
    assert str(caught.value) == f"@{name} at m.py:3:4: the size of dimension 0: expected 3, got 4"


# ---- hand-written PrimFuncs that fail ----

_CHECK = """
    %v = memref.load %x[%i] : memref<?xf32>
    %limit = arith.constant 100.0 : f32
    %c = arith.cmpf olt, %v, %limit : f32
    %number = arith.index_cast %i : index to i64
    "tir.assert"(%c, %number) {kind = "OverflowError", message = "element {} 100%s"} : (i1, i64) -> ()
    memref.store %v, %o[%i] : memref<?xf32>"""
_BODIES = {
    "for": f"""
  scf.for %i = %c0 to %n step %c1 {{
    %u = memref.alloc(%n) : memref<?xf32>{_CHECK}
    memref.dealloc %u : memref<?xf32>
  }}""",
    "parallel": f"scf.parallel (%i) = (%c0) to (%n) step (%c1) {{{_CHECK}\n  }}",
    "forall": f"scf.forall (%i) in (%n) {{{_CHECK}\n  }}",
    "affine": f"affine.for %i = 0 to %n {{{_CHECK}\n  }}",
    "affine-parallel": f"affine.parallel (%i) = (0) to (symbol(%n)) {{{_CHECK}\n  }}",
    "while": f"""
  %end = scf.while (%i = %c0) : (index) -> index {{
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i : index
  }} do {{
  ^bb0(%i: index):{_CHECK}
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }}""",
}


def with_kernel(body: str) -> str:
    vector = 'tensor<?xf32, #relax.sym<["n"]>>'
    return f"""
func.func @kernel(%x: memref<?xf32>, %o: memref<?xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  {body}
  return
}}
func.func @main(%x: {vector}) -> {vector} {{
  %0 = "relax.exp"(%x) : ({vector}) -> {vector}
  %1 = "relax.call_tir"(%0) {{func = @kernel}} : ({vector}) -> {vector} loc("here"("m.py":5:6))
  return %1 : {vector}
}}"""


@pytest.mark.parametrize("kind", _BODIES)
def test_assertions_in_loops(kind: str) -> None:
    executable = compiled(with_kernel(_BODIES[kind]))
    numpy.testing.assert_allclose(array(executable["main"](floats(5))), numpy.exp(floats(5)), rtol=1e-6)
    for _ in range(3):
        with pytest.raises(OverflowError) as caught:
            executable["main"](numpy.array([1, 2, 50, 3], "float32"))
        assert str(caught.value) == '@kernel "here" at m.py:5:6: element 2 100%s'


def test_an_assertion_that_has_no_way_out() -> None:
    body = """
  %token = async.execute {
    %v = memref.load %x[%c0] : memref<?xf32>
    %limit = arith.constant 100.0 : f32
    %c = arith.cmpf olt, %v, %limit : f32
    "tir.assert"(%c) {message = "no"} : (i1) -> ()
    async.yield
  }"""
    with pytest.raises(rx.RelaxError, match=r"'tir.assert' op inside of 'async.execute' has no way out of it"):
        compiled(with_kernel(body))


# ---- exceptions of packed functions ----


class _Raising:
    """Packed function that raises a given error."""

    error: BaseException = ValueError()

    def __call__(self, _: Any) -> None:
        raise self.error


@pytest.fixture(scope="module")
def raising() -> tuple[_Raising, Any]:
    function = _Raising()
    tvm_ffi.register_global_func("test_errors.raise", function, override=True)

    def body(x: Any) -> Any:
        info = rx.tensor(("n",))
        return relax.add(relax.call_packed("test_errors.raise", [relax.exp(x)], info), x)

    return function, built([rx.tensor(("n",))], body)["main"]


def exceptions_with_a_text() -> list[type[BaseException]]:
    found = []
    for cls in vars(builtins).values():
        if isinstance(cls, type) and issubclass(cls, BaseException):
            try:
                cls("text")
            except TypeError:
                continue
            found.append(cls)
    return found


def test_exceptions_come_back_as_themselves(raising: tuple[_Raising, Any]) -> None:
    """Pass exceptions on, including KeyboardInterrupt and SystemExit, since Ctrl-C has to end the program."""
    function, main = raising
    kinds = exceptions_with_a_text()
    assert {KeyError, OSError, KeyboardInterrupt, SystemExit} <= set(kinds)
    for kind in kinds:
        function.error = kind("some %s text é")
        with pytest.raises(BaseException) as caught:
            main(floats(3))
        assert type(caught.value) is kind and "some %s text é" in str(caught.value)


@pytest.mark.parametrize("text", ["", "é" * 100_000, "a\0b", "%n%n%n", "line\nline"])
def test_texts_of_exceptions(raising: tuple[_Raising, Any], text: str) -> None:
    function, main = raising
    function.error = ValueError(text)
    with pytest.raises(ValueError) as caught:
        main(floats(3))
    assert str(caught.value) == text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_that_cannot_be_reported(raising: tuple[_Raising, Any]) -> None:
    """Report an exception for which tvm-ffi leaves no error."""
    function, main = raising
    function.error = ValueError("a lone surrogate: \udcff")
    with pytest.raises(
        RuntimeError, match=r"'test_errors.raise' has failed with an exception whose text cannot be shown"
    ):
        main(floats(3))


def test_threads_of_which_some_fail() -> None:
    def copy(x: Any) -> Any:
        return tvm_ffi.from_dlpack(array(x).copy())

    tvm_ffi.register_global_func("test_errors.copy", copy, override=True)

    def body(x: Any, index: Any) -> Any:
        y = relax.take(relax.exp(x), index, axis=0)
        z = relax.call_pure_packed("test_errors.copy", [relax.tanh(y)], rx.tensor(("k", 16)))
        return relax.cumsum(relax.add(z, y), axis=0)

    main = built([rx.tensor(("n", 16)), rx.tensor(("k",), "int64")], body)["main"]
    wrong: list[str] = []

    def work(seed: int) -> None:
        for round_ in range(100):
            rows = 1 + (seed * 7 + round_) % 50
            x, index = floats(rows, 16, seed=seed), numpy.arange(round_ % 9 + 1) % rows
            if round_ % 3 == 0:
                index[-1] = rows
                try:
                    main(x, index)
                    wrong.append("no error")
                except IndexError as error:
                    if f"index {rows} is out of range" not in str(error):
                        wrong.append(str(error))
                continue
            y = numpy.exp(x)[index]
            if not numpy.allclose(array(main(x, index)), numpy.cumsum(numpy.tanh(y) + y, axis=0), rtol=1e-3):
                wrong.append(f"thread {seed}, round {round_}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- stages that are missing, or in another order ----


@pytest.mark.slow
def test_any_stages_in_any_order_work_or_are_refused() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 16)), rx.tensor(("k",), "int64")]) as f:
        x, index = f
        f.returns(relax.cumsum(relax.take(relax.exp(x), index, axis=0), axis=0), relax.astype(x, "float8_e4m3fn"))
    stages = rx.stages()
    listed = list(stages.stages)
    changed = [[each for each in listed if each not in left] for left in itertools.combinations(listed, 2)]
    changed += [[*listed[:place], listed[place], *listed[place:]] for place in range(len(listed))]
    for first, second in itertools.combinations(range(len(listed)), 2):
        swapped = list(listed)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        changed.append(swapped)
    worked = 0
    for each in changed:
        try:
            executable = rx.compile(module, pipeline=replace(stages, stages=tuple(each)))
            result, _ = executable["main"](floats(5, 16), numpy.array([1, 2]))
        except (rx.RelaxError, rx.runtime.UnknownFunction):
            continue
        worked += 1
        expected = numpy.cumsum(numpy.exp(floats(5, 16))[[1, 2]], axis=0)
        numpy.testing.assert_allclose(array(result), expected, rtol=1e-4)
    assert 0 < worked < len(changed)


def test_all_levels_give_the_same() -> None:
    def body(a: Any, b: Any) -> Any:
        y = relax.matmul(a, b)
        z = relax.nn.softmax(y)
        return relax.cumsum(z, axis=0), relax.nn.gelu(y), relax.sum(z, axis=0), relax.sort(y)

    a, b = floats(9, 7), floats(7, 11)
    results = []
    for level in range(4):
        executable = built([rx.tensor(("n", 7)), rx.tensor((7, "m"))], body, opt_level=level)
        results.append([array(each) for each in executable["main"](a, b)])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            numpy.testing.assert_allclose(one, two, rtol=1e-6)


# ---- sizes that are cut ----


def test_a_size_against_itself_cut_to_a_limit() -> None:
    """Add the first n rows of a table of 8 to n rows, like position embeddings."""
    executable = built([rx.tensor(("n", 4)), rx.tensor(("min(n, 8)", 4))], relax.add)
    for count in (0, 1, 5, 8):
        x, table = floats(count, 4), floats(count, 4, seed=6)
        numpy.testing.assert_array_equal(array(executable["main"](x, table)), x + table)
    with pytest.raises(ValueError, match="operands do not broadcast: sizes 8 and 9 differ"):
        executable["main"](floats(9, 4), floats(8, 4))
