# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts with functions that are parsed in pieces: the same module, locations and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lit_graphs import COMMAND, expand
from relax_mlir.frontends.script.common import pieces
from relax_mlir.frontends.script.common.source import ScriptError, Source
from relax_mlir.frontends.script.module import read_script
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
    """Cut scripts wherever possible, and return the parsed texts."""
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
    """Return the module with the locations of all operations."""
    return str(read_script(Source(text, "script.py"), context=shared()).operation.get_asm(enable_debug_info=True))


def whole(text: str, read: Callable[[str], str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_LONG", 1 << 30)
        return read(text)


def test_pieces_and_the_whole_text_have_the_same_result(taken: list[str]) -> None:
    expected = whole(MIXED, located)
    del taken[:]
    assert located(MIXED) == expected
    assert len(taken) > 15 and MIXED not in taken
    assert max(text.count("R.") for text in taken[1:]) == 4  # the `with`, which is one statement


def test_the_scripts_of_the_lit_tests(taken: list[str]) -> None:
    count = 0
    for path in sorted((_TESTS / "passes").glob("*.py")):
        script = path.read_text()
        script = expand(script) if COMMAND.search(script) else script
        for text in re.split(r"^# -----.*$", script, flags=re.MULTILINE):
            try:
                expected = whole(text, located)
            except RelaxError:
                continue
            del taken[:]
            assert located(text) == expected, path
            count += text not in taken
    assert count > 50


def test_symbols_are_known_above_where_they_are_made(taken: list[str]) -> None:
    text = """@R.function
def main(x: R.Tensor((n,), "float32")):
        a = R.exp(x)
        n = T.int64()
        return a
"""
    assert located(text) == whole(text, located)
    assert text in taken


def refused(text: str) -> str:
    with pytest.raises(ScriptError) as error:
        located(text)
    return str(error.value)


def test_a_name_of_the_function_is_no_constant_around_it_not_above_either(taken: list[str]) -> None:
    body = "        a = R.strided_slice(x, [0], [0], [size])\n        size = R.exp(a)\n        return size\n"
    text = f'size = 2\n@R.function\ndef main(x: R.Tensor((4,), "float32")):\n{body}'
    assert "there is no 'size' here" in refused(text)
    assert located(text.replace("size = R", "other = R").replace("return size", "return other"))


def test_errors_are_reported_in_the_order_of_a_short_script(taken: list[str]) -> None:
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
        MIXED.replace("a = R.add(x, y)\n", "a = R.add(x, y)\r"),
    ],
    ids=["text over lines", "lines that are joined", "brackets", "lines that end otherwise"],
)
def test_lines_that_go_on_are_no_statements(taken: list[str], text: str) -> None:
    assert located(text) == whole(text, located)


def test_blocks_of_an_operation_are_no_functions(taken: list[str]) -> None:
    """Parse the blocks of an operation together with their surroundings."""
    text = """@I.ir_module(ssa=True)
class Module:
    with I.op("test.op"):
        def bb0(x: T.int32):
            I.op("test.inner", x)
            I.op("test.end")
"""
    assert "test.inner" in located(text)
    assert text in taken


def test_constants_have_the_same_names_where_a_cut_is_wrong(taken: list[str]) -> None:
    text = """@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        c = I.const(I.resource("w"))
        y = R.add(
        x, c)
        return y
    I.resource("w", "tensor<2xf32>", "AAAAAAAAAAA=")
"""
    module = read_script(Source(text, "script.py"))
    assert len(taken) > 2
    assert "dense_resource<w>" in str(module)
