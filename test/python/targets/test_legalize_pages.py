# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.paged_attention and relax.append_pages, compiled: values, the same bits for any batch, errors."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import pytest
from paged_sequences import Sequences
from partitioning import codegen
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.llvm.backend import LLVMBackend

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

GROUPED: dict[str, Any] = {"heads": 6, "shared": 2, "size": 24, "width": 40}


def same(one: Any, other: Any) -> bool:
    return bool((one.view("uint8") == other.view("uint8")).all())


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [
        ({}, {}),
        ({**GROUPED, "places": 16}, {"scale": 0.3}),
        ({"heads": 5, "shared": 1, "size": 3, "width": 5, "places": 7}, {"window_size": 9}),
        ({"pages_dtype": "float16", "has_sinks": True}, {"softcap": 2.0}),
        ({"pages_dtype": "int8", "places": 64}, {"window_size": 33}),
        ({"dtype": "float16", "pages_dtype": "float16", **GROUPED}, {}),
        ({"heads": 40, "shared": 1, "has_sinks": True}, {"window_size": 1}),
    ],
    ids=str,
)
def test_values(sizes: Any, attributes: Any, is_open: bool) -> None:
    given = Sequences([45, 0, 1, 70], **sizes)
    given.arrays["lengths"][::7] = 0
    found = rx.compile(given.module(is_open, **attributes))["main"](*given.arguments())
    tolerance = 2e-3 if given.dtype == "float16" else 2e-5
    numpy.testing.assert_allclose(found, given.expected(**attributes), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("target", ["llvm", "llvm{vector-bytes=16}", "llvm{numerics=same}"])
@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [
        ({"heads": 9, "shared": 3, "size": 64, "width": 64, "places": 16}, {}),
        ({**GROUPED, "pages_dtype": "int8", "places": 5}, {"window_size": 37}),
        ({"heads": 14, "size": 20, "width": 12, "has_sinks": True, "pages_dtype": "float16"}, {"softcap": 3.0}),
    ],
    ids=str,
)
def test_bits_of_a_token_depend_on_its_sequence_only(target: str, sizes: Any, attributes: Any) -> None:
    given = Sequences([70, 3, 33], **sizes)
    program = rx.compile(given.module(**attributes), target=target)
    main, arrays = program["main"], given.arrays
    tokens = len(arrays["q"])
    program.threads = 1
    whole = main(*given.arguments())
    program.threads = 2
    assert same(main(*given.arguments()), whole), "threads"
    for count in (1, 5, 33):
        parts = [main(*given.some(slice(at, at + count))) for at in range(0, tokens, count)]
        assert same(numpy.concatenate(parts), whole), f"parts of {count}"
    mixed = numpy.random.default_rng(0).permutation(tokens)
    assert same(main(*given.some(mixed)), whole[mixed]), "order"
    assert same(main(*_moved(given)), whole), "pages"


def _moved(given: Sequences) -> list[Any]:
    """Return the arguments with the pages in another order."""
    order = numpy.random.default_rng(1).permutation(len(given.arrays["k_pages"]))
    moved = {name: array[order] for name, array in given.arrays.items() if name.endswith(("pages", "scale"))}
    moved["table"] = numpy.argsort(order)[given.arrays["table"]].astype("int32")
    return list({**given.arrays, **moved}.values())


def test_bits_do_not_depend_on_the_page_size_and_the_vectors() -> None:
    """Blocks of keys begin at fixed positions, and vectors of any width add in one order."""
    results = []
    for places, options in ((4, ""), (7, ""), (64, ""), (16, "{vector-bytes=16}"), (16, "{vector-bytes=32}")):
        given = Sequences([70], places=places, size=20)
        rows = numpy.random.default_rng(3).standard_normal((2, 256, 2, 20)).astype("float32")
        pages = given.arrays["table"][0]
        for name, own in (("k_pages", rows[0]), ("v_pages", rows[1])):
            given.arrays[name] = numpy.zeros((len(given.arrays[name]), places, 2, 20), "float32")
            given.arrays[name][pages] = own[: len(pages) * places].reshape(-1, places, 2, 20)
        given.width = 20
        given.arrays["q"] = numpy.random.default_rng(4).standard_normal((70, 4, 20)).astype("float32")
        results.append(rx.compile(given.module(), target=f"llvm{options}")["main"](*given.arguments()))
    assert all(same(each, results[0]) for each in results)


def test_unseen_keys_and_values_are_not_read() -> None:
    """NaN behind a token's last key, and in a later token's value, change nothing."""
    given = Sequences([40, 50], places=8)
    main, arrays = rx.compile(given.module())["main"], given.arrays
    seen = main(*given.arguments())
    last = arrays["table"][1, 49 // 8], 49 % 8
    for name in ("k_pages", "v_pages"):
        unused = numpy.setdiff1d(numpy.arange(len(arrays[name])), arrays["table"].ravel())
        arrays[name][unused] = numpy.nan
        arrays[name][arrays["table"][0, 5:]] = numpy.nan
        arrays[name][last] = numpy.nan
    found = main(*given.arguments())
    assert same(found[:-1], seen[:-1])
    assert numpy.isnan(found[-1]).all()


def test_a_codegen_takes_the_operator() -> None:
    given = Sequences([3, 9])
    with codegen([("npu.paged", is_op("relax.paged_attention"))]) as npu:
        program = rx.compile(given.module(window_size=4), partition=[npu])
        assert "1 part by npu" in repr(program)
        found = program["main"](*given.arguments())
    numpy.testing.assert_allclose(found, given.expected(window_size=4), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sequences", 3, "sequence 3 is out of range for a table of 2"),
        ("sequences", -1, "sequence -1 is out of range for a table of 2"),
        ("lengths", 13, "length 13 is out of range: the pages of a sequence have 12 places"),
        ("lengths", -1, "length -1 is out of range"),
        ("table", 8, "page 8 of the table is out of range: there are 8 pages"),
        ("table", -1, "page -1 of the table is out of range"),
    ],
)
def test_indices_out_of_range(name: str, value: int, message: str, is_open: bool) -> None:
    given = Sequences([3, 9])
    given.arrays[name].flat[0] = value
    with pytest.raises(IndexError, match=message):
        rx.compile(given.module(is_open))["main"](*given.arguments())


def test_pages_behind_the_last_key_may_have_any_number() -> None:
    given = Sequences([3, 9])
    given.arrays["table"][0, 1:] = -1
    found = rx.compile(given.module())["main"](*given.arguments())
    numpy.testing.assert_allclose(found, given.expected(), rtol=2e-5, atol=2e-5)


def test_sizes_that_differ_at_run_time() -> None:
    given = Sequences([3, 9])
    module = rx.Module()
    names = ("a", "b", "c", "d", "e", "f")
    with module.function("main", [rx.tensor([f"{n}{axis}" for axis in range(array.ndim)], str(array.dtype))
                                  for n, array in zip(names, given.arguments(), strict=True)]) as f:  # fmt: skip
        f.returns(relax.paged_attention(*f))
    main = rx.compile(module)["main"]
    arguments = given.arguments()
    numpy.testing.assert_allclose(main(*arguments), given.expected(), rtol=2e-5, atol=2e-5)
    for place, change, message in (
        (0, lambda q: q[:, :3], "3 heads of q are no multiple of 2"),
        (2, lambda v: v[1:], "number of pages: sizes 8 and 7 differ"),
        (5, lambda lengths: lengths[1:], "number of tokens: sizes 12 and 11 differ"),
        (1, lambda k: k[..., :4].copy(), "size of a head: sizes 8 and 4 differ"),
    ):
        changed = [change(each) if at == place else each for at, each in enumerate(arguments)]
        with pytest.raises(ValueError, match=message):
            main(*changed)


# ---- rows that are appended ----


def appending(pages: Any, rows: Any, scales: Any = None) -> rx.Module:
    module = rx.Module()
    held = [pages, *([] if scales is None else [scales]), rows, numpy.zeros(0, "int32")]
    types = [rx.tensor((f"n{at}", *each.shape[1:]), str(each.dtype)) for at, each in enumerate(held)]
    types[-1] = rx.tensor((f"n{len(held) - 2}",), "int32")
    if scales is not None:
        types[1] = rx.tensor(("n0", *scales.shape[1:]), "float32")
    with module.function("main", types) as f:
        f.returns(*([relax.append_pages(*f)] if scales is None else relax.append_pages_quantized(*f)))
    return module


@pytest.mark.parametrize("dtypes", ["float32 float32", "float16 float32", "float32 float16"])
def test_rows_go_to_their_slots(dtypes: str) -> None:
    to, of = dtypes.split()
    random = numpy.random.default_rng(0)
    pages, rows = random.standard_normal((5, 4, 2, 3)).astype(to), random.standard_normal((70, 2, 3)).astype(of)
    slots = numpy.full(70, -1, "int32")
    slots[[0, 9, 69]] = (19, 0, 6)
    found = rx.compile(appending(pages, rows))["main"](pages, rows, slots)
    expected = pages.reshape(20, 2, 3).copy()
    expected[[19, 0, 6]] = rows[[0, 9, 69]]
    numpy.testing.assert_array_equal(found, expected.reshape(pages.shape))


def test_rows_are_quantized_by_their_largest_magnitude() -> None:
    random = numpy.random.default_rng(0)
    pages, scales = numpy.ones((5, 4, 2, 3), "int8"), numpy.ones((5, 4, 2), "float32")
    rows = random.standard_normal((3, 2, 3)).astype("float32")
    rows[1, 0] = 0
    slots = numpy.array([19, 7, -1], "int32")
    codes, steps = rx.compile(appending(pages, rows, scales))["main"](pages, scales, rows, slots)
    assert (codes.reshape(20, 2, 3)[[19, 7]].max((1, 2)) <= 127).all()
    for slot, row in ((19, rows[0]), (7, rows[1])):
        step = steps.reshape(20, 2)[slot]
        numpy.testing.assert_allclose(step, abs(row).max(1) / 127, rtol=1e-6)
        number = codes.reshape(20, 2, 3)[slot] * step[:, None]
        assert (abs(number - row) <= step[:, None] * 0.501).all()
    untouched = [at for at in range(20) if at not in (19, 7)]
    assert (codes.reshape(20, -1)[untouched] == 1).all()
    assert (steps.reshape(20, -1)[untouched] == 1).all()


def test_a_slot_behind_the_last_page() -> None:
    pages, rows = numpy.zeros((2, 4, 1, 1), "float32"), numpy.zeros((2, 1, 1), "float32")
    with pytest.raises(IndexError, match="slot 8 is out of range: the pages have 8 places"):
        rx.compile(appending(pages, rows))["main"](pages, rows, numpy.array([0, 8], "int32"))


@pytest.mark.parametrize("options", ["cpu=x86-64", "triple=aarch64-linux-gnu", "triple=riscv64-linux-gnu"])
def test_code_for_other_machines(options: str) -> None:
    """Vectors and tiles fit other machines."""
    pytest.importorskip("llvmlite", reason="llvmlite, which compiles for other CPUs, is not installed")
    target = f"llvm{{{options}}}"
    text = str(rx.lower(Sequences([3], size=24).module(), target, pipeline=rx.stages(target).until("legalize")))
    assert f"vector<{2 if 'riscv' in options else 4}xf32>" in text


class _Scalar(LLVMBackend):
    def machine(self, target: ChosenTarget) -> rx.Machine:
        return dataclasses.replace(super().machine(target), has_vectors=False)


rx.register_target(rx.Target("scalar_pages", parents=("llvm",), backend=_Scalar, doc="A CPU, by code without vectors."))


@pytest.mark.parametrize("target", ["c", "scalar_pages"])
def test_code_without_vectors(target: str) -> None:
    """Take the loops for all targets if the target's machine has no vectors."""
    text = str(rx.lower(Sequences([3], size=24).module(), target, pipeline=rx.stages(target).until("legalize")))
    assert "scf.for" in text and "vector<" not in text
