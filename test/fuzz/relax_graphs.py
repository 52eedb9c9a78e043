# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs of relax operators: drawn operator by operator, each inferred by its builder and computed by numpy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy
import relax_oracle
from drawing import DTYPES, Drawing, Value
from graphs import Graph, Node, Undefined
from recipes import RELAX as recipe
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME, tensor
from relax_mlir.dialects.core.symbols import parse

import relax_mlir as rx

_NAMES = {short: name for name, short in DTYPE_BY_NAME.items() if name not in ("boolean", "int1", "uint1")}


class RelaxDrawing(Drawing):
    """Function under construction: each operator's builder infers the sizes, or refuses."""

    def __init__(self, random: Random):
        super().__init__(random)
        self.module = rx.Module()
        self.builder = self.module.function("main", [])
        self._ssa: dict[str, Any] = {}

    def declare(self, value: Value) -> Value:
        type_ = encode(tensor(value.sizes, value.dtype), self.module.context)
        self._ssa[value.name] = self.builder.block.add_argument(type_, rx.ir.Location.unknown())
        return value

    def declare_constant(self, value: Value) -> Value:
        self._ssa[value.name] = rx.relax.const(value.arrays[0])
        return value

    def add(self, op: str, inputs: Sequence[Any], **attributes: Any) -> None:
        """Add an operator, if its builder and the oracle accept it."""
        operands = [
            [self._ssa[each.name] for each in item] if isinstance(item, tuple) else self._ssa[item.name]
            for item in inputs
        ]
        built = find_op(op)(*operands, **attributes)
        results = list(built) if isinstance(built, (tuple, list)) else [built]
        infos = [decode(each.type) for each in results]
        values = self.computed(op, inputs, attributes, len(results), tuple(_NAMES[info.dtype] for info in infos))
        for value, result, info in zip(values, results, infos, strict=True):
            sizes = tuple(size if isinstance(size, int) else str(size) for size in info.shape or ())
            self._ssa[value.name] = result
            self.values.append(dataclasses.replace(value, sizes=sizes))

    def compute(self, node: Node, arrays: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
        return relax_oracle.oracle(node, arrays, sizes)


def draw(random: Random) -> Graph:
    """Draw a graph with a defined result of the oracle for the inputs of all calls."""
    drawing = RelaxDrawing(random)
    with drawing.builder as function:
        # The builder refuses shapes that it cannot prove for symbols; its own tests check the accepted ones.
        recipe.grow(drawing, rx.RelaxError)
        function.returns()
    if not drawing.nodes:
        return draw(random)
    return drawing.graph()


def build(graph: Graph) -> rx.Module:
    """Return the module to compile."""
    module = rx.Module()
    with module.function("main", {name: tensor(each.sizes, each.dtype) for name, each in graph.inputs.items()}) as f:
        values: dict[str, Any] = dict(zip(graph.inputs, f.args, strict=True))
        values |= {name: rx.relax.const(array) for name, array in graph.constants.items()}
        for node in graph.nodes:
            given = [
                [values[name] for name in each] if isinstance(each, tuple) else values[each] for each in node.inputs
            ]
            built = find_op(node.op)(*given, **node.attributes)
            values.update(zip(node.outputs, built if isinstance(built, (tuple, list)) else [built], strict=True))
        f.returns(*(values[name] for name in graph.outputs))
    return module


# ---- operators ----


@recipe(3)
def _float_unary(d: Drawing) -> None:
    d.add(d.random.choice(sorted(relax_oracle.FLOAT_UNARY)), [d.some("f")])


@recipe(1)
def _rounding(d: Drawing) -> None:
    d.add(d.random.choice(sorted(relax_oracle.ROUNDING)), [d.some("f")])


@recipe(2)
def _unary(d: Drawing) -> None:
    d.add(d.random.choice(sorted(relax_oracle.UNARY)), [d.some("fi")])


@recipe(6)
def _arithmetic(d: Drawing) -> None:
    x = d.some("fi")
    pair = [x, d.broadcast(x)]
    d.random.shuffle(pair)
    d.add(d.random.choice(sorted(relax_oracle.ARITHMETIC)), pair)


@recipe(1)
def _float_binary(d: Drawing) -> None:
    x = d.some("f")
    d.add(d.random.choice(sorted(relax_oracle.FLOAT_BINARY)), [x, d.broadcast(x)])


@recipe(1)
def _bits(d: Drawing) -> None:
    x = d.some("i")
    d.add(d.random.choice(sorted(relax_oracle.BITS)), [x, d.broadcast(x)])


@recipe(2)
def _comparison(d: Drawing) -> None:
    x = d.some()
    d.add(d.random.choice(sorted(relax_oracle.COMPARISONS)), [x, d.broadcast(x)])


@recipe(1)
def _logical(d: Drawing) -> None:
    x = d.some("b")
    if d.random.random() < 0.2:
        return d.add("relax.logical_not", [x])
    return d.add(d.random.choice(sorted(relax_oracle.LOGICAL)), [x, d.broadcast(x)])


@recipe(0.4)
def _invert(d: Drawing) -> None:
    d.add("relax.bitwise_not", [d.some("ib")])


@recipe(0.5)
def _fma(d: Drawing) -> None:
    x = d.some("f")
    d.add("relax.ewise_fma", [x, d.like(x), d.like(x)])


@recipe(2)
def _where(d: Drawing) -> None:
    x = d.some()
    d.add("relax.where", [d.broadcast(x, "bool"), x, d.broadcast(x)])


@recipe(1)
def _clip(d: Drawing) -> None:
    x = d.some("fi")
    low = d.random.choice((0, 1) if x.dtype.startswith("u") else (-3, 0, 1))
    d.add("relax.clip", [x], min=low, max=low + d.random.choice((0, 2, 5)))


@recipe(2)
def _astype(d: Drawing) -> None:
    d.add("relax.astype", [d.some()], dtype=d.random.choice([each for kind in DTYPES.values() for each in kind]))


@recipe(4)
def _reduce(d: Drawing) -> None:
    x = d.some("fib", least=d.random.choice((0, 1, 1)))
    axis = None if d.random.random() < 0.2 else d.axes(x)
    d.add(d.random.choice(sorted(relax_oracle.REDUCTIONS)), [x], axis=axis, keepdims=d.random.random() < 0.5)


@recipe(1)
def _search(d: Drawing) -> None:
    x = d.some("fi", least=1)
    axis = None if d.random.random() < 0.2 else d.axis(x)
    d.add(d.random.choice(sorted(relax_oracle.SEARCHES)), [x], axis=axis, keepdims=d.random.random() < 0.5)


@recipe(1)
def _scan(d: Drawing) -> None:
    x = d.some("fi", least=1)
    axis = None if d.random.random() < 0.1 else d.axis(x)
    d.add(d.random.choice(sorted(relax_oracle.SCANS)), [x], axis=axis, exclusive=d.random.random() < 0.3)


@recipe(2)
def _softmax(d: Drawing) -> None:
    x = d.some("f", least=1)
    d.add(d.random.choice(("relax.nn.softmax", "relax.nn.softmax", "relax.nn.log_softmax")), [x], axis=d.axis(x))


@recipe(1)
def _norm(d: Drawing) -> None:
    x = d.some("f", least=1)
    first = d.random.randrange(x.rank)
    axes = tuple(range(first, x.rank))
    weight = d.like(x, x.sizes[first:])
    if d.random.random() < 0.5:
        return d.add("relax.nn.rms_norm", [x, weight], axes=axes)
    return d.add("relax.nn.layer_norm", [x, weight, d.like(x, x.sizes[first:])], axes=axes)


@recipe(0.5)
def _batch_norm(d: Drawing) -> None:
    x = d.some("f", least=2)
    channels = [d.like(x, x.sizes[1:2]) for _ in range(3)]
    variance = d.like(x, x.sizes[1:2])
    if any((each <= 0).any() for each in variance.arrays):
        raise Undefined("a negative variance")
    d.add("relax.nn.batch_norm", [x, *channels, variance], axis=1, training=False)


@recipe(3)
def _matmul(d: Drawing) -> None:
    x = d.some("fi", least=1)
    lead = x.sizes[:-2] if d.random.random() < 0.4 else ()
    rank_one = d.random.random() < 0.15
    d.add("relax.matmul", [x, d.like(x, (x.sizes[-1],) if rank_one else (*lead, x.sizes[-1], d.size()))])


@recipe(0.3)
def _outer(d: Drawing) -> None:
    x = d.some("fi", rank=1)
    d.add("relax.outer", [x, d.some(rank=1, dtypes=[x.dtype])])


@recipe(3)
def _reshape(d: Drawing) -> None:
    x = d.some()
    sizes: list[int | str] = list(x.sizes)
    choice = d.random.random()
    if choice < 0.35 and len(sizes) > 1:
        at = d.random.randrange(len(sizes) - 1)
        sizes[at : at + 2] = [f"({sizes[at]}) * ({sizes[at + 1]})"]
    elif choice < 0.5:
        sizes.insert(d.random.randrange(len(sizes) + 1), 1)
    elif choice < 0.7 and any(isinstance(size, int) and size % 2 == 0 and size for size in sizes):
        at = next(i for i, size in enumerate(sizes) if isinstance(size, int) and size % 2 == 0 and size)
        sizes[at : at + 1] = [2, int(sizes[at]) // 2]
    elif len({str(size) for size in sizes}) > 1:
        d.random.shuffle(sizes)
    else:
        sizes = [f"({') * ('.join(map(str, sizes))})"] if sizes else [1]
    if any(parse(str(size)) == 0 for size in sizes):
        raise Undefined("0 means to copy a size")
    d.add("relax.reshape", [x], shape=tuple(sizes))


@recipe(3)
def _movement(d: Drawing) -> None:
    x = d.some(least=1)
    axes = list(range(x.rank))
    d.random.shuffle(axes)
    choice = d.random.randrange(6)
    if choice <= 1:
        d.add("relax.permute_dims", [x], axes=tuple(axes))
    elif choice == 2:
        d.add("relax.flip", [x], axis=d.axis(x))
    elif choice == 3:
        d.add("relax.repeat", [x], repeats=d.random.randint(1, 3), axis=d.axis(x))
    elif choice == 4:
        d.add("relax.tile", [x], repeats=tuple(d.random.choice((1, 1, 2, 3)) for _ in range(x.rank)))
    else:
        d.add(d.random.choice(("relax.flatten", "relax.nn.batch_flatten")), [x])


@recipe(1)
def _dimensions(d: Drawing) -> None:
    x = d.some()
    ones = [axis for axis, size in enumerate(x.sizes) if size == 1]
    if ones and d.random.random() < 0.6:
        return d.add("relax.squeeze", [x], axis=(d.random.choice(ones),))
    return d.add("relax.expand_dims", [x], axis=(d.random.randrange(x.rank + 1),))


@recipe(1)
def _broadcast_to(d: Drawing) -> None:
    x = d.some()
    sizes = [d.size() if size == 1 else size for size in x.sizes]
    d.add("relax.broadcast_to", [x], shape=tuple([d.size()] * d.random.choice((0, 0, 1)) + sizes))


@recipe(0.5)
def _collapse(d: Drawing) -> None:
    x = d.some("fi", least=1)
    sizes = [1 if d.random.random() < 0.5 else size for size in x.sizes][d.random.choice((0, 0, 1)) :]
    d.add("relax.collapse_sum_to", [x], shape=tuple(sizes))


@recipe(3)
def _join(d: Drawing) -> None:
    x = d.some(least=1)
    axis = d.axis(x)
    if d.random.random() < 0.3:
        return d.add("relax.stack", [tuple(d.random.sample([x, d.like(x)], 2))], axis=axis)
    parts = [x]
    for _ in range(d.random.choice((1, 1, 2))):
        sizes = list(x.sizes)
        sizes[axis] = d.random.choice((sizes[axis], d.size()))
        parts.append(d.like(x, sizes))
    d.random.shuffle(parts)
    return d.add("relax.concat", [tuple(parts)], axis=axis)


@recipe(2)
def _split(d: Drawing) -> None:
    x = d.some(least=1)
    axis = d.axis(x)
    size = x.sizes[axis]
    if not isinstance(size, int) or size < 2:
        raise Undefined("nothing to split")
    at = sorted(d.random.sample(range(size + 1), min(size, d.random.choice((1, 2)))))
    d.add(
        "relax.split", [x], indices_or_sections=2 if size % 2 == 0 and d.random.random() < 0.5 else tuple(at), axis=axis
    )


@recipe(4)
def _slice(d: Drawing) -> None:
    x = d.some(least=1)
    axes = d.axes(x)
    bounds = [(d.random.randint(-6, 6), d.random.choice((2**63 - 1, d.random.randint(-6, 9)))) for _ in axes]
    strides = [d.random.choice((1, 1, 2, 3, -1, -2)) for _ in axes]
    bounds = [
        (begin, -(2**63) if stride < 0 and end == 2**63 - 1 else end)
        for (begin, end), stride in zip(bounds, strides, strict=True)
    ]
    d.add(
        "relax.strided_slice",
        [x],
        axes=axes,
        begin=tuple(b for b, _ in bounds),
        end=tuple(e for _, e in bounds),
        strides=tuple(strides),
    )


def _indices(d: Drawing, bound: int, shape: Sequence[int], least: int = 0) -> Value:
    if bound <= least:
        raise Undefined("nothing to index")
    array = numpy.array(
        [d.random.randrange(least, bound) for _ in range(int(numpy.prod(shape)))], d.random.choice(("int32", "int64"))
    )
    return d.constant(array.reshape(shape), "fixed")


@recipe(2)
def _take(d: Drawing) -> None:
    x = d.some(least=1)
    axis = d.axis(x)
    bound = min(array.shape[axis] for array in x.arrays)
    mode = d.random.choice(("fast", "clip", "wrap"))
    shape = d.random.choice(((), (1,), (3,), (2, 3), (0,)))
    d.add("relax.take", [x, _indices(d, bound, shape)], axis=axis, mode=mode)


@recipe(1)
def _gather(d: Drawing) -> None:
    x = d.some(least=1)
    axis = d.random.randrange(x.rank)
    least = [min(array.shape[each] for array in x.arrays) for each in range(x.rank)]
    if 0 in least:
        raise Undefined("nothing to gather")
    if d.random.random() < 0.3:
        depth = d.random.randint(1, x.rank)
        rows = [[d.random.randrange(bound) for bound in least[:depth]] for _ in range(3)]
        return d.add("relax.gather_nd", [x, d.constant(numpy.array(rows, "int64"), "fixed")])
    if not all(isinstance(size, int) for i, size in enumerate(x.sizes) if i != axis):
        raise Undefined("indices of symbolic sizes")
    shape = [3 if each == axis else size for each, size in enumerate(least)]
    indices = _indices(d, least[axis], shape)
    if d.random.random() < 0.6:
        return d.add("relax.gather_elements", [x, indices], axis=axis)
    reduction = d.random.choice(("update", "add")) if x.kind == "i" else "update"
    if reduction == "update":
        shape[axis] = 1
        indices = _indices(d, least[axis], shape)
    updates = d.like(x, shape)
    return d.add("relax.scatter_elements", [x, indices, updates], axis=axis, reduction=reduction)


@recipe(1.5)
def _order(d: Drawing) -> None:
    x = d.some("fi", least=1)
    axis, descending = d.axis(x), d.random.random() < 0.5
    choice = d.random.random()
    if choice < 0.4:
        return d.add("relax.sort", [x], axis=axis, descending=descending)
    if choice < 0.7:
        return d.add("relax.argsort", [x], axis=axis, descending=descending)
    k = d.random.randint(1, max(1, min(array.shape[axis] for array in x.arrays)))
    return d.add("relax.topk", [x], k=k, axis=axis, largest=descending)


@recipe(0.7)
def _triangle(d: Drawing) -> None:
    d.add(d.random.choice(("relax.tril", "relax.triu")), [d.some(least=2)], k=d.random.randint(-2, 2))


@recipe(0.7)
def _filled(d: Drawing) -> None:
    x = d.some()
    if d.random.random() < 0.5:
        return d.add(d.random.choice(("relax.zeros_like", "relax.ones_like")), [x])
    return d.add("relax.full_like", [x, d.like(x, ())])


@recipe(1)
def _pad(d: Drawing) -> None:
    x = d.some("fi", least=1)
    mode = d.random.choice(("constant", "constant", "reflect", "replicate"))
    widths = [d.random.choice((0, 0, 1, 2)) for _ in range(2 * x.rank)]
    given = {"pad_value": d.random.choice((0, 1, 2))} if mode == "constant" else {}
    d.add("relax.nn.pad", [x], pad_width=tuple(widths), pad_mode=mode, **given)


@recipe(0.4)
def _one_hot(d: Drawing) -> None:
    depth = d.random.choice((1, 3, 5))
    indices = d.constant(numpy.array([d.random.randrange(depth) for _ in range(4)], "int64"), "fixed")
    d.add("relax.one_hot", [indices], on_value=1.0, off_value=0.0, depth=depth)


@recipe(0.3)
def _nonzero(d: Drawing) -> None:
    d.add("relax.nonzero", [d.some(least=1)])


@recipe(0.2)
def _size(d: Drawing) -> None:
    d.add("relax.size", [d.some()])
