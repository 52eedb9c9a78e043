# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of convolutions, products, pools, images, recurrent operators."""

from __future__ import annotations

from typing import Any

import numpy
from flatbuffers import flexbuffers
from tflite_cases import Case, bias_of, case, f32, quantized, random_floats, weights
from tflite_model import Tensor, of_one

_SAME, _VALID = 0, 1


def _out(size: int, taps: int, stride: int, padding: int, gap: int = 1) -> int:
    return -(-size // stride) if padding == _SAME else (size - (taps - 1) * gap - 1) // stride + 1


def _convolution(note: str, strides: tuple[int, int], padding: int, gap: int = 1, groups: int = 1, **more: Any) -> Case:
    height, width = (_out(size, 3, stride, padding, gap) for size, stride in zip((9, 10), strides, strict=True))
    operands = [f32(2, 9, 10, 4), random_floats(6, 3, 3, 4 // groups), random_floats(6)]
    return case("CONV_2D", operands, f32(2, height, width, 6), note=note, kind="Conv2D", tolerance=1e-4,
                stride_h=strides[0], stride_w=strides[1], padding=padding, dilation_h_factor=gap,
                dilation_w_factor=gap, **more)  # fmt: skip


def _depthwise(note: str, stride: int, padding: int, filters: int = 1, gap: int = 1) -> Case:
    size = _out(9, 3, stride, padding, gap)
    operands = [f32(1, 9, 9, 4), random_floats(1, 3, 3, 4 * filters), random_floats(4 * filters)]
    return case("DEPTHWISE_CONV_2D", operands, f32(1, size, size, 4 * filters), note=note, kind="DepthwiseConv2D",
                tolerance=1e-4, stride_h=stride, stride_w=stride, padding=padding, depth_multiplier=filters,
                dilation_h_factor=gap, dilation_w_factor=gap, fused_activation_function=3)  # fmt: skip


def _convolutions() -> list[Case]:
    cases = [
        _convolution("same", (1, 1), _SAME),
        _convolution("valid", (1, 1), _VALID, fused_activation_function=1),
        _convolution("strided", (2, 3), _SAME, fused_activation_function=3),
        _convolution("strided-valid", (2, 2), _VALID),
        _convolution("dilated", (1, 1), _SAME, gap=2),
        _convolution("groups", (1, 1), _SAME, groups=2),
        _depthwise("same", 1, _SAME),
        _depthwise("strided", 2, _SAME),
        _depthwise("valid", 1, _VALID),
        _depthwise("filters", 1, _SAME, filters=2),
        _depthwise("dilated", 1, _SAME, gap=2),
        case("CONV_3D", [f32(1, 5, 6, 7, 2), random_floats(2, 3, 3, 2, 4), random_floats(4)], f32(1, 5, 3, 4, 4),
             kind="Conv3D", tolerance=1e-4, stride_d=1, stride_h=2, stride_w=2, padding=_SAME),
    ]  # fmt: skip
    for note, stride, padding, size in (("same", 2, _SAME, 10), ("valid", 2, _VALID, 11), ("one", 1, _SAME, 5),
                                        ("odd", 2, _SAME, 9)):  # fmt: skip
        shape = numpy.array([1, size, size, 3], "int32")
        operands = [Tensor((4,), "int32", shape), random_floats(3, 3, 3, 2), f32(1, 5, 5, 2)]
        cases.append(case("TRANSPOSE_CONV", operands, f32(1, size, size, 3), note=note, kind="TransposeConv",
                          tolerance=1e-4, stride_h=stride, stride_w=stride, padding=padding))  # fmt: skip
    return cases + _quantized_convolutions()


def _quantized_convolutions() -> list[Case]:
    cases = []
    options = {"stride_h": 1, "stride_w": 1, "padding": _SAME}
    for dtype, axis in (("int8", 0), ("int8", None), ("uint8", None)):
        x = quantized(1, 8, 8, 8, dtype=dtype)
        kernel = weights((6, 3, 3, 8), axis, dtype)
        for activation in (0, 3):
            made = quantized(1, 8, 8, 6, dtype=dtype, scale=0.3)
            cases.append(case("CONV_2D", [x, kernel, bias_of(x, kernel, 6)], made,
                              note=f"{dtype}-{axis}-{activation}", kind="Conv2D", fused_activation_function=activation,
                              **options))  # fmt: skip
        along = None if axis is None else 3
        kernel = weights((1, 3, 3, 8), along, dtype)
        cases.append(case("DEPTHWISE_CONV_2D", [x, kernel, bias_of(x, kernel, 8)],
                          quantized(1, 8, 8, 8, dtype=dtype, scale=0.2), note=f"{dtype}-{axis}", kind="DepthwiseConv2D",
                          depth_multiplier=1, fused_activation_function=1, **options))  # fmt: skip
        flat, kernel = quantized(3, 16, dtype=dtype), weights((5, 16), None, dtype)
        cases.append(case("FULLY_CONNECTED", [flat, kernel, bias_of(flat, kernel, 5)],
                          quantized(3, 5, dtype=dtype, scale=0.1), note=f"{dtype}-{axis}", kind="FullyConnected",
                          fused_activation_function=1))  # fmt: skip
    kernel, x = weights((6, 3, 3, 8), 0), quantized(1, 8, 8, 8, dtype="int16", scale=0.0005)
    cases.append(case("CONV_2D", [x, kernel, bias_of(x, kernel, 6, "int64")],
                      quantized(1, 8, 8, 6, dtype="int16", scale=0.001), kind="Conv2D", **options))  # fmt: skip
    kernel, x = weights((5, 16), None), quantized(3, 16, dtype="int16", scale=0.0005)
    cases.append(case("FULLY_CONNECTED", [x, kernel, bias_of(x, kernel, 5, "int64")],
                      quantized(3, 5, dtype="int16", scale=0.001), kind="FullyConnected"))  # fmt: skip
    shape, kernel, x = numpy.array([1, 10, 10, 3], "int32"), weights((3, 3, 3, 4), 0), quantized(1, 5, 5, 4)
    cases.append(case("TRANSPOSE_CONV", [Tensor((4,), "int32", shape), kernel, x], quantized(1, 10, 10, 3, scale=0.2),
                      kind="TransposeConv", stride_h=2, stride_w=2, padding=_SAME))  # fmt: skip
    left, right = quantized(2, 4, 8), quantized(2, 8, 5)
    cases.append(case("BATCH_MATMUL", [left, right], quantized(2, 4, 5, scale=0.3), kind="BatchMatMul", adj_x=False,
                      adj_y=False))  # fmt: skip
    return cases


def _volumes() -> list[Case]:
    shape = Tensor((5,), "int32", numpy.array([1, 4, 8, 8, 3], "int32"))
    return [
        case("CONV_3D_TRANSPOSE", [shape, random_floats(2, 3, 3, 3, 2), f32(1, 2, 4, 4, 2)], f32(1, 4, 8, 8, 3),
             kind="Conv3D", tolerance=1e-4, stride_d=2, stride_h=2, stride_w=2, padding=_SAME),
    ]  # fmt: skip


def _products() -> list[Case]:
    same = {"kind": "FullyConnected", "tolerance": 1e-4}
    return [
        case("FULLY_CONNECTED", [f32(3, 8), random_floats(5, 8), random_floats(5)], f32(3, 5), **same,
             fused_activation_function=1),
        case("FULLY_CONNECTED", [f32(3, 8), random_floats(5, 8)], f32(3, 5), note="no-bias", **same, missing=[2]),
        case("FULLY_CONNECTED", [f32(2, 3, 8), random_floats(5, 8), random_floats(5)], f32(2, 3, 5), note="kept",
             **same, keep_num_dims=True),
        case("FULLY_CONNECTED", [f32(2, 3, 8), random_floats(5, 8), random_floats(5)], f32(6, 5), note="flat", **same,
             keep_num_dims=False),
        case("BATCH_MATMUL", [f32(2, 3, 4), f32(2, 4, 5)], f32(2, 3, 5), kind="BatchMatMul", adj_x=False, adj_y=False),
        case("BATCH_MATMUL", [f32(2, 4, 3), f32(2, 5, 4)], f32(2, 3, 5), note="turned", kind="BatchMatMul",
             adj_x=True, adj_y=True),
        case("BATCH_MATMUL", [f32(2, 1, 3, 4), f32(3, 4, 5)], f32(2, 3, 3, 5), note="broadcast", kind="BatchMatMul",
             adj_x=False, adj_y=False),
    ]  # fmt: skip


def _pools() -> list[Case]:
    cases = []
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        for padding in (_SAME, _VALID):
            height, width = _out(9, 3, 2, padding), _out(8, 2, 2, padding)
            options = {"kind": "Pool2D", "padding": padding, "stride_h": 2, "stride_w": 2, "filter_height": 3,
                       "filter_width": 2, "fused_activation_function": 0}  # fmt: skip
            cases.append(case(op, [f32(2, 9, 8, 3)], f32(2, height, width, 3), note=f"{padding}", **options))
            if op != "L2_POOL_2D":
                for dtype in ("int8", "uint8"):
                    cases.append(
                        case(
                            op,
                            [quantized(2, 9, 8, 3, dtype=dtype)],
                            quantized(2, height, width, 3, dtype=dtype),
                            note=f"{padding}",
                            **options,
                        )
                    )
    return cases  # fmt: skip


def _images() -> list[Case]:
    cases = []
    for op, kind in (("RESIZE_BILINEAR", "ResizeBilinear"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor")):
        for corners, halves in ((False, False), (True, False), (False, True)):
            for size in ((7, 11), (3, 2)):
                operands = [f32(1, 4, 6, 2), Tensor((2,), "int32", numpy.array(size, "int32"))]
                cases.append(case(op, operands, f32(1, *size, 2), note=f"{corners}-{halves}-{size[0]}", kind=kind,
                                  align_corners=corners, half_pixel_centers=halves))  # fmt: skip
        operands = [quantized(1, 4, 6, 2), Tensor((2,), "int32", numpy.array((8, 12), "int32"))]
        cases.append(case(op, operands, quantized(1, 8, 12, 2), kind=kind, half_pixel_centers=True))
    return cases


def _boxes() -> list[Case]:
    options = {"max_detections": 5, "num_classes": 3, "nms_score_threshold": 0.3, "nms_iou_threshold": 0.5,
               "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, "use_regular_nms": False}  # fmt: skip
    random = numpy.random.default_rng(8)
    anchors = numpy.concatenate([random.uniform(0.2, 0.8, (30, 2)), random.uniform(0.2, 0.5, (30, 2))], axis=1)
    cases = []
    for count in (1, 2):
        results = [f32(1, 5 * count, 4), f32(1, 5 * count), f32(1, 5 * count), f32(1)]
        operands = [f32(1, 30, 4), f32(1, 30, 4, low=0, high=1), Tensor((30, 4), "float32", anchors.astype("float32"))]
        given = flexbuffers.Dumps({**options, "max_classes_per_detection": count})
        model = of_one("TFLite_Detection_PostProcess", operands, results, custom_options=bytes(given))
        cases.append(Case(f"detections-{count}", model))
    corners = numpy.concatenate([anchors[:, :2] - 0.2, anchors[:, :2] + 0.1], axis=1).astype("float32")
    operands = [Tensor((30, 4), "float32", corners), f32(30, low=0, high=1), Tensor((), "int32", numpy.int32(6)),
                Tensor((), "float32", numpy.float32(0.4)), Tensor((), "float32", numpy.float32(0.2))]  # fmt: skip
    one, count_ = Tensor((6,), "int32"), Tensor((), "int32")
    cases.append(case("NON_MAX_SUPPRESSION_V4", operands, one, count_))
    sigma = Tensor((), "float32", numpy.float32(0))
    cases.append(case("NON_MAX_SUPPRESSION_V5", [*operands, sigma], one, f32(6), count_))
    return cases


# ---- recurrent operators ----


def _state(*shape: int) -> Tensor:
    return Tensor(shape, "float32", is_variable=True)


def _lstm(note: str, coupled: bool = False, peepholes: bool = False, projected: int = 0, steps: int = 3,
          normed: bool = False, **options: Any) -> Case:  # fmt: skip
    size, features, batch = 5, 4, 2
    hidden = projected or size
    gates = range(1, 4) if coupled else range(4)
    operands: dict[int, Tensor] = {0: f32(batch, steps, features, low=-1, high=1)}
    for gate in gates:
        operands[1 + gate] = random_floats(size, features, seed=gate + 1)
        operands[5 + gate] = random_floats(size, hidden, seed=gate + 9)
        operands[12 + gate] = random_floats(size, seed=gate + 20)
        if normed:
            operands[20 + gate] = random_floats(size, seed=gate + 30)
    if peepholes:
        operands |= {9 + place: random_floats(size, seed=place + 40) for place in range(1 if coupled else 0, 3)}
    if projected:
        operands |= {16: random_floats(projected, size), 17: random_floats(projected)}
    operands |= {18: _state(batch, hidden), 19: _state(batch, size)}
    missing = [place for place in range(24) if place not in operands]
    tensors = [operands[place] for place in sorted(operands)]
    return case("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, f32(batch, steps, hidden), note=note,
                kind="UnidirectionalSequenceLSTM", missing=missing, tolerance=1e-4, fused_activation_function=4,
                time_major=False, **options)  # fmt: skip


def _one_step() -> Case:
    """Return an LSTM of the operator without sequences."""
    (sequence,), tensors = _lstm("plain").model.operators, list(_lstm("plain").model.tensors)
    tensors[0], tensors[-1] = f32(2, 4, low=-1, high=1), f32(2, 5)
    step = sequence._replace(op="LSTM", kind="LSTM", options={"fused_activation_function": 4})
    return Case("LSTM", _lstm("plain").model._replace(tensors=tensors, operators=[step]), 1e-4)


def _rnn(prefix: str = "UNIDIRECTIONAL_SEQUENCE_") -> Case:
    operands = [f32(2, 3, 4), random_floats(5, 4), random_floats(5, 5), random_floats(5), _state(2, 5)]
    return case(f"{prefix}RNN", operands, f32(2, 3, 5), kind="SequenceRNN", time_major=False, tolerance=1e-4,
                fused_activation_function=4)  # fmt: skip


def _both_rnns(merged: bool) -> Case:
    one = [random_floats(5, 4), random_floats(5, 5), random_floats(5), _state(2, 5)]
    other = [random_floats(5, 4, seed=7), random_floats(5, 5, seed=8), random_floats(5, seed=9), _state(2, 5)]
    results = [f32(2, 3, 10)] if merged else [f32(2, 3, 5), f32(2, 3, 5)]
    return case("BIDIRECTIONAL_SEQUENCE_RNN", [f32(2, 3, 4), *one, *other], *results, note=f"{merged}",
                kind="BidirectionalSequenceRNN", missing=[9, 10, 11], time_major=False, tolerance=1e-4,
                fused_activation_function=4, merge_outputs=merged)  # fmt: skip


def _both_lstms() -> Case:
    size, features, batch, steps = 5, 4, 2, 3
    operands: dict[int, Tensor] = {0: f32(steps, batch, features, low=-1, high=1)}
    for first, weights_, recurrent, bias in ((0, 1, 5, 12), (50, 18, 22, 29)):
        for gate in range(4):
            operands[weights_ + gate] = random_floats(size, features, seed=first + gate)
            operands[recurrent + gate] = random_floats(size, size, seed=first + gate + 9)
            operands[bias + gate] = random_floats(size, seed=first + gate + 20)
    operands |= {place: _state(batch, size) for place in range(35, 39)}
    missing = [place for place in range(48) if place not in operands]
    tensors = [operands[place] for place in sorted(operands)]
    return case("BIDIRECTIONAL_SEQUENCE_LSTM", tensors, f32(steps, batch, 2 * size), kind="BidirectionalSequenceLSTM",
                missing=missing, tolerance=1e-4, fused_activation_function=4, time_major=True,
                merge_outputs=True)  # fmt: skip


def _recurrent() -> list[Case]:
    one_step = [f32(2, 4), random_floats(5, 4), random_floats(5, 5), random_floats(5), _state(2, 5)]
    svdf = [f32(2, 4), random_floats(6, 4), random_floats(6, 8), random_floats(3), _state(2, 48)]
    return [
        _lstm("plain"),
        _lstm("long", steps=12),
        _lstm("coupled", coupled=True, peepholes=True),
        _lstm("projected", projected=3, cell_clip=0.5, proj_clip=0.4),
        _lstm("peepholes", peepholes=True),
        _lstm("norms", normed=True),
        _one_step(),
        _rnn(),
        case("RNN", one_step, f32(2, 5), kind="RNN", fused_activation_function=4, tolerance=1e-4),
        _both_rnns(False),
        _both_rnns(True),
        _both_lstms(),
        case("SVDF", svdf, f32(2, 3), kind="SVDF", rank=2, fused_activation_function=1, tolerance=1e-4),
    ]


CASES = [*_convolutions(), *_volumes(), *_products(), *_pools(), *_images(), *_boxes(), *_recurrent()]
