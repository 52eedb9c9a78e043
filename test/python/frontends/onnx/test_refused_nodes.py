# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single nodes that the import refuses: each guard of a converter with its message."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import relax_mlir as rx

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"
#: Newest that all of them have.
_VERSIONS = {"": 24, MICROSOFT: 1, ML: 3}


class Ints(NamedTuple):
    """Input of integers. A tuple is an input of floats, and an array is a constant."""

    shape: tuple[Any, ...]


def message(op: str, domain: str, inputs: list[Any], attributes: dict[str, Any], outputs: int = 1) -> str:
    names = ["" if each is None else f"i{index}" for index, each in enumerate(inputs)]
    given, held = [], []
    for name, each in zip(names, inputs, strict=True):
        if isinstance(each, numpy.ndarray):
            held.append(numpy_helper.from_array(each, name))
        elif isinstance(each, Ints):
            given.append(helper.make_tensor_value_info(name, TensorProto.INT64, each.shape))
        elif each is not None:
            given.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, each))
    made = [f"o{index}" for index in range(outputs)]
    node = helper.make_node(op, names, made, domain=domain, **attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in made]
    graph = helper.make_graph([node], "g", given, results, held)
    versions = [helper.make_opsetid(each, version) for each, version in _VERSIONS.items()]
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(helper.make_model(graph, opset_imports=versions))
    text = str(caught.value)
    assert op in text and " o0 " in text, f"names no node: {text}"
    return text


_HEADS = {"q_num_heads": 2, "kv_num_heads": 2}
_ONE = numpy.array(1)

REFUSED: list[tuple[str, str, list[Any], dict[str, Any], str]] = [
    ("ArgMax", "", [()], {"axis": 0, "select_last_index": 1}, "axis 0 is out of range for 0 dimensions"),
    ("ConvTranspose", "", [(1, 1, 3, 3), (1, 1, 2, 2)], {"output_shape": [9]}, "'output_shape' has 1 numbers for 2"),
    ("MaxUnpool", "", [(1, 1, 2, 2, 2), Ints((1, 1, 2, 2, 2))], {"kernel_shape": [2, 2]}, "kernel has 2 dimensions"),
    ("RoiAlign", "", [(1, 1, 4, 4), (1, 4), Ints((1,))], {"spatial_scale": 0.0}, "'spatial_scale' must be positive"),
    ("SplitToSequence", "", [()], {}, "axis 0 is out of range for 0 dimensions"),
    ("STFT", "", [(), Ints(())], {}, "the signal must be"),
    ("DFT", "", [()], {}, "the last dimension must be the real part"),
    ("LpPool", "", [(1, 1, 4)], {"kernel_shape": [2], "p": 0}, "attribute 'p' must not be 0"),
    ("OneHot", "", [(3,), Ints((2,)), (2,)], {}, "the number of classes, must be one number"),
    ("Trilu", "", [(), Ints(())], {}, "a matrix has 2 dimensions at least, not 0"),
    ("LayerNormalization", "", [(), (4,)], {}, "axis -1 is out of range for 0 dimensions"),
    ("TopK", "", [(5,), Ints((0,))], {}, "input #1 must be one number, not 0"),
    ("TopK", "", [(5,), Ints((2,))], {}, "input #1 must be one number, not 2"),
    ("DeformConv", "", [(1, 1, 0, 0), (1, 1, 2, 2), (1, 8, 0, 0)], {"pads": [1] * 4}, "the data must have elements"),
    ("Attention", "", [(1, 3, 7), (1, 3, 8), (1, 3, 8)], _HEADS, "a hidden size of 7 cannot be split into 2 heads"),
    ("Attention", "", [(1, 3, 8)] * 3, {**_HEADS, "qk_matmul_output_mode": 4}, "must be 0, 1, 2 or 3"),
    ("Attention", "", [(1, 3, 8)] * 3, {**_HEADS, "qk_matmul_output_mode": -1}, "must be 0, 1, 2 or 3"),
    ("RotaryEmbedding", "", [(1, 2, 3, 5), (9, 2), (9, 2), Ints((1, 3))], {}, "5 of 5 elements cannot be rotated in"),
    (
        "RotaryEmbedding", "", [(1, 2, 3, 4), (9, 3), (9, 3), Ints((1, 3))], {"rotary_embedding_dim": 6},
        "6 of 4 elements cannot be rotated in pairs",
    ),
    ("RotaryEmbedding", "", [(5,), (2, 3, 2), (2, 3, 2)], {}, "takes data of 3 or 4 dimensions, got 1"),
    ("RotaryEmbedding", "", [(1, 2, 3, 4), (3, 2), (3, 2)], {}, "caches of 3 dimensions for its positions"),
    ("RotaryEmbedding", "", [(1, 2, 3, "n"), (9, 3), (9, 3), Ints((1, 3))], {}, "the size of a head must be known"),
    ("Resize", "", [(1, 1, 4, 4), None, None, numpy.array([1, 1, 2, 2])],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, "needs input 'roi' with a start and an end for each"),
    ("Resize", "", [(1, 1, 4, 4), numpy.zeros(7, "float32"), None, numpy.array([1, 1, 2, 2])],
     {"coordinate_transformation_mode": "tf_crop_and_resize"}, "needs input 'roi' with a start and an end for each"),
    ("Det", "", [(4,)], {}, "a matrix has 2 dimensions or more, not 1"),
    ("Expand", "", [(2, 3), numpy.array([4, 3])], {}, "a size of 2 cannot be broadcast with one of 4"),
    ("TensorScatter", "", [(2, 8, 3), (2, 1, 3)], {"mode": "ring"}, "mode' must be linear or circular, got 'ring'"),
    ("TensorScatter", "", [(2, 8, 3), (2, 1, 3)], {"axis": 0}, "axis 0 is the batch"),
    ("TensorScatter", "", [(2, 8, 3), (2, 1, 3)], {"axis": 3}, "axis 3 is out of range for 3 dimensions"),
    ("TensorScatter", "", [(2, 8, 3), (2,)], {}, "update has 1 dimension, past_cache 3"),
    ("TensorScatter", "", [(2, 8, 3), (2, 1, 3)], {"axis": -4}, "axis -4 is out of range for 3 dimensions"),
    ("DepthToSpace", "", [(1, 4, 2, 2)], {"blocksize": 2, "mode": "CDR"}, "mode' must be DCR or CRD, got 'CDR'"),
    ("DepthToSpace", "", [(4, 2, 2)], {"blocksize": 2}, "the data must be 4-D, but is 3-D"),
    ("RandomNormal", "", [], {"shape": [-1]}, "attribute 'shape' ([-1]) has a negative size"),
    ("STFT", "", [(1, 2, 8, 1), _ONE, None, numpy.array(4)], {}, "must be [batch, length], or [batch, length, part"),
    ("STFT", "", [(1, 8, 3), _ONE, None, numpy.array(4)], {}, "must be [batch, length], or [batch, length, parts]"),
    ("STFT", "", [(1, 8), numpy.array(0), None, numpy.array(4)], {}, "step and length of frames must be positive"),
    ("STFT", "", [(1, 8), _ONE, None, numpy.array(0)], {}, "step and length of frames must be positive"),
    ("STFT", "", [(1, 8), _ONE, None, numpy.array(9)], {}, "and within the signal"),
    ("DFT", "", [(2, 8, 3)], {}, "the last dimension must be the real part (size 1), or real and imaginary part"),
    ("DFT", "", [(2, 8, 2), None, numpy.array(2)], {}, "axis 2 must be one of the 2 in front of the last one"),
    ("DFT", "", [(2, 8, 2), None, numpy.array(-4)], {}, "axis -4 is out of range for 3 dimensions"),
    ("DFT", "", [(2, 8, 2), None, numpy.array(3)], {}, "axis 3 is out of range for 3 dimensions"),
    ("MelWeightMatrix", "", [numpy.array(4), numpy.array(8), numpy.array(100), numpy.array(1, "float32"),
                             numpy.array(40, "float32")], {"output_datatype": 7}, "the weights must be floats"),
    ("RoiAlign", "", [(1, 1, 4, 4), (1, 4), Ints((1,))], {"mode": "sum"}, "mode' must be avg or max, got 'sum'"),
    ("Col2Im", "", [(4, 4), numpy.array([2, 2]), numpy.array([1, 1])], {}, "the columns must be 3-D"),
    ("DeformConv", "", [(1, 1, "n", 3), (1, 1, 2, 2), (1, 8, 2, 2)], {}, "must be 4-D and of known sizes"),
    ("ConcatFromSequence", "", [(2,)], {"axis": 0}, "input #0 is not a sequence"),
    ("SequenceAt", "", [(2,), numpy.array(0)], {}, "input #0 is not a sequence"),
    ("MultiHeadAttention", MICROSOFT, [(2, 3, 8)] * 3 + [None, numpy.zeros((2, 3, 4, 5, 1), "int32")],
     {"num_heads": 2}, "is not supported: give [batch, keys] or [batch, queries, keys]"),
    ("MultiHeadAttention", MICROSOFT, [(2, 3, 8)] * 3 + [None, numpy.zeros(5, "int32")],
     {"num_heads": 2}, "is not supported: give [batch, keys] or [batch, queries, keys]"),
    ("GroupQueryAttention", MICROSOFT,
     [(1, 2, 30), None, None, None, None, numpy.array([1], "int32"), numpy.array(2, "int32")],
     {"num_heads": 2, "kv_num_heads": 1}, "a hidden size of 30 cannot be split into 2 + 2 * 1 heads"),
    ("Normalizer", ML, [(2, 3)], {"norm": "L3"}, "norm' must be one of MAX, L1, L2, got 'L3'"),
    ("Normalizer", ML, [(2, 3, 4)], {}, "takes [rows, features] or [features], not 3 dimensions"),
    ("LinearClassifier", ML, [(2, 3)], {"coefficients": [1.0] * 6}, "has no labels"),
    ("SVMClassifier", ML, [(2, 3)], {"coefficients": [1.0] * 5, "rho": [0.0], "classlabels_ints": [0, 1]},
     "there are 5 coefficients and 1 values of 'rho'"),
    ("SVMClassifier", ML, [(2, 3)], {"coefficients": [1.0] * 6, "classlabels_ints": [0, 1]},
     "there are 6 coefficients and 0 values of 'rho'"),
    ("SVMClassifier", ML, [(2, 3)],
     {"coefficients": [1.0] * 3, "rho": [0.0], "classlabels_ints": [0, 1], "vectors_per_class": [1, 1],
      "support_vectors": [1.0] * 6}, "there are 3 coefficients and 6 numbers for 2 vectors"),
    ("SVMClassifier", ML, [(2, 3)],
     {"coefficients": [1.0] * 2, "rho": [0.0], "classlabels_ints": [0, 1], "vectors_per_class": [3, -1],
      "support_vectors": [1.0] * 6}, "there are 2 coefficients and 6 numbers for 2 vectors"),
    ("SVMRegressor", ML, [(2, 3)],
     {"coefficients": [1.0], "n_supports": 1, "support_vectors": [1.0] * 3, "kernel_params": [1.0]},
     "must be gamma, coef0 and degree, got"),
    ("Abs", "", [], {}, "input #0 is missing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "domain", "inputs", "attributes", "expected"), REFUSED, ids=[f"{each[0]}-{each[4]}" for each in REFUSED]
)
def test_refused(op: str, domain: str, inputs: list[Any], attributes: dict[str, Any], expected: str) -> None:
    assert expected in message(op, domain, inputs, attributes)


def test_an_input_without_a_type() -> None:
    node = helper.make_node("Abs", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [onnx.ValueInfoProto(name="x")], [helper.make_empty_tensor_value_info("y")])
    with pytest.raises(rx.RelaxError, match="input 'x' has no type"):
        rx.from_onnx(helper.make_model(graph))


def test_shapes_that_are_no_mapping() -> None:
    node = helper.make_node("Abs", ["x"], ["y"])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    model = helper.make_model(helper.make_graph([node], "g", [given], [helper.make_empty_tensor_value_info("y")]))
    with pytest.raises(rx.RelaxError, match="shapes: expected inputs' names with their shapes, got list"):
        rx.from_onnx(model, shapes=[("x", (2,))])  # type: ignore[arg-type]


def test_nodes_that_cannot_be_imported_are_reported_before_outputs_that_nothing_defines() -> None:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    results = [helper.make_empty_tensor_value_info(name) for name in ("y", "z")]
    graph = helper.make_graph(
        [helper.make_node("Normalizer", ["x"], ["y"], norm="L3", domain=ML)], "g", [given], results
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ML, 3)])
    with pytest.raises(rx.RelaxError, match="1 node of the model cannot be imported"):
        rx.from_onnx(model)
