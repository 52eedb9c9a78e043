# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms and spectra: with lengths and axes of the model, of dimensions and of the run."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants, with_one_input
from node_suite import Case, cases, check
from onnx_oracle import IS_OLD
from relax_mlir.frontends.core.fourier import in_stages

import relax_mlir as rx
from relax_mlir import relax

rng = numpy.random.default_rng(5)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


@pytest.mark.parametrize("case", cases("DFT", "STFT", "MelWeightMatrix"), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases("DFT", "STFT"), ids=lambda case: case.name)
def test_node_suite_with_numbers_as_constants(case: Case) -> None:
    check(with_one_input(case))


def test_mel_weights_are_a_constant() -> None:
    (case,) = cases("MelWeightMatrix")
    names = [each.name for each in case.model.graph.input]
    check(case._replace(model=with_constants(case.model, dict(zip(names, case.inputs, strict=True))), inputs=[]))


# Speech models' usual numbers.
_MEL = {
    "bands": numpy.array(40), "length": numpy.array(512), "rate": numpy.array(16000),
    "low": numpy.array(20, "float32"), "high": numpy.array(7600, "float32"),
}  # fmt: skip


@pytest.mark.parametrize("known", [("bands", "length"), ("rate",), ()])
def test_mel_weights_of_the_run(known: tuple[str, ...]) -> None:
    model = one_node("MelWeightMatrix", _MEL, opset=17, symbolic=False)
    inputs = [value for name, value in _MEL.items() if name not in known]
    Compared(with_constants(model, {name: _MEL[name] for name in known}))(*inputs)


def compare(op: str, constants: dict[str, Any], x: Any, opset: int = 17, **attributes: Any) -> None:
    """Compare with lengths of the model, and with dynamic dimensions at two sizes."""
    model = one_node(op, {"x": x, **constants}, opset=opset, symbolic=False, **attributes)
    model = with_constants(model, {name: value for name, value in constants.items() if value is not None})
    Compared(model, rtol=1e-3)(x)
    for dim, name in zip(model.graph.input[0].type.tensor_type.shape.dim[:-1], "abc", strict=False):
        dim.dim_param = name
    symbolic = Compared(model, rtol=1e-3)
    symbolic(x)
    symbolic(x[:1, :-2])


@pytest.mark.parametrize("length", [8, 12])
def test_signals_cut_and_filled_up(length: int) -> None:
    compare("DFT", {"n": numpy.array(length), "axis": numpy.array(1)}, real(2, 10, 3, 2), opset=20)


def test_kinds_of_transforms() -> None:
    compare("DFT", {}, real(2, 9, 1), axis=1, onesided=1)
    compare("DFT", {}, real(2, 10, 2), axis=1, inverse=1)


@pytest.mark.parametrize("inverse", [0, 1])
def test_a_transform_of_nothing(inverse: int) -> None:
    x = real(0, 3, 2)
    model = one_node("DFT", {"x": x, "n": None, "axis": numpy.array(0)}, opset=20, symbolic=False, inverse=inverse)
    model = with_constants(model, {"axis": numpy.array(0)})
    (made,) = rx.OnnxBackend.prepare(model).run([x])
    assert made.shape == (0, 3, 2)


@pytest.mark.parametrize("length", [10, 11, None])
def test_one_side_to_a_real_signal(length: int | None) -> None:
    x, given = real(2, 6, 2), {} if length is None else {"n": numpy.array(length)}
    names = {"x": x, **given}
    model = one_node("DFT", names, opset=17, symbolic=False, axis=1, inverse=1, onesided=1)
    expected = numpy.fft.irfft(x[..., 0] + 1j * x[..., 1], n=length, axis=1)
    for shapes in ({}, {"x": (None, None, 2)}):
        for fixed in (given, {}):
            prepared = rx.OnnxBackend.prepare(with_constants(model, fixed), shapes=shapes)
            inputs = [x] if fixed else [x, *given.values()]
            numpy.testing.assert_allclose(prepared.run(inputs)[0][..., 0], expected, rtol=1e-4, atol=1e-6)


def transform(x: Any, n: int, axis: int, kind: dict[str, int]) -> Any:
    """Return numpy's result, with the real and imaginary parts as the last dimension."""
    if kind.get("inverse"):
        return numpy.fft.irfft(x[..., 0] + 1j * x[..., 1], n=n, axis=axis)[..., None]
    if kind.get("onesided"):
        made = numpy.fft.rfft(x[..., 0], n=n, axis=axis)
    else:
        made = numpy.fft.fft(x[..., 0] + 1j * x[..., 1], n=n, axis=axis)
    return numpy.stack([made.real, made.imag], -1)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ((2, 3, 5), {"onesided": 0}),
        ((None, None, None), {"onesided": 1}),
        ((None, None, None), {"onesided": 1, "inverse": 1}),
    ],
)
def test_axis_of_the_run(sizes: tuple[int | None, ...], kind: dict[str, int]) -> None:
    """From one compilation along any axis, with more elements than there are."""
    parts = 1 if kind == {"onesided": 1} else 2
    x, axis, length = real(2, 3, 5, parts), numpy.array(0), numpy.array(6)
    model = one_node("DFT", {"x": x, "n": length, "axis": axis}, opset=20, symbolic=False, **kind)
    prepared = rx.OnnxBackend.prepare(model, shapes={"x": (*sizes, parts)})
    for place in (0, 1, 2, -2, -4):
        made = prepared.run([x, length, numpy.array(place)])[0]
        expected = transform(x, 6, place % 4, kind)
        numpy.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5, err_msg=f"axis {place}")


@pytest.mark.parametrize(
    "length, inverse", [(2, 1), (5, 0), (8, 1), (12, 0), (13, 1), (27, 0), (30, 1), (31, 0), (2100, 0)]
)
def test_lengths_of_all_factors(length: int, inverse: int) -> None:
    """Transform lengths in stages if they are short or too long for a table. A large prime keeps its table."""
    x = real(2, length, 2)
    model = one_node("DFT", {"x": x}, opset=17, symbolic=False, axis=1, inverse=inverse)
    (found,) = rx.OnnxBackend.prepare(model).run([x])
    expected = (numpy.fft.ifft if inverse else numpy.fft.fft)(x[..., 0].astype("float64") + 1j * x[..., 1], axis=1)
    scale = numpy.abs(expected).max()
    numpy.testing.assert_allclose(found, numpy.stack([expected.real, expected.imag], -1), atol=3e-6 * scale, rtol=0)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_long_signals_of_other_types(dtype: str) -> None:
    x, length = real(1, 2150, 1).astype(dtype), numpy.array(2187)
    model = one_node("DFT", {"x": x, "n": length}, opset=17, symbolic=False, axis=1, onesided=1)
    (found,) = rx.OnnxBackend.prepare(with_constants(model, {"n": length})).run([x])
    expected = numpy.fft.rfft(x[..., 0].astype("float64"), n=2187, axis=1)
    atol = (2e-3 if dtype == "float16" else 1e-12) * numpy.abs(expected).max()
    assert found.dtype == dtype
    numpy.testing.assert_allclose(found[..., 0], expected.real, atol=atol, rtol=0)
    numpy.testing.assert_allclose(found[..., 1], expected.imag, atol=atol, rtol=0)


def test_frames() -> None:
    compare("STFT", {"step": numpy.array(4), "w": real(16)}, real(2, 40, 1))
    if IS_OLD:
        pytest.skip("this onnxruntime, the newest that Python 3.10 has, reads what is behind a complex signal")
    compare("STFT", {"step": numpy.array(4), "w": None, "length": numpy.array(8)}, real(2, 40, 2), onesided=0)


def test_refusals() -> None:
    with pytest.raises(rx.RelaxError, match="must be the real part"):
        rx.from_onnx(one_node("DFT", {"x": real(2, 9, 3)}, opset=17, symbolic=False))
    with pytest.raises(rx.RelaxError, match="axis 2 must be one of the 2 in front"):
        rx.from_onnx(one_node("DFT", {"x": real(2, 9, 2)}, opset=17, symbolic=False, axis=2))
    with pytest.raises(rx.RelaxError, match="the window must have one dimension, not 0"):
        x, step, window = real(2, 9), numpy.array(1), numpy.array(1, "float32")
        rx.from_onnx(with_constants(one_node("STFT", {"x": x, "s": step, "w": window}, symbolic=False), {"s": step}))
    with pytest.raises(rx.RelaxError, match="must be positive and within the signal"):
        x, step = real(2, 9), numpy.array(0)
        rx.from_onnx(with_constants(one_node("STFT", {"x": x, "s": step, "w": real(4)}, symbolic=False), {"s": step}))


def test_butterflies_turn_by_their_sign() -> None:
    """Transform lengths of one factor, of fours in two stages, and of several factors, in both directions, on
    constants."""
    cases = [(length, inverse) for length in (2, 3, 4, 5, 6, 8, 12) for inverse in (False, True)]
    pairs = [(real(3, length), real(3, length)) for length, _ in cases]
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(
            *(
                part
                for (length, inverse), pair in zip(cases, pairs, strict=True)
                for part in in_stages((relax.const(pair[0]), relax.const(pair[1])), length, inverse)
            )
        )
    rx.Pipeline("relax-fold-constant").run(module)
    found = iter([numpy.from_dlpack(each) for each in rx.compile(module)["main"]()])
    for (_, inverse), (x, y) in zip(cases, pairs, strict=True):
        expected = (numpy.fft.ifft if inverse else numpy.fft.fft)(x.astype("float64") + 1j * y, axis=1)
        for part in (expected.real, expected.imag):
            numpy.testing.assert_allclose(next(found), part, rtol=1e-5, atol=1e-5)
