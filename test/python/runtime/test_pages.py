# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of two layers with pages that calls update in place. The oracle is attention over the whole text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.passes.graph.params.signature import graph_function
from relax_mlir.tools import relax_compile

import relax_mlir as rx
from relax_mlir import relax

VOCABULARY, HEADS, SHARED, SIZE, PLACES, PAGES, LAYERS = 23, 4, 2, 8, 4, 24, 2
WIDTH, KEPT = HEADS * SIZE, SHARED * SIZE


def weights() -> dict[str, Any]:
    random = numpy.random.default_rng(0)
    of_layer = {"q": (WIDTH, WIDTH), "k": (WIDTH, KEPT), "v": (WIDTH, KEPT), "o": (WIDTH, WIDTH)}
    shapes = {"in": (VOCABULARY, WIDTH), "out": (WIDTH, VOCABULARY)}
    shapes |= {f"{name}{layer}": shape for layer in range(LAYERS) for name, shape in of_layer.items()}
    return {name: (random.standard_normal(shape) / shape[0] ** 0.5).astype("float32") for name, shape in shapes.items()}


WEIGHTS = weights()


def decoder(is_quantized: bool = False) -> rx.Module:
    """Return logits of each token, and the updated pages of each layer."""
    module = rx.Module()
    stored = rx.tensor(("pages", PLACES, SHARED, SIZE), "int8" if is_quantized else "float32")
    scale = rx.tensor(("pages", PLACES, SHARED))
    types = {name: rx.tensor(("tokens",), "int32") for name in ("tokens", "sequences", "lengths", "slots")}
    types["table"] = rx.tensor(("rows", "most"), "int32")
    held = [f"{name}{layer}" for layer in range(LAYERS) for name in "kv"]
    types |= {f"{name}_pages": stored for name in held}
    if is_quantized:
        types |= {f"{name}_scales": scale for name in held}
    with module.function("main", types) as f:
        given, new = dict(zip(types, f, strict=True)), []
        x = relax.take(relax.const(WEIGHTS["in"]), given["tokens"], axis=0)

        def product(x: Any, name: str) -> Any:
            return relax.matmul(x, relax.const(WEIGHTS[name]))

        def appended(name: str) -> list[Any]:
            rows = relax.reshape(product(x, name), relax.shape_expr(dims=("tokens", SHARED, SIZE)))
            if not is_quantized:
                return [relax.append_pages(given[f"{name}_pages"], rows, given["slots"])]
            pages, scales = given[f"{name}_pages"], given[f"{name}_scales"]
            return list(relax.append_pages_quantized(pages, scales, rows, given["slots"]))

        for layer in range(LAYERS):
            q = relax.reshape(product(x, f"q{layer}"), relax.shape_expr(dims=("tokens", HEADS, SIZE)))
            keys, values = appended(f"k{layer}"), appended(f"v{layer}")
            indices = [given[name] for name in ("table", "sequences", "lengths")]
            scales = [keys[1], values[1]] if is_quantized else []
            mixed = relax.paged_attention(q, keys[0], values[0], *indices, *scales)
            flat = relax.reshape(mixed, relax.shape_expr(dims=("tokens", WIDTH)))
            x = relax.add(x, product(flat, f"o{layer}"))
            new += [*keys, *values]
        f.returns(product(x, "out"), *new)
    return module


def expected(text: Sequence[int]) -> Any:
    """Return the logits of each token of a text, in doubles."""
    w = {name: array.astype(float) for name, array in WEIGHTS.items()}
    x = w["in"][list(text)]
    hidden = numpy.triu(numpy.full((len(text), len(text)), -numpy.inf), 1)
    for layer in range(LAYERS):
        q, k, v = ((x @ w[f"{name}{layer}"]).reshape(len(text), -1, SIZE) for name in "qkv")
        k, v = (numpy.repeat(each, HEADS // SHARED, 1) for each in (k, v))
        scores = numpy.einsum("qhd,khd->hqk", q, k) * SIZE**-0.5 + hidden
        powers = numpy.exp(scores - scores.max(2, keepdims=True))
        mixed = numpy.einsum("hqk,khd->qhd", powers / powers.sum(2, keepdims=True), v)
        x = x + mixed.reshape(len(text), WIDTH) @ w[f"o{layer}"]
    return x @ w["out"]


class Run:
    """Pages of texts, and calls of the program with parts of the texts."""

    def __init__(self, program: Any, texts: Sequence[Sequence[int]], seed: int = 0, is_quantized: bool = False):
        self.main, self.texts = program["main"], texts
        shape = (PAGES, PLACES, SHARED, SIZE)
        self.pages = [numpy.zeros(shape, "int8" if is_quantized else "float32") for _ in range(2 * LAYERS)]
        if is_quantized:
            self.pages += [numpy.zeros(shape[:3], "float32") for _ in range(2 * LAYERS)]
        most = -(-max(map(len, texts)) // PLACES)
        order = numpy.random.default_rng(seed).permutation(PAGES)[: len(texts) * most]
        self.table = order.reshape(len(texts), most).astype("int32")

    def arguments(self, tokens: Sequence[tuple[int, int]]) -> list[Any]:
        """Return the arguments for tokens: a text and a position each."""
        rows, positions = (numpy.array(each, "int32") for each in zip(*tokens, strict=True))
        ids = numpy.array([self.texts[row][at] for row, at in tokens], "int32")
        slots = self.table[rows, positions // PLACES] * PLACES + positions % PLACES
        return [ids, rows, positions + 1, slots.astype("int32"), self.table, *self.pages]

    def logits(self, *calls: Sequence[tuple[int, int]]) -> list[Any]:
        """Return the logits of the tokens of each text, from calls with some tokens each."""
        found = [numpy.empty((len(text), VOCABULARY), "float32") for text in self.texts]
        for tokens in calls:
            for (row, at), logits in zip(tokens, self.main(*self.arguments(tokens)), strict=True):
                found[row][at] = logits
        return found


TEXTS = [
    [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8],
    [2, 7, 1],
]
WHOLE = [[(row, at) for row, text in enumerate(TEXTS) for at in range(len(text))]]
SINGLE = [[each] for each in WHOLE[0]]
MIXED = [[*((0, at) for at in range(9)), (1, 0)], [(1, 1), *((0, at) for at in range(9, 34))], [(0, 34), (1, 2)]]


@pytest.fixture(scope="module")
def program() -> rx.runtime.Executable:
    return rx.compile(decoder(), target="llvm{numerics=same}", donate=["*_pages"])


def test_logits_are_those_of_the_whole_text(program: Any) -> None:
    for calls in (WHOLE, SINGLE, MIXED):
        for text, found in zip(TEXTS, Run(program, TEXTS).logits(*calls), strict=True):
            numpy.testing.assert_allclose(found, expected(text), rtol=1e-4, atol=1e-4)


def test_bits_depend_neither_on_calls_nor_threads_nor_pages(program: Any) -> None:
    program.threads = 1
    whole = Run(program, TEXTS).logits(*WHOLE)
    for threads, seed, calls in ((2, 0, WHOLE), (1, 0, SINGLE), (2, 0, MIXED), (1, 5, MIXED)):
        program.threads = threads
        for one, other in zip(Run(program, TEXTS, seed).logits(*calls), whole, strict=True):
            numpy.testing.assert_array_equal(one.view("int32"), other.view("int32"), f"{threads} {seed}")


def test_pages_of_integers() -> None:
    program = rx.compile(decoder(is_quantized=True), donate=["*_pages", "*_scales"])
    run = Run(program, TEXTS, is_quantized=True)
    for text, found in zip(TEXTS, run.logits(*MIXED), strict=True):
        numpy.testing.assert_allclose(found, expected(text), atol=0.1)
    assert all(each.any() for each in run.pages)


def test_the_caller_sees_the_rows_and_without_donation_a_copy(program: Any) -> None:
    run = Run(program, TEXTS)
    copying = rx.compile(decoder(), target="llvm{numerics=same}")["main"]
    logits, *pages = copying(*run.arguments(WHOLE[0]))
    assert not any(each.any() for each in run.pages)
    numpy.testing.assert_array_equal(program["main"](*run.arguments(WHOLE[0])), logits)
    for one, other in zip(run.pages, pages, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_files_and_the_raw_function(program: Any, tmp_path: Path) -> None:
    program.save(tmp_path / "decoder.rxa")
    loaded = rx.runtime.load(tmp_path / "decoder.rxa")
    plain, raw = Run(program, TEXTS), Run(loaded, TEXTS)
    expected_logits = program["main"](*plain.arguments(WHOLE[0]))
    arguments = [rx.runtime.tensor(each) for each in raw.arguments(WHOLE[0])]
    found = loaded["main"].packed(*arguments)
    numpy.testing.assert_array_equal(numpy.from_dlpack(found), expected_logits)
    for one, other in zip(arguments[-2 * LAYERS :], plain.pages, strict=True):
        numpy.testing.assert_array_equal(numpy.from_dlpack(one), other)
    assert "k0_pages: float32[pages, 4, 2, 8], which a call writes to" in str(loaded["main"].__doc__)


def test_relax_compile_donates(tmp_path: Path) -> None:
    (tmp_path / "decoder.mlir").write_text(str(decoder()))
    arguments = [str(tmp_path / "decoder.mlir"), "--donate", "*_pages", "-o", str(tmp_path / "decoder.rxa")]
    assert relax_compile.run(arguments, io.StringIO(), io.StringIO(), io.StringIO()) == 0
    run = Run(rx.runtime.load(tmp_path / "decoder.rxa"), TEXTS)
    numpy.testing.assert_allclose(run.logits(*MIXED)[1], expected(TEXTS[1]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pages: pages.astype("float64"), "expected dtype float32, got float64"),
        (lambda pages: pages[:, :, ::-1], "'k0_pages' is written to, but the array is .* not contiguous"),
        (lambda pages: pages.tolist(), "'k0_pages' is written to, which would not be seen in a list: pass an array"),
        (lambda pages: numpy.frombuffer(pages.tobytes(), "float32").reshape(pages.shape), "is read-only"),
    ],
)
def test_pages_that_cannot_be_written(program: Any, change: Any, message: str) -> None:
    run = Run(program, TEXTS)
    run.pages[0] = change(run.pages[0])
    with pytest.raises((TypeError, ValueError, rx.RelaxError), match=message):
        run.main(*run.arguments(WHOLE[0]))


def test_an_invalid_slot_writes_nothing(program: Any) -> None:
    run = Run(program, TEXTS)
    arguments = run.arguments(WHOLE[0])
    arguments[3][-1] = PAGES * PLACES
    with pytest.raises(
        IndexError, match=f"slot {PAGES * PLACES} is out of range: the pages have {PAGES * PLACES} places"
    ):
        run.main(*arguments)
    assert not any(each.any() for each in run.pages)


def test_attributes_stay_with_their_results() -> None:
    """Donate the pages of a function with attributes of results: the updated pages are no results any more."""
    module = decoder()
    function = graph_function(module.operation, "main", "the test")
    attributes = ", ".join(f"{{test.place = {place} : i64}}" for place in range(1 + 2 * LAYERS))
    with module.operation.context:
        function.attributes["res_attrs"] = rx.ir.Attribute.parse(f"[{attributes}]")
    rx.Pipeline("relax-donate{args=*_pages}").run(module)
    function = graph_function(module.operation, "main", "the test")
    assert len(function.attributes["res_attrs"]) == 1
