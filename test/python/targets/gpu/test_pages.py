# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged attention and donated pages on the emulator of GPUs, against numpy's doubles."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from emulated_gpu import run_emulated
from paged_sequences import Sequences

import relax_mlir as rx
from relax_mlir import relax


@pytest.mark.parametrize(
    ("sizes", "attributes", "is_open"),
    [
        ({"heads": 4, "shared": 2, "size": 12, "width": 150, "places": 16}, {}, False),
        ({"pages_dtype": "int8", "places": 7}, {"window_size": 129}, False),
        ({"pages_dtype": "float16", "dtype": "float16", "has_sinks": True}, {"softcap": 3.0}, False),
        ({"heads": 2, "places": 5}, {"window_size": 3}, True),
    ],
    ids=str,
)
def test_values_and_bits(sizes: Any, attributes: Any, is_open: bool) -> None:
    """Keys that fill more than one block of threads; single tokens have the bits of the whole call."""
    given = Sequences([5, 0, 140], **sizes)
    chosen = numpy.array([0, 4, 5, 6, 132, 133, 144])
    program = rx.compile(given.module(is_open, **attributes), target="cuda")
    found = run_emulated(program, *given.some(chosen))
    tolerance = 2e-3 if given.dtype == "float16" else 2e-5
    numpy.testing.assert_allclose(found, given.expected(**attributes)[chosen], rtol=tolerance, atol=tolerance)
    for place in (2, 6):
        alone = run_emulated(program, *given.some(chosen[place : place + 1]))
        numpy.testing.assert_array_equal(alone[0].view("uint8"), found[place].view("uint8"))


def test_an_index_out_of_range() -> None:
    given = Sequences([3, 9])
    given.arrays["table"][1, 2] = 8
    with pytest.raises(IndexError, match="page 8 of the table is out of range: there are 8 pages"):
        run_emulated(rx.compile(given.module(), target="cuda"), *given.arguments())


def test_donated_pages_are_written_on_the_device() -> None:
    given = Sequences([6, 3])
    module = rx.Module()
    types = {name: rx.tensor(("t", *array.shape[1:]) if name == "q" else array.shape, str(array.dtype))
             for name, array in given.arrays.items()}  # fmt: skip
    types |= {name: rx.tensor(("t",), "int32") for name in ("sequences", "lengths", "slots")}
    types["rows"] = rx.tensor(("t", 2, 8))
    with module.function("main", types) as f:
        held = dict(zip(types, f, strict=True))
        slots, rows = held.pop("slots"), held.pop("rows")
        new = {name: relax.append_pages(held[name], rows, slots) for name in ("k_pages", "v_pages")}
        f.returns(relax.paged_attention(**{**held, **new}), *new.values())
    program = rx.compile(module, target="cuda", donate=["*pages"])
    rows = numpy.random.default_rng(2).standard_normal((9, 2, 8)).astype("float32")
    table, arrays = given.arrays["table"], given.arrays
    place = arrays["lengths"] - 1
    slots = (table[arrays["sequences"], place // 4] * 4 + place % 4).astype("int32")
    slots[1] = -1
    pages = {name: arrays[name].reshape(-1, 2, 8).copy() for name in ("k_pages", "v_pages")}
    for each in pages.values():
        each[slots[slots >= 0]] = rows[slots >= 0]
    found = run_emulated(program, *given.arguments(), slots, rows)
    for name, each in pages.items():
        numpy.testing.assert_array_equal(arrays[name].reshape(-1, 2, 8), each)
    numpy.testing.assert_allclose(found, given.expected(), rtol=2e-5, atol=2e-5)
