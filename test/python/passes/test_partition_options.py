# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of codegens: declared with types, passed to compile as values, and refused before that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest
from partitioning import Native, built, codegen
from relax_mlir.passes.graph.partition.codegen import parse_codegen
from relax_mlir.passes.graph.partition.options import options_text

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

EXP = [("npu.exp", is_op("relax.exp"))]


def even(text: str) -> int:
    """Parse an option with a custom reader."""
    if int(text) % 2:
        raise ValueError(f"expects an even number, got '{text}'")
    return int(text)


def fails(text: str) -> int:
    raise OSError("no device")


OPTIONS: Mapping[str, Any] = {
    "cores": rx.CodegenOption("how many", int, 4, least=1, most=8),
    "share": rx.CodegenOption("of memory", float, least=0.5),
    "mode": rx.CodegenOption("how", Literal["fast", "exact"], "fast"),
    "trace": rx.CodegenOption("whether", bool, False),
    "names": rx.CodegenOption("which", tuple[str, ...], ()),
    "pairs": rx.CodegenOption("in pairs", even),
    "device": rx.CodegenOption("where", fails),
    "note": "text",
}
DEFAULTS = {"cores": 4, "share": None, "mode": "fast", "trace": False, "names": (), "pairs": None, "device": None}


def test_values_have_their_types_and_defaults() -> None:
    seen: list[Any] = []

    class Seeing(Native):
        options = OPTIONS

        def compile(self, module: rx.Module, options: Mapping[str, Any]) -> bytes:
            seen.append(dict(options))
            return super().compile(module, options)

    module = built(lambda a, b: relax.exp(a))
    given = "npu{cores=8 share=0.5 mode=exact trace names=a,b pairs=12 note='two words'}"
    with codegen(EXP, base=Seeing):
        rx.compile(module, partition=["npu"])
        rx.compile(module, partition=[given])
        assert str(parse_codegen(str(parse_codegen(given)))) == given.replace("'", '"')
    assert seen[0] == {**DEFAULTS, "note": None}
    stated = {"cores": 8, "share": 0.5, "mode": "exact", "trace": True, "names": ("a", "b"), "pairs": 12}
    assert seen[1] == {**DEFAULTS, **stated, "note": "two words"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("core=1", r"codegen 'npu' has no option 'core'; did you mean 'cores'\? \(it has cores, share, "),
        ("cores=x", "option 'cores' expects an integer from 1 to 8, got 'x'"),
        ("cores=0", "option 'cores' expects an integer from 1 to 8, got '0'"),
        ("cores=9", "option 'cores' expects an integer from 1 to 8, got '9'"),
        ("cores", "option 'cores' needs a value: an integer from 1 to 8"),
        ("cores=", "option 'cores' needs a value: an integer from 1 to 8"),
        ("cores=1 cores=1", "option 'cores' is given twice"),
        ("share=0.4", "option 'share' expects a number from 0.5 on, got '0.4'"),
        ("share=nan", "option 'share' expects a number from 0.5 on, got 'nan'"),
        ("mode=exakt", "option 'mode' expects one of fast, exact, got 'exakt'; did you mean 'exact'"),
        ("trace=maybe", "option 'trace' expects true or false, got 'maybe'"),
        ("pairs=3", "option 'pairs' expects an even number, got '3'"),
        ("pairs", "option 'pairs' needs a value"),
        ("device=0", "option 'device': OSError: no device"),
        ("note", "option 'note' needs a value: text"),
    ],
)
def test_values_that_mean_nothing(given: str, message: str) -> None:
    compiled = pytest.fail  # nothing is
    with codegen(EXP, options=OPTIONS, compile=compiled), pytest.raises(rx.RelaxError, match=message):
        rx.compile(built(lambda a, b: relax.exp(a)), partition=[f"npu{{{given}}}"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"x": 3}, "option 'x' must be a description or an rx.codegens.CodegenOption, not 3"),
        ({"a b": "text"}, "option 'a b': its name must be an identifier"),
        ({"x": rx.CodegenOption("", 3)}, "option 'x': its type is 3, neither a type nor a function"),
        ({"x": rx.CodegenOption("", int, "4")}, "option 'x' expects an integer, its default is '4'"),
        ({"x": rx.CodegenOption("", int, 0, least=1)}, "option 'x' expects an integer from 1 on, its default is 0"),
        ({"x": rx.CodegenOption("", Literal["a"], "b")}, "option 'x' expects one of a, its default is 'b'"),
    ],
)
def test_declarations_that_mean_nothing(option: Mapping[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=f"codegen 'npu': {message}"), codegen(EXP, options=option):
        pass


def test_options_are_listed() -> None:
    with codegen(EXP, options=OPTIONS):
        shown = options_text(parse_codegen("npu").codegen.options)  # type: ignore[arg-type]  # of one that is registered
    assert shown[:3] == [
        "cores: how many (an integer from 1 to 8; default 4)",
        "share: of memory (a number from 0.5 on)",
        "mode: how (one of fast, exact; default fast)",
    ]
    assert shown[-1] == "note: text"
