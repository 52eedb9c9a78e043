# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of onnxruntime's test_tensor_quant_overrides_option."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
from relax_mlir.passes.graph.recipes.recipe import Entry
from relax_mlir.recipes import Fixed, Tensor

from .case import Case
from .recipes import ort

_SUITE = "onnxruntime test_tensor_quant_overrides"
_NET = """g (float[1,2,3] INP) => (float[1,2,2] OUT) <float[2,2,2] WGT, float[2] BIAS> {
    SIG_OUT = Sigmoid(INP) OUT = Conv(SIG_OUT, WGT, BIAS) }"""
_CONSTANTS = {"WGT": [[[-1, -2], [1, 2]], [[-0.5, -1.5], [0.5, 1.5]]], "BIAS": [0, 1]}
_SAMPLES = [[numpy.array([[[1, 2, 3], [4, 5, 6]]], "float32")]]
_INPUT = (6 / 255, 0)
_SIGMOID = (0.003911872, 0)
_TYPES = {"INP": "u8", "SIG_OUT": "u8", "WGT": "u8", "OUT:const": "i32", "OUT": "u8"}


def _case(name: str, *entries: Entry, w: str = "u8", error: str = "", types=(), scales=()) -> Case:
    return Case(
        _SUITE, name, _NET, lambda: ort(*entries, w=w), {} if error else {**_TYPES, **dict(types)},
        scales=dict(scales), constants=_CONSTANTS, samples=_SAMPLES, error=error,
    )  # fmt: skip


def _tensors() -> Iterator[Case]:
    default = {"INP": _INPUT, "SIG_OUT": _SIGMOID, "OUT": (0.0050754612, 0)}
    yield _case("defaults", scales={**default, "WGT": (0.015686275, 128), "OUT:const": (0.0000613627, 0)})
    channels = {"WGT": "i8@channel", "OUT:const": "i32@channel"}
    scales = {"WGT": ([0.015748031, 0.011811024], [0, 0]), "OUT:const": ([0.00006160428, 0.0000462032], [0, 0])}
    yield _case("defaults per channel", w="i8@channel symmetric", types=channels, scales={**default, **scales})
    small = "i8 symmetric reduced"
    yield _case(
        "a scale of data, types of weights and bias",
        Tensor("SIG_OUT", scale=1.0, zero=127), Tensor("WGT", small), Tensor("OUT.bias", small),
        types={"WGT": "i8", "OUT:const": "i8"},
        scales={"INP": _INPUT, "SIG_OUT": (1.0, 127), "WGT": (2 / 64, 0), "OUT:const": (1 / 64, 0)},
    )  # fmt: skip
    yield _case("a range of data", Tensor("SIG_OUT", range=(0.0, 0.5)), scales={"SIG_OUT": (0.5 / 255, 0)})
    yield _case("a range of weights", Tensor("WGT", range=(0.0, 1.0)), scales={"WGT": (1 / 255, 0)})
    yield _case("a scale of weights", Tensor("WGT", scale=0.5, zero=4), scales={"WGT": (0.5, 4)})
    stated = {"type": "i8@channel", "scale": [0.5, 0.2], "zero": [2, 4]}
    yield _case(
        "scales per channel", Tensor("WGT", **stated), Tensor("OUT.bias", **stated),
        types={"WGT": "i8@channel", "OUT:const": "i8@channel"},
        scales={"WGT": ([0.5, 0.2], [2, 4]), "OUT:const": ([0.5, 0.2], [2, 4])},
    )  # fmt: skip
    for word, most in (("", 255), (" reduced", 127)):
        yield _case(
            f"ranges per channel{word}", Tensor("WGT", f"u8@channel{word}", range=[(0.0, 1.0), (0.2, 0.8)]),
            types={"WGT": "u8@channel", "OUT:const": "i32@channel"},
            scales={"WGT": ([1 / most, 0.8 / most], [0, 0])},
        )  # fmt: skip
    wide = (Tensor("INP", "u16"), Tensor("SIG_OUT", "u16"))
    yield _case("16 bits", *wide, types={"INP": "u16", "SIG_OUT": "u16"})
    yield _case("an unknown tensor", Tensor("ABSENT", range=(0.0, 0.5)), error="no node, input or constant")
    bad = {
        "a scale without a zero point": ({"scale": 1.0}, "scale= and zero= belong together"),
        "a scale with symmetric": (
            {"type": "i8 symmetric", "scale": 1.0, "zero": 0},
            "scale= and 'symmetric' contradict",
        ),
        "a scale with reduced": ({"type": "i8 reduced", "scale": 1.0, "zero": 0}, "scale= and 'reduced' contradict"),
        "a scale with a range": ({"scale": 1.0, "zero": 0, "range": (0, 10)}, "scale= and range= contradict"),
    }
    for name, (given, error) in bad.items():
        yield Case(
            _SUITE, name, _NET, lambda given=given: ort(Tensor("SIG_OUT", **given)), samples=_SAMPLES,
            constants=_CONSTANTS, error=error,
        )  # fmt: skip


def _known_ranges() -> Iterator[Case]:
    """Yield results with a range that is known in 16 bits."""
    known = {
        "Sigmoid": {"u16": (1 / 65536, 0), "i16": (1 / 32768, 0)},
        "Tanh": {"u16": (1 / 32768, 32768), "i16": (1 / 32768, 0)},
    }
    settings = [
        ("u16", "", ""), ("u16", "", "symmetric"), ("i16", "", ""), ("i16", "", "symmetric"),
        ("u8", "u16", "convert"), ("i8", "i16", "convert"), ("u8", "", "symmetric"), ("i8", "", ""), ("i8", "i8", ""),
    ]  # fmt: skip
    for op, scales in known.items():
        graph = f"g (float[1,2,3] input_0) => (float[1,2,3] output_0) {{ abs = Abs(input_0) output_0 = {op}(abs) }}"
        for x, y, other in settings:
            result = y or x
            entries: list[Entry] = [Tensor("output_0", y)] if y else []
            if other == "convert":
                entries += [Tensor("abs", x), Tensor("output_0.x", y)]
            if other == "symmetric":
                entries.append(Tensor("abs", range=(-1.0, 1.0)))
            if result in scales:
                scale, zero = scales[result]
                entries.append(Fixed(f"relax.{op.lower()}", scale=scale, zero=zero, type=result))
            expected = {"input_0": x, "abs": f"{x}>{y}" if other == "convert" else x, "output_0": result}
            yield Case(
                _SUITE, f"{op} {x} {y} {other}".strip(), graph, lambda x=x, entries=tuple(entries): ort(*entries, x=x),
                expected, scales={"output_0": scales[result]} if result in scales else {},
            )  # fmt: skip


def _mixed_weights() -> Iterator[Case]:
    """Yield layers with weights of 8 bits and data of 16 bits."""
    settings = [
        ("u8", "u8", "", ""), ("u8", "u8", "u16", ""), ("u8", "u8", "u16", "symmetric"), ("u8", "u8", "u16", "u8"),
        ("i8", "i8", "i16", "i8"), ("u16", "u8", "", "symmetric"), ("i16", "i8", "", ""),
        ("u16", "u16", "", "symmetric"), ("i16", "i16", "", ""), ("u8", "u8", "", "again"), ("u8", "u8", "", "convert"),
    ]  # fmt: skip
    nets = {
        "MatMul": ("g (float[2,3] input_0) => (float[2,2] output_0) <float[3,2] weight>", "MatMul(abs, weight)", "x"),
        "LayerNorm": (
            "g (float[2,3] input_0) => (float[2,3] output_0) <float[3] weight, float[3] bias>",
            "LayerNormalization(abs, weight, bias)", "data",
        ),
    }  # fmt: skip
    for op, (head, call, operand) in nets.items():
        graph = f"{head} {{ abs = Abs(input_0) layer = {call} output_0 = Abs(layer) }}"
        for x, w, data, other in settings:
            entries: list[Entry] = [Tensor("abs", data)] if data else []
            expected = {"input_0": x, "abs": data or x, "weight": w, "layer": x, "output_0": x}
            if other == "symmetric":
                entries.append(Tensor("output_0", range=(-1.0, 1.0)))
            if other in ("u8", "i8"):
                entries += [Tensor("layer", data), Tensor("output_0.x", other)]
                expected["layer"] = f"{data}>{other}"
            if other == "convert":
                entries += [Tensor("abs", "u8"), Tensor(f"layer.{operand}", "u16")]
                expected["abs"] = "u8>u16"
            name = f"{op} {x} weights {w} {data} {other}".strip()
            yield Case(_SUITE, name, graph, lambda x=x, w=w, entries=tuple(entries): ort(*entries, x=x, w=w), expected)


CASES = [*_tensors(), *_known_ranges(), *_mixed_weights()]
