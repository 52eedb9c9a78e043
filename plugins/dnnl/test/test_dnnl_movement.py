# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl: slices, concatenations, resizing, prelu, rms_norm, softmax without NaN, broadcast first operands."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from before_after import results_of
from dnnl_models import floats
from dnnl_parts import build_part, built, call_part, compare_steps
from relax_mlir import relax
from relax_mlir_dnnl import machine
from relax_mlir_dnnl.runtime import runtime
from relax_mlir_dnnl.runtime.runtime import DnnlRuntime

const = relax.const
image = (2, 8, 6, 6)
NEAREST = "nearest_neighbor"


def convolved(x: Any) -> Any:
    """Return a convolution, which has blocked channels in oneDNN."""
    return relax.nn.conv2d(x, const(floats(16, 8, 3, 3)), padding=1)


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        (lambda x: relax.strided_slice(relax.exp(x), axes=[1], begin=[2], end=[5]), [(3, 8, 4)]),
        (lambda x: relax.strided_slice(relax.exp(x), axes=[-1, 0], begin=[-3, 1], end=[2**63 - 1, 3]), [(4, 8)]),
        (lambda x: relax.strided_slice(relax.exp(x), axes=[0], begin=[-99], end=[99]), [(4, 8)]),
        (lambda x: relax.exp(relax.strided_slice(x, axes=[1], begin=[1], end=[-1])), [("n", 5)]),
        (lambda x: relax.strided_slice(convolved(x), axes=[1, 2], begin=[3, 1], end=[9, 4]), [image]),
        (lambda x: relax.strided_slice(convolved(x), axes=[1], begin=[0], end=[16]), [image]),
        (lambda x: relax.strided_slice(relax.permute_dims(relax.exp(x)), axes=[0], begin=[1], end=[3]), [(5, 4)]),
        (lambda x: tuple(relax.split(relax.exp(x), indices_or_sections=3, axis=1)), [("n", 6)]),
        (lambda x: tuple(relax.split(relax.exp(x), indices_or_sections=[1, 4], axis=-1)), [(2, 6)]),
        (lambda x, y: relax.concat([relax.exp(x), relax.tanh(y)], axis=1), [("n", 3), ("n", 2)]),
        (lambda x, y: relax.exp(relax.concat([x, y], axis=-2)), [(2, 3, 4), (2, 1, 4)]),
        (lambda x: relax.concat([convolved(x), relax.exp(x)], axis=1), [image]),
        (lambda x: relax.nn.relu(relax.concat([convolved(x), relax.nn.relu(convolved(x))], axis=1)), [image]),
        (lambda x, y: relax.stack([relax.exp(x), y, x], axis=1), [(2, 3), (2, 3)]),
        (lambda x: relax.broadcast_to(relax.exp(x), (2, 3, 4, 5)), [(3, 1, 5)]),
        (lambda x: relax.broadcast_to(relax.exp(x), (2, 4, "n")), [(2, 1, "n")]),
        (lambda x: relax.broadcast_to(relax.exp(x), (2, 3)), [(2, 3)]),
    ],
)
def test_slices_and_concatenations(body: Any, shapes: list[Any]) -> None:
    assert compare_steps(built(body, *shapes), sizes={"n": 3}, tolerance=1e-5)


@pytest.mark.parametrize("sizes", [{"n": 0, "m": 2}, {"n": 3, "m": 0}, {"n": 0, "m": 0}])
def test_concatenation_with_empty_tensors(sizes: dict[str, int]) -> None:
    module = built(lambda x, y: relax.concat([relax.exp(x), y, y], axis=1), (2, "n", 3), (2, "m", 3))
    assert compare_steps(module, sizes=sizes, tolerance=1e-5)


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        (
            {"method": NEAREST, "coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"},
            (12, 18),
        ),
        ({"method": NEAREST, "rounding_method": "round_prefer_floor"}, (24, 6)),
        ({"method": NEAREST, "rounding_method": "round_prefer_ceil"}, (18, 30)),
        ({"method": "linear"}, (12, 12)),
        ({"method": "linear"}, (4, 9)),
        ({"method": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, (3, 13)),
        ({"method": "linear", "layout": "NHWC"}, (13, 7)),
    ],
)  # fmt: skip
def test_resizing(attributes: dict[str, Any], size: tuple[int, int]) -> None:
    module = built(lambda x: relax.image.resize2d(relax.exp(x), size, **attributes), image)
    assert compare_steps(module) == ["eltwise", "resampling"]


def test_resizing_volumes() -> None:
    module = built(lambda x: relax.image.resize3d(x, (4, 6, 10)), (1, 3, 2, 6, 5))
    assert compare_steps(module) == ["resampling"]


@pytest.mark.parametrize("shape", [image, (3, 8), ("n", 8, 5)])
@pytest.mark.parametrize("count", [8, 1])
def test_prelu(shape: Any, count: int) -> None:
    slopes = floats(count)
    assert compare_steps(built(lambda x: relax.nn.prelu(x, const(slopes), axis=1), shape), sizes={"n": 3}) == ["prelu"]


@pytest.mark.parametrize("axes", [[-1], [1, 2], [-2, -1]])
def test_rms_norm(axes: list[int]) -> None:
    module = built(lambda x, w: relax.nn.rms_norm(x, w, axes=axes, epsilon=1e-3), ("n", 6, 20), (6, 20)[-len(axes) :])
    assert compare_steps(module, sizes={"n": 3})[1] == "reduction+eltwise+eltwise"


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        (lambda x, y: relax.divide(const(numpy.float32(1)), relax.exp(x)), ["eltwise+eltwise"]),
        (lambda x, y: relax.divide(const(numpy.float32(-2.5)), relax.exp(x)), ["eltwise+eltwise"]),
        (lambda x, y: relax.subtract(const(numpy.float32(1)), relax.exp(x)), ["eltwise+eltwise"]),
        (lambda x, y: relax.subtract(y, relax.exp(x)), ["eltwise", "eltwise", "binary"]),
    ],
)
def test_broadcast_first_operands(body: Any, steps: list[str]) -> None:
    assert compare_steps(built(body, (3, 4, 5), (4, 1))) == steps


def without_nan(x: Any, axis: int = -1) -> Any:
    y = relax.nn.softmax(x, axis=axis)
    return relax.where(relax.isnan(y), const(numpy.float32(0)), y)


@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 7), -1), ((3, 5, 64), -1), ((7, 5), 0), ((2, 3, 1), -1), (("n", 6), 1)]
)
def test_fully_masked_rows(shape: Any, axis: int) -> None:
    """Compute exactly 0 for fully masked rows, next to rows with NaN and infinities."""
    module = built(lambda x: without_nan(x, axis), shape)
    data = floats(*(5 if size == "n" else size for size in shape))
    rows = numpy.moveaxis(data, axis, -1)
    rows[..., 0, :] = -numpy.inf
    rows[..., 1, 0], rows[..., -1, 0] = numpy.nan, numpy.inf
    rows[..., 2, :-1] = -numpy.inf
    assert compare_steps(module, [data]) == ["softmax+eltwise"]
    part = build_part(module)
    (made,) = call_part(part, [data], [data])
    (wanted,) = results_of(module, [data])
    numpy.testing.assert_array_equal(made == 0, wanted == 0)


def test_other_nan_guards() -> None:
    """Leave guards with another number, or of another operator, to the target."""

    def other(x: Any) -> Any:
        y = relax.nn.softmax(x)
        return relax.where(relax.isnan(y), const(numpy.float32(1)), y)

    for body in (other, lambda x: relax.where(relax.isnan(x), const(numpy.float32(0)), x)):
        journal = rx.Journal()
        rx.compile(built(body, (3, 4)), partition=["dnnl"], journal=journal, opt_level=0, cache=False)
        (fact,) = journal.of("partition")
        assert "dnnl.softmax_without_nan" not in fact["matched"]


def test_clip_that_keeps_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    data = build_part(built(without_nan, (3, 4))).data
    assert DnnlRuntime().requires(memoryview(data)) == ""
    for module in (runtime, machine):
        monkeypatch.setattr(module, "why_nan_stays", lambda: "it hands NaN on")
    assert DnnlRuntime().requires(memoryview(data)) == "it hands NaN on"
    journal = rx.Journal()
    rx.compile(built(without_nan, (3, 4)), partition=["dnnl"], journal=journal, opt_level=0, cache=False)
    assert journal.of("partition")[0]["matched"] == {"dnnl.softmax": 1}
