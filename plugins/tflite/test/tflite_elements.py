# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of operators on each element, activations, reductions."""

from __future__ import annotations

import numpy
from tflite_cases import Case, case, f32, flags, i32, numbers, quantized, random_floats
from tflite_model import Quantized, Tensor

_ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}


def _arithmetic() -> list[Case]:
    cases = []
    for op in ("ADD", "SUB", "MUL", "DIV"):
        for name, number in _ACTIVATIONS.items():
            cases.append(case(op, [f32(2, 3, 4, low=1), f32(4, low=1)], f32(2, 3, 4), note=name,
                              fused_activation_function=number))  # fmt: skip
        cases.append(case(op, [i32(2, 5, low=1), i32(2, 1, low=1)], i32(2, 5)))
    for op in ("ADD", "SUB", "MUL"):
        for dtype in ("int8", "uint8", "int16"):
            one, other = quantized(2, 6, dtype=dtype, scale=0.04), quantized(2, 6, dtype=dtype, scale=0.07)
            scale = {"int16": 0.2}.get(dtype, 0.1)
            cases.append(case(op, [one, other], quantized(2, 6, dtype=dtype, scale=scale), fused_activation_function=0))
        cases.append(case(op, [quantized(2, 6), quantized(6)], quantized(2, 6, scale=0.03), note="broadcast",
                          fused_activation_function=1))  # fmt: skip
    cases.append(case("ADD", [Tensor((3, 4), "int64"), Tensor((3, 4), "int64")], Tensor((3, 4), "int64"),
                      fused_activation_function=0))  # fmt: skip
    return cases


_POSITIVE = {"LOG", "SQRT", "RSQRT"}
_WIDE = Quantized(0.7, -128)
_DIVISORS = quantized(7, dtype="uint8", zero_point=0, data=numpy.arange(20, 27, dtype="uint8"))


def _unary() -> list[Case]:
    ops = ("ABS", "CEIL", "COS", "EXP", "FLOOR", "LOG", "NEG", "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE", "ELU",
           "HARD_SWISH", "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "TANH", "LOG_SOFTMAX",
           "ZEROS_LIKE", "SIGN")  # fmt: skip
    cases = [case(op, [f32(3, 7, low=0.1 if op in _POSITIVE else -4)], f32(3, 7)) for op in ops]
    cases += [case(op, [i32(3, 7)], i32(3, 7)) for op in ("ABS", "NEG", "ZEROS_LIKE")]
    for dtype in ("int8", "int16"):
        x = quantized(3, 7, dtype=dtype)
        cases += [case(op, [x], x) for op in ("ABS",)]
    for dtype in ("int8", "uint8"):
        x = quantized(3, 7, dtype=dtype)
        cases += [case(op, [x], x, steps=1) for op in ("RELU", "RELU6")]
        unit = quantized(3, 7, dtype=dtype, scale=1 / 256, zero_point=-128 if dtype == "int8" else 0)
        signed = quantized(3, 7, dtype=dtype, scale=1 / 128, zero_point=0 if dtype == "int8" else 128)
        cases += [case("LOGISTIC", [x], unit), case("TANH", [x], signed)]
        cases += [case("SOFTMAX", [x], unit, kind="Softmax", beta=1.0)]
        cases += [case("HARD_SWISH", [x], quantized(3, 7, dtype=dtype, scale=0.04)),
                  case("LEAKY_RELU", [x], quantized(3, 7, dtype=dtype, scale=0.06), kind="LeakyRelu",
                       alpha=0.2)]  # fmt: skip
    cases.append(case("ELU", [quantized(3, 7)], quantized(3, 7)))
    positive = quantized(3, 7, scale=0.05, zero_point=-128)
    cases += [
        case("EXP", [quantized(3, 7, scale=0.02)], quantized(3, 7, scale=0.1, zero_point=-128)),
        case("RSQRT", [quantized(3, 7, scale=0.02, zero_point=-129 + 1)], quantized(3, 7, scale=0.05, zero_point=-128)),
        case("SQRT", [positive], quantized(3, 7, scale=0.02, zero_point=-128)),
        case("GELU", [quantized(3, 7)], quantized(3, 7), approximate=False),
        case("SQUARED_DIFFERENCE", [quantized(3, 7), quantized(3, 7)], positive._replace(quantized=_WIDE)),
        case("LOG", [positive], quantized(3, 7, scale=0.05)),
        case("NEG", [quantized(3, 7)], quantized(3, 7, zero_point=3)),
        case("PRELU", [quantized(2, 3), quantized(3, scale=0.01)], quantized(2, 3, scale=0.06)),
        case("LOG_SOFTMAX", [quantized(3, 7)], quantized(3, 7, scale=16 / 256, zero_point=127)),
        case(
            "DIV",
            [quantized(3, 7, dtype="uint8"), _DIVISORS],
            quantized(3, 7, dtype="uint8"),
            fused_activation_function=0,
        ),
    ]
    wide = quantized(3, 7, dtype="int16", scale=1 / 4096)
    cases += [
        case(op, [wide], quantized(3, 7, dtype="int16", scale=1 / 32768), steps=16) for op in ("LOGISTIC", "TANH")
    ]
    cases += [
        case("SOFTMAX", [f32(2, 3, 5)], f32(2, 3, 5), beta=1.0),
        case("SOFTMAX", [f32(2, 5)], f32(2, 5), note="beta", beta=0.5),
        case("LEAKY_RELU", [f32(2, 5)], f32(2, 5), kind="LeakyRelu", alpha=0.3),
        case("GELU", [f32(2, 5)], f32(2, 5), approximate=False),
        case("GELU", [f32(2, 5)], f32(2, 5), note="tanh", approximate=True),
        case("PRELU", [f32(1, 4, 5, 3), random_floats(1, 1, 3)], f32(1, 4, 5, 3)),
        case("PRELU", [f32(2, 3), f32(2, 3)], f32(2, 3), note="whole"),
    ]
    return cases


def _binary() -> list[Case]:
    cases = []
    for op in ("MINIMUM", "MAXIMUM", "SQUARED_DIFFERENCE"):
        cases += [case(op, [f32(2, 5), f32(5)], f32(2, 5)), case(op, [i32(2, 5), i32(2, 5)], i32(2, 5))]
    for op in ("MINIMUM", "MAXIMUM"):
        cases.append(case(op, [quantized(2, 5), quantized(2, 5)], quantized(2, 5)))
        cases.append(case(op, [Tensor((2, 5), "int64"), Tensor((2, 5), "int64")], Tensor((2, 5), "int64")))
    cases += [
        case("POW", [f32(2, 5, low=0.1), f32(2, 5, low=-2, high=2)], f32(2, 5)),
        case("POW", [i32(2, 5, low=-3, high=3), i32(2, 5, low=0, high=4)], i32(2, 5)),
        case("FLOOR_DIV", [i32(2, 5), i32(2, 5, low=1)], i32(2, 5)),
        case("FLOOR_DIV", [f32(2, 5), f32(2, 5, low=1)], f32(2, 5)),
        case("FLOOR_MOD", [i32(2, 5), i32(2, 5, low=1)], i32(2, 5)),
        case("FLOOR_MOD", [f32(2, 5), f32(2, 5, low=1)], f32(2, 5)),
        case("FLOOR_MOD", [Tensor((2, 5), "int64"), Tensor((2, 5), "int64", low=1)], Tensor((2, 5), "int64")),
        case("ATAN2", [f32(2, 5), f32(2, 5)], f32(2, 5)),
        case("ADD_N", [f32(2, 5), f32(2, 5), f32(2, 5)], f32(2, 5)),
        case("BITWISE_XOR", [i32(2, 5), i32(2, 5)], i32(2, 5)),
        case("RIGHT_SHIFT", [i32(2, 5, low=-99, high=99), i32(2, 5, low=0, high=6)], i32(2, 5)),
        case("LOGICAL_AND", [flags(2, 5), flags(2, 5)], flags(2, 5)),
        case("LOGICAL_OR", [flags(2, 5), flags(5)], flags(2, 5)),
        case("LOGICAL_NOT", [flags(2, 5)], flags(2, 5)),
        case("SELECT", [flags(2, 5), f32(2, 5), f32(2, 5)], f32(2, 5)),
        case("SELECT", [flags(2), f32(2, 5), f32(2, 5)], f32(2, 5), note="rows"),
        case("SELECT_V2", [flags(2, 1), f32(2, 5), f32(5)], f32(2, 5)),
        case("SELECT_V2", [flags(2, 5), quantized(2, 5), quantized(2, 5)], quantized(2, 5)),
    ]  # fmt: skip
    for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        cases += [
            case(op, [i32(2, 9, low=-2, high=2), i32(9, low=-2, high=2)], flags(2, 9)),
            case(op, [f32(2, 9), f32(2, 9)], flags(2, 9)),
            case(op, [quantized(2, 9), quantized(2, 9)], flags(2, 9)),
        ]
    return cases


def _casts() -> list[Case]:
    kinds = ("float32", "int32", "int64", "bool", "uint8", "int8")
    cases = []
    for source in kinds:
        for target in kinds:
            if source != target:
                low = 0 if "uint8" in (source, target) else -4
                given = Tensor((3, 5), source, low=low, high=90)
                cases.append(case("CAST", [given], Tensor((3, 5), target), note=f"to-{target}"))
    cases += [
        case("BITCAST", [f32(3, 5)], i32(3, 5)),
        case("QUANTIZE", [f32(3, 5)], quantized(3, 5)),
        case("QUANTIZE", [f32(3, 5)], quantized(3, 5, dtype="uint8"), note="uint8"),
        case("QUANTIZE", [f32(3, 5)], quantized(3, 5, dtype="int16", scale=0.001), note="int16"),
        case("QUANTIZE", [quantized(3, 5)], quantized(3, 5, scale=0.08, zero_point=9), note="again"),
        case("QUANTIZE", [quantized(3, 5)], quantized(3, 5, dtype="uint8", scale=0.08), note="to-uint8"),
        case("DEQUANTIZE", [quantized(3, 5)], f32(3, 5)),
        case("DEQUANTIZE", [quantized(3, 5, dtype="uint8")], f32(3, 5)),
        case("DEQUANTIZE", [Tensor((3, 5), "float16")], f32(3, 5)),
        case("FAKE_QUANT", [f32(3, 5)], f32(3, 5), min=-2.0, max=3.0, num_bits=8, narrow_range=False),
        case("FAKE_QUANT", [f32(3, 5)], f32(3, 5), note="4", min=-1.0, max=3.3, num_bits=4, narrow_range=False),
    ]
    return cases


def _reductions() -> list[Case]:
    cases = []
    for op in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        for axes, shape in (([1], (2, 4)), ([0, -1], (3,)), ([0, 1, 2], ())):
            cases.append(case(op, [f32(2, 3, 4), numbers(axes)], f32(*shape), note=f"{axes}", kind="Reducer",
                              keep_dims=False))  # fmt: skip
        cases.append(case(op, [f32(2, 3, 4), numbers([1])], f32(2, 1, 4), note="kept", kind="Reducer", keep_dims=True))
        cases.append(case(op, [i32(2, 3, 4, low=1), numbers(2)], i32(2, 3), kind="Reducer", keep_dims=False))
    for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        same = op.startswith("REDUCE")
        cases.append(case(op, [quantized(1, 4, 5, 6), numbers([1, 2])], quantized(1, 6, scale=0.05 if same else 0.2),
                          kind="Reducer", keep_dims=False))  # fmt: skip
    for op in ("REDUCE_ANY", "REDUCE_ALL"):
        cases.append(case(op, [flags(2, 3), numbers([1])], flags(2), kind="Reducer", keep_dims=False))
        empty = [flags(2, 0), numbers([1])]
        cases.append(case(op, empty, flags(2, 1), note="empty", kind="Reducer", keep_dims=True))
    for op in ("ARG_MAX", "ARG_MIN"):
        kind = "".join(part.capitalize() for part in op.split("_"))
        cases += [
            case(op, [f32(3, 9), numbers(1)], i32(3), kind=kind, output_type=2),
            case(op, [f32(3, 9), numbers(-2)], Tensor((9,), "int64"), kind=kind, note="0", output_type=4),
            case(op, [quantized(3, 9), numbers(1)], i32(3), kind=kind, output_type=2),
        ]
    cases += [
        case("CUMSUM", [f32(3, 5), numbers(1)], f32(3, 5), exclusive=False, reverse=False),
        case("CUMSUM", [i32(3, 5), numbers(0)], i32(3, 5), exclusive=True, reverse=True),
        case("TOPK_V2", [f32(3, 9), numbers(4)], f32(3, 4), i32(3, 4)),
        case("TOPK_V2", [quantized(3, 9), numbers(2)], quantized(3, 2), i32(3, 2)),
        case("UNIQUE", [i32(12, low=0, high=5)], i32(6), i32(12), idx_out_type=2),
        case("L2_NORMALIZATION", [f32(2, 3, 5)], f32(2, 3, 5), kind="L2Norm", fused_activation_function=0),
        case("L2_NORMALIZATION", [quantized(3, 5)], quantized(3, 5, scale=1 / 128, zero_point=0), kind="L2Norm",
             fused_activation_function=0),
        case("LOCAL_RESPONSE_NORMALIZATION", [f32(1, 3, 4, 7)], f32(1, 3, 4, 7), kind="LocalResponseNormalization",
             radius=2, bias=1.0, alpha=0.3, beta=0.75),
    ]  # fmt: skip
    return cases


CASES = [*_arithmetic(), *_unary(), *_binary(), *_casts(), *_reductions()]
