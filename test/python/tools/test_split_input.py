# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--split-input-file: chunks keep their line numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.tools.opt.split_input import SPLIT_MARKER, near_split_markers, split_input

line_text = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)
plain_line = st.one_of(line_text, st.sampled_from(["func.func @f()", "// ----", "//-----", ""])).filter(
    lambda line: not line.rstrip(" \t\r").endswith(SPLIT_MARKER)
)
marker_line = st.sampled_from([SPLIT_MARKER, f"  {SPLIT_MARKER}", f"{SPLIT_MARKER} \t", f"{SPLIT_MARKER}\r"])


@given(st.lists(st.one_of(plain_line, marker_line), max_size=20))
def test_every_line_keeps_its_number(lines):
    chunks = split_input("\n".join(lines))
    seen = 0
    for number, line in enumerate(lines, 1):
        if line.strip() == SPLIT_MARKER:
            continue
        holders = [chunk for chunk in chunks if chunk.first_line <= number <= chunk.text.count("\n") + 1]
        assert any(chunk.text.split("\n")[number - 1] == line for chunk in holders)
        seen += 1
    assert seen == sum(line.strip() != SPLIT_MARKER for line in lines)


@given(st.lists(st.lists(plain_line, max_size=4).map(lambda lines: "".join(f"{x}\n" for x in lines)), min_size=1))
def test_joined_chunks_are_the_text(parts):
    chunks = split_input(f"{SPLIT_MARKER}\n".join(parts))
    assert [chunk.text[chunk.first_line - 1 :] for chunk in chunks] == parts
    assert all(chunk.text[: chunk.first_line - 1].strip("\n") == "" for chunk in chunks)


@given(st.lists(plain_line))
def test_without_markers_there_is_one_chunk(lines):
    text = "\n".join(lines)
    assert split_input(text) == [(text, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("", 1)]),
        ("a\n// -----\nb\n", [("a\n", 1), ("\n\nb\n", 3)]),
        ("a\n// -----", [("a\n", 1), ("\n", 2)]),
        ("a // -----\nb", [("a ", 1), ("\nb", 2)]),
        ("// -----\n// -----\n", [("", 1), ("\n", 2), ("\n\n", 3)]),
        ("a\n// ----- b\nc", [("a\n// ----- b\nc", 1)]),
        ("a\n// ------\nc", [("a\n// ------\nc", 1)]),
    ],
)
def test_split(text, expected):
    assert split_input(text) == expected


def test_other_marker():
    assert split_input("a\n#next\nb\n// -----\n", "#next") == [("a\n", 1), ("\n\nb\n// -----\n", 3)]


def test_near_markers():
    assert near_split_markers("// ----\n// -----\n  // ------\n//-----\n// --- x\n// -------\n") == [1, 3, 4]
