# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches of programs for a device: their rows stay on the device from token to token. On the emulator."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy
import pytest
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime import Artifact, Executable
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

HEADS, SIZE = 2, 8
ROW = HEADS * SIZE * 4  # bytes of a token's keys


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    library = EmulatedCuda()
    with use_library(library):
        yield library
    gc.collect()
    library.check()
    assert not library.stack() and not [each for each in library.leaks() if not each.startswith("tensor ")]


@lru_cache(maxsize=2)
def attention(dtype: str = "float32") -> Artifact:
    """Return attention of queries to all keys and values so far, which are results, too."""
    module, given = rx.Module(), rx.tensor(("b", HEADS, "s", SIZE), dtype)
    kept = rx.tensor(("b", HEADS, "p", SIZE), dtype)
    inputs = {"q": given, "past.key": kept, "k": given, "past.value": kept, "v": given}
    with module.function("main", inputs) as f:
        q, past_key, k, past_value, v = f
        keys, values = (relax.concat(*pair, axis=2) for pair in ((past_key, k), (past_value, v)))
        scores = relax.nn.softmax(relax.matmul(q, relax.permute_dims(keys, axes=[0, 1, 3, 2])))
        f.returns(keys, relax.matmul(scores, values), values)
    return rx.compile(module, target="cuda", donate=["past*"])._artifact


def expected(q: Any, keys: Any, values: Any) -> Any:
    scores = q @ keys.transpose(0, 1, 3, 2)
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ values


def drawn(seed: int, rows: int, batch: int = 1) -> list[Any]:
    generator = numpy.random.default_rng(seed)
    return [generator.standard_normal((batch, HEADS, rows, SIZE), dtype="float32") for _ in range(3)]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_token_copies_no_rows(device: EmulatedCuda, batch: int) -> None:
    """Copy only a token's own data over the bus: its arguments and its result."""
    main: Any = Executable(attention()).copying()["main"]
    cache = main.cache()
    given = [drawn(seed, rows, batch) for seed, rows in enumerate((5, 1, 1, 1))]
    keys, values = (numpy.concatenate([each[place] for each in given], 2) for place in (1, 2))
    for number, (q, k, v) in enumerate(given):
        before = device.copied.copy()
        y = main(q, k, v, cache)
        moved = device.copied - before
        assert moved["to the device"] == q.nbytes + k.nbytes + v.nbytes and moved["to the host"] == y.nbytes
        assert not moved["on the device"]
        end = 5 + number
        numpy.testing.assert_allclose(y, expected(q, keys[:, :, :end], values[:, :, :end]), rtol=1e-4, atol=1e-5)
    assert cache.length == 8
    numpy.testing.assert_array_equal(cache["past.key"], keys)
    numpy.testing.assert_array_equal(cache["past.value"], values)


def test_tensors_of_the_device(device: EmulatedCuda) -> None:
    """Copy nothing over the bus."""
    main: Any = Executable(attention())["main"]
    cache = main.cache()
    given = [drawn(seed, 1) for seed in range(3)]
    passed = [[CudaTensor(device, each) for each in token] for token in given]
    before = device.copied.copy()
    for token in passed:
        y = main(*token, cache)
    assert device.copied == before
    keys, values = (numpy.concatenate([each[place] for each in given], 2) for place in (1, 2))
    numpy.testing.assert_allclose(to_numpy(device, y), expected(given[-1][0], keys, values), rtol=1e-4, atol=1e-5)
    numpy.testing.assert_array_equal(cache["past.key"], keys)


def test_a_buffer_grows_on_the_device(device: EmulatedCuda) -> None:
    """Copy existing rows to a longer buffer when the room is used up, separately for each index of the axes before."""
    main: Any = Executable(attention()).copying()["main"]
    cache = main.cache()
    given = [drawn(0, 60, 2), drawn(1, 10, 2)]
    for q, k, v in given:
        before = device.copied.copy()
        y = main(q, k, v, cache)
        moved = device.copied - before
    assert moved["on the device"] == 2 * 60 * 2 * ROW and moved["to the host"] == y.nbytes
    assert cache.capacity == 128 and cache.length == 70
    keys, values = (numpy.concatenate([each[place] for each in given], 2) for place in (1, 2))
    numpy.testing.assert_array_equal(cache["past.key"], keys)
    numpy.testing.assert_allclose(y, expected(given[1][0], keys, values), rtol=1e-4, atol=1e-5)
    cache.length = 61
    q, k, v = drawn(2, 1, 2)
    keys, values = (numpy.concatenate([whole[:, :, :61], new], 2) for whole, new in ((keys, k), (values, v)))
    numpy.testing.assert_allclose(main(q, k, v, cache), expected(q, keys, values), rtol=1e-4, atol=1e-5)
    numpy.testing.assert_array_equal(cache["past.key"], keys)


def test_with_arrays_in_the_caches_place(device: EmulatedCuda) -> None:
    program = Executable(attention())
    (q, k, v), (_, past_k, past_v) = drawn(0, 2), drawn(1, 3)
    keys, values = numpy.concatenate([past_k, k], 2), numpy.concatenate([past_v, v], 2)
    main: Any = program.copying()["main"]
    own_keys, y, own_values = main(q, past_k, k, past_v, v)
    numpy.testing.assert_array_equal(own_keys, keys)
    numpy.testing.assert_array_equal(own_values, values)
    numpy.testing.assert_allclose(y, expected(q, keys, values), rtol=1e-4, atol=1e-5)
    passed = [CudaTensor(device, each) for each in (q, past_k, k, past_v, v)]
    on_device: Any = program["main"]
    own_keys, y, own_values = on_device(*passed)
    numpy.testing.assert_array_equal(to_numpy(device, own_keys), keys)
    numpy.testing.assert_array_equal(to_numpy(device, own_values), values)
    numpy.testing.assert_array_equal(to_numpy(device, passed[1]), past_k)  # the caller's stays as it was


@pytest.mark.slow
def test_element_types_that_numpy_lacks(device: EmulatedCuda) -> None:
    main: Any = Executable(attention("bfloat16")).copying()["main"]
    cache = main.cache()
    given = [[each.astype(ml_dtypes.bfloat16) for each in drawn(seed, 2)] for seed in range(2)]
    for token in given:
        main(*token, cache)
    found = cache["past.value"]
    assert found.dtype == ml_dtypes.bfloat16
    wanted = numpy.concatenate([token[2] for token in given], 2)
    numpy.testing.assert_array_equal(found.astype("float32"), wanted.astype("float32"))


def test_arguments_that_are_no_rows_are_refused(device: EmulatedCuda) -> None:
    main: Any = Executable(attention())["main"]
    q, k, v = (CudaTensor(device, each) for each in drawn(0, 1))
    wrong = CudaTensor(device, numpy.zeros((1, HEADS, 2, SIZE), "float64"))
    with pytest.raises(TypeError, match=r"main: argument 'past.key' expected float32 of rank 4, .* got float64"):
        main(q, wrong, k, wrong, v)
    host = drawn(0, 1)
    with pytest.raises(ValueError, match="expected a tensor on cuda:0, got one on cpu:0"):
        main(*host, main.cache())


def test_no_room_on_the_device(device: EmulatedCuda) -> None:
    main: Any = Executable(attention()).copying()["main"]
    cache = main.cache()
    main(*drawn(0, 60), cache)
    held = device.memory.used
    device.fail["cuMemAllocAsync"] = 2
    with pytest.raises(MemoryError, match="a copy on cuda:0: out of memory of the device"):
        main(*drawn(1, 10), cache)
    device.fail.clear()
    assert cache.length == 60 and device.memory.used == held
    main(*drawn(1, 10), cache)
    assert cache.length == 70


@pytest.mark.slow
def test_two_caches_in_two_threads(device: EmulatedCuda) -> None:
    main: Any = Executable(attention()).copying()["main"]
    barrier = threading.Barrier(2)

    def decode(seed: int) -> bool:
        cache, given = main.cache(), [drawn(seed + number, 30) for number in range(3)]
        barrier.wait()
        for token in given:
            y = main(*token, cache)
        keys, values = (numpy.concatenate([each[place] for each in given], 2) for place in (1, 2))
        is_kept = (cache["past.key"] == keys).all() and (cache["past.value"] == values).all()
        return bool(is_kept and numpy.allclose(y, expected(given[-1][0], keys, values), rtol=1e-3, atol=1e-5))

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(decode, (0, 100))) == [True, True]


def test_a_cache_outlives_its_program(device: EmulatedCuda) -> None:
    program = Executable(attention())
    main: Any = program.copying()["main"]
    cache = main.cache()
    _, k, _ = given = drawn(0, 2)
    main(*given, cache)
    del program, main
    gc.collect()
    numpy.testing.assert_array_equal(cache["past.key"], k)
    with pytest.raises(TypeError, match="the cache is another function's"):
        other: Any = Executable(attention("bfloat16")).copying()["main"]
        other(*given, cache)


def test_the_cache_of_another_device(device: EmulatedCuda) -> None:
    library = EmulatedCuda(devices=2)
    with use_library(library):
        here, there = (Executable(attention(), device=f"cuda:{number}") for number in range(2))
        mains: list[Any] = [each.copying()["main"] for each in (here, there)]
        cache = mains[0].cache()
        mains[0](*drawn(0, 2), cache)
        with pytest.raises(ValueError, match=r"'past.key' expected a tensor on cuda:1, got one on cuda:0"):
            mains[1](*drawn(1, 1), cache)
        assert cache.length == 2
        mains[0](*drawn(1, 1), cache)
        assert cache.length == 3
        del here, there, mains, cache
        gc.collect()
    library.check()
    assert not library.leaks()


def test_a_wrong_call_leaves_the_cache_as_it_was(device: EmulatedCuda) -> None:
    program = Executable(attention())
    main: Any = program.copying()["main"]
    cache, (q, k, v) = main.cache(), drawn(0, 2)
    main(q, k, v, cache)
    for wrong, reason in (
        ((q, k, cache), "with a cache it takes q, k, v; got 2 by place"),
        ((q, k, None, cache), "argument #4 'v'"),
        ((q, k, v.astype("float64"), cache), "argument #4 'v' expected dtype float32, got float64"),
        ((q, k, v[:, :, :1], cache), "argument #4 'v'"),
        ((q, k, v[0], cache), "argument #4 'v' expected rank 4"),
        ((q, k, v, cache, cache), "one cache stands for all that grows"),
        ((q, k, v, program), "argument"),
    ):
        with pytest.raises((TypeError, ValueError), match=reason):
            main(*wrong)
        assert cache.length == 2 and not device.stack()
    y = main(*drawn(1, 1), cache)
    keys, values = (numpy.concatenate([kept, drawn(1, 1)[place]], 2) for kept, place in ((k, 1), (v, 2)))
    numpy.testing.assert_allclose(y, expected(drawn(1, 1)[0], keys, values), rtol=1e-4, atol=1e-5)
