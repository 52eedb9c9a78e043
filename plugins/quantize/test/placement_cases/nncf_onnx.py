# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of NNCF's reference graphs of ONNX models: the synthetic ones, and blocks of the named nets."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case
from .recipes import nncf

_SUITE = "NNCF reference graphs, ONNX"
_NOTHING = "no layer of @main matches the recipe"


def _case(name: str, graph: str, data: str = "", weights: str = "", *, keep: Iterable[str] = (), shares=(), **options):
    """Return a case: names of quantized activations and of weights."""
    expected = dict.fromkeys(data.split(), "i8") | dict.fromkeys(weights.split(), "i8@channel")
    error = "" if expected else _NOTHING
    return Case(_SUITE, name, graph, nncf, expected, keep=list(keep), shares=shares, error=error, **options)


FOLDED = "an addition in front of a product is part of its bias, so the input is quantized"
_OWN_SCALE = "data of a product has a scale of its own, not the one of the embedding's weights"

CASES = [
    _case("linear", """g (float[1,3,8,8] X) => (float[1,10,1,1] Y)
        <float[8,3,3,3] W1, float[8] scale, float[8] b, float[8] mean, float[8] var, float[10,8,1,1] W2> {
        c = Conv(X, W1) n = BatchNormalization(c, scale, b, mean, var) relu = Relu(n) pool = GlobalAveragePool(relu)
        Y = Conv(pool, W2) }""", "X relu pool", "n:const W2", constants={"var": [1.0] * 8}),
    _case("several inputs and outputs", """g (float[1,6,3,3] A, float[2,6,3,3] B, float[1,6,3,3] C)
        => (float[4,6,3,3] Y, float[2,6,3,3] Z) { Y = Concat<axis=0>(A, B, C) Z = Add(A, B) }""", "A B"),
    _case("parallel edges", """g (float[1,6,3,3] A) => (float[4,6,3,3] Y) {
        c = Concat<axis=0>(A, A) Y = Concat<axis=0>(c, c) }"""),
    _case("two results of a split", """g (float[1,4,3,3] A) => (float[1,2,3,3] Y, float[1,2,3,3] Z) {
        p, q = Split<axis=1, num_outputs=2>(A) Y = MatMul(p, q) Z = MatMul(p, q) }""", "p.0 p.1", keep=["split"]),
    _case("a split that is quantized", """g (float[1,4,3,3] A) => (float[1,2,3,3] Y) {
        p, q = Split<axis=1, num_outputs=2>(A) Y = MatMul(p, q) }""", "A p.0 p.1", shares=[("A", "p.0", "p.1")]),
    _case("two inputs, two sums", """g (float[1,6,3,3] A, float[2,6,3,3] B) => (float[2,6,3,3] Y, float[2,6,3,3] Z) {
        Y = Add(A, B) Z = Add(A, B) }""", "A B"),
    _case("integers alone", "g (float[1,6,3,3] A) => (int64[4] Y) { Y = Shape(A) }"),
    _case("one convolution", """g (float[1,3,5,5] X) => (float[1,8,5,5] Y) <float[8,3,1,1] W, float[8] B> {
        Y = Conv(X, W, B) }""", "X", "W"),
    _case("a bias behind an identity", """g (float[1,3,5,5] X) => (float[1,8,5,5] Y) <float[8,3,1,1] W, float[8] B> {
        b = Identity(B) Y = Conv(X, W, b) }""", "X", "W"),
    Case(_SUITE, "weights behind a reshape", differs=FOLDED),
    _case("shared weights", """g (float[1,1,5,5] X) => (float[1,5,5,5] Y) <float[5,1,3,3] W> {
        relu = Relu(X) c = Conv<pads=[1,1,1,1]>(relu, W)
        d = Conv<pads=[2,2,2,2], dilations=[2,2]>(relu, W) Y = Add(c, d) }""", "relu c d", "W"),
    _case("one port", """g (float[1,1,5,5] X) => (float[1,1,5,5] Y) {
        relu = Relu(X) soft = Softmax(relu) Y = Mul(relu, soft) }""", "relu soft"),
    _case("several ports", """g (float[1,1,5,5] X) => (float[1,1,5,5] Y, float[1,1,5,5] Z) {
        relu = Relu(X) same = Identity(X) Z = Softmax(same) Y = Mul(relu, same) }""", "relu X"),
    _case("a shape in the middle", """g (float[1,3,6,6] X) => (float[1,4,2,8] Y)
        <float[8,3,3,3] W1, float[4,8,1,1] W2, int64[4] shape = {1, 8, 2, 8}> {
        c = Conv(X, W1) relu = Relu(c) s = Shape(relu) r = Reshape(relu, shape) Y = Conv(r, W2) }""",
        "X relu r", "W1 W2", shares=[("relu", "r")]),
    _case("another float type in front", """g (double[1,3,5,5] X) => (float[1,8,5,5] Y) <float[8,3,1,1] W> {
        r = Reciprocal(X) x = Cast<to=1>(r) Y = Conv(x, W) }""", "x", "W"),
    _case("pool and reshape", """g (float[1,3,8,8] X) => (float[1,10] Y)
        <float[8,3,3,3] W1, float[8,10] W2, int64[2] shape = {1, 8}> {
        c = Conv(X, W1) relu = Relu(c) pool = GlobalAveragePool(relu) r = Reshape(pool, shape) g = Gemm(r, W2)
        Y = Relu(g) }""", "X relu pool r", "W1 W2", shares=[("pool", "r")]),
    _case("product with weights", """g (float[1,10] X) => (float[1,5] Y) <float[10,5] W> {
        p = MatMul(X, W) Y = Softmax(p) }""", "X", "W"),
    _case("product of activations", """g (float[10,1] A, float[1,10] B) => (float[10,10] Y) {
        p = MatMul(A, B) Y = Softmax(p) }""", "A B"),
    _case("transposed weights", """g (float[1,10] X) => (float[1,5] Y) <float[5,10] W, float[5] B> {
        x = Identity(X) p = Gemm<transB=1>(x, W, B) Y = Softmax(p) }""", "X", "p:const"),
    _case("weights behind identities, products", """g (float[1,10] X) => (float[1,10] Y)
        <float[10,5] W, float[5,10] V> {
        w = Identity(W) p = MatMul(X, w) v = Identity(V) Y = MatMul(p, v) }""", "X p", "W V"),
    _case("weights behind moves, convolutions", """g (float[1,1,8,8] X) => (float[1,1,4,4] Y)
        <float[1,1,9] W, float[1,1,3,3] V, int64[4] shape = {1, 1, 3, 3}> {
        r = Reshape(W, shape) w = Transpose<perm=[0,1,3,2]>(r) c = Conv(X, w) v = Identity(V) Y = Conv(c, v) }""",
        "X c", "c:const V"),
    Case(_SUITE, "embedding", differs=_OWN_SCALE),
    Case(_SUITE, "embedding beside a product", differs=_OWN_SCALE),
    Case(_SUITE, "attention", differs="keys are quantized behind their scale, not in front"),
    _case("rotary positions", """g (int64[1,10] X) => (float[1,5,10] Y, float[1,5,10] Z)
        <int64[1] axis = {2}, float[1,5] W> {
        u = Unsqueeze(X, axis) c = Cast<to=1>(u) p = MatMul(c, W) t = Transpose<perm=[0,2,1]>(p)
        Y = Sin(t) Z = Cos(t) }""", keep=["p"]),
    _case("resnet: residual", """g (float[1,4,6,6] X) => (float[1,4,6,6] Y)
        <float[4,4,3,3] W1, float[4] B1, float[4,4,3,3] W2, float[4] B2, float[4,4,1,1] W3> {
        r = Relu(X) c = Conv<pads=[1,1,1,1]>(r, W1, B1) d = Relu(c) e = Conv<pads=[1,1,1,1]>(d, W2, B2)
        s = Add(e, r) t = Relu(s) Y = Conv(t, W3) }""", "r d e t", "W1 W2 W3"),
    _case("mobilenet: depthwise", """g (float[1,4,6,6] X) => (float[1,4,6,6] Y)
        <float[8,4,1,1] W1, float[8,1,3,3] W2, float[4,8,1,1] W3, float low = {0.0}, float high = {6.0}> {
        c = Conv(X, W1) d = Clip(c, low, high) e = Conv<pads=[1,1,1,1], group=8>(d, W2) f = Clip(e, low, high)
        h = Conv(f, W3) Y = Add(h, X) }""", "X d f h", "W1 W2 W3"),
    _case("squeezenet: fire", """g (float[1,8,6,6] X) => (float[1,4,6,6] Y)
        <float[2,8,1,1] W1, float[4,2,1,1] W2, float[4,2,3,3] W3, float[4,8,1,1] W4> {
        a = Conv(X, W1) b = Relu(a) c = Conv(b, W2) d = Relu(c) e = Conv<pads=[1,1,1,1]>(b, W3) f = Relu(e)
        k = Concat<axis=1>(d, f) Y = Conv(k, W4) }""", "X b d f k", "W1 W2 W3 W4", shares=[("d", "f", "k")]),
    _case("shufflenet: shuffle", """g (float[1,4,6,6] X) => (float[1,4,6,6] Y) <float[4,4,1,1] W1, float[4,4,1,1] W2,
        int64[5] five = {1, 2, 2, 6, 6}, int64[4] four = {1, 4, 6, 6}> {
        a = Conv(X, W1) b = Relu(a) c = Reshape(b, five) d = Transpose<perm=[0,2,1,3,4]>(c) e = Reshape(d, four)
        Y = Conv(e, W2) }""", "X b c d e", "W1 W2", shares=[("b", "c", "d", "e")]),
    _case("vgg: pool", """g (float[1,4,8,8] X) => (float[1,4,2,2] Y) <float[4,4,3,3] W1, float[4,4,2,2] W2> {
        a = Conv(X, W1) b = Relu(a) c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(b) Y = Conv(c, W2) }""",
        "X b c", "W1 W2", shares=[("b", "c")]),
    _case("googlenet: inception", """g (float[1,4,6,6] X) => (float[1,4,6,6] Y)
        <float[2,4,1,1] W1, float[2,4,3,3] W2, float[2,4,1,1] W3, float[4,6,1,1] W4> {
        a = Conv(X, W1) b = Relu(a) c = Conv<pads=[1,1,1,1]>(X, W2) d = Relu(c)
        e = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(X) f = Conv(e, W3) h = Relu(f)
        k = Concat<axis=1>(b, d, h) Y = Conv(k, W4) }""", "X e b d h k", "W1 W2 W3 W4",
        shares=[("b", "d", "h", "k"), ("X", "e")]),
    _case("unet: transposed convolution", """g (float[1,4,4,4] X) => (float[1,2,8,8] Y)
        <float[4,2,2,2] W1, float[2,2,3,3] W2> {
        a = ConvTranspose<strides=[2,2]>(X, W1) b = Relu(a) Y = Conv<pads=[1,1,1,1]>(b, W2) }""", "X b", "W1 W2"),
    _case("tiny-yolov2: leaky relu", """g (float[1,4,4,4] X) => (float[1,2,4,4] Y)
        <float[4,4,1,1] W1, float[2,4,1,1] W2> {
        a = Conv(X, W1) b = LeakyRelu<alpha=0.1>(a) Y = Conv(b, W2) }""", "X b", "W1 W2"),
    _case("mobilenet_v3: squeeze and excite", """g (float[1,4,4,4] X) => (float[1,2,4,4] Y)
        <float[4,4,1,1] W1, float[2,4,1,1] W2, float[4,2,1,1] W3, float[2,4,1,1] W4> {
        a = Conv(X, W1) b = Relu(a) p = GlobalAveragePool(b) c = Conv(p, W2) d = Relu(c) e = Conv(d, W3)
        f = HardSigmoid(e) h = Mul(f, b) Y = Conv(h, W4) }""", "X b f h", "W1 W4", keep=["c", "f"]),
    _case("retinanet: pyramid", """g (float[1,4,4,4] A, float[1,4,4,4] B) => (float[1,2,4,4] Y)
        <float[4,4,1,1] W1, float[4,4,1,1] W2, float[2,4,1,1] W3> {
        a = Conv(A, W1) b = Conv(B, W2) c = Add(a, b) Y = Conv(c, W3) }""", "A B a b c", "W1 W2 W3"),
]  # fmt: skip
