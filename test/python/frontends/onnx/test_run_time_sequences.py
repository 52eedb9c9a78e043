# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences of dynamic length, optionals of dynamic presence, dynamic positions."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from sequence_models import Compared, compiled, floats, integer, plain, refused, same, truth

# ---- positions and lengths that are dynamic ----

_PLACES = """(seq(float[n]) xs, float[m] x, int64 where) => (float[a] at, seq(float[b]) more, seq(float[c]) fewer) {
    at = SequenceAt (xs, where)
    more = SequenceInsert (xs, x, where)
    fewer = SequenceErase (xs, where)
}"""


def test_positions_at_run_time() -> None:
    compared = Compared(_PLACES, xs=[(None,)] * 3)
    xs = [floats(2), floats(4), floats(1)]
    for where in (0, 1, 2, -1, -3):
        compared(xs, floats(3), integer(where))
    for where in (3, -4):  # 3 is where SequenceInsert could insert, but nothing is there
        with pytest.raises(
            AssertionError, match='"at": SequenceAt: the position is out of range for a sequence of 3 items'
        ):
            compared.main(xs, floats(3), integer(where))


def test_tensors_of_a_sequence_may_have_different_unknown_sizes() -> None:
    compared = Compared("""(float[n] x, float[n] y, int64 where) => (int64[1, a] at) {
        of_x = NonZero (x)
        of_y = NonZero (y)
        both = SequenceConstruct (of_x, of_y)
        at = SequenceAt (both, where)
    }""")
    for where in (0, 1):
        compared(numpy.array([1, 0, 2], "float32"), numpy.array([0, 3, 0], "float32"), integer(where))


def test_tensors_of_different_ranks_have_no_position_at_run_time() -> None:
    assert "one is f32 [2], another one f32 [2, 3]: a tensor has one element type and one rank" in refused(
        _PLACES.replace("float[n]", "float[]"), xs=[(2,), (2, 3)]
    )


def test_lengths_of_parts_at_run_time() -> None:
    compared = Compared("""(float[n, 2] x, int64[3] lengths) => (seq(float[m, 2]) parts) {
        parts = SplitToSequence <axis = 0> (x, lengths)
    }""")
    compared(floats(6, 2), numpy.array([1, 2, 3]))
    compared(floats(4, 2), numpy.array([0, 4, 0]))
    for wrong in ([1, 2, 2], [1, 2, 4], [-1, 4, 3]):
        with pytest.raises(AssertionError, match="the lengths of the parts do not add up to the size of axis 0"):
            compared.main(floats(6, 2), numpy.array(wrong))


@draws(30)
@given(size=st.integers(0, 9), length=st.integers(1, 4))
def test_parts_of_one_length(size: int, length: int) -> None:
    """Split into parts of one length, with a dynamic number of parts."""
    x = numpy.arange(2 * size, dtype="float32").reshape(2, size)
    parts = plain(_splitter()(x, integer(length)))
    same(parts, [x[:, begin : begin + length] for begin in range(0, size, length)])


def _splitter(found: list[Any] = []) -> Any:  # noqa: B006  # compiled once
    if not found:
        found.append(
            compiled("""(float[2, n] x, int64 length) => (seq(float[2, m]) parts) {
            parts = SplitToSequence <axis = 1> (x, length)
        }""")
        )
    return found[0]


def test_no_part_has_no_length() -> None:
    with pytest.raises(AssertionError, match="the length of the parts must be positive"):
        _splitter()(floats(2, 3), integer(0))


def test_rows_of_an_axis_whose_size_only_the_run_tells() -> None:
    compared = Compared("""(float[n, 3] x) => (seq(float[3]) rows, int64 length) {
        rows = SplitToSequence <axis = 0, keepdims = 0> (x)
        length = SequenceLength (rows)
    }""")
    compared(floats(4, 3))
    compared(floats(1, 3))


# ---- loops and branches ----

_GROW = """(int64 n, float[k] x) => (seq(float[m]) all) {
    go = Constant <value = bool {1}> ()
    none = SequenceEmpty <dtype = 1> ()
    all = Loop (n, go, none) <body = b (int64 i, bool c, seq(float[m]) h) => (bool d, seq(float[m]) g) {
        d = Identity (c)
        zero = Constant <value = int64[1] {0}> ()
        one = Constant <value = int64[1] {1}> ()
        end = Add (i, one)
        part = Slice (x, zero, end)
        g = SequenceInsert (h, part)
    }>
}"""
_LOOKED_AT = """
    length = SequenceLength (all)
    behind = Constant <value = int64 {-1}> ()
    last = SequenceAt (all, behind)
    whole = ConcatFromSequence <axis = 0> (all)
}"""


def test_a_sequence_that_a_loop_makes() -> None:
    text = _GROW.replace("all) {", "all, int64 length, float[p] last, float[q] whole) {", 1)
    compared = Compared(text.removesuffix("}") + _LOOKED_AT)
    for turns in (4, 1, 6):
        compared(integer(turns), floats(4))
    with pytest.raises(AssertionError, match='"last": SequenceAt: the position is out of range for a sequence'):
        compared.main(integer(0), floats(4))


def test_a_loop_without_turns_makes_an_empty_sequence() -> None:
    assert plain(compiled(_GROW)(integer(0), floats(4))) == []


def test_a_sequence_may_begin_with_tensors_of_another_rank() -> None:
    """Append to a sequence that has tensors of another rank. A loop appends tensors of one rank."""
    text = """(int64 n, seq(float[]) xs, float[k] x) => (seq(float[]) all, float[p] first) {
        go = Constant <value = bool {1}> ()
        all = Loop (n, go, xs) <body = b (int64 i, bool c, seq(float[]) h) => (bool d, seq(float[]) g) {
            d = Identity (c)
            g = SequenceInsert (h, x)
        }>
        zero = Constant <value = int64 {0}> ()
        first = SequenceAt (all, zero)
    }"""
    xs, x = [floats(2, 3), floats()], floats(4)
    every, first = compiled(text, xs=[(None, 3), ()])(integer(2), xs, x)
    same(plain(every), [*xs, x, x])
    same(plain(first), xs[0])


def test_operators_on_a_sequence_of_unknown_length() -> None:
    compared = Compared("""(float[n, 2] x, int64 length, int64 where)
        => (seq(float[a, 2]) mapped, float[b, 2] at, float[2, c, 2] stacked, float[d, e] side, seq(float[f, 2]) more) {
        parts = SplitToSequence <axis = 0> (x, length)
        mapped = SequenceMap <body = b (float[p, 2] e) => (float[p, 2] f) { f = Neg (e) }> (parts)
        at = SequenceAt (mapped, where)
        stacked = ConcatFromSequence <axis = 1, new_axis = 1> (parts)
        side = ConcatFromSequence <axis = 1> (mapped)
        more = SequenceInsert (mapped, at)
    }""")
    compared(floats(6, 2), integer(2), integer(1))
    compared(floats(6, 2), integer(3), integer(-1))
    compared(floats(4, 2), integer(4), integer(0))


def test_inserting_and_erasing_at_run_time() -> None:
    text = """(float[n, 2] x, int64 length, int64 where, float[m, 2] new)
        => (seq(float[a, 2]) more, seq(float[b, 2]) fewer, seq(float[c, 2]) begun) {
        parts = SplitToSequence <axis = 0> (x, length)
        more = SequenceInsert (parts, new, where)
        fewer = SequenceErase (parts, where)
        begun = SequenceErase (more)
    }"""
    compared = Compared(text)
    for where in (0, 1, 2, -1, -3):
        compared(floats(5, 2), integer(2), integer(where), floats(3, 2))
    for where, node in ((3, '"fewer": SequenceErase'), (-4, '"more": SequenceInsert')):  # 3 is the end
        with pytest.raises(AssertionError, match=f"{node}: the position is out of range"):
            compared.main(floats(5, 2), integer(2), integer(where), floats(3, 2))
    empty = compiled(text.replace("SequenceErase (parts, where)", "Identity (parts)"))
    more, fewer, begun = (plain(each) for each in empty(floats(0, 2), integer(2), integer(0), floats(3, 2)))
    same(more, [floats(3, 2)])
    assert fewer == begun == []


def test_erasing_from_nothing() -> None:
    main = compiled("""(float[n] x, int64 length) => (seq(float[a]) fewer) {
        parts = SplitToSequence <axis = 0> (x, length)
        fewer = SequenceErase (parts)
    }""")
    same(plain(main(floats(5), integer(3))), [floats(5)[:3]])
    with pytest.raises(AssertionError, match="the sequence has no item to erase"):
        main(floats(0), integer(3))


def test_constants_that_a_loop_and_others_use() -> None:
    """Check that a change of a constant in an iteration is invisible after the loop."""
    compared = Compared("""(int64 length) => (seq(float[n]) sums, float[4] y, seq(float[m]) none)
    <float[4] c = {1, 2, 3, 4}, float[1] one = {1}> {
        parts = SplitToSequence <axis = 0> (c, length)
        sums = SequenceMap <body = b (float[p] e, float[1] f) => (float[p] g) { g = Add (e, f) }> (parts, one)
        y = Mul (c, one)
        zero = Constant <value = int64 {0}> ()
        many = SequenceConstruct (c)
        empty = SequenceErase (many, zero)
        none = SequenceMap <body = h (float[p] i) => (float[p] j) { j = Neg (i) }> (empty)
    }""")
    compared(integer(3))
    compared(integer(1))


def test_sequences_of_different_lengths_cannot_be_mapped_together() -> None:
    main = compiled("""(float[n] x, int64 length, seq(float[m]) ys) => (seq(float[p]) sums) {
        parts = SplitToSequence <axis = 0> (x, length)
        sums = SequenceMap <body = b (float[p] e, float[p] f) => (float[p] g) { g = Add (e, f) }> (parts, ys)
    }""", ys=[(None,), (None,)])  # fmt: skip
    ys = [floats(2), floats(2)]
    same(plain(main(floats(4), integer(2), ys)), [floats(4)[:2] + ys[0], floats(4)[2:] + ys[1]])
    with pytest.raises(AssertionError, match="the sequences have different lengths"):
        main(floats(6), integer(2), ys)


def test_a_loop_whose_sequences_keep_their_length() -> None:
    compared = Compared("""(int64 n, seq(float[m]) xs) => (seq(float[p]) ys) {
        go = Constant <value = bool {1}> ()
        ys = Loop (n, go, xs) <body = b (int64 i, bool c, seq(float[m]) h) => (bool d, seq(float[m]) g) {
            d = Identity (c)
            zero = Constant <value = int64 {0}> ()
            first = SequenceAt (h, zero)
            rest = SequenceErase (h, zero)
            twice = Concat <axis = 0> (first, first)
            g = SequenceInsert (rest, twice)
        }>
    }""", xs=[(None,)] * 3)  # fmt: skip
    for turns in (0, 1, 4):
        compared(integer(turns), [floats(1), floats(2), floats(3)])


def test_branches_with_sequences_of_different_lengths() -> None:
    compared = Compared("""(bool c, seq(float[n]) xs, float[m] x) => (seq(float[p]) ys) {
        ys = If (c) <
            then_branch = a () => (seq(float[p]) r) { r = Identity (xs) },
            else_branch = b () => (seq(float[p]) s) { s = SequenceConstruct (x, x, x) }
        >
    }""", xs=[(None,), (None,)])  # fmt: skip
    for condition in (True, False):
        compared(truth(condition), [floats(3), floats(2)], floats(4))


def test_sequences_of_unknown_and_known_types_cannot_be_joined() -> None:
    text = """(bool c, seq(float[]) xs, float[m] x) => (seq(float[]) ys) {
        ys = If (c) <
            then_branch = a () => (seq(float[]) r) { r = Identity (xs) },
            else_branch = b () => (seq(float[]) s) { s = SequenceConstruct (x) }
        >
    }"""
    assert "needs tensors of one rank, got ranks 0, 2" in refused(text, xs=[(3,), (2, 2), ()])
    tensor = text.replace("SequenceConstruct (x)", "Identity (x)")
    assert "cannot choose between a sequence of 2 and a tensor" in refused(tensor, xs=[(3,), (3,)])
    ints = text.replace("seq(float[]) xs", "seq(int64[]) xs")
    assert "cannot choose between sequences of i64 and of f32" in refused(ints, xs=[(3,), (3,)])


def test_element_types() -> None:
    for dtype, number in (("float16", 10), ("int8", 3), ("bool", 9), ("double", 11)):
        main = compiled(f"""({dtype}[n] x, int64 length) => (seq({dtype}[m]) parts) {{
            parts = SplitToSequence <axis = 0> (x, length)
        }}""")
        x = numpy.arange(5).astype(onnx.helper.tensor_dtype_to_np_dtype(number))
        same(plain(main(x, integer(2))), [x[:2], x[2:4], x[4:]])


def test_branches_may_return_an_empty_and_a_filled_sequence() -> None:
    main = compiled("""(bool c, int64[n] x) => (seq(int64[m]) ys) {
        ys = If (c) <
            then_branch = a () => (seq(int64[m]) r) { r = SequenceConstruct (x, x) },
            else_branch = b () => (seq(int64[m]) s) { s = SequenceEmpty <dtype = 7> () }
        >
    }""")
    x = numpy.arange(3)
    same(plain(main(truth(True), x)), [x, x])
    assert plain(main(truth(False), x)) == []


def test_dynamic_sequences_refuse_mixed_ranks() -> None:
    text = """(float[n] x, float[k, 2] y, int64 length) => (seq(float[]) ys) {
        parts = SplitToSequence <axis = 0> (x, length)
        ys = SequenceInsert (parts, y)
    }"""
    assert "needs tensors of one rank and type, got 1-D f32 and 2-D f32" in refused(text)


# ---- optionals ----


@pytest.mark.parametrize("made", ["float[n, 2]", "seq(float[n, 2])"])
def test_optionals_of_which_only_the_run_tells(made: str) -> None:
    maker = "Identity (x)" if made.startswith("float") else "SequenceConstruct (x, x)"
    main = compiled(f"""(bool c, float[n, 2] x) => (bool has, optional({made}) y, float[n, 2] z) {{
        y = If (c) <
            then_branch = a () => (optional({made}) r) {{ t = {maker}  r = Optional (t) }},
            else_branch = b () => (optional({made}) s) {{ s = Optional <type = {made}> () }}
        >
        has = OptionalHasElement (y)
        z = If (has) <
            then_branch = d () => (float[n, 2] u) {{ u = Neg (x) }},
            else_branch = e () => (float[n, 2] v) {{ v = Identity (x) }}
        >
    }}""")
    x = floats(3, 2)
    has, y, z = main(truth(True), x)
    assert plain(has)
    same(plain(y), x if made.startswith("float") else [x, x])
    same(plain(z), -x)
    has, y, z = main(truth(False), x)
    assert not plain(has) and y is None
    same(plain(z), x)


def test_an_empty_optional_is_not_opened_at_run_time() -> None:
    main = compiled("""(bool c, float[n] x) => (float[n] y) {
        some = If (c) <
            then_branch = a () => (optional(float[n]) r) { r = Optional (x) },
            else_branch = b () => (optional(float[n]) s) { s = Optional <type = float[n]> () }
        >
        y = OptionalGetElement (some)
    }""")
    same(plain(main(truth(True), floats(3))), floats(3))
    with pytest.raises(AssertionError, match='"y": OptionalGetElement: the optional is empty'):
        main(truth(False), floats(3))


def test_a_loop_that_fills_an_optional() -> None:
    main = compiled("""(int64 n, optional(float[k]) none, float[k] x) => (optional(float[k]) y) {
        go = Constant <value = bool {1}> ()
        y = Loop (n, go, none) <
        body = b (int64 i, bool c, optional(float[k]) h) => (bool d, optional(float[k]) g) {
            d = Identity (c)
            has = OptionalHasElement (h)
            g = If (has) <
                then_branch = p () => (optional(float[k]) r) { t = OptionalGetElement (h)  r = Add (t, x) },
                else_branch = q () => (optional(float[k]) s) { s = Optional (x) }
            >
        }>
    }""", none=None)  # fmt: skip
    assert main(integer(0), None, floats(3)) is None
    for turns in (1, 3):
        same(plain(main(integer(turns), None, floats(3))), turns * floats(3))
