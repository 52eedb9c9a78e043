# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharded models: equal bits on any number of ranks, their collectives, and errors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.navigation import functions_in, symbol_name
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard.engines import RankError
from relax_mlir_shard.shard import PLAN

HEADS, SIZE = 4, 8
WIDTH = HEADS * SIZE
BY_COLUMNS = {name: (None, "tp") for name in ("wq", "wk", "wv", "wo", "w1", "w2")}


def block(batch: int | str = "b", length: int | str = "s") -> rx.Module:
    """Return a transformer's block."""
    module = rx.Module()
    signature = {"x": rx.tensor((batch, length, WIDTH)), "gain": rx.tensor((WIDTH,))}
    signature |= {name: rx.tensor((WIDTH, WIDTH)) for name in ("wq", "wk", "wv", "wo")}
    signature |= {"w1": rx.tensor((WIDTH, 3 * WIDTH)), "w2": rx.tensor((3 * WIDTH, WIDTH))}
    with module.function("main", signature) as f:
        x, gain, wq, wk, wv, wo, w1, w2 = f
        normed = relax.nn.rms_norm(x, gain)
        q, k, v = (relax.reshape(relax.matmul(normed, w), (batch, length, HEADS, SIZE)) for w in (wq, wk, wv))
        attended = relax.reshape(relax.nn.attention(q, k, v, causal_mask="TopLeft"), (batch, length, WIDTH))
        x = relax.add(x, relax.matmul(attended, wo))
        hidden = relax.nn.silu(relax.matmul(relax.nn.rms_norm(x, gain), w1))
        f.returns(relax.add(x, relax.matmul(hidden, w2)))
    return module


def arguments(batch: int = 4, length: int = 6) -> list[Any]:
    random = numpy.random.default_rng(1)
    shapes = [(batch, length, WIDTH), (WIDTH,), *[(WIDTH, WIDTH)] * 4, (WIDTH, 3 * WIDTH), (3 * WIDTH, WIDTH)]
    return [random.standard_normal(shape, "float32") for shape in shapes]


@pytest.mark.parametrize(
    "mesh", [{"tp": 1}, {"tp": 2}, {"tp": 3}, {"tp": 4}, {"tp": 8}, {"dp": 2, "tp": 2}, {"dp": 4, "tp": 2}]
)
def test_any_number_of_ranks_has_the_same_bits(mesh: dict[str, int]) -> None:
    module, given = block(), arguments()
    expected = to_numpy(rx.compile(module)["main"](*given))
    specs: dict[str, Any] = dict(BY_COLUMNS)
    if "dp" in mesh:
        specs["x"] = ("dp", None, None)
    with rx.launch(rx.compile(rx.shard(module, mesh, specs)), ranks=numpy.prod(list(mesh.values()))) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](*given), expected)
        divided = [ranks.divide(name, each) for name, each in zip(["gain", *BY_COLUMNS], given[1:], strict=True)]
        numpy.testing.assert_array_equal(ranks["main"](given[0], *divided), expected)


def test_heads_stay_divided_from_the_products_to_the_attention(capsys: Any) -> None:
    rx.shard(block(), {"tp": 2}, BY_COLUMNS, explain=True)
    *moves, total = capsys.readouterr().out.splitlines()
    assert total.startswith("3 collectives")
    assert all("all_gather" in move and "test_shard.py" in move for move in moves)


def test_a_divided_batch_needs_no_collective() -> None:
    divided = rx.shard(block(8, 6), {"dp": 4}, {"x": ("dp", None, None)})
    assert '"ccl.' not in str(divided)
    assert "tensor<2x6x32xf32>" in str(divided)


def test_partial_sums_on_request() -> None:
    module, given = block(), arguments()
    specs = {**BY_COLUMNS, "wo": ("tp", None), "w2": ("tp", None)}
    divided = rx.shard(module, {"tp": 2}, specs, sums="split")
    assert str(divided).count('"ccl.all_reduce"') == 2
    assert '"ccl.all_gather"' not in str(divided)
    expected = to_numpy(rx.compile(module)["main"](*given))
    numpy.testing.assert_allclose(rx.launch(rx.compile(divided))["main"](*given), expected, rtol=1e-4, atol=1e-4)


def test_integers_are_added_in_any_mode() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 5), "int32")}) as f:
        f.returns(relax.sum(f.args[0], axis=[0]), relax.max(f.args[0], axis=[0]))
    x = numpy.arange(30, dtype="int32").reshape(6, 5) % 7
    divided = rx.shard(module, {"a": 3}, {"x": ("a", None)})
    assert str(divided).count('"ccl.all_reduce"') == 2
    total, most = rx.launch(rx.compile(divided))["main"](x)
    numpy.testing.assert_array_equal(total, x.sum(0))
    numpy.testing.assert_array_equal(most, x.max(0))


@pytest.mark.parametrize("wanted", [("tp", None), (None, "tp"), (None, None)])
def test_results_have_the_sharding_of_their_spec(wanted: Any) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((8, 4))}) as f:
        f.returns(relax.exp(f.args[0]))
    x = numpy.random.default_rng(0).standard_normal((8, 4), "float32")
    divided = rx.shard(module, {"tp": 2}, {"x": ("tp", None), "result": wanted})
    moved = [kind for kind in ("all_to_all", "all_gather", "part") if f'"ccl.{kind}"' in str(divided)]
    assert moved == {("tp", None): [], (None, "tp"): ["all_to_all"], (None, None): ["all_gather"]}[wanted]
    numpy.testing.assert_array_equal(rx.launch(rx.compile(divided))["main"](x), to_numpy(rx.compile(module)["main"](x)))


@pytest.mark.parametrize("rows", range(1, 18))
def test_uneven_sizes(rows: int) -> None:
    """Divide 1 to 17 rows by 4 ranks, along a scan too, which needs all rows."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 3), "int32")}) as f:
        f.returns(relax.floor_divide(relax.const(numpy.int32(100)), f.args[0]), relax.cumsum(f.args[0], axis=0))
    x = numpy.random.default_rng(rows).integers(1, 9, (rows, 3), "int32")
    with rx.launch(rx.compile(rx.shard(module, {"a": 4}, {"x": ("a", None)}))) as ranks:
        quotients, sums = ranks["main"](x)
    numpy.testing.assert_array_equal(quotients, 100 // x)
    numpy.testing.assert_array_equal(sums, numpy.cumsum(x, 0))


@pytest.mark.parametrize("rows", range(2, 17))
@pytest.mark.parametrize("specs", [{"x": (("a", "b"), None)}, {"x": (("b", "a"), None), "result1": (("a", "b"), None)}])
def test_uneven_sizes_along_two_axes(rows: int, specs: Any) -> None:
    """Gather and divide short parts of parts."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 3), "int32")}) as f:
        f.returns(relax.cumsum(f.args[0], axis=0), relax.negative(f.args[0]))
    x = numpy.arange(3 * rows, dtype="int32").reshape(rows, 3)
    with rx.launch(rx.compile(rx.shard(module, {"a": 2, "b": 3}, specs))) as ranks:
        sums, negative = ranks["main"](x)
    numpy.testing.assert_array_equal(sums, numpy.cumsum(x, 0))
    numpy.testing.assert_array_equal(negative, -x)


def in_kernel(name: str, x: Any, y: Any) -> Any:
    """Return values that kernels add as they compute them, or not."""
    z = relax.add(x, y)
    return {
        "product": lambda: relax.sum(relax.multiply(x, y), axis=[0]),
        "square": lambda: relax.sum(relax.square(z), axis=[0]),
        "used twice": lambda: relax.sum(relax.multiply(z, relax.tanh(z)), axis=[0]),
        "moved": lambda: relax.mean(relax.permute_dims(relax.multiply(x, y)), axis=[1]),
        "collapsed": lambda: relax.collapse_sum_like(relax.nn.silu(x), relax.sum(y, axis=[0])),
        "behind a product": lambda: relax.sum(relax.square(relax.matmul(x, y)), axis=[0]),
        "behind a scan": lambda: relax.sum(relax.multiply(relax.nn.softmax(x), y), axis=[0]),
        "behind a sum": lambda: relax.sum(relax.multiply(relax.sum(x, axis=[1], keepdims=True), y), axis=[0]),
    }[name]()


@pytest.mark.parametrize("name", ["product", "square", "used twice", "moved", "collapsed", "behind a product",
                                  "behind a scan", "behind a sum"])  # fmt: skip
def test_sums_add_operands_that_their_kernel_computes(name: str) -> None:
    """Round products and sums together, and add in the same order, if one process does."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((64, 64)), "y": rx.tensor((64, 64))}) as f:
        f.returns(in_kernel(name, *f))
    x, y = numpy.random.default_rng(0).standard_normal((2, 64, 64), "float32")
    expected = to_numpy(rx.compile(module)["main"](x, y))
    with rx.launch(rx.compile(rx.shard(module, {"dp": 2}, {"x": ("dp", None), "y": ("dp", None)}))) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](x, y), expected)


@pytest.mark.parametrize(("shape", "count"), [((33, 4), 4), ((33, 48), 3)])
def test_gradients_of_divided_scales(shape: tuple[int, ...], count: int) -> None:
    """Keep products beside their sums, also products with ones, which vanish from small parts."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(shape), "w": rx.tensor(shape[-1:]), "b": rx.tensor(shape[-1:])}) as f:
        x, w, b = f
        f.returns(relax.sum(relax.nn.rms_norm(relax.nn.layer_norm(x, w, b, axes=[-1]), b)))
    module = rx.grad(module, wrt=["x", "w", "b"])
    inputs = [numpy.random.default_rng(0).standard_normal(size, "float32") for size in (shape, shape[-1:], shape[-1:])]
    expected = [to_numpy(each) for each in rx.compile(module)["main_adjoint"](*inputs)]
    for name in "wb":
        divided = rx.shard(module, {"a": count}, {name: ("a",)}, function="main_adjoint")
        with rx.launch(rx.compile(divided)) as ranks:
            for result, bits in zip(ranks["main_adjoint"](*inputs), expected, strict=True):
                numpy.testing.assert_array_equal(result, bits)


def test_norms_of_all_dimensions_get_whole_operands() -> None:
    module = rx.Module()
    scale, offset = numpy.ones((2, 4, 8), "float32"), numpy.zeros((2, 4, 8), "float32")
    with module.function("main", {"x": rx.tensor((2, 4, 8))}) as f:
        f.returns(relax.nn.layer_norm(*f, relax.const(scale), relax.const(offset), axes=[0, 1, 2]))
    x = numpy.random.default_rng(4).standard_normal((2, 4, 8), "float32")
    expected = to_numpy(rx.compile(module)["main"](x))
    with rx.launch(rx.compile(rx.shard(module, {"a": 2}, {"x": (None, "a", None)}))) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](x), expected)


LOOP = """
func.func @main(%x: tensor<8x4xf32> {relax.name = "x"}) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = "relax.negative"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%z = %x) -> (tensor<8x4xf32>) {
    %next = "relax.subtract"(%z, %y) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    scf.yield %next : tensor<8x4xf32>
  }
  %r = "relax.abs"(%sum) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
"""


def test_loops_get_whole_values() -> None:
    """Gather the initial value of a loop, and a value that its body uses."""
    divided = rx.shard(rx.Module.parse(LOOP), {"a": 2}, {"x": ("a", None)})
    assert str(divided).count('"ccl.all_gather"') == 2
    x = numpy.random.default_rng(0).standard_normal((8, 4), "float32")
    numpy.testing.assert_allclose(rx.launch(rx.compile(divided))["main"](x), abs(4 * x), rtol=1e-6)


@pytest.mark.parametrize(
    ("mesh", "specs", "problem"),
    [
        ({"tp": 2}, {"w": (None, "tp")}, "specs: @main has no value 'w'; did you mean"),
        ({"tp": 2}, {"w1": ("tp",)}, r"specs\['w1'\] has 1 dimensions, and the tensor has 2"),
        ({"tp": 2}, {"w1": (None, "dp")}, "the mesh tp=2 has no axis 'dp'"),
        ({"tp": 2}, {"w1": ("tp", "tp")}, "axis 'tp' divides a tensor once, and it is used twice"),
        ({"tp": -1}, {}, "axis 'tp' needs a number of ranks, 1 or more, got -1"),
    ],
)
def test_annotations_are_checked(mesh: dict[str, int], specs: Any, problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        rx.shard(block(), mesh, specs)
    with pytest.raises(rx.OptionError, match=r"rx\.shard takes an rx\.Module, got str"):
        rx.shard("module", mesh, specs)  # type: ignore[arg-type]


def test_sizes_that_cannot_be_divided_are_named() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n + 1",))}) as f:
        f.returns(relax.exp(f.args[0]))
    with pytest.raises(rx.OptionError, match=r"a sharding divides the size n \+ 1"):
        rx.shard(module, {"a": 2}, {"x": ("a",)})


def test_the_number_of_ranks_is_checked() -> None:
    program = rx.compile(rx.shard(block(), {"tp": 2}, BY_COLUMNS))
    with pytest.raises(rx.OptionError, match="a mesh of tp=2, which are 2 ranks, got ranks=3"):
        rx.launch(program, ranks=3)
    with pytest.raises(rx.OptionError, match="no engine 'thread'; did you mean 'threads'"):
        rx.launch(program, engine="thread")
    with pytest.raises(rx.OptionError, match=r"has no plan for several ranks: divide its module with rx.shard first"):
        rx.launch(rx.compile(block()))


def test_a_divided_module_without_its_plan_is_refused() -> None:
    sharded = rx.shard(block(), {"tp": 2}, BY_COLUMNS)
    next(filter(lambda function: symbol_name(function) == PLAN, functions_in(sharded.operation))).erase()
    with pytest.raises(rx.OptionError, match=f"@main is the program of one rank, and its plan @{PLAN} was removed"):
        rx.shard(sharded)


def test_wrong_types_and_endless_timeouts_are_refused() -> None:
    with pytest.raises(rx.OptionError, match="shard: 'function' is str, got NoneType None"):
        rx.shard(block(), {"tp": 2}, function=None)
    program = rx.compile(rx.shard(block(), {"tp": 2}, BY_COLUMNS))
    with pytest.raises(rx.OptionError, match="timeout is a number of seconds, or None, got inf"):
        rx.launch(program, timeout=float("inf"))
    with rx.launch(program) as ranks, pytest.raises(rx.OptionError, match="load: 'path' is str"):
        ranks.load(None)


def test_a_dynamic_size_must_have_full_parts() -> None:
    program = rx.compile(rx.shard(block(), {"dp": 4}, {"x": ("dp", None, None)}))
    with rx.launch(program) as ranks:
        for batch in (4, 8):
            given = arguments(batch)
            expected = to_numpy(rx.compile(block())["main"](*given))
            numpy.testing.assert_array_equal(ranks["main"](*given), expected)
        with pytest.raises(rx.OptionError, match="argument 'x': its size 6 along dimension 0 has no 4 equal parts"):
            ranks["main"](*arguments(6))


def test_an_error_of_a_rank_names_the_rank() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 3)), "i": rx.tensor((4,), "int64")}) as f:
        f.returns(relax.take(f.args[0], f.args[1], axis=0))
    program = rx.compile(rx.shard(module, {"a": 2}, {"i": ("a",)}))
    with rx.launch(program) as ranks, pytest.raises(RankError, match=r"rank 1 of 2: .*index 9 is out of range"):
        ranks["main"](numpy.zeros((4, 3), "float32"), numpy.array([0, 1, 2, 9]))
    with rx.launch(program) as ranks:
        assert ranks["main"](numpy.ones((4, 3), "float32"), numpy.array([0, 1, 2, 3])).sum() == 12


@pytest.mark.parametrize(
    ("given", "named", "problem"),
    [
        ([1.0], {}, "'main' needs its argument 'gain'"),
        ([1.0] * 9, {}, "'main' takes 8 arguments, got 9"),
        ([1.0], {"x": 1.0}, "'main': 'x' is given twice"),
        ([], {"y": 1.0}, "'main': 'y' is none of its arguments"),
    ],
)
def test_arguments_are_checked(given: list[float], named: dict[str, float], problem: str) -> None:
    program = rx.compile(rx.shard(block(), {"tp": 2}, BY_COLUMNS))
    with rx.launch(program) as ranks, pytest.raises(rx.OptionError, match=problem):
        ranks["main"](*given, **named)


def test_a_saved_program_keeps_its_plan(tmp_path: Any) -> None:
    given = arguments()
    program = rx.compile(rx.shard(block(), {"tp": 2}, BY_COLUMNS))
    program.save(tmp_path / "block.rxa")
    loaded = rx.runtime.load(tmp_path / "block.rxa")
    expected = to_numpy(rx.compile(block())["main"](*given))
    numpy.testing.assert_array_equal(rx.launch(loaded)["main"](*given), expected)


def test_a_size_that_two_arguments_divide_differently() -> None:
    """Divide a symbol by 2 in one argument, and by 3 in another one: it is a multiple of 6."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 2)), "y": rx.tensor(("n", 2))}) as f:
        f.returns(relax.exp(f.args[0]), relax.negative(f.args[1]))
    program = rx.compile(rx.shard(module, {"a": 2, "b": 3}, {"x": ("a", None), "y": ("b", None)}))
    x = numpy.random.default_rng(0).standard_normal((12, 2), "float32")
    with rx.launch(program) as ranks:
        found, negative = ranks["main"](x, x)
    numpy.testing.assert_array_equal(found, to_numpy(rx.compile(module)["main"](x, x)[0]))
    numpy.testing.assert_array_equal(negative, -x)
