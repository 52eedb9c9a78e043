# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that grow in place, called by a cache or by arrays. The oracle is numpy's concatenate."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fake_framework
import ml_dtypes
import numpy
import onnx
import onnxruntime
import pytest
from relax_mlir.runtime.manifest import parse_signature
from relax_mlir.tools import relax_compile, relax_run

import relax_mlir as rx
from relax_mlir import relax

HEADS, SIZE = 2, 8


def attention(dtype: str = "float32", added: str | int = "s") -> rx.Module:
    """Return attention of queries to all keys and values so far, which are results, too."""
    module, given = rx.Module(), rx.tensor(("b", HEADS, added, SIZE), dtype)
    kept = rx.tensor(("b", HEADS, "p", SIZE), dtype)
    inputs = {"q": given, "past.key": kept, "k": given, "past.value": kept, "v": given}
    with module.function("main", inputs) as f:
        q, past_key, k, past_value, v = f
        keys, values = (relax.concat(*pair, axis=2) for pair in ((past_key, k), (past_value, v)))
        scores = relax.nn.softmax(relax.matmul(q, relax.permute_dims(keys, axes=[0, 1, 3, 2])))
        f.returns(keys, relax.matmul(scores, values), values)
    return module


def expected(q: Any, keys: Any, values: Any) -> Any:
    scores = q @ keys.transpose(0, 1, 3, 2)
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ values


@pytest.fixture(scope="module")
def program() -> rx.runtime.Executable:
    return rx.compile(attention(), donate=["past*"])


def drawn(seed: int, batch: int, rows: int) -> list[Any]:
    generator = numpy.random.default_rng(seed)
    return [generator.standard_normal((batch, HEADS, rows, SIZE), dtype="float32") for _ in range(3)]


def nothing(batch: int = 1) -> list[Any]:
    return [numpy.empty((batch, HEADS, 0, SIZE), "float32") for _ in range(2)]


@pytest.mark.parametrize("batch", [1, 3])
def test_rows_are_added_step_by_step(program: Any, batch: int) -> None:
    main = program["main"]
    cache, (keys, values) = main.cache(room=4), nothing(batch)
    for step, rows in enumerate((5, 1, 1, 60, 1, 70, 1)):
        q, k, v = drawn(step, batch, rows)
        before = keys, values
        keys, values = numpy.concatenate([keys, k], 2), numpy.concatenate([values, v], 2)
        y = main(q, k, v, cache)
        numpy.testing.assert_allclose(y, expected(q, keys, values), rtol=1e-4, atol=1e-5)
        numpy.testing.assert_array_equal(cache["past.key"], keys)
        numpy.testing.assert_array_equal(cache["past.value"], values)
        # Arrays instead: as the model is written.
        copies = [each.copy() for each in before]
        own_keys, own, own_values = main(q, before[0], k, before[1], v)
        numpy.testing.assert_array_equal(own, y)
        numpy.testing.assert_array_equal(own_keys, keys)
        numpy.testing.assert_array_equal(own_values, values)
        assert all((one == other).all() for one, other in zip(before, copies, strict=True))
    assert cache.length == 139
    assert cache.capacity == 256


def test_rows_stay_where_they_are_as_long_as_there_is_room(program: Any) -> None:
    main = program["main"]
    cache = main.cache(room=100)
    places = set()
    for step in range(100):
        q, k, v = drawn(step, 1, 1)
        main(q=q, k=k, v=v, cache=cache)
        places.add(cache["past.key"].__array_interface__["data"][0])
    assert len(places) == 1
    main(*drawn(100, 1, 1), cache)
    places.add(cache["past.key"].__array_interface__["data"][0])
    assert len(places) == 2
    assert cache.capacity == 200


def test_nothing_as_large_as_the_rows_is_allocated(program: Any) -> None:
    """Check that the arena has only scores and sums: no slot grows with the rows times the size of a head."""
    slots = program.signature("main")["memory"]["slots"]
    assert slots and max(map(rx_size, slots)) < rx_size(f"{4 * HEADS * SIZE}*b*p")


def rx_size(text: str) -> int:
    """Evaluate a size at many cached rows."""
    from relax_mlir.dialects.core.symbols import parse

    expression: Any = parse(text)
    return expression if isinstance(expression, int) else expression.evaluate({"b": 1, "s": 1, "p": 100_000, "room": 7})


def test_the_last_rows_can_be_forgotten(program: Any) -> None:
    main, cache = program["main"], program["main"].cache()
    first, second, third = (drawn(seed, 1, 4) for seed in range(3))
    main(*first, cache)
    main(*second, cache)
    cache.length = 4
    y = main(*third, cache)
    keys, values = (numpy.concatenate([first[at], third[at]], 2) for at in (1, 2))
    numpy.testing.assert_allclose(y, expected(third[0], keys, values), rtol=1e-4, atol=1e-5)
    for length in (9, -1, 1.0, True):
        with pytest.raises(ValueError, match="it has 8 rows, of which the last can be forgotten"):
            cache.length = length


def test_a_saved_program_grows_as_well(program: Any, tmp_path: Path) -> None:
    program.save(tmp_path / "model.rxa")
    loaded = rx.runtime.load(tmp_path / "model.rxa")
    cache, given = loaded["main"].cache(), drawn(1, 2, 3)
    numpy.testing.assert_allclose(loaded["main"](*given, cache), expected(*given), rtol=1e-4, atol=1e-5)
    assert repr(cache) == "<cache of main: 3 rows of 64>"
    assert "past.key: float32[b, 2, p, 8]" in repr(loaded["main"])
    assert str(loaded["main"].__signature__).count("_past") == 2


def test_a_fixed_number_of_new_rows() -> None:
    main = rx.compile(attention(added=1), donate="past*")["main"]
    cache, (keys, values) = main.cache(), nothing()
    for step in range(3):
        q, k, v = drawn(step, 1, 1)
        keys, values = numpy.concatenate([keys, k], 2), numpy.concatenate([values, v], 2)
        numpy.testing.assert_allclose(main(q, k, v, cache), expected(q, keys, values), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 3])
def test_other_levels_give_the_same(level: int) -> None:
    main = rx.compile(attention(), donate=["past*"], opt_level=level)["main"]
    cache, (keys, values) = main.cache(), nothing(2)
    for step, rows in enumerate((3, 1)):
        q, k, v = drawn(step, 2, rows)
        keys, values = numpy.concatenate([keys, k], 2), numpy.concatenate([values, v], 2)
        numpy.testing.assert_allclose(main(q, k, v, cache), expected(q, keys, values), rtol=1e-4, atol=1e-5)


def test_lists_and_arrays_with_gaps_are_taken_with_a_cache(program: Any) -> None:
    main, (q, k, v) = program["main"], drawn(1, 1, 2)
    expected_y, cache = main(q, k, v, main.cache()), main.cache()
    given = q.tolist(), numpy.concatenate([k, k], 3)[..., :SIZE], v.astype("f4")
    numpy.testing.assert_array_equal(main(*given, cache), expected_y)
    assert cache.length == 2
    # A profile passes what a call with the cache passes.
    assert program.profile("main", q, k, v, cache, repeat=2, warmup=0).kernels
    assert cache.length == 2


@pytest.mark.slow
def test_element_types_that_numpy_lacks() -> None:
    main, cache = rx.compile(attention("bfloat16"), donate=["past*"])["main"], None
    cache, given = main.cache(), [each.astype(ml_dtypes.bfloat16) for each in drawn(1, 1, 3)]
    y = main(*given, cache)
    assert cache["past.key"].dtype == y.dtype == ml_dtypes.bfloat16
    numpy.testing.assert_array_equal(cache["past.value"], given[2])


def test_results_are_of_the_arguments_framework(program: Any) -> None:
    main, given = program["main"], drawn(1, 1, 2)
    q, k, v, *past = (fake_framework.Array(each) for each in (*given, *nothing()))
    found = main(q, past[0], k, past[1], v)
    assert {type(each) for each in found} == {fake_framework.Array}
    assert type(main(q, k, v, main.cache())) is fake_framework.Array


def test_wrong_use_is_refused_in_words(program: Any) -> None:
    main, (q, k, v) = program["main"], drawn(1, 1, 2)
    cache, other = main.cache(), rx.compile(attention(), donate=["past*"])["main"]
    for arguments, named, reason in (
        ((q, k, cache), {}, "with a cache it takes q, k, v; got 2 by place and none by name"),
        ((q, k, v, cache), {"v": v}, "got 3 by place and v by name"),
        ((q, k, v, q, cache), {}, "got 4 by place"),
        ((q, k, v, cache, cache), {}, r"one cache stands for all that grows: main.cache\(\) makes one"),
        ((q, k, v, other.cache()), {}, "the cache is another function's"),
        ((q, k, v), {}, r"expected 5 arguments \(q, past.key, k, past.value, v\), or a cache .*, got 3"),
        ((q, q[0], k, q, v), {}, "argument 'past.key' expected float32 of rank 4, or a cache, got float32 of shape"),
        ((q, q.astype("f8"), k, q, v), {}, "argument 'past.key' expected float32 of rank 4, or a cache, got float64"),
    ):
        with pytest.raises(TypeError, match=reason):
            main(*arguments, **named)
    with pytest.raises(ValueError, match=r"past\.key, past\.value have to have one length"):
        main(q, k, k, nothing()[0], v)
    for room in (-1, 1.5, True):
        with pytest.raises(ValueError, match="a cache's room is a number of rows, got"):
            main.cache(room)
    with pytest.raises(KeyError, match="nothing has been put into the cache yet"):
        cache["past.key"]
    main(q, k, v, cache)
    with pytest.raises(KeyError, match=r"the cache has past\.key, past\.value"):
        cache["key"]
    # A call with another batch: the cached rows stay.
    with pytest.raises(ValueError, match=r"expected size b = 3 .*got 1"):
        main(*drawn(1, 3, 2), cache)
    assert cache.length == 2


def test_buffers_that_are_passed_by_hand(program: Any) -> None:
    """Pass buffers like other languages do."""
    packed, (q, k, v) = program["main"].packed, drawn(1, 1, 2)
    buffers = [numpy.full((1, HEADS, 5, SIZE), 7, "float32") for _ in range(2)]
    y = numpy.from_dlpack(packed(q, buffers[0], k, buffers[1], v, numpy.empty((0, 0), "int8")))
    numpy.testing.assert_allclose(y, expected(q, k, v), rtol=1e-4, atol=1e-5)
    numpy.testing.assert_array_equal(buffers[0][:, :, :2], k)
    assert (buffers[0][:, :, 2:] == 7).all()
    with pytest.raises(ValueError, match="a buffer of 5 rows has no room for 2 behind 4"):
        packed(q, buffers[0], k, buffers[1], v, numpy.empty((4, 0), "int8"))
    assert (buffers[0][:, :, 2:] == 7).all()


def test_sizes_of_buffers_alone_are_arguments_of_cache() -> None:
    module = rx.Module()
    with module.function("main", {"past": rx.tensor(("p", "n")), "x": rx.tensor((1, 1))}) as f:
        past, x = f
        new = relax.broadcast_to(x, relax.shape_expr(dims=(1, rx.sym("n"))))
        f.returns(relax.sum(relax.concat(past, new, axis=0)))
    main = rx.compile(module, donate=["past"])["main"]
    with pytest.raises(
        ValueError, match=r"no argument has the size n of 'past': make the cache with it, cache\(n=...\)"
    ):
        main(numpy.ones((1, 1), "float32"), main.cache())
    cache = main.cache(n=3)
    assert [float(main(numpy.ones((1, 1), "float32"), cache)) for _ in range(3)] == [3, 6, 9]


def test_donating_an_unread_argument_is_refused() -> None:
    module = rx.Module()
    with module.function("main", {"past": rx.tensor(("p", 4)), "x": rx.tensor(("s", 4))}) as f:
        past, x = f
        f.returns(relax.concat(past, x, axis=0), relax.exp(x))
    with pytest.raises(rx.RelaxError, match="argument 'past' is not written to, as nothing that is computed reads"):
        rx.compile(module, donate=["past"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("input", 5), ("length", -1), ("axis", 4), ("result", -2), ("length", 0), ("input", "x"), ("added", 1)],
)
def test_a_damaged_manifest(program: Any, name: str, value: Any) -> None:
    entry = json.loads(json.dumps(program.signature("main")))
    entry["grown"][0][name] = value
    if name == "input" and value == 5:
        entry["grown"][0][name] = 99
    with pytest.raises(rx.runtime.ArtifactError, match="damaged"):
        parse_signature(entry)


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    """Compile such a program with relax-compile, and call it with buffers by relax-run."""
    source, made = tmp_path / "attention.mlir", tmp_path / "attention.rxa"
    source.write_text(str(attention()))
    for pattern, code, message in (
        ("past.*", 0, ""),
        ("pst.*", 1, "@main has no argument 'pst.*'; it has q, past.key"),
    ):
        said = io.StringIO()
        arguments = [str(source), "-o", str(made), "--donate", pattern, "--no-cache"]
        assert relax_compile.run(arguments, io.StringIO(), io.StringIO(), said) == code
        assert message in said.getvalue()
    shown, said = io.StringIO(), io.StringIO()
    shapes = [each for text in ("p:20,0", "q:1,2,3,8") for each in ("--shape", text)]
    assert relax_run.run([str(made), *shapes], io.StringIO(), shown, said) == 0, said.getvalue()
    assert "(1, 2, 3, 8)" in shown.getvalue()


def test_attention_of_onnx() -> None:
    """Compare attention that joins keys and values itself, with fewer heads than queries, with onnxruntime."""
    kept, floats = ("b", HEADS, "p", SIZE), onnx.TensorProto.FLOAT
    shapes = {"q": ("b", 4, "s", SIZE), "k": ("b", HEADS, "s", SIZE), "v": ("b", HEADS, "s", SIZE)}
    inputs = {**shapes, "past_key": kept, "past_value": kept}
    given, results = ["q", "k", "v", "", "past_key", "past_value"], ["y", "present_key", "present_value"]
    node = onnx.helper.make_node("Attention", given, results, is_causal=1)
    values = [onnx.helper.make_tensor_value_info(name, floats, shape) for name, shape in inputs.items()]
    found = [onnx.helper.make_tensor_value_info(name, floats, None) for name in results]
    graph = onnx.helper.make_graph([node], "attention", values, found)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    main = rx.compile(rx.from_onnx(model), donate=["past*"])["main"]
    cache, (keys, values) = main.cache(), nothing()
    for step, rows in enumerate((5, 1, 3)):
        q, k, v = drawn(step, 1, rows)
        q = numpy.concatenate([q, k], 1)
        feeds = {"q": q, "k": k, "v": v, "past_key": keys, "past_value": values}
        expected_y, keys, values = session.run(None, feeds)
        numpy.testing.assert_allclose(main(q, k, v, cache), expected_y, rtol=1e-4, atol=1e-5)
        numpy.testing.assert_array_equal(cache["past_key"], keys)
