# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels after a failed kernel read leftover memory, and none accesses memory out of bounds.

The emulator's memory is full of large numbers here. The result of `take` becomes indices and lengths of other kernels.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from gpu_emulator.driver import Checks, EmulatedCuda
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

_GENERATOR = numpy.random.default_rng(3)
_FLOATS = {size: _GENERATOR.normal(size=size).astype("float32") for size in ((6, 6), (4, 6), (6, 6, 4), (1, 8, 2, 8))}
_WHOLE = numpy.array([[2**62, -(2**62), 7], [3, -9, 1 << 40], [0, 1, -1], [99, 5, -6], [1, 2, 3]])
_HALF = [[numpy.nan, numpy.inf, -numpy.inf], [1e30, -1e30, 3e9], [-3e9, 0, 1], [2, -7, 1e10], [1, 2, 3]]


def floats(*sizes: int) -> Any:
    return relax.const(_FLOATS[sizes])


def column(x: Any, place: int, dtype: str) -> Any:
    taken = relax.reshape(relax.strided_slice(x, axes=[1], begin=[place], end=[place + 1]), (4,))
    return relax.astype(taken, dtype=dtype)


def sequences(x: Any) -> Any:
    q, most = floats(1, 8, 2, 8), relax.const(numpy.array(8, "int32"))
    starts = {"seqstart_q": column(x, 0, "int32"), "seqstart_k": column(x, 1, "int32")}
    return relax.nn.attention_var_len(q, q, q, **starts, max_seqlen_q=most, max_seqlen_k=most)


OPERATORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "take": ("int64", lambda x: relax.take(floats(6, 6), x, axis=0)),
    "gather_nd": ("int64", lambda x: relax.gather_nd(floats(6, 6, 4), x)),
    "scatter_elements": ("int64", lambda x: relax.scatter_elements(floats(6, 6), x, relax.astype(x, dtype="float32"))),
    "scatter_nd": ("int64", lambda x: relax.scatter_nd(floats(4, 6), column_pairs(x), column(x, 2, "float32"))),
    "index_put": ("int64", lambda x: relax.index_put(floats(4, 6), column(x, 0, "int64"), values=floats(4, 6))),
    "multinomial": ("int64", lambda x: relax.multinomial_from_uniform(floats(4, 6), *rows_of_samples(x))),
    "attention_var_len": ("int64", sequences),
    "roi_align": ("float32", lambda x: relax.vision.roi_align(*regions(x), pooled_size=[2, 2], spatial_scale=1.0)),
    "grid_sample": ("float32", lambda x: relax.image.grid_sample(images(), relax.reshape(x, (1, 2, 3, 2)))),
    "unique": ("float32", relax.unique),
}


def column_pairs(x: Any) -> Any:
    return relax.strided_slice(x, axes=[1], begin=[0], end=[2])


def rows_of_samples(x: Any) -> tuple[Any, Any]:
    samples = relax.reshape(column(x, 0, "int64"), (4, 1))
    return relax.astype(samples, dtype="float32"), samples


def images() -> Any:
    return relax.reshape(floats(6, 6, 4), (1, 4, 6, 6))


def regions(x: Any) -> tuple[Any, Any]:
    return images(), relax.concat([x, column_pairs(x)], axis=1)


@pytest.mark.parametrize("name", OPERATORS)
def test_it_stays_in_bounds(name: str) -> None:
    dtype, operator = OPERATORS[name]
    module = rx.Module()
    with module.function("main", [rx.tensor((5, 3), dtype), rx.tensor((4,), "int64")]) as f:
        x, places = f
        results = operator(relax.take(x, places, axis=0))
        f.returns(*(results if isinstance(results, (list, tuple)) else [results]))
    artifact = rx.compile(module, target="cuda")._artifact
    library = EmulatedCuda(memory_bytes=1 << 22, checks=Checks(unwritten=False))
    library.memory.data[:] = 0x7B
    with use_library(library):
        run = Executable(artifact)
        given = numpy.array(_WHOLE if dtype == "int64" else _HALF, dtype)
        with pytest.raises(IndexError, match="index 9 is out of range"):
            run.copying()["main"](given, numpy.array([0, 9, 3, 1]))
        del run
    gc.collect()
    library.check()
    assert not library.leaks()
