# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""If, Loop, Scan, sequences and optionals: the node suite's cases, and loops with run-time conditions."""

from __future__ import annotations

from typing import Any

import numpy
import onnx.parser
import pytest
from against_onnxruntime import Compared
from compiling import array

import relax_mlir as rx


def _model(text: str, opset: int = 21) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\nmain {text}')


def _check(model: Any, *inputs: Any, **shapes: Any) -> Compared:
    compared = Compared(model, shapes)
    compared(*inputs)
    return compared


def _floats(*shape: int) -> Any:
    return numpy.random.default_rng(3).normal(size=shape).astype("float32")


def _truth(value: bool) -> Any:
    return numpy.array(value)


def _int(value: int) -> Any:
    return numpy.array(value, "int64")


# ---- If ----

_BRANCHES = """(bool c, float[n, 4] x, float[4] w) => (float[m, 4] y) {
    y = If (c) <
        then_branch = a () => (float[p, 4] r) { t = Add (x, w)  r = Concat <axis = 0> (t, x) },
        else_branch = b () => (float[q, 4] s) { s = Mul (x, w) }
    >
}"""


def test_branches_whose_results_differ_in_size() -> None:
    model = _model(_BRANCHES)
    compared = _check(model, _truth(True), _floats(3, 4), _floats(4))
    compared(_truth(False), _floats(5, 4), _floats(4))


_FOUND = "f = NonZero (x)  r = Transpose <perm = [1, 0]> (f)"


def test_sizes_of_a_branch_stay_in_the_branch() -> None:
    """Name NonZero's columns separately in each region."""
    model = _model(f"""(bool c, float[n] x) => (int64[a, 1] y, int64[b] after) {{
        y = If (c) <
            then_branch = a () => (int64[p, 1] r) {{ {_FOUND} }},
            else_branch = b () => (int64[q, 1] s) {{ s = Constant <value = int64[2, 1] {{4, 5}}> () }}
        >
        after = Shape (y)
    }}""")
    compared = _check(model, _truth(True), numpy.float32([0, 1, 0, 2, 3]))
    compared(_truth(False), numpy.float32([0]))


def test_sizes_that_a_turn_finds_are_not_known_outside_of_the_loop() -> None:
    """Loop with a state that changes its size in each iteration, and rows with sizes that no iteration passes on."""
    model = _model(f"""(int64 turns, int64[a, 1] start, float[n] x) => (int64[b, 1] last, int64[c, d, 1] rows) {{
        go = Constant <value = bool {{1}}> ()
        last, rows = Loop (turns, go, start) <
            body = turn (int64 i, bool on, int64[e, 1] held) => (bool on2, int64[f, 1] grown, int64[g, 1] r) {{
                on2 = Identity (on)
                {_FOUND}
                grown = Concat <axis = 0> (held, r)
            }}
        >
    }}""")
    compared = _check(model, _int(3), numpy.zeros((1, 1), "int64"), numpy.float32([0, 1, 0, 2, 3]))
    compared(_int(0), numpy.zeros((2, 1), "int64"), numpy.float32([]))


def test_a_known_condition_picks_its_branch() -> None:
    model = _model("""(float[n] x) => (float[n] y) {
        c = Constant <value = bool {0}> ()
        y = If (c) <
            then_branch = a () => (float[n] r) { r = NoSuchOperator (x) },
            else_branch = b () => (float[n] s) { s = Neg (x) }
        >
    }""")
    module = rx.from_onnx(model)
    assert "scf" not in str(module)
    x = _floats(3)
    numpy.testing.assert_array_equal(array(rx.compile(module)["main"](x)), -x)


def test_constants_that_a_branch_and_others_use() -> None:
    """Check that a change of a constant in a branch is invisible after the branch."""
    large = ", ".join(str(each) for each in range(100))
    model = _model(f"""(bool c, float[100] x) => (float[100] y)
    <float[1] one = {{1}}, float[100] many = {{{large}}}> {{
        t = If (c) <
            then_branch = a () => (float[100] r) {{ h = Add (x, one)  r = Mul (h, many) }},
            else_branch = b () => (float[100] s) {{ s = Sub (x, one) }}
        >
        u = Add (t, many)
        y = Mul (u, one)
    }}""")
    compared = _check(model, _truth(True), _floats(100))
    compared(_truth(False), _floats(100))


def test_problems_inside_of_a_branch_are_listed_once() -> None:
    model = _model("""(bool c, float[n] x) => (float[n] y) {
        y = If (c) <
            then_branch = a () => (float[n] r) { r = NoSuchOperator (x) },
            else_branch = b () => (float[n] s) { s = Identity (x) }
        >
    }""")
    with pytest.raises(rx.RelaxError, match="1 node of the model cannot be imported") as raised:
        rx.from_onnx(model)
    assert "NoSuchOperator" in str(raised.value)


# ---- Loop ----

_COUNTED = """(int64 n, float[k, 2] x) => (float[k, 2] last, float[t, k, 2] rows) {
    go = Constant <value = bool {1}> ()
    last, rows = Loop (n, go, x) <body = b (int64 i, bool c, float[k, 2] h) => (bool d, float[k, 2] g, float[k, 2] r) {
        d = Identity (c)
        f = Cast <to = 1> (i)
        g = Add (h, f)
        r = Mul (g, x)
    }>
}"""


def test_a_counted_loop_gathers_rows() -> None:
    model = _model(_COUNTED)
    compared = _check(model, _int(3), _floats(2, 2))
    compared(_int(1), _floats(4, 2))
    compared(_int(5), _floats(1, 2))
    _, rows = compared(_int(0), _floats(4, 2), outputs=[0])
    assert rows.shape == (0, 4, 2)


def test_a_loop_that_ends_itself_and_grows() -> None:
    model = _model("""(int64 n, bool first, float[k] x) => (float[m] last, float[t] sums) {
        last, sums = Loop (n, first, x) <
        body = b (int64 i, bool c, float[p] h) => (bool d, float[q] g, float r) {
            g = Concat <axis = 0> (h, x)
            r = ReduceSum <keepdims = 0> (g)
            limit = Constant <value = int64 {3}> ()
            d = Less (i, limit)
        }>
    }""")
    compared = _check(model, _int(10), _truth(True), _floats(3))
    compared(_int(2), _truth(True), _floats(4))
    compared(_int(2), _truth(False), _floats(4))


def test_a_state_that_grows_where_nothing_is_gathered() -> None:
    model = _model("""(int64 n, float[k] x) => (float[m] y) {
        go = Constant <value = bool {1}> ()
        y = Loop (n, go, x) <body = b (int64 i, bool c, float[k] h) => (bool d, float[l] g) {
            d = Identity (c)
            g = Concat <axis = 0> (h, h)
        }>
    }""")
    compared = _check(model, _int(3), _floats(2))
    compared(_int(0), _floats(3))
    compared(_int(1), _floats(1))


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("where", ["body", "graph"])
def test_a_condition_that_is_an_initializer(where: str, goes_on: bool) -> None:
    model = _model("""(int64 n, bool first, float[k] x) => (float[k] y, float[t, k] rows) {
        y, rows = Loop (n, first, x) <body = b (int64 i, bool c, float[k] h) => (bool d, float[k] g, float[k] r) {
            d = Identity (keep)
            g = Add (h, x)
            r = Neg (g)
        }>
    }""")
    graph = model.graph if where == "graph" else model.graph.node[0].attribute[0].g
    for name, value in (("other", not goes_on), ("keep", goes_on)):
        graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(value), name))
    compared = _check(model, _int(3), _truth(True), _floats(4))
    compared(_int(3), _truth(False), _floats(4), outputs=[0])
    _, rows = compared(_int(4), _truth(True), _floats(2))
    assert len(rows) == (4 if goes_on else 1)


def test_a_loop_without_a_count() -> None:
    model = _model("""(float x) => (float y) {
        go = Constant <value = bool {1}> ()
        y = Loop (, go, x) <body = b (int64 i, bool c, float h) => (bool d, float g) {
            two = Constant <value = float {2}> ()
            g = Mul (h, two)
            limit = Constant <value = float {100}> ()
            d = Less (g, limit)
        }>
    }""")
    compared = _check(model, numpy.array(3, "float32"))
    compared(numpy.array(60, "float32"))


def test_rows_of_unknown_sizes() -> None:
    """Carry elements together with their shape."""
    model = _model("""(int64 n, float[k] x) => (float[m] last, float[t, p] rows) {
        go = Constant <value = bool {1}> ()
        y, rows = Loop (n, go, x) <body = b (int64 i, bool c, float[p] h) => (bool d, float[p] g, float[p] r) {
            d = Identity (c)
            g = Identity (h)
            w = Concat <axis = 0> (h, x)
            zero = Constant <value = int64[1] {0}> ()
            size = Shape (x)
            g2 = Slice (w, zero, size)
            r = Neg (g2)
        }>
        last = Identity (y)
    }""")
    _check(model, _int(3), _floats(4))


def test_a_known_count_is_unrolled_and_carries_sequences() -> None:
    model = _model("""(float[n, 2] x) => (float[m, 2] y) {
        count = Constant <value = int64 {3}> ()
        go = Constant <value = bool {1}> ()
        none = SequenceEmpty <dtype = 1> ()
        all = Loop (count, go, none) <body = b (int64 i, bool c, seq(float[p, 2]) h) => (bool d, seq(float[p, 2]) g) {
            d = Identity (c)
            f = Cast <to = 1> (i)
            s = Add (x, f)
            g = SequenceInsert (h, s)
        }>
        y = ConcatFromSequence <axis = 0> (all)
    }""")
    compared = _check(model, _floats(2, 2))
    compared(_floats(3, 2))


def test_a_loop_in_a_branch_in_a_loop() -> None:
    model = _model("""(int64 n, float[k] x) => (float[k] y) {
        go = Constant <value = bool {1}> ()
        y = Loop (n, go, x) <body = b (int64 i, bool c, float[k] h) => (bool d, float[k] g) {
            d = Identity (c)
            one = Constant <value = int64 {1}> ()
            odd = Equal (i, one)
            g = If (odd) <
                then_branch = p () => (float[k] r) {
                    r = Loop (n, go, h) <body = q (int64 j, bool e, float[k] u) => (bool f, float[k] v) {
                        f = Identity (e)
                        v = Add (u, x)
                    }>
                },
                else_branch = s () => (float[k] t) { t = Neg (h) }
            >
        }>
    }""")
    compared = _check(model, _int(3), _floats(4))
    compared(_int(2), _floats(2))


# ---- Scan ----

_SCAN = """(float[2] start, float[t, 2] x, float[2, t] z) => (float[2] last, float[2, t] rows) {
    last, rows = Scan <
        num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
        scan_output_axes = [1], scan_output_directions = [1],
        body = b (float[2] h, float[2] a, float[2] e) => (float[2] g, float[2] r) {
            s = Add (h, a)
            g = Mul (s, e)
            r = Neg (s)
        }
    > (start, x, z)
}"""


@pytest.mark.parametrize("steps", [3, None])
def test_scan_over_several_axes_and_directions(steps: int | None) -> None:
    model = _model(_SCAN)
    shapes = {} if steps is None else {"x": (steps, 2), "z": (2, steps)}
    compared = _check(model, _floats(2), _floats(3, 2), _floats(2, 3), **shapes)
    if steps is None:
        compared(_floats(2), _floats(5, 2), _floats(2, 5))


# ---- sequences and optionals ----


_RUNNING_SUMS = """(float[2] first, float[n, 2] xs) => (float[2] last, float[n, 2] sums, float[n, 2] squares) {
    last, sums, squares = Scan <
        num_scan_inputs = 1,
        body = step (float[2] sum, float[2] x) => (float[2] next, float[2] row, float[2] square) {
            next = Add (sum, x)  row = Identity (next)  square = Mul (x, x)
        }
    > (first, xs)
}"""


_BATCHES = """(int64[2] n, float[2, 3, 4] x, float[2, 4] s) => (float[2, 4] last, float[2, 3, 4] rows) {
    last, rows = Scan <num_scan_inputs = 1, body = b (float[4] h, float[4] e) => (float[4] g, float[4] r) {
        g = Add (h, e)
        r = Mul (g, e)
    }> (LENGTHS, s, x)
}"""


def test_a_scan_of_batches() -> None:
    """Scan with the batch axis of version 8, which onnxruntime no longer supports."""
    x, s = _floats(2, 3, 4), _floats(2, 4)
    sums = s[:, None] + numpy.cumsum(x, axis=1)
    main = rx.compile(rx.from_onnx(_model(_BATCHES.replace("LENGTHS", ""), 8)))["main"]
    last, rows = main(numpy.array([3, 3]), x, s)
    numpy.testing.assert_allclose(last, sums[:, -1], rtol=1e-5)
    numpy.testing.assert_allclose(rows, sums * x, rtol=1e-5)
    with pytest.raises(rx.RelaxError, match=r"several lengths \(input 'sequence_lens'\) are not supported"):
        rx.from_onnx(_model(_BATCHES.replace("LENGTHS", "n"), 8))


def test_many_rows_are_gathered() -> None:
    main = rx.compile(rx.from_onnx(_model(_RUNNING_SUMS)))["main"]
    for length in (0, 1, 2, 33, 2100):
        first, xs = _floats(2), _floats(length, 2)
        last, sums, squares = map(array, main(first, xs))
        expected = numpy.cumsum(numpy.concatenate([first[None], xs]), axis=0, dtype="float32")
        numpy.testing.assert_array_equal(last, expected[-1])
        numpy.testing.assert_array_equal(sums, expected[1:])
        numpy.testing.assert_array_equal(squares, xs * xs)


@pytest.mark.parametrize("turns", ["n", 99])
def test_rows_are_gathered_without_copies(turns: Any) -> None:
    """Check that iterations do not copy all rows, which would take quadratic time."""
    model = _model(_RUNNING_SUMS.replace("[n, 2]", f"[{turns}, 2]"))
    lowered = str(rx.lower(rx.from_onnx(model), pipeline=rx.stages("llvm").until("bufferize")))
    assert "scf.for" in lowered and "@concat" not in lowered


def test_sequences_inside_of_a_model() -> None:
    model = _model("""(float[4, 3] x, int64 where) => (float[a, 3] y, float[2, 3] z, int64 length, float[2, 3] at) {
        sizes = Constant <value = int64[2] {2, 2}> ()
        parts = SplitToSequence <axis = 0> (x, sizes)
        length = SequenceLength (parts)
        first = Constant <value = int64 {-2}> ()
        z = SequenceAt (parts, first)
        at = SequenceAt (parts, where)
        zero = Constant <value = int64 {0}> ()
        n = Neg (z)
        more = SequenceInsert (parts, n, zero)
        mapped = SequenceMap <body = b (float[p, 3] e) => (float[p, 3] f) { f = Exp (e) }> (more)
        fewer = SequenceErase (mapped)
        y = ConcatFromSequence <axis = 0> (fewer)
    }""")
    compared = _check(model, _floats(4, 3), _int(1))
    compared(_floats(4, 3), _int(-2))


@pytest.mark.parametrize("count", ["known", "run time"])
def test_a_body_that_makes_no_tensor_of_an_item(count: str) -> None:
    """Name an output like the surrounding sequence, as a mistake would."""
    known, run_time = "xs = SequenceConstruct (x, x)", "xs = SplitToSequence <axis = 0> (x, n)"
    model = _model(f"""(float[k] x, int64 n) => (float[m] y) {{
        {known if count == "known" else run_time}
        ys = SequenceMap <body = b (float[p] e) => (float[p] xs) {{ f = Neg (e) }}> (xs)
        zero = Constant <value = int64 {{0}}> ()
        y = SequenceAt (ys, zero)
    }}""")
    with pytest.raises(rx.RelaxError, match=r"output #0 of its body is a sequence or an optional: items of seq"):
        rx.from_onnx(model)


def test_optionals_inside_of_a_model() -> None:
    model = _model("""(float[n] x) => (float[n] y, bool has, bool hasnt) {
        some = Optional (x)
        none = Optional <type = float[n]> ()
        has = OptionalHasElement (some)
        hasnt = OptionalHasElement (none)
        y = OptionalGetElement (some)
    }""")
    executable = rx.compile(rx.from_onnx(model))
    y, has, hasnt = executable["main"](_floats(3))
    numpy.testing.assert_array_equal(array(y), _floats(3))
    assert array(has) and not array(hasnt)


_LEFT_OUT = {
    "r = Scan <num_scan_inputs = 1, body = b (float e) => (float f) { f = Neg (e) }> ()": "input #0 is missing",
    "r = SequenceMap <body = b (float[p] e, float[p] g) => (float[p] f) { f = Neg (e) }> (xs)": "input #1 is missing",
    "r = Loop <body = b (int64 i, bool c, float[n] s) => (seq(float) d, float[n] t) "
    "{ d = SequenceEmpty () t = Neg (s) }> (count, , x)": "a condition is a sequence or an optional, not a tensor",
}


@pytest.mark.parametrize("node", _LEFT_OUT, ids=lambda node: node.split()[2])
def test_inputs_that_are_left_out_and_no_conditions(node: str) -> None:
    model = _model(f"(float[n] x, int64 count) => (float[n] r) {{ xs = SequenceConstruct (x, x) {node} }}")
    # The parser has no form for an input that is left out at the end.
    model.graph.node[1].input.extend([""] * ("missing" in _LEFT_OUT[node]))
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_onnx(model)
    assert raised.value.message.endswith(_LEFT_OUT[node])


def test_states_are_read_before_they_change() -> None:
    """Copy rows and states that alias a state's buffer before it is written."""
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
        g (double[3] x, int64 n, double[m] first) => (double[3] y, double[k] last, double[n,3] old) {
          y, last, old = Loop(n, , x, first) < body = b (int64 j, bool go, double[3] s, double[i] h) =>
              (bool go2, double[3] t, double[o] h2, double[3] row) {
            go2 = Identity(go) t = Add(s, s) h2 = Identity(s) row = Identity(s) } > }""")
    main = rx.compile(rx.from_onnx(made))["main"]
    x = numpy.array([1.0, 2.0, 3.0])
    y, last, old = (numpy.asarray(each) for each in main(x, numpy.array(3), numpy.zeros(5)))
    numpy.testing.assert_array_equal(y, 8 * x)
    numpy.testing.assert_array_equal(last, 4 * x)
    numpy.testing.assert_array_equal(old, [x, 2 * x, 4 * x])
