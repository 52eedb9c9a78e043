# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of networks: attention, norms, losses, quantization, sampled images; by numpy, or else by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from drawing import Drawing
from graphs import Undefined
from onnx_oracle import run_onnx
from recipes import RELAX as recipe


def _wide(array: Any) -> Any:
    return array.astype("float64") if array.dtype.kind == "f" else array


def _along(parameter: Any, x: Any, axis: int) -> Any:
    return (
        parameter.reshape([-1 if each == axis % x.ndim else 1 for each in range(x.ndim)])
        if parameter.ndim
        else parameter
    )


def _onnx(op: str, *arrays: Any, **attributes: Any) -> Any:
    """Return onnxruntime's result for float32."""
    given = [each.astype("float32") if each is not None and each.dtype.kind == "f" else each for each in arrays]
    try:
        return run_onnx(op, *given, **attributes)[0]
    except Exception as error:  # whatever it raises: it gives nothing
        raise Undefined(f"{op}: {str(error)[:200]}") from None


def _divisor(d: Drawing, size: int | str) -> int:
    if not isinstance(size, int) or not size:
        raise Undefined("parts of no known number")
    return d.random.choice([each for each in range(1, size + 1) if size % each == 0])


# ---- attention ----
def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Any:
    if not all(numpy.isfinite(each).all() for each in (query, key, value) if each.size):
        raise Undefined("attention to infinities")
    if scale is None and not query.shape[-1]:
        raise Undefined("the usual scale of heads without elements is infinite")
    share = query.shape[2] // key.shape[2]
    q, k, v = (_wide(each) for each in (query, numpy.repeat(key, share, 2), numpy.repeat(value, share, 2)))
    scores = numpy.einsum("bqnh,bknh->bnqk", q, k) * (1 / numpy.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    queries, keys = scores.shape[-2:]
    offset = keys - queries if causal_mask == "BottomRight" else 0
    distance = numpy.arange(keys) - (numpy.arange(queries)[:, None] + offset)
    hidden = numpy.zeros((queries, keys), bool)
    if causal_mask is not None:
        hidden |= distance > 0
    if window_size is not None:
        hidden |= distance <= -window_size
    scores = numpy.where(hidden, -numpy.inf, scores)
    most = scores.max(-1, keepdims=True, initial=-numpy.inf)
    shares = numpy.exp(scores - numpy.where(numpy.isneginf(most), 0, most))
    sums = shares.sum(-1, keepdims=True)
    return numpy.einsum("bnqk,bknh->bqnh", shares / numpy.where(sums == 0, 1, sums), v)


@recipe(1.2)
def _draw_attention(d: Drawing) -> None:
    query = d.some("f", rank=4)
    batch, queries, heads, width = query.sizes
    own = _divisor(d, heads)
    keys = d.random.choice((queries, d.size()))
    key = d.like(query, (batch, keys, own, width))
    value = d.like(query, (batch, keys, own, d.random.choice((width, d.size()))))
    given = {
        "scale": d.random.choice((None, 0.5)),
        "causal_mask": d.random.choice((None, "TopLeft", "BottomRight")),
        "window_size": d.random.choice((None, None, None, 1, 2, 5)),
    }
    inputs = [query, key, value]
    if d.random.random() < 0.4:
        sizes = [1 if d.random.random() < 0.3 else size for size in (batch, heads, queries, keys)]
        inputs.append(d.like(query, sizes))
    d.add("relax.nn.attention", inputs, **{name: each for name, each in given.items() if each is not None})


# ---- products ----
def _einsum(arrays: Sequence[Any], subscripts: str) -> Any:
    return numpy.einsum(subscripts, *map(_wide, arrays))


_SUBSCRIPTS = (
    "ij->ji", "ij->i", "ij->", "ij,jk->ik", "ij,kj->ik", "ji,jk", "bij,bjk->bik", "bij,bkj->bki", "i,j->ij", "ij,ij->",
    "ij,ij->ij", "ij,j->i", "ij,jk,kl->il", "bhid,bhjd->bhij", "abc->cab", "abc,cd->abd", "ii->i", "i,i",
)  # fmt: skip


@recipe(1)
def _draw_einsum(d: Drawing) -> None:
    subscripts = d.random.choice(_SUBSCRIPTS)
    first, *others = subscripts.split("->")[0].split(",")
    x = d.some("fi", rank=len(first))
    sizes = dict(zip(first, x.sizes, strict=True))
    if [sizes[label] for label in first] != list(x.sizes):
        raise Undefined("a diagonal of what is no square")
    rest = [d.like(x, [sizes.setdefault(label, d.size()) for label in labels]) for labels in others]
    d.add("relax.einsum", [(x, *rest)], subscripts=subscripts)


# ---- norms, activations, losses ----
def _normed(x: Any, gamma: Any, beta: Any, groups: int, channel_axis: int) -> Any:
    """Normalize over the channels of each group and all later dimensions."""
    if x.size == 0:
        return x
    grouped = _wide(x).reshape(x.shape[0], groups, -1)
    centered = grouped - grouped.mean(2, keepdims=True)
    unit = (centered / numpy.sqrt((centered**2).mean(2, keepdims=True) + 1e-5)).reshape(x.shape)
    return unit * _along(gamma, x, channel_axis) + _along(beta, x, channel_axis)


@recipe(0.8)
def _draw_norm(d: Drawing) -> None:
    x = d.some("f", least=3)
    channels = x.sizes[1]
    inputs = [x, d.like(x, (channels,)), d.like(x, (channels,))]
    axes = tuple(range(2, x.rank))
    if d.random.random() < 0.5:
        return d.add("relax.nn.instance_norm", inputs, channel_axis=1, axes=axes)
    return d.add("relax.nn.group_norm", inputs, num_groups=_divisor(d, channels), channel_axis=1, axes=axes)


def _prelu(x: Any, alpha: Any, axis: int) -> Any:
    return numpy.where(x > 0, x, x * _along(alpha, x, axis))


@recipe(0.4)
def _draw_prelu(d: Drawing) -> None:
    x = d.some("f", least=1)
    axis = d.axis(x)
    d.add("relax.nn.prelu", [x, d.like(x, (x.sizes[axis],))], axis=axis)


def _cross_entropy(predictions: Any, labels: Any) -> Any:
    batch = predictions.shape[0] if predictions.ndim > 1 else 1
    return -(_wide(predictions) * labels).sum() / batch


def _nll(predictions: Any, targets: Any, weights: Any, reduction: str) -> Any:
    picked = numpy.take_along_axis(_wide(predictions), targets[:, None], 1)[:, 0]
    shares = weights.astype("float64")[targets]
    losses = -picked * shares
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / shares.sum()}[reduction]


@recipe(0.5)
def _draw_loss(d: Drawing) -> None:
    x = d.some("f", least=1)
    if d.random.random() < 0.5 or x.rank < 2 or not all(isinstance(each, int) and each for each in x.sizes):
        return d.add("relax.nn.cross_entropy_with_logits", [x, d.like(x)])
    places = (x.sizes[0], *x.sizes[2:])
    targets = numpy.array([d.random.randrange(int(x.sizes[1])) for _ in range(int(numpy.prod(places)))], "int64")
    weights = d.like(x, (x.sizes[1],))
    reduction = d.random.choice(("none", "sum", "mean"))
    return d.add("relax.nn.nll_loss", [x, d.constant(targets.reshape(places), "fixed"), weights], reduction=reduction)


def _pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    *lead, channels, height, width = x.shape
    r = upscale_factor
    split = x.reshape(-1, channels // r**2, r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return split.reshape(*lead, channels // r**2, height * r, width * r)


@recipe(0.4)
def _draw_pixel_shuffle(d: Drawing) -> None:
    lead = [d.size() for _ in range(d.random.choice((0, 1)))]
    factor = d.random.choice((1, 2))
    x = d.like(d.some(), (*lead, factor**2 * d.random.choice((1, 2)), d.size(), d.size()))
    d.add("relax.nn.pixel_shuffle", [x], upscale_factor=factor)


# ---- quantization ----
def _quantize(x: Any, scale: Any, zero: Any, axis: int, out_dtype: str) -> Any:
    if numpy.isnan(x).any():
        raise Undefined("the integer for NaN")
    limits = numpy.iinfo(out_dtype)
    total = numpy.rint(x.astype("float32") / _along(scale, x, axis)) + _along(zero.astype("float32"), x, axis)
    return numpy.clip(total, limits.min, limits.max)


def _dequantize(x: Any, scale: Any, zero: Any, axis: int) -> Any:
    return (x.astype("float64") - _along(zero.astype("float64"), x, axis)) * _along(scale, x, axis)


@recipe(0.8)
def _draw_quantize(d: Drawing) -> None:
    x = d.some("f", least=1, dtypes=("float32", "float16"))
    dtype = d.random.choice(("int8", "uint8", "int16"))
    axis = d.axis(x)
    size = x.sizes[axis]
    shape = (size,) if isinstance(size, int) and d.random.random() < 0.5 else ()
    count = int(numpy.prod(shape))
    scales = numpy.array([d.random.choice((0.0625, 0.3, 2.0)) for _ in range(count)], "float32").reshape(shape)
    zeros = numpy.array([d.random.choice((0, 3, 7)) for _ in range(count)], dtype).reshape(shape)
    scale, zero = d.constant(scales, "fixed"), d.constant(zeros, "fixed")
    d.add("relax.quantize", [x, scale, zero], axis=axis, out_dtype=dtype)
    d.add("relax.dequantize", [d.values[-1], scale, zero], axis=axis)


# ---- images ----
_MODES = {"nearest_neighbor": "nearest", "bilinear": "linear", "bicubic": "cubic"}


def _resize(
    x: Any, size: Sequence[int], method: str, coordinate_transformation_mode: str, rounding_method: str = ""
) -> Any:
    if 0 in x.shape or not numpy.isfinite(x).all():
        raise Undefined("interpolation between infinities, or of nothing")
    mode = _MODES.get(method, method)
    given = {"mode": mode, "coordinate_transformation_mode": coordinate_transformation_mode}
    if mode == "nearest":
        given["nearest_mode"] = rounding_method
    return _onnx("Resize", x, None, None, numpy.array([*x.shape[:2], *size]), **given)


@recipe(0.6)
def _draw_resize(d: Drawing) -> None:
    x = d.some("f", rank=4, dtypes=("float32", "float16"))
    method = d.random.choice(("nearest_neighbor", "linear", "cubic"))
    modes = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    # A nearest element in the exact middle depends on the rounding of coordinates.
    mode = "asymmetric" if method == "nearest_neighbor" else d.random.choice(modes)
    given = {"rounding_method": "floor"} if method == "nearest_neighbor" else {}
    size = tuple(d.random.choice((1, 2, 3, 4, 7)) for _ in range(2))
    if method == "nearest_neighbor":
        size = tuple(int(each) * d.random.choice((1, 2)) if isinstance(each, int) else 1 for each in x.sizes[2:])
    d.add("relax.image.resize2d", [x], size=size, method=method, coordinate_transformation_mode=mode, **given)


def _grid_sample(x: Any, grid: Any, method: str, padding_mode: str, align_corners: bool) -> Any:
    if 0 in x.shape or 0 in grid.shape or not (numpy.isfinite(x).all() and numpy.isfinite(grid).all()):
        raise Undefined("samples between infinities, or of nothing")
    if padding_mode == "reflection" and 1 in x.shape[2:]:
        raise Undefined("nothing to mirror at: onnxruntime divides by zero")
    given = {"mode": _MODES.get(method, method), "padding_mode": padding_mode, "align_corners": int(align_corners)}
    return _onnx("GridSample", x, numpy.moveaxis(grid, 1, -1).copy(), **given)


@recipe(0.4)
def _draw_samples(d: Drawing) -> None:
    x = d.some("f", rank=4, dtypes=("float32",))
    grid = d.fresh("float32", (x.sizes[0], 2, d.size(), d.size()))
    d.add(
        "relax.image.grid_sample",
        [x, grid],
        method=d.random.choice(("bilinear", "bicubic")),
        padding_mode=d.random.choice(("zeros", "border", "reflection")),
        align_corners=d.random.random() < 0.5,
    )


def _roi_align(data: Any, rois: Any, pooled_size: Any, spatial_scale: float, sample_ratio: int, aligned: bool) -> Any:
    if not numpy.isfinite(data).all() or 0 in data.shape:
        raise Undefined("interpolation between infinities, or of nothing")
    # ONNX shifts aligned regions by half an element, like its importers do before relax, which does not.
    corners = rois[:, 1:] + 0.5 / spatial_scale * aligned
    return _onnx(
        "RoiAlign",
        data,
        corners,
        rois[:, 0].astype("int64"),
        output_height=pooled_size[0],
        output_width=pooled_size[1],
        spatial_scale=spatial_scale,
        sampling_ratio=sample_ratio,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )


def _roi_pool(data: Any, rois: Any, pooled_size: Any, spatial_scale: float) -> Any:
    if numpy.isnan(data).any() or 0 in data.shape:
        raise Undefined("onnxruntime loses NaN")
    return _onnx("MaxRoiPool", data, rois, pooled_shape=list(pooled_size), spatial_scale=spatial_scale)


@recipe(0.5)
def _draw_regions(d: Drawing) -> None:
    x = d.some("f", rank=4, dtypes=("float32",))
    images = min(array.shape[0] for array in x.arrays)
    if not images:
        raise Undefined("no images")
    rows = []
    for _ in range(d.random.choice((1, 3))):
        top, left = d.random.uniform(0, 6), d.random.uniform(0, 6)
        corner = [top + d.random.uniform(0.1, 8), left + d.random.uniform(0.1, 8)]
        rows.append([d.random.randrange(images), top, left, *corner])
    rois = d.constant(numpy.array(rows, "float32"), "fixed")
    size = tuple(d.random.choice((1, 2, 3)) for _ in range(2))
    if d.random.random() < 0.4:
        return d.add("relax.vision.roi_pool", [x, rois], pooled_size=size, spatial_scale=0.5)
    ratio, aligned = d.random.choice((0, 1, 2)), d.random.random() < 0.5
    return d.add(
        "relax.vision.roi_align", [x, rois], pooled_size=size, spatial_scale=0.5, sample_ratio=ratio, aligned=aligned
    )


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relax.nn.attention": _attention,
    "relax.einsum": _einsum,
    "relax.nn.group_norm": lambda x, gamma, beta, num_groups, channel_axis, axes: _normed(
        x, gamma, beta, num_groups, channel_axis
    ),
    "relax.nn.instance_norm": lambda x, gamma, beta, channel_axis, axes: _normed(
        x, gamma, beta, x.shape[channel_axis], channel_axis
    ),
    "relax.nn.prelu": _prelu,
    "relax.nn.cross_entropy_with_logits": _cross_entropy,
    "relax.nn.nll_loss": _nll,
    "relax.nn.pixel_shuffle": _pixel_shuffle,
    "relax.quantize": _quantize,
    "relax.dequantize": _dequantize,
    "relax.image.resize2d": _resize,
    "relax.image.grid_sample": _grid_sample,
    "relax.vision.roi_align": _roi_align,
    "relax.vision.roi_pool": _roi_pool,
}
