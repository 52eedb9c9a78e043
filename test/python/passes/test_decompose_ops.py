# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-decompose-ops: the definition of an operator has the results of the operator.

Situations of Apache TVM's test_transform_decompose_ops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import blocks
import numpy
import pytest
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from own_rules import without_new_decompositions
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.graph.decompose.registry import all_decompositions
from relax_mlir.passes.graph.relax_decompose_ops import DecomposeOps

import relax_mlir as rx
from relax_mlir import relax

nn = relax.nn
ALL = "relax-decompose-ops{ops=all}"
Body = Callable[..., Any]


def built(shapes: Sequence[Any], body: Body, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def _cached(*tensors: Any) -> Any:
    return nn.attention_cached(*tensors, length=relax.prim_value(5), causal_mask="BottomRight")


def _blind(*tensors: Any) -> Any:
    return nn.attention(*tensors, causal_mask="BottomRight", blind="nan")


def _attention(**attributes: Any) -> tuple[list[Any], Body]:
    return [(2, 3, 4, 8), (2, 7, 2, 8), (2, 7, 2, 6)], lambda *given: nn.attention(*given, **attributes)


def _norm_of_batch(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, **attributes: Any) -> Any:
    return nn.batch_norm(x, gamma, beta, mean, relax.abs(variance), **attributes)


def _few_bits(x: Any, **attributes: Any) -> Any:
    codes = numpy.arange(5 * 3 * 8, dtype="uint8").reshape(5, 3, 8)
    scale = numpy.linspace(0.01, 0.1, 15, dtype="float32").reshape(5, 3)
    return relax.matmul_nbits(
        x, relax.const(codes), relax.const(scale), None, None, bits=4, block_size=16, **attributes
    )


def _six_bits(x: Any) -> Any:
    codes = numpy.arange(5 * 4 * 12, dtype="uint8").reshape(5, 4, 12)
    scale = numpy.arange(-10, 10, dtype="int8").reshape(5, 4)
    outer = numpy.linspace(0.01, 0.1, 10, dtype="float16").reshape(5, 2)
    held = {"codes": codes, "scale": scale, "offset": numpy.abs(scale).astype("uint8")}
    held |= {"outer_scale": outer, "outer_offset": outer[::-1].copy()}
    values = {name: relax.const(each) for name, each in held.items()}
    return relax.matmul_nbits(x, **values, bits=6, block_size=16)


_OF_FOUR = [(2, "n", 4), (4,), (4,)]
_CASES: dict[str, tuple[list[Any], Body]] = {
    **{f"nn.{name}": ([("n", 4)], lambda x, name=name: rx.find_op(f"relax.nn.{name}")(x))  # type: ignore[misc]
       for name in "gelu gelu_tanh silu selu leakyrelu softmax log_softmax dropout".split()},
    "nn.softplus": ([("n", 4)], lambda x: nn.softplus(x, beta=2.0, threshold=1.5)),
    "nn.softplus of a high threshold": ([("n", 4)], lambda x: nn.softplus(x, beta=90.0, threshold=9000.0)),
    "nn.softmax of columns": ([("n", 4)], lambda x: nn.softmax(x, axis=0)),
    "nn.prelu": ([(2, 3, 4), (3,)], nn.prelu),
    "nn.prelu of one": ([(2, 3, 4), (1,)], nn.prelu),
    "nn.layer_norm": (_OF_FOUR, lambda *x: nn.layer_norm(*x, axes=[-1], epsilon=0.1)),
    "nn.layer_norm of others": ([(2, 4, 5), (4,), (4,)], lambda *x: nn.layer_norm(*x, axes=[1], center=False)),
    "nn.layer_norm of two": ([(2, 3, 4), (4, 2), (4, 2)], lambda *x: nn.layer_norm(*x, axes=[-1, 0], scale=False)),
    "nn.rms_norm": ([("n", 4), (4,)], lambda *x: nn.rms_norm(*x, epsilon=0.1)),
    "nn.group_norm": ([(2, 4, 3), (4,), (4,)], lambda *x: nn.group_norm(*x, num_groups=2, channel_axis=1, axes=[2])),
    "nn.group_norm of first": (
        [(4, 2, "n"), (4,), (4,)], lambda *x: nn.group_norm(*x, num_groups=2, channel_axis=0, axes=[-1, 1])
    ),
    "nn.instance_norm": (_OF_FOUR, lambda *x: nn.instance_norm(*x, channel_axis=-1, axes=[1])),
    "nn.batch_norm": ([("n", 4, 3), *[(4,)] * 4], lambda *x: _norm_of_batch(*x, axis=1, training=False, epsilon=0.5)),
    "nn.batch_norm trained": ([(5, 4, 3), *[(4,)] * 4], lambda *x: _norm_of_batch(*x, axis=-2, momentum=0.3)),
    "mean": ([("n", 4)], lambda x: (relax.mean(x), relax.mean(x, axis=[-1], keepdims=True))),
    "std": ([("n", 4)], lambda x: relax.std(x, axis=[0])),
    "variance": ([("n", 4)], lambda x: relax.variance(x, keepdims=True)),
    "nn.cross_entropy_with_logits": ([("n", 4), ("n", 4)], nn.cross_entropy_with_logits),
    "nn.cross_entropy_with_logits of one": ([(4,), (4,)], nn.cross_entropy_with_logits),
    "matmul_nbits": ([("n", 40)], _few_bits),
    "matmul_nbits of rounded rows": ([("n", 40)], lambda x: _few_bits(x, activation_bits=8)),
    "matmul_nbits of 6 bits": ([("n", 60)], _six_bits),
    "nn.conv1d_transpose": ([(2, 4, "n"), (4, 3, 4)], lambda *x: nn.conv1d_transpose(*x, strides=[2], padding=[1])),
    "nn.conv2d_transpose": (
        [(2, 4, "n", 3), (4, 3, 3, 2)], lambda *x: nn.conv2d_transpose(*x, strides=[2, 3], output_padding=[1, 2])
    ),
    "nn.conv3d_transpose": (
        [(1, 4, 2, 3, 2), (4, 1, 5, 1, 2)],
        lambda *x: nn.conv3d_transpose(*x, strides=[2, 1, 2], padding=[1, 0, 0, 2, 0, 1], groups=4),
    ),
    "nn.attention": _attention(),
    "nn.attention causal": _attention(causal_mask="TopLeft"),
    "nn.attention causal at the end": _attention(causal_mask="BottomRight", scale=0.3),
    "nn.attention of a window": _attention(causal_mask="BottomRight", window_size=2),
    "nn.attention of a window alone": _attention(window_size=2),
    "nn.attention of any length": (
        [(2, "q", 4, 8), (2, "k", 4, 8), (2, "k", 4, 8)], lambda *x: nn.attention(*x, causal_mask="BottomRight")
    ),
    "nn.attention of any heads": ([(2, 3, "2*h", 8), (2, 5, "h", 8), (2, 5, "h", 8)], nn.attention),
    "nn.attention blind": ([(2, 5, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8)], _blind),
    "nn.attention_cached": ([(2, 3, 4, 8), (2, 2, 7, 8), (2, 2, 7, 6)], _cached),
    "nn.attention_bias": ([(2, 3, 4, 8), (2, 7, 4, 8), (2, 7, 4, 8), (1, 4, 1, 7)], nn.attention),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", _CASES)
def test_decomposed_as_computed(name: str, dtype: str) -> None:
    module = built(*_CASES[name], dtype)
    after = keeps_results(module, ALL, tolerance=1e-4 if dtype == "float32" else 4e-3, sizes={"2*h": 4, "h": 2})
    assert not {f"relax.{name.partition(' ')[0]}"} & set(op_names(after))


#: Operators that move numbers, round them, or are a whole definition, such as the convolution of a transposed one.
_NARROW = frozenset(
    "astype ones_like abs reshape flip permute_dims nn.pad repeat expand_dims broadcast_to strided_slice concat "
    "nn.conv1d nn.conv2d nn.conv3d".split()
)


def test_narrow_operators_are_decomposed_in_f32() -> None:
    """Rounding to 16 bits in the middle would hardly be seen in small results."""
    for name, case in _CASES.items():
        module = built(*case, "float16")
        rx.Pipeline(ALL).run(module)
        narrow = {op.name for op in operations_in(module.operation) if op.results and "f16>" in str(op.results[0].type)}
        assert narrow - {"arith.constant"} <= {f"relax.{each}" for each in _NARROW}, name


def test_every_definition_has_a_case() -> None:
    assert {each.op for each in all_decompositions()} == {f"relax.{name.partition(' ')[0]}" for name in _CASES}


def test_large_numbers_stay_in_range() -> None:
    rows = numpy.array([[1e4, 1e4 - 1], [-1e38, 1e38]], "float32")
    for function in (nn.softmax, nn.log_softmax):
        keeps_results(built([(2, 2)], function), ALL, [rows])


def test_queries_that_see_nothing_give_zeros() -> None:
    """Mask queries by the end of the keys, or by a bias."""
    arrays = [numpy.ones((1, 4, 1, 2), "f4"), numpy.ones((1, 2, 1, 2), "f4"), numpy.ones((1, 2, 1, 2), "f4")]
    shapes = [each.shape for each in arrays]
    module = built(shapes, lambda *x: nn.attention(*x, causal_mask="BottomRight"))
    after = keeps_results(module, ALL, arrays)
    assert not (rx.compile(after)["main"](*arrays) == 1).all()
    hidden = numpy.full((1, 1, 1, 2), -numpy.inf, "f4")
    keeps_results(built([*shapes, hidden.shape], nn.attention), ALL, [*arrays, hidden])


@pytest.mark.parametrize(
    ("shapes", "body"),
    [
        ([("n", "m"), ("k",)], nn.rms_norm),
        ([("n", "m"), ("m",), ("k",)], lambda *x: nn.layer_norm(*x, axes=[1])),
        ([(2, None, 4), *[(3,)] * 4], lambda *x: nn.batch_norm(*x, axis=1)[0]),
        ([("n", 4), ("m", 4)], nn.cross_entropy_with_logits),
        ([(2, None, 4), (4,), (4,)], lambda *x: nn.group_norm(*x, num_groups=2, channel_axis=2, axes=[1])),
        ([(2, 3, 4, "d")] * 3, nn.attention),
        ([(2, 3, 4, 8), (2, "k", 4, 8), (2, "l", 4, 8)], nn.attention),
        ([(2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 4, 8), (1, "h", 3, 3)], nn.attention),
        ([(2, 3, 4, 8), (2, None, 4, 8), (2, None, 4, 8)], nn.attention),
        ([None, (4,)], nn.rms_norm),
        ([(1, 4, 5, 5), (4, 3, 2, 2)], nn.conv2d_transpose),  # without strides there is nothing to gain
        ([(1, 4, 5, 5), (4, 3, 2, 2)], lambda *x: nn.conv2d_transpose(*x, strides=[2, 2], dilation=[2, 2])),
        (
            [(1, 1, 5, 5, 4), (4, 3, 2, 2)],
            lambda *x: nn.conv2d_transpose(*x, strides=[2, 2], data_layout="NCHW4c", out_layout="NCHW"),
        ),
        ([(1, 4, 5, 5), (4, 3, "k", 2)], lambda *x: nn.conv2d_transpose(*x, strides=[2, 2])),
        ([(1, 4, 5, 5), (4, "c", 2, 2)], lambda *x: nn.conv2d_transpose(*x, strides=[2, 2])),
    ],
)
def test_operators_with_unknown_sizes_are_not_decomposed(shapes: Any, body: Body) -> None:
    module = built(shapes, body)
    assert op_names(changed(module, ALL)) == op_names(module)


@st.composite
def spread(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], dict[str, Any]]:
    """Draw shapes of data and weight, and attributes, of a transposed convolution."""
    rank, groups = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
    sizes, taps, strides = (draw(st.lists(st.integers(1, most), min_size=rank, max_size=rank)) for most in (4, 5, 3))
    wide = [(size - 1) * stride + tap for size, tap, stride in zip(sizes, taps, strides, strict=True)]
    before = [draw(st.integers(0, min(4, width - 1))) for width in wide]
    after = [draw(st.integers(0, min(4, width - 1 - first))) for width, first in zip(wide, before, strict=True)]
    extra = [draw(st.integers(0, stride - 1)) for stride in strides]
    attributes = {"strides": strides, "padding": before + after, "output_padding": extra, "groups": groups}
    return [(2, 2 * groups, *sizes), (2 * groups, 3, *taps)], attributes


def spread_out(x: Any, weight: Any, attributes: dict[str, Any]) -> Any:
    """Compute a transposed convolution by adding each element of the data times the kernel."""
    strides, extra, groups = attributes["strides"], attributes["output_padding"], attributes["groups"]
    rank, sizes, taps = len(strides), x.shape[2:], weight.shape[2:]
    before, after = attributes["padding"][:rank], attributes["padding"][rank:]
    wide = [
        (size - 1) * stride + tap + more for size, stride, tap, more in zip(sizes, strides, taps, extra, strict=True)
    ]
    whole = numpy.zeros((x.shape[0], groups, weight.shape[1], *wide), x.dtype)
    data, kernel = (each.reshape(*shape) for each, shape in (
        (x, (x.shape[0], groups, -1, *sizes)), (weight, (groups, -1, *weight.shape[1:]))
    ))  # fmt: skip
    for place in numpy.ndindex(*sizes):
        window = tuple(
            slice(at * stride, at * stride + tap) for at, stride, tap in zip(place, strides, taps, strict=True)
        )
        whole[(..., *window)] += numpy.einsum("ngi,gio...->ngo...", data[(..., *place)], kernel)
    inside = tuple(slice(first, width - last) for first, width, last in zip(before, wide, after, strict=True))
    return whole.reshape(x.shape[0], -1, *wide)[(..., *inside)]


@draws(60)
@given(spread(), st.booleans(), st.booleans())
def test_transposed_convolutions_are_convolutions(given_: Any, is_dynamic: bool, has_infinity: bool) -> None:
    shapes, attributes = given_
    data, weight = shapes
    shown = [(*data[:2], *(f"n{axis}" for axis in range(len(data) - 2))) if is_dynamic else data, weight]
    op = rx.find_op(f"relax.nn.conv{len(data) - 2}d_transpose")
    module = changed(built(shown, lambda x, w: op(x, w, **attributes)), ALL)
    assert (op.full_name in op_names(module)) == (max(attributes["strides"]) == 1)
    x, w = (numpy.random.default_rng(1).standard_normal(shape).astype("float32") for shape in shapes)
    if has_infinity:
        # Taps that are not there make no NaN of it.
        x[(0, 0, *(size // 2 for size in data[2:]))] = numpy.inf
    expected = spread_out(x, w, attributes)
    numpy.testing.assert_allclose(rx.compile(module)["main"](x, w), expected, rtol=1e-4, atol=1e-5)


def test_modes() -> None:
    """Decide by a norm's attribute in mode "stated", and otherwise by the pass's option."""

    def both(x: Any, *parameters: Any) -> Any:
        return tuple(nn.batch_norm(x, *parameters, axis=1, training=training)[0] for training in (True, False))

    module = built([(2, 4, 3), *[(4,)] * 4], both)
    means = {mode: op_names(changed(module, DecomposeOps(mode=mode))).count("relax.mean")  # type: ignore[arg-type]
             for mode in ("stated", "inference", "training")}  # fmt: skip
    assert means == {"stated": 2, "inference": 0, "training": 4}
    dropped = built([(3,)], nn.dropout)
    assert op_names(changed(dropped, DecomposeOps(mode="training", ops=("all",)))) == ["relax.nn.dropout"]
    # A norm that is not decomposed is not changed either.
    assert op_names(changed(module, DecomposeOps(mode="inference", ops=()))) == ["relax.nn.batch_norm"] * 2


def test_a_definition_of_ones_own() -> None:
    with without_new_decompositions():
        rx.register_decomposition("relax.nn.relu")(lambda op, x: relax.maximum(x, relax.const(0.0)))
        rx.register_decomposition("relax.concat")(lambda op, tensors: relax.add(*tensors))
        module = built([("n", 4)], nn.relu)
        after = keeps_results(module, "relax-decompose-ops{ops=nn.relu}")
        assert op_names(after) == ["relax.maximum"]
        with pytest.raises(rx.RelaxError, match=r"'relax.nn.relu' has a decomposition already: .*test_decompose_ops"):
            rx.register_decomposition("relax.nn.relu")(len)
        with pytest.raises(rx.RelaxError, match=r"unknown operator 'relax.nn.rellu'; did you mean"):
            rx.register_decomposition("relax.nn.rellu")(len)
        # Definitions with a wrong shape: users keep the known type, and the run reports the difference.
        joined = built([(2,), (2,)], lambda x, y: relax.concat([x, y]))
        with pytest.raises(rx.RelaxError, match="can never hold"):
            changed(joined, "relax-decompose-ops{ops=concat}")
    assert op_names(changed(module, ALL)) == ["relax.nn.relu"]


def test_a_definition_of_too_few_values() -> None:
    with without_new_decompositions():
        rx.register_decomposition("relax.split")(lambda op, x: x)
        module = built([(4,)], lambda x: relax.split(x, 2))
        with pytest.raises(rx.RelaxError, match=r"decomposition of relax.split .* gives 1 value for 2 results"):
            changed(module, "relax-decompose-ops{ops=relax.split}")


def test_unknown_operators_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match=r"option 'ops': 'relax.exp' has no decomposition"):
        changed(built([(4,)], relax.exp), "relax-decompose-ops{ops=relax.exp}")


@draws(40)
@given(st.one_of(blocks.images(), blocks.sequences()))
def test_any_graph_keeps_its_results(module: rx.Module) -> None:
    keeps_results(module, ALL, tolerance=1e-3)


def test_models_keep_their_results() -> None:
    keeps_results(blocks.transformer(length="n"), ALL, tolerance=1e-3)
    keeps_results(blocks.llama(), ALL, tolerance=1e-3)
