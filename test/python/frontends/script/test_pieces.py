# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts whose functions are parsed in pieces: the same module at the same places, the same errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from relax_mlir.frontends.script import pieces
from relax_mlir.frontends.script.module import read_script
from relax_mlir.frontends.script.source import ScriptError, Source
from relax_mlir.support.errors import RelaxError
from round_trip import shared

_TESTS = Path(__file__).resolve().parents[3]
HEAD = "@I.ir_module\nclass Module:\n"
GRAPH = """    @R.function
    def main(
        x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
    ) -> R.Tensor((4,), "float32"):
        # from here on
        a = R.add(x, y)
        b = R.nn.relu(
            a
        )
    # a comment that stands too far left
        with R.dataflow():
            c = R.exp(b)

            d = R.exp(c)
            R.output(d)
        if R.const(True):
            e = R.add(d, d)
        else:
            e = R.add(d, x)
        f: R.Tensor((4,), "float32") = R.exp(e)
        g = cls.inner(f)
        return g
    @R.function(private=True)
    def inner(x: R.Tensor((4,), "float32")):
        return R.exp(x)
"""
PROGRAM = """    @T.prim_func
    def f{0}(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32({0})
"""
MIXED = HEAD + "".join(map(PROGRAM.format, range(9))) + GRAPH


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Scripts are cut wherever they can be; the texts that were parsed."""
    texts: list[str] = []
    parse = Source.parse

    def noted(source: Source, text: str = "") -> object:
        texts.append(text or source.text)
        return parse(source, text)

    monkeypatch.setattr(pieces, "_LONG", 0)
    monkeypatch.setattr(pieces, "_SIZE", 1)
    monkeypatch.setattr(pieces, "_MOST_PIECES", 1 << 30)
    monkeypatch.setattr(Source, "parse", noted)
    return texts


def located(text: str) -> str:
    """The module with the places of all operations."""
    return str(read_script(Source(text, "script.py"), context=shared()).operation.get_asm(enable_debug_info=True))


def whole(text: str, read: Callable[[str], str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_LONG", 1 << 30)
        return read(text)


def test_pieces_are_read_as_the_whole_is(taken: list[str]) -> None:
    expected = whole(MIXED, located)
    del taken[:]
    assert located(MIXED) == expected
    assert len(taken) > 15 and MIXED not in taken
    assert max(text.count("R.") for text in taken[1:]) == 4  # the `with`, which is one statement


def test_the_scripts_of_the_lit_tests(taken: list[str]) -> None:
    count = 0
    for path in sorted((_TESTS / "passes").glob("*.py")):
        for text in re.split(r"^# -----.*$", path.read_text(), flags=re.MULTILINE):
            try:
                expected = whole(text, located)
            except RelaxError:
                continue
            del taken[:]
            assert located(text) == expected, path
            count += text not in taken
    assert count > 50


@pytest.mark.parametrize(
    "statement", ["n = T.int64()\n        b = R.add(a, a)", "size = R.add(a, a)\n        b = size"]
)
def test_what_names_mean_above_is_read_as_a_whole(taken: list[str], statement: str) -> None:
    """Symbols are known in the signature; a name of the function's own is no constant around it, not above either."""
    function = f"""@R.function
def main(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        {statement}
        return R.add(a, b)
"""
    text = f"size = 4\n{function}"
    assert located(text) == whole(text, located)
    assert text in taken


def test_errors_are_told_in_the_order_of_a_short_script(taken: list[str]) -> None:
    def refused(text: str) -> str:
        with pytest.raises(ScriptError) as error:
            located(text)
        return str(error.value)

    wrong = MIXED.replace("R.nn.relu(", "R.nn.relo(")
    worse = wrong.replace("return R.exp(x)", "return R.exp(x")
    swapped = MIXED.replace("        with R.dataflow():\n", "")
    for text in (wrong, worse, swapped):
        assert refused(text) == whole(text, refused)
    assert "R has no 'nn.relo'; did you mean 'nn.relu'" in refused(wrong)
    assert "'(' was never closed" in refused(worse)
    assert "unexpected indent" in refused(swapped)


@pytest.mark.parametrize(
    "text",
    [
        MIXED.replace("# from here on", '"""from\n        here on"""'),
        MIXED.replace("# from here on", "t = 'from \\\n        here on'"),
        MIXED.replace("a = R.add(x, y)", "a = R.add(\n        x,\n        y)"),
    ],
    ids=["text over lines", "lines that are joined", "brackets"],
)
def test_lines_that_go_on_are_no_statements(taken: list[str], text: str) -> None:
    assert located(text) == whole(text, located)
