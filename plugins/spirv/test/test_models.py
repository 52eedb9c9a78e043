# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on devices of Vulkan and OpenCL: results equal the results of the CPU's programs, without leaks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_devices import KINDS, compiled, device_without_leaks, target
from relax_mlir import relax
from relax_mlir.tools.relax_compile import run

_DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.onnx"
_WIDTH, _HEADS, _HIDDEN, _WORDS = 16, 2, 24, 11


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from device_without_leaks(request.param)


def check(module: rx.Module, kind: str, calls: Sequence[Sequence[Any]], atol: float = 1e-5) -> None:
    on_cpu, on_device = rx.compile(module), compiled(kind, module)
    for arguments in calls:
        expected = numpy.asarray(on_cpu["main"](*arguments))
        found = numpy.asarray(on_device.copying()["main"](*arguments))
        assert numpy.abs(expected).max() > 1e-3
        numpy.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def pictures(count: int) -> Any:
    return numpy.random.default_rng(count).random((count, 1, 8, 8), "float32")


def test_digits(kind: str) -> None:
    check(rx.from_onnx(_DIGITS), kind, [[pictures(2)], [pictures(5)]], 1e-6)


@pytest.mark.slow
def test_digits_by_the_tools(kind: str, tmp_path: Path) -> None:
    path, errors = tmp_path / "digits.rxa", io.StringIO()
    arguments = [str(_DIGITS), "--target", target(kind), "-o", str(path)]
    assert run(arguments, io.StringIO(), io.StringIO(), errors) == 0, errors.getvalue()
    found = numpy.asarray(rx.runtime.load(path).copying()["main"](pictures(2)))
    expected = numpy.asarray(rx.compile(rx.from_onnx(_DIGITS))["main"](pictures(2)))
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def transformer(*sizes: int | str) -> rx.Module:
    """Return a transformer from ids of (batch, sequence) to words of `_WORDS`, with two layers and separate weights."""
    random = numpy.random.default_rng(5)

    def weight(*shape: int, around: float = 0.0) -> Any:
        return relax.const((around + random.normal(size=shape) / numpy.sqrt(shape[0])).astype("float32"))

    def normed(x: Any) -> Any:
        return relax.nn.layer_norm(x, weight(_WIDTH, around=1.0), weight(_WIDTH), axes=[-1], epsilon=1e-5)

    def linear(x: Any, inputs: int, outputs: int) -> Any:
        return relax.add(relax.matmul(x, weight(inputs, outputs)), weight(outputs))

    batch, length = sizes
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, length), "int64")]) as f:
        (ids,) = f
        heads = (batch, length, _HEADS, _WIDTH // _HEADS)
        x = relax.take(weight(_WORDS, _WIDTH), ids, axis=0)
        for _ in range(2):
            before = normed(x)
            query, key, value = (relax.reshape(linear(before, _WIDTH, _WIDTH), heads) for _ in range(3))
            attended = relax.nn.attention(query, key, value, causal_mask="TopLeft")
            x = relax.add(x, linear(relax.reshape(attended, (batch, length, _WIDTH)), _WIDTH, _WIDTH))
            x = relax.add(x, linear(relax.nn.gelu(linear(normed(x), _WIDTH, _HIDDEN)), _HIDDEN, _WIDTH))
        f.returns(linear(normed(x), _WIDTH, _WORDS))
    return module


def words(*shape: int) -> Any:
    return numpy.random.default_rng(shape).integers(0, _WORDS, shape)


@pytest.mark.slow
def test_transformer(kind: str) -> None:
    check(transformer(2, 5), kind, [[words(2, 5)]])


@pytest.mark.slow
def test_transformer_of_any_size(kind: str) -> None:
    check(transformer("batch", "length"), kind, [[words(2, 3)], [words(1, 1)], [words(1, 6)]])
