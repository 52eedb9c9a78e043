# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that change shapes, move elements or join tensors: inferred types against numpy, symbols, refusals."""

from __future__ import annotations

import math

import numpy
import pytest
import relax_mlir.dialects.relax  # noqa: F401  # declares the operators
from against_numpy import agrees_with_numpy
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from inferring import build_function, infer
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import ShapeInfo
from relax_mlir.dialects.core.symbols import parse
from shorthand import refusal, tensor, unranked

SIZE = st.integers(0, 5)
SHAPE = st.lists(SIZE, max_size=4).map(tuple)
DTYPE = st.sampled_from(["float32", "float16", "int64", "bool"])
AXIS = st.integers(-5, 5)
AXES = st.lists(st.integers(-4, 4), max_size=4)
NAMED = st.just(0) | st.integers(0, 2**12 - 1)

examples = draws(50)


@examples
@given(SHAPE, DTYPE, AXIS, NAMED)
def test_flip(shape, dtype, axis, named):
    agrees_with_numpy("relax.flip", [numpy.zeros(shape, dtype)], lambda x: numpy.flip(x, axis), named, axis=axis)


@examples
@given(SHAPE, DTYPE, st.none() | AXES, NAMED)
def test_permute_dims(shape, dtype, axes, named):
    agrees_with_numpy(
        "relax.permute_dims", [numpy.zeros(shape, dtype)], lambda x: numpy.transpose(x, axes), named, axes=axes
    )


@examples
@given(SHAPE, DTYPE, st.randoms(use_true_random=False), NAMED)
def test_permute_dims_with_every_axis(shape, dtype, random, named):
    axes = [random.choice((axis, axis - len(shape))) for axis in random.sample(range(len(shape)), len(shape))]
    agrees_with_numpy("relax.permute_dims", [numpy.zeros(shape, dtype)], lambda x: x.transpose(axes), named, axes=axes)


@examples
@given(SHAPE, DTYPE, AXES, NAMED)
def test_expand_dims(shape, dtype, axis, named):
    x = numpy.zeros(shape, dtype)
    agrees_with_numpy("relax.expand_dims", [x], lambda x: numpy.expand_dims(x, tuple(axis)), named, axis=axis)


@examples
@given(st.lists(st.sampled_from([1, 1, 3]), max_size=4), DTYPE, st.none() | AXES)
def test_squeeze(shape, dtype, axis):
    x = numpy.zeros(shape, dtype)
    agrees_with_numpy(
        "relax.squeeze", [x], lambda x: numpy.squeeze(x, None if axis is None else tuple(axis)), axis=axis
    )


@examples
@given(SHAPE, DTYPE, st.integers(-1, 3), st.none() | AXIS, NAMED)
def test_repeat(shape, dtype, repeats, axis, named):
    def repeated(x):
        if repeats < 0 or x.ndim == 0 and axis is not None:  # numpy lets some of these pass
            raise ValueError
        return numpy.repeat(x, repeats, axis)

    agrees_with_numpy("relax.repeat", [numpy.zeros(shape, dtype)], repeated, named, repeats=repeats, axis=axis)


@examples
@given(SHAPE, DTYPE, st.lists(st.integers(-1, 3), max_size=5), NAMED)
def test_tile(shape, dtype, repeats, named):
    def tiled(x):
        if min(repeats, default=0) < 0:  # numpy overlooks it where there are no elements
            raise ValueError
        return numpy.tile(x, repeats)

    agrees_with_numpy("relax.tile", [numpy.zeros(shape, dtype)], tiled, named, repeats=repeats)


@examples
@given(SHAPE, DTYPE, NAMED)
def test_flatten(shape, dtype, named):
    agrees_with_numpy("relax.flatten", [numpy.zeros(shape, dtype)], lambda x: x.reshape(math.prod(shape)), named)


@st.composite
def broadcasts(draw):
    """Draw a shape and a target that it usually broadcasts to."""
    target = draw(SHAPE)
    source = [1 if draw(st.booleans()) else size for size in target[draw(st.integers(0, len(target))) :]]
    if source and draw(st.integers(0, 3)) == 0:
        source[0] += 1
    return tuple(source), target


@examples
@given(broadcasts(), DTYPE, NAMED)
def test_broadcast_to(shapes, dtype, named):
    source, target = shapes
    x = numpy.zeros(source, dtype)
    agrees_with_numpy("relax.broadcast_to", [x, target], lambda x, shape: numpy.broadcast_to(x, shape), named)


@examples
@given(broadcasts(), DTYPE, NAMED)
def test_collapse_sum(shapes, dtype, named):
    target, source = shapes

    def collapsed(data, target):
        target = numpy.zeros(target, dtype) if isinstance(target, tuple) else target
        numpy.broadcast_to(target, data.shape)
        return target

    agrees_with_numpy("relax.collapse_sum_to", [numpy.zeros(source, dtype), target], collapsed, named)
    agrees_with_numpy(
        "relax.collapse_sum_like", [numpy.zeros(source, dtype), numpy.zeros(target, dtype)], collapsed, named
    )


@st.composite
def reshapes(draw):
    """Draw a shape without zeros, and another one that usually has as many elements, including -1."""
    source = tuple(draw(st.lists(st.integers(1, 5), max_size=4)))
    target, rest = [], math.prod(source) + (draw(st.integers(0, 3)) == 0)
    while rest > 1 and len(target) < 3:
        size = draw(st.sampled_from([size for size in range(1, rest + 1) if rest % size == 0]))
        target.append(size)
        rest //= size
    target.append(rest)
    if draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    return source, tuple(target)


@examples
@given(reshapes(), DTYPE, NAMED)
def test_reshape(shapes, dtype, named):
    source, target = shapes
    agrees_with_numpy("relax.reshape", [numpy.zeros(source, dtype), target], lambda x, shape: x.reshape(shape), named)


@st.composite
def joined_shapes(draw, similar: int):
    """Draw shapes that are usually equal except for the axis `similar`."""
    shape = draw(SHAPE)
    shapes = [list(shape) for _ in range(draw(st.integers(1, 4)))]
    for other in shapes:
        if other and draw(st.integers(0, 3)) != 0:
            other[similar % len(other)] = draw(SIZE)
    if draw(st.integers(0, 3)) == 0:
        shapes[-1].append(1)
    return shapes


@examples
@given(joined_shapes(1), DTYPE, st.sampled_from([1, 1, -3, 0, 7]), NAMED)
def test_concat(shapes, dtype, axis, named):
    tensors = [numpy.zeros(shape, dtype) for shape in shapes]
    assume(all(array.ndim for array in tensors))
    agrees_with_numpy("relax.concat", [tensors], lambda arrays: numpy.concatenate(arrays, axis), named, axis=axis)


@examples
@given(SHAPE, st.integers(1, 4), DTYPE, AXIS, NAMED)
def test_stack(shape, count, dtype, axis, named):
    tensors = [numpy.zeros(shape, dtype) for _ in range(count)]
    agrees_with_numpy("relax.stack", [tensors], lambda arrays: numpy.stack(arrays, axis), named, axis=axis)


@examples
@given(joined_shapes(0), DTYPE)
def test_stack_takes_one_shape_only(shapes, dtype):
    agrees_with_numpy("relax.stack", [[numpy.zeros(shape, dtype) for shape in shapes]], numpy.stack)


@examples
@given(st.lists(st.lists(SIZE, max_size=1), min_size=1, max_size=4), DTYPE, st.sampled_from(["ij", "xy"]), NAMED)
def test_meshgrid(shapes, dtype, indexing, named):
    tensors = [numpy.zeros(shape, dtype) for shape in shapes]
    agrees_with_numpy(
        "relax.meshgrid", [tensors], lambda arrays: numpy.meshgrid(*arrays, indexing=indexing), named, indexing=indexing
    )


@examples
@given(SHAPE, DTYPE, st.integers(1, 6), AXIS, NAMED)
def test_split_in_sections(shape, dtype, sections, axis, named):
    def sectioned(x):
        length = -(-numpy.take(x.shape, axis) // sections)
        return numpy.split(x, [length * index for index in range(1, sections)], axis)

    agrees_with_numpy(
        "relax.split", [numpy.zeros(shape, dtype)], sectioned, named, indices_or_sections=sections, axis=axis
    )


@examples
@given(SHAPE, DTYPE, st.lists(st.integers(0, 6), max_size=3).map(sorted), AXIS, NAMED)
def test_split_at_indices(shape, dtype, indices, axis, named):
    x = numpy.zeros(shape, dtype)
    assume(-x.ndim <= axis < x.ndim or indices)  # numpy does not look at the axis when there is nothing to split
    agrees_with_numpy(
        "relax.split", [x], lambda x: numpy.split(x, indices, axis), named, indices_or_sections=indices, axis=axis
    )


@examples
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.lists(st.integers(1, 3), min_size=3, max_size=3), NAMED)
def test_layout_transform(outer, blocks, named):
    """Move blocks of each dimension to the end. Sizes are multiples of the blocks, so that nothing is padded."""
    blocks = blocks[: len(outer)]

    def blocked(*indices):
        pairs = list(zip(indices, blocks, strict=True))
        return [*(index // block for index, block in pairs), *(index % block for index, block in pairs)]

    def moved(x):
        places = numpy.array([blocked(*index) for index in numpy.ndindex(*x.shape)])
        assert len(numpy.unique(places, axis=0)) == x.size
        return numpy.zeros(places.max(axis=0) + 1, x.dtype)

    x = numpy.zeros([size * block for size, block in zip(outer, blocks, strict=True)], "float32")
    # Not *args: the operator asks the function how many dimensions it takes.
    index_map = {1: lambda a: blocked(a), 2: lambda a, b: blocked(a, b), 3: lambda a, b, c: blocked(a, b, c)}
    agrees_with_numpy("relax.layout_transform", [x], moved, named, index_map=index_map[len(outer)])


def shape_value(*dims):
    return ShapeInfo(tuple(parse(dim) if isinstance(dim, str) else dim for dim in dims))


OPEN = ShapeInfo(None)

TYPES = [
    # reshape and its special sizes
    ("reshape", [tensor("n", 4), (0, 2, -1)], {}, [tensor("n", 2, 2)]),
    ("reshape", [tensor("n", 4), ("2*n", 2)], {}, [tensor("2*n", 2)]),
    ("reshape", [tensor("n", 4), (-1,)], {}, [tensor("4*n")]),
    ("reshape", [tensor("n", "m", 8), ("n", -1, "m", 2)], {}, [tensor("n", 4, "m", 2)]),
    ("reshape", [tensor(2, 3), -1], {}, [tensor(6)]),
    ("reshape", [tensor(0, 3), [0, 3]], {}, [tensor(0, 3)]),
    ("reshape", [tensor("n", 6), shape_value(None, 3)], {}, [tensor("2*n", 3)]),
    ("reshape", [tensor("n", 6), shape_value(None, "m")], {}, [tensor(None, "m")]),
    ("reshape", [tensor("n", None), shape_value(None, 3)], {}, [tensor(None, 3)]),
    ("reshape", [tensor("n", 6), OPEN], {}, [unranked()]),
    ("reshape", [unranked("i8"), (2, "n")], {}, [tensor(2, "n", dtype="i8")]),
    ("flatten", [tensor("n", 3, "m")], {}, [tensor("3*m*n")]),
    ("flatten", [tensor("n", None)], {}, [tensor(None)]),
    ("flatten", [unranked()], {}, [tensor(None)]),
    # dimensions of size 1
    ("expand_dims", [tensor("n", None)], {"axis": [0, -1]}, [tensor(1, "n", None, 1)]),
    ("expand_dims", [unranked()], {"axis": 0}, [unranked()]),
    ("squeeze", [tensor("n", 1, None)], {"axis": 1}, [tensor("n", None)]),
    ("squeeze", [tensor("n", None, 2)], {"axis": [0, 1]}, [tensor(2)]),
    ("squeeze", [tensor("n", 1, 2)], {}, [unranked()]),
    ("squeeze", [tensor("n + 2", 1, 2)], {}, [tensor("n + 2", 2)]),
    ("squeeze", [unranked()], {"axis": 1}, [unranked()]),
    # broadcasting
    ("broadcast_to", [tensor("n"), (3, 4)], {}, [tensor(3, 4)]),
    ("broadcast_to", [tensor("n"), ("n + 1",)], {}, [tensor("n + 1")]),
    ("broadcast_to", [tensor(4, 1), shape_value(None, None, None)], {}, [tensor(None, 4, None)]),
    ("broadcast_to", [tensor(4, 1), OPEN], {}, [unranked()]),
    ("broadcast_to", [unranked(), ("n",)], {}, [tensor("n")]),
    ("collapse_sum_to", [tensor(2, "n"), ("n",)], {}, [tensor("n")]),
    ("collapse_sum_to", [tensor(2, "n"), OPEN], {}, [unranked()]),
    ("collapse_sum_like", [tensor(2, "n"), tensor(1, "m", dtype="f64")], {}, [tensor(1, "m")]),
    ("collapse_sum_like", [unranked(), tensor(1, "m")], {}, [tensor(1, "m")]),
    # order and copies
    ("flip", [unranked("i1")], {"axis": 3}, [unranked("i1")]),
    ("permute_dims", [tensor("n", "m", 3)], {}, [tensor(3, "m", "n")]),
    ("permute_dims", [unranked()], {"axes": [1, 0]}, [tensor(None, None)]),
    ("permute_dims", [unranked()], {}, [unranked()]),
    ("repeat", [tensor("n", "m")], {"repeats": 2}, [tensor("2*m*n")]),
    ("repeat", [tensor("n", "m")], {"repeats": 2, "axis": -1}, [tensor("n", "2*m")]),
    ("repeat", [unranked()], {"repeats": 2}, [tensor(None)]),
    ("repeat", [unranked()], {"repeats": 2, "axis": 1}, [unranked()]),
    ("tile", [tensor("n", None)], {"repeats": (3, 2, 1)}, [tensor(3, "2*n", None)]),
    ("tile", [tensor("n", 2)], {"repeats": 3}, [tensor("n", 6)]),
    ("tile", [unranked()], {"repeats": 3}, [unranked()]),
    # several tensors
    ("concat", [[tensor("n", 2), tensor(None, 3)]], {"axis": 1}, [tensor("n", 5)]),
    ("concat", [[tensor("n", 2), tensor("m", 2)]], {}, [tensor("n + m", 2)]),
    ("concat", [[unranked(), tensor("n", 2)]], {}, [tensor(None, 2)]),
    ("concat", [[unranked(), unranked()]], {"axis": 9}, [unranked()]),
    ("stack", [[tensor("n", None), tensor(None, 3)]], {"axis": -1}, [tensor("n", 3, 2)]),
    ("stack", [[unranked()]], {}, [unranked()]),
    ("meshgrid", [[tensor("n"), unranked(), tensor()]], {}, [tensor("n", None, 1)] * 3),
    ("meshgrid", [[tensor("n"), tensor(3)]], {"indexing": "xy"}, [tensor(3, "n")] * 2),
    ("split", [tensor("2*n")], {"indices_or_sections": 2}, [tensor("n")] * 2),
    ("split", [tensor("n")], {"indices_or_sections": 2}, [tensor("(n + 1)//2"), tensor("n//2")]),
    ("split", [tensor("n", 2)], {"indices_or_sections": [3], "axis": -2},
     [tensor("min(n, 3)", 2), tensor("max(n - 3, 0)", 2)]),
    ("split", [tensor("n + 3")], {"indices_or_sections": [3]}, [tensor(3), tensor("n")]),
    ("split", [tensor(None)], {"indices_or_sections": [0, 3]}, [tensor(0), tensor(None), tensor(None)]),
    ("split", [tensor(None, 4)], {"indices_or_sections": 2}, [tensor(None, 4)] * 2),
    ("split", [unranked()], {"indices_or_sections": [1, 1]}, [unranked()] * 3),
    # layouts
    ("layout_transform", [tensor("n", "c")], {"index_map": lambda n, c: (n, c // 4, c % 4), "pad_value": 0},
     [tensor("n", "(c + 3)//4", 4)]),
    ("layout_transform", [tensor(3, 5)], {"index_map": "affine_map<(d0, d1) -> (d0 * 5 + d1)>"}, [tensor(15)]),
    ("layout_transform", [tensor(3)], {"index_map": lambda i: i % 4}, [tensor(4)]),
    ("layout_transform", [tensor(7)], {"index_map": "affine_map<(i) -> (i ceildiv 2, i mod 2, 0)>"}, [tensor(4, 2, 1)]),
    ("layout_transform", [tensor(None, 2)], {"index_map": lambda i, j: (j, i)}, [tensor(2, None)]),
    ("layout_transform", [tensor(0, 2)], {"index_map": lambda i, j: 3 * i + j}, [tensor(0)]),
    ("layout_transform", [unranked()], {"index_map": lambda i, j: (j, i, j)}, [tensor(None, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "attributes", "expected"), TYPES)
def test_symbols_and_unknowns(op, operands, attributes, expected):
    assert infer(f"relax.{op}", *operands, **attributes) == expected


def test_a_new_shape_in_python_is_resolved_before_it_becomes_a_value():
    text = str(build_function("relax.reshape", tensor("n", 4, 3), (0, -1)))
    assert '"relax.shape_expr"() {dims = ["n", 12]}' in text


def test_an_affine_map_of_the_bindings_is_an_index_map():
    with ir.Context():
        swapped = ir.AffineMap.get_permutation([1, 0])
        assert "affine_map<(d0, d1) -> (d1, d0)>" in str(ir.AffineMapAttr.get(swapped))
    text = str(build_function("relax.layout_transform", tensor(2, 3), lambda i, j: (j, i)))
    assert "affine_map<(d0, d1) -> (d1, d0)>" in text


# Refusals that only the builder can see. The others are in test/dialects/relax/manipulate-invalid.mlir.
REFUSALS = [
    ("reshape", [tensor("n", 4), (-1, -1)], {}, "operand 'shape': only one size can be -1"),
    ("reshape", [tensor(2, 3), (-1, 4)], {}, "operand 'shape': -1 cannot be resolved, 4 does not divide 6 elements"),
    ("reshape", [tensor(3, 0), (-1, 0)], {}, "operand 'shape': -1 next to a size of 0 could be anything"),
    ("reshape", [tensor("n", None), (-1,)], {}, "-1 needs the sizes of operand 'x' (tensor<?x?xf32"),
    ("reshape", [unranked(), (-1,)], {}, "-1 needs the sizes of operand 'x' (tensor<*xf32>)"),
    ("reshape", [tensor(2), (2, 0)], {}, "0 copies size 1 of operand 'x' (tensor<2xf32>), which is not there"),
    ("reshape", [tensor(None), (0,)], {}, "0 copies size 0 of operand 'x' (tensor<?xf32>), which is not there"),
    ("reshape", [tensor(4), (-2, -2)], {}, "a dimension cannot be -2"),
    ("reshape", [tensor(4), (2.0, 2)], {}, "operand 'shape': bad dimension 2.0"),
    ("reshape", [tensor(4), ("n +", 2)], {}, "operand 'shape': bad dimension 'n +'"),
    ("split", [tensor(2)], {"indices_or_sections": "a"}, "expects an integer or a list of integers, got 'a'"),
    ("split", [tensor(2)], {"indices_or_sections": 1.5}, "expects an integer or a list of integers, got 1.5"),
    ("split", [tensor(2)], {"indices_or_sections": [1.5]}, "expects an integer or a list of integers, got [1.5]"),
    ("layout_transform", [tensor(2)], {"index_map": lambda i: 1 / i}, "expects a function of indices with + - * // %"),
    ("layout_transform", [tensor(2)], {"index_map": lambda i: i // 0}, "expects a function of indices with + - * // %"),
    ("layout_transform", [tensor(2)], {"index_map": lambda i: "i"}, "expects a function that gives indices, got 'i'"),
    ("layout_transform", [tensor(2)], {"index_map": lambda *i: i}, "a function with one parameter per dimension"),
    ("layout_transform", [tensor(2, 2)], {"index_map": lambda i, j: (i * j, i, j)}, "expects an affine map, got"),
    ("layout_transform", [tensor(2)], {"index_map": "affine_map<(i) -> (i"}, "an affine map, got 'affine_map<(i) -> "),
    ("layout_transform", [tensor(2)], {"index_map": "42"}, "expects an affine map, got 42"),
    ("layout_transform", [tensor(2)], {"index_map": 42}, "expects an affine map, got 42"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "attributes", "message"), REFUSALS)
def test_refusals(op, operands, attributes, message):
    assert message in refusal(f"relax.{op}", *operands, **attributes)
