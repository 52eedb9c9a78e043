# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts in colours: every character appears once and unchanged, and colours mark the right kinds of words."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.support.highlighting import COLOURS, highlighted, marks, pieces

SCRIPT = '''\
@I.ir_module(ssa=True)
class Module:  # a comment
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.nn.relu(x) + T.float32(1.5e-3)
        I.mlir(r"""two "lines"
  // <b>""")
        return y, Tx.ray, R, x.R.y
'''
_STYLED = re.compile(r'<span style="color:(#[0-9a-f]{6})">([^<]*)</span>')


def coloured(script: str) -> list[tuple[str, str]]:
    return [(kind, script[start:end]) for start, end, kind in pieces(script)]


def text_of(shown: str) -> str:
    return html.unescape(_STYLED.sub(r"\2", shown))


def test_each_kind_has_its_words() -> None:
    by_kind: dict[str, list[str]] = {kind: [] for kind in COLOURS}
    for kind, text in coloured(SCRIPT):
        by_kind[kind].append(text)
    assert by_kind == {
        "keyword": ["True", "class", "def", "return"],
        "word": ["I.ir_module", "R.function", "R.Tensor", "R.nn.relu", "T.float32", "I.mlir"],
        "string": ['"float32"', 'r"""two "lines"\n  // <b>"""'],
        "number": ["4", "1.5e-3"],
        "comment": ["# a comment"],
    }


def test_html_is_the_text_and_brings_its_colours() -> None:
    shown = highlighted(SCRIPT)
    assert text_of(shown) == SCRIPT
    assert "<b>" not in shown
    assert _STYLED.findall(shown)[0] == (COLOURS["word"], "I.ir_module")


def test_marks_tell_the_pieces() -> None:
    numbers, at, found = marks(SCRIPT), 0, []
    for gap, length, kind in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        at += gap
        found.append((list(COLOURS)[kind], SCRIPT[at : at + length]))
        at += length
    assert found == coloured(SCRIPT)


@pytest.mark.parametrize("end", ["I.mlir('''never", "(((", "    x\n  y", '"\ud800"', "\0", "x = '", "\f\rR.a\r"])
def test_a_text_that_is_no_python_to_its_end_is_whole(end: str) -> None:
    text = f"# begun\nreturn R.exp(1)\n{end}"
    assert text_of(highlighted(text)) == text
    # Python 3.12 tokenizes the whole text, and raises an error before it yields the first token.
    assert coloured(text)[:2] in ([("comment", "# begun"), ("keyword", "return")], [])


@given(st.text(alphabet="RT.x1 \n\t'\"#é𝛼()\\<&:", max_size=60))
def test_no_character_is_lost(text: str) -> None:
    assert text_of(highlighted(text)) == text


@pytest.mark.parametrize("background", ["#ffffff", "#1c1c1c"])
def test_colours_can_be_read(background: str) -> None:
    for colour in COLOURS.values():
        darker, lighter = sorted((luminance(colour), luminance(background)))
        assert (lighter + 0.05) / (darker + 0.05) > 4


def luminance(colour: str) -> float:
    """Return the luminance that WCAG defines."""
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
