# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optionals as arguments and results."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import onnx
import pytest
from relax_mlir.compilation import onnx_backend
from sequence_models import Compared, compiled, floats, integer, model, plain, refused, same

import relax_mlir as rx
from relax_mlir import runtime

# ---- sequences of known length ----

_JOIN = """(seq(float[a, 3]) xs, float[b, 3] y) => (float[c, 3] whole, seq(float[d, 3]) more, int64 length) {
    more = SequenceInsert (xs, y)
    whole = ConcatFromSequence <axis = 0> (more)
    length = SequenceLength (more)
}"""


def test_tensors_of_several_sizes_from_one_compilation() -> None:
    compared = Compared(_JOIN, xs=[(None, 3), (4, 3)])
    compared([floats(2, 3), floats(4, 3)], floats(1, 3))
    compared([floats(5, 3), floats(4, 3)], floats(0, 3))
    compared([floats(0, 3), floats(4, 3)], floats(2, 3))
    same(plain(compared.main((floats(1, 3), floats(4, 3)), floats(2, 3))[2]), integer(3))  # a tuple


def test_sequence_elements_have_names_and_shapes() -> None:
    module = rx.from_onnx(model(_JOIN), shapes={"xs": [None, (None, 3)]})
    assert 'relax.name = "xs.1"' in str(module)
    assert 'tensor<?x3xf32, #relax.sym<["a", 3]>>' in str(module)  # the model's own
    assert 'tensor<?x3xf32, #relax.sym<["xs_item1_0", 3]>>' in str(module)  # of any size
    xs, y = rx.compile(module).signature("main")["inputs"]
    assert (xs["name"], xs["kind"], [each["shape"] for each in xs["items"]]) == (
        "xs",
        "list",
        [["a", 3], ["xs_item1_0", 3]],
    )
    assert (y["name"], y["kind"]) == ("y", "tensor")


def test_saved_and_loaded(tmp_path: Any) -> None:
    rx.compile(rx.from_onnx(model(_JOIN), shapes={"xs": [(None, 3)]})).save(tmp_path / "join.rxa")
    whole, more, _ = runtime.load(tmp_path / "join.rxa")["main"]([floats(2, 3)], floats(1, 3))
    same(plain(more), [floats(2, 3), floats(1, 3)])
    same(plain(whole), numpy.concatenate([floats(2, 3), floats(1, 3)]))


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_sequence_as_the_only_result(length: int) -> None:
    main = compiled("(seq(float[n]) xs) => (seq(float[n]) ys) { ys = Identity (xs) }", xs=[(None,)] * length)
    xs = [floats(index + 1) for index in range(length)]
    same(plain(main(xs)), xs)


def test_wrong_arguments() -> None:
    main = compiled(_JOIN, xs=[(None, 3), (4, 3)])
    good, four = floats(2, 3), floats(4, 3)
    for xs, kind, message in [
        ([good], ValueError, "main: argument #0 'xs' expected a list of 2 tensors, got a list of 1"),
        (good, TypeError, "main: argument #0 'xs' expected a list of 2 tensors, got ffi.Tensor"),
        (None, TypeError, "main: argument #0 'xs' expected a list of 2 tensors, got None"),
        ([good, None], TypeError, "main: argument #0 'xs' item #1 expected a tensor, got None"),
        ([[good], four], ValueError, "main: argument #0 'xs' item #0 expected rank 2 (xs_item0_0, 3), got rank 3"),
        ([good, good], ValueError, "main: argument #0 'xs' item #1 dimension 0 expected size 4, got 2: shape (2, 3)"),
        ([good, four[0]], ValueError, "main: argument #0 'xs' item #1 expected rank 2 (4, 3), got rank 1: shape (3,)"),
        ([good.astype("float64"), four], TypeError, "'xs' item #0 expected dtype float32, got float64"),
    ]:
        with pytest.raises(kind) as raised:
            main(xs, good)
        assert message in str(raised.value)
    with pytest.raises(TypeError, match=r"expected 2 arguments \(xs, y\), got 1"):
        main([good, four])


def test_arguments_are_given_back() -> None:
    """After calls that succeed and calls that fail."""
    main = compiled(_JOIN, xs=[(None, 3), (4, 3)])
    good, four = floats(2, 3), floats(4, 3)
    before = sys.getrefcount(good), sys.getrefcount(four)
    for _ in range(10):
        main([good, four], good)
        with pytest.raises(ValueError, match="expected size 4"):
            main([good, good], good)
    assert (sys.getrefcount(good), sys.getrefcount(four)) == before


def test_shapes_of_sequences() -> None:
    assert "input 'xs' is a sequence: state how many tensors it has, by their shapes (shapes={'xs': [" in refused(_JOIN)
    expected = "shapes: input 'xs' is a sequence: expected a list of shapes, as [(2, 3), (None, 3)], got"
    for wrong in (3, (3, 3), None, "xs", [3]):
        assert expected in refused(_JOIN, xs=wrong)
    assert "shapes: input 'xs' has 2 dimensions, got (1,)" in refused(_JOIN, xs=[(1,)])
    assert "shapes: input 'xs', dimension 0: expected a size" in refused(_JOIN, xs=[(-1, 3)])
    assert "the model has no input 'ys'" in refused(_JOIN, xs=[(1, 3)], ys=[(1,)])
    unranked = "(seq(float[]) xs) => (int64 n) { n = SequenceLength (xs) }"
    assert "input 'xs' has no shape" in refused(unranked, xs=[None])
    assert plain(compiled(unranked, xs=[(2,), (2, 3)])([floats(2), floats(2, 3)])) == 2
    nested = "(seq(seq(float[n])) xs) => (int64 n) { n = SequenceLength (xs) }"
    assert "input 'xs' contains values of kind sequence" in refused(nested, xs=[(2,)])
    texts = "(seq(string) xs) => (int64 n) { n = SequenceLength (xs) }"
    assert "input 'xs' contains strings, which programs do not take" in refused(texts, xs=[(2,)])


# ---- optionals ----

_CHOICE = """(optional(float[n]) x) => (bool has, optional(float[n]) y) {
    has = OptionalHasElement (x)
    y = Identity (x)
}"""


def test_optionals_are_what_they_hold() -> None:
    has, y = compiled(_CHOICE, x=(None,))(floats(3))
    assert plain(has)
    same(plain(y), floats(3))
    absent = compiled(_CHOICE, x=None)
    has, y = absent(None)
    assert not plain(has) and y is None
    expected = "argument #0 'x' expected None, as the program was made without it, got ffi.Tensor"
    with pytest.raises(TypeError, match=expected):
        absent(floats(3))


def test_optionals_must_be_declared() -> None:
    message = refused(_CHOICE)
    assert "input 'x' is an optional: state whether it is passed, by its shape or None (shapes={'x': None}" in message
    assert "shapes: input 'x' has 1 dimension, got (2, 3)" in refused(_CHOICE, x=(2, 3))
    listed = _CHOICE.replace("float[n]", "seq(float[n])")
    assert "expected a list of shapes" in refused(listed, x=(2, 3))
    _, y = compiled(listed, x=[(2,), (None,)])([floats(2), floats(5)])
    same(plain(y), [floats(2), floats(5)])
    text = "(optional(float[n]) x) => (float[n] y) { y = OptionalGetElement (x) }"
    assert "the optional is empty" in refused(text, x=None)


# ---- ONNX's interface for backends ----


def test_the_backend_compiles_for_what_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    compile_ = onnx_backend.compile
    monkeypatch.setattr(onnx_backend, "compile", lambda *args: compiled.append(args) or compile_(*args))
    prepared = rx.OnnxBackend.prepare(model(_JOIN))
    assert not compiled
    for lengths in ([2, 3], [2, 3], [1], [2, 3]):
        xs = [floats(length, 3) for length in lengths]
        found = prepared.run([xs, floats(1, 3)])
        same(found["whole"], numpy.concatenate([*xs, floats(1, 3)]))
        same(found["more"], [*xs, floats(1, 3)])
    assert len(compiled) == 2
    with pytest.raises(rx.RelaxError, match="the model has 2 inputs, got 1"):
        prepared.run([[floats(2, 3)]])
    open_shapes = rx.OnnxBackend.prepare(model(_JOIN), shapes={"xs": [(None, 3)]})
    assert len(compiled) == 3
    for size in (1, 4):
        same(
            open_shapes.run([[floats(size, 3)], floats(1, 3)])["whole"],
            numpy.concatenate([floats(size, 3), floats(1, 3)]),
        )
    assert len(compiled) == 3


def test_the_backend_and_optionals() -> None:
    prepared = rx.OnnxBackend.prepare(model(_CHOICE))
    has, y = prepared.run([None])
    assert not has and y is None
    has, y = prepared.run([floats(4)])
    assert has
    same(y, floats(4))


def test_the_backend_and_single_nodes() -> None:
    xs = [floats(2), floats(3)]
    node = onnx.helper.make_node("SequenceAt", ["xs", "i"], ["x"])
    same(rx.OnnxBackend.run_node(node, [xs, integer(1)])[0], xs[1])
    node = onnx.helper.make_node("SequenceInsert", ["xs", "x"], ["ys"])
    same(rx.OnnxBackend.run_node(node, [[], xs[0]])[0], [xs[0]])
    node = onnx.helper.make_node("Neg", ["x"], ["y"])  # numbers in lists are one array
    same(rx.OnnxBackend.run_node(node, [[[1, 2], [3, 4]]])[0], -numpy.array([[1, 2], [3, 4]]))
    node = onnx.helper.make_node("OptionalHasElement", ["x"], ["y"])
    assert not rx.OnnxBackend.run_node(node, [None])[0] and rx.OnnxBackend.run_node(node, [xs])[0]
