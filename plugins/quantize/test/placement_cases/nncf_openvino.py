# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of NNCF's reference graphs of OpenVINO models."""

from __future__ import annotations

from dataclasses import replace

from .case import Case
from .nncf_onnx import FOLDED, _case

_SUITE = "NNCF reference graphs, OpenVINO"
_LOOPS = "recurrent layers are loops here, and layers in loops stay real"

_CASES = [
    _case("DepthwiseConvModel", """g (float[1,3,4,4] A) => (float[1,3,2,2] Y) <float[3,1,3,3] W, float[3] B> {
        c = Conv<group=3>(A, W, B) Y = Relu(c) }""", "A", "W"),
    _case("DepthwiseConv3DModel", """g (float[1,3,4] A) => (float[1,3,2] Y) <float[3,1,3] W, float[3] B> {
        c = Conv<group=3>(A, W, B) Y = Relu(c) }""", "A", "W"),
    _case("DepthwiseConv5DModel", """g (float[1,3,4,4,4] A) => (float[1,3,2,2,2] Y) <float[3,1,3,3,3] W, float[3] B> {
        c = Conv<group=3>(A, W, B) Y = Relu(c) }""", "A", "W"),
    _case("MatMul2DModel", """g (float[3,5] A) => (float[3,2] Y) <float[5,2] W, float[1,2] B> {
        c = MatMul(A, W) Y = Add(c, B) }""", "A", "W"),
    _case("SharedConvModel", """g (float[1,3,4,4] A) => (float[1,3,4,4] Y, float[1,3,4,4] Z) <float[3,3,1,1] W> {
        Y = Conv(A, W) Z = Conv(A, W) }""", "A", "W"),
    _case("SeBlockModel", """g (float[1,3,4,4] A) => (float[1,3,4,2] Y) <float[3,3,1,1] W, float[3] B,
        float[2,3,1,1] V, float[2] C, float[3,2,1,1] U, float[3] D, float[4,2] M> {
        x = Conv(A, W, B) m = GlobalAveragePool(x) e = Conv(m, V, C) r = Relu(e) f = Conv(r, U, D) s = Sigmoid(f)
        p = Mul(x, s) Y = MatMul(p, M) }""", "A x s p", "W M", keep=["e", "f"]),
    _case("ShapeOfModel", """g (float[1,3,4,4] A) => (float[1,3,4,1] Y) <float[3,3,3,3] W, float[3] B,
        float[3,3,1,1] V, int64[4] shape = {1, 3, 1, 4}> {
        c = Conv(A, W, B) s = Shape(c) r = Reshape(c, shape) t = Transpose<perm=[0,1,3,2]>(r) Y = Conv(t, V) }""",
        "A c t", "W V", shares=[("c", "t")]),
    _case("LinearModel", """g (float[1,3,4,2] A) => (float[1,3,2,5] Y, float[1,3,2,4] Z)
        <float[4,5] W, float[1,3,2,4] C, int64[4] shape = {1, 3, 2, 4}> {
        r = Reshape(A, shape) Y = MatMul(r, W) Z = Add(r, C) }""", "r", "W"),
    _case("MatmulSoftmaxMatmulBlock", """g (float[1,3,3] A) => (float[1,3,3] Y) <float[3,3] W> {
        p = MatMul(A, W) s = Softmax(p) Y = MatMul(s, A) }""", "A", "W", keep=["Y"]),
]  # fmt: skip

CASES = [
    *(replace(each, suite=_SUITE) for each in _CASES),
    Case(_SUITE, "ConvModel", differs=FOLDED),
    Case(_SUITE, "ConvNotBiasModel", differs=FOLDED),
    Case(_SUITE, "LSTMModel", missing=_LOOPS),
    Case(_SUITE, "LSTMSequenceModel", missing=_LOOPS),
    Case(_SUITE, "GRUSequenceModel", missing=_LOOPS),
    Case(_SUITE, "UnifiedEmbeddingModel", differs="data of a product has a scale of its own"),
]
