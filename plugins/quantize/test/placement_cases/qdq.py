# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of onnxruntime's test_qdq."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
from relax_mlir.recipes import Tensor

from .case import Case
from .recipes import ort

QUANTIZED = "the model is quantized already"
_SUITE = "onnxruntime test_qdq"
_CONV = "g (float[1,8,9,9] input) => (float[1,16,7,7] output) <float[16,8,3,3] W{bias_type}> {{ {body} }}"
_RELUS = """g (float[1,3,1,3] input) => (float[1,3,1,3] AddOut)
    <float[3,3,1,1] W1, float[3] B1, float[3,3,1,1] W3, float[3] B3, float[3,3,1,1] W5, float[3] B5> {
    Relu1Out = Relu(input) Conv1Out = Conv(Relu1Out, W1, B1) Relu2Out = Relu(Conv1Out)
    Conv2Out = Conv(Relu2Out, W3, B3) Conv3Out = Conv(Relu1Out, W5, B5) AddOut = Add(Conv2Out, Conv3Out) }"""
RELUS_EXPECTED = {
    "Relu1Out": "i8", "W1": "i8", "Conv1Out:const": "i32", "Relu2Out": "i8", "W3": "i8", "Conv2Out:const": "i32",
    "Conv2Out": "i8", "W5": "i8", "Conv3Out:const": "i32", "Conv3Out": "i8", "AddOut": "i8",
}  # fmt: skip


def relus(suite: str, name: str) -> Case:
    """Return the case of three convolutions behind a relu, which stays real in front."""
    return Case(suite, name, _RELUS, lambda: ort(x="i8", w="i8 symmetric"), RELUS_EXPECTED)


def _layers() -> Iterator[Case]:
    """Yield single convolutions, and convolutions in front of a clip and a relu, in all types."""
    bodies = {
        "conv": "output = Conv(input, W)",
        "conv_bias": "output = Conv(input, W, B)",
        "conv_relu": "conv = Conv(input, W) output = Relu(conv)",
    }
    for per_channel, is_signed in ((True, True), (False, False), (True, False)):
        type_ = "i8" if is_signed else "u8"
        w = f"{type_}@channel reduced" if per_channel else type_
        channel = "@channel" if per_channel else ""
        for name, body in bodies.items():
            graph = _CONV.format(bias_type=", float[16] B" if "B" in body else "", body=body)
            expected = {"input": type_, "W": type_ + channel, "output": type_}
            if "B" in body:
                expected["output:const"] = "i32" + channel
            text = f"{name} {type_}{channel}"
            yield Case(_SUITE, text, graph, lambda type_=type_, w=w: ort(x=type_, w=w), expected)
        clip = """g (float[1,8,9,9] input) => (float[784] output)
            <float[16,8,3,3] W, float low = {-1.0}, float high = {1.0}, int64[1] shape = {-1}> {
            conv = Conv(input, W) clip = Clip(conv, low, high) output = Reshape(clip, shape) }"""
        expected = {"input": type_, "W": type_ + channel, "clip": type_, "output": type_}
        yield Case(
            _SUITE, f"conv_clip {type_}{channel}", clip, lambda type_=type_, w=w: ort(x=type_, w=w), expected,
            shares=[("clip", "output")],
        )  # fmt: skip


def _options() -> Iterator[Case]:
    adds = """g (float[5,5] L) => (float[5,5] O) <float[5,5] M, float[5,5] N> {
        P = Add(L, M) Q = ReduceMean<keepdims=1>(P) O = Add(Q, N) }"""
    yield Case(
        _SUITE, "an operator's node is excluded", adds, lambda: ort(x="i8 symmetric", ops=["Add"]),
        {"L": "i8", "M": "i8", "P": "i8"}, keep=["O"], opset=13,
    )  # fmt: skip
    products = """g (float[5,5] L) => (float[5,5] M, float[5,5] N, float[5,5] O)
        <float[5,5] P, float[5,5] Q, float[5,5] R, float[5,5] S> {
        T = Add(L, P) M = MatMul(T, Q) N = MatMul(T, R) O = MatMul(T, S) }"""
    yield Case(
        _SUITE, "results of operators are excluded", products,
        lambda: ort(x="i8 symmetric", w="i8@channel symmetric", ops=["MatMul", "Add"], y=None),
        {"T": "i8", "Q": "i8@channel", "R": "i8@channel", "S": "i8@channel"}, keep=["T"],
    )  # fmt: skip
    chain = """g (float[1,2,4,4] input0) => (float[1,2,2,2] output)
        <float[2,2,2,2] W1, float[2,2,2,2] W2, float low = {0.0}, float high = {0.5}> {
        conv1 = Conv(input0, W1) relu1 = Relu(conv1) conv2 = Conv(relu1, W2) output = Clip(conv2, low, high) }"""
    expected = {"input0": "u8", "W1": "u8", "relu1": "u8", "W2": "u8", "output": "u8"}
    yield Case(_SUITE, "activations are part of layers", chain, ort, expected)
    yield Case(_SUITE, "activations are kept in the model", chain, ort, expected)
    alone = """g (float[1,3,1,3] input) => (float[1,3,1,3] output) <float low = {-1.0}, float high = {1.0}> {
        clip = Clip(input, low, high) output = Relu(clip) }"""
    yield Case(_SUITE, "activations alone stay real", alone, ort, error="no layer of @main matches the recipe")
    yield relus(_SUITE, "convolutions behind a relu")


def _readers() -> Iterator[Case]:
    """Yield tensors that some readers take in another type."""
    for is_moved in (False, True):
        for real in ("float", "float16"):
            for number in (1, 2, 3, 4):
                yield _converted(number, real, is_moved)
    yield Case(
        _SUITE, "a result without readers in two types",
        differs="a result that no layer reads has one type: nothing would read the other one",
    )  # fmt: skip
    net = """g (float[1,2,3] input_0, float[1,2,3] input_1)
        => (float[1,2,3] output_0, float[1,2,3] output_1, float[1,2,3] output_2) {
        op1 = Sigmoid(input_0) op2 = Cos(input_1) op3 = Sin(op1) op4 = Tanh(op2) op5 = Mul(op3, op4)
        output_0 = Relu(op5) output_1 = Cos(op2) output_2 = Sigmoid(op2) }"""
    entries = [
        Tensor("op4.x", "u16"), Tensor("output_0.x1", "u16"), Tensor("op4", "u16"), Tensor("output_0", "u16"),
    ]  # fmt: skip
    expected = {
        "input_0": "u8", "input_1": "u8", "op1": "u8", "op2": "u8>u16", "op3": "u8>u16", "op4": "u16",
        "output_0": "u16", "output_1": "u8", "output_2": "u8",
    }  # fmt: skip
    yield Case(_SUITE, "a part of the model in 16 bits", net, lambda: ort(*entries), expected)
    plain = {name: "u8" for name in expected}
    yield Case(_SUITE, "the same model in 8 bits", net, ort, plain)


def _converted(number: int, real: str, is_moved: bool) -> Case:
    count, first = (2, 0) if number in (1, 3) else (4, 2)
    is_result = number in (3, 4)
    op_0 = "Transpose<perm=[0,2,1]>" if is_moved else "Sigmoid"
    shape = "1,3,2" if is_moved else "1,2,3"
    results = [f"output_{place}" for place in range(count)] + ["op_0"] * is_result
    declared = ", ".join(f"{real}[{shape}] {name}" for name in results)
    # Equal nodes are one node in a module.
    readers = zip(("Cos", "Sin", "Tanh", "Abs"), range(count), strict=False)
    body = " ".join(f"output_{place} = {op}(op_0)" for op, place in readers)
    graph = f"g ({real}[1,2,3] input_0) => ({declared}) {{ op_0 = {op_0}(input_0) {body} }}"
    entries = [Tensor("op_0", "u8")]
    expected = {"input_0": "u8", "op_0": "u8>u16"}
    for place in range(count):
        is_wide = place >= first
        expected[f"output_{place}"] = "u16" if is_wide else "u8"
        if is_wide:
            entries += [Tensor(f"output_{place}.x", "u16"), Tensor(f"output_{place}", "u16")]
    shares = [("input_0", "op_0")] if is_moved else []
    name = f"readers of another type {number} {real}" + " behind a transpose" * is_moved
    return Case(_SUITE, name, graph, lambda: ort(*entries), expected, shares=shares)


def _weights() -> Iterator[Case]:
    conv = """g (float[1,2,8,8] input_0) => (float[1,2,5,5] output_0) <float[2,2,4,4] weight, float[2] bias> {
        output_0 = Conv(input_0, weight, bias) }"""
    constants = {"weight": numpy.linspace(-1.5, 1.5, 64).reshape(2, 2, 4, 4), "bias": [-10.0, 10.0]}
    for type_, scales in (("i4", {"weight": (0.2, 0)}), ("i4@channel", {})):
        bias = "i32" + type_.removeprefix("i4")
        expected = {"input_0": "u16", "weight": type_, "output_0:const": bias, "output_0": "u16"}
        yield Case(
            _SUITE, f"weights in {type_}", conv,
            lambda type_=type_: ort(Tensor("weight", type_), x="u16"), expected, scales=scales, constants=constants,
        )  # fmt: skip
    for real in ("float", "float16"):
        for channel in ("", "@channel"):
            yield _small_weights(real, channel)
    shared = """g (float[1,2,4,4] input_0) => (float[1,2,3,3] output_0, float[1,2,3,3] output_1)
        <float[2,2,2,2] W0, float[2,2,2,2] W1, float[2] shared> {
        output_0 = Conv(input_0, W0, shared) output_1 = Conv(input_0, W1, shared) }"""
    names = ("output_0", "output_1")
    expected = {"input_0": "u8", "W0": "i8", "W1": "i8"}
    expected |= {f"{name}:const": "i32" for name in names} | {name: "u8" for name in names}
    yield Case(_SUITE, "a bias of two layers", shared, lambda: ort(w="i8 symmetric"), expected)
    for part in ("weights", "data", "data, which is converted,"):
        for real in ("float", "float16"):
            yield _quantized_before(part, real)


def _quantized_before(part: str, real: str) -> Case:
    """Return a layer that reads dequantized weights or data."""
    is_data = part.startswith("data")
    operands = "input, dequantized" if not is_data else "dequantized, input"
    shape, result = ("2,2,4,4", "1,2,5,5") if not is_data else ("1,2,8,8", "1,2,5,5")
    graph = f"""g ({real}[{"2,2,4,4" if is_data else "1,2,8,8"}] input) => ({real}[{result}] output)
        <int8[{shape}] numbers, {real} scale, int8 zero, {real}[2] bias> {{
        dequantized = DequantizeLinear(numbers, scale, zero) output = Conv({operands}, bias) }}"""
    return Case(
        _SUITE,
        f"a model with quantized {part} in {real}",
        graph,
        ort,
        constants={"scale": 0.5, "zero": 0},
        error=QUANTIZED,
        refused=QUANTIZED,
    )


def _small_weights(real: str, channel: str) -> Case:
    """Return a layer with a bias that is too large for the product of the scales."""
    graph = f"""g ({real}[1,2,4,4] input_0) => ({real}[1,2,3,3] output_0)
        <{real}[2,2,2,2] weight, {real}[2] bias> {{ output_0 = Conv(input_0, weight, bias) }}"""
    is_half = real == "float16"
    weight = numpy.full(16, 0.007782 if is_half else 1e-7) * numpy.where(numpy.arange(16) % 2, 1, -1)
    constants = {"weight": weight.reshape(2, 2, 2, 2), "bias": [1400, -1200] if is_half else [5.0, -4.5]}
    most, dtype = (2.55, numpy.float16) if is_half else (12.75, numpy.float32)
    samples = [[numpy.full((1, 2, 4, 4), value, dtype)] for value in (0, most / 2, most)]
    bias = "i32" + channel
    expected = {"input_0": "u8", "weight": "i8" + channel, "output_0:const": bias, "output_0": "u8"}
    return Case(
        _SUITE, f"a bias beside small weights {real} {channel}".strip(), graph,
        lambda: ort(w=f"i8{channel} symmetric"), expected, constants=constants, samples=samples, near=0.02,
    )  # fmt: skip


CASES = [*_layers(), *_options(), *_readers(), *_weights()]
