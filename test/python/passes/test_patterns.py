# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph patterns: matches, their contents and refusals; against random parts of random graphs.

Situations of Apache TVM's test_dataflow_pattern.py.
"""

from __future__ import annotations

import functools
import operator
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import blocks
import numpy
import pytest
from before_after import keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import built
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.patterns.operator_patterns import Op
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    GraphPattern,
    Match,
    find,
    is_const,
    is_op,
    match,
    matches_of,
    outputs,
    rewrite,
    why_not,
    wildcard,
)

Body = Callable[..., Any]


def last(module: rx.Module, name: str) -> Any:
    """Return the module's last operation of a name."""
    return [op for op in operations_in(module.operation) if op.name == name][-1]


def matched(pattern: GraphPattern, body: Body, *shapes: Any) -> list[str]:
    """Return the operators that a pattern matches, from the last operation of its first operator.

    Without a match the list is empty.
    """
    module = built(body, *shapes)
    assert pattern.heads is not None
    found = match(pattern, last(module, pattern.heads[0]))
    return [] if found is None else [op.name.removeprefix("relax.") for op in found.operations]


relu, add, matmul = is_op("relax.nn.relu"), is_op("relax.add"), is_op("relax.matmul")


# ---- operators ----
def test_operators_by_name_and_operands() -> None:
    x, y = wildcard(), wildcard()
    assert matched(relu(add(x, y)), lambda a, b: relax.nn.relu(relax.add(a, b))) == ["add", "nn.relu"]
    assert matched(relu(add(x, y)), lambda a, b: relax.nn.relu(relax.matmul(a, b))) == []
    assert matched(relu(add), lambda a, b: relax.nn.relu(relax.add(a, b))) == ["add", "nn.relu"]
    either = is_op("relax.nn.relu", "relax.tanh")(x)
    assert matched(either, lambda a, b: relax.nn.relu(a)) == ["nn.relu"]


def test_one_part_is_one_value_wherever_it_stands() -> None:
    x = wildcard()
    assert matched(add(x, x), lambda a, b: relax.add(a, a)) == ["add"]
    assert matched(add(x, x), lambda a, b: relax.add(a, b)) == []
    y = relu(x)
    diamond = add(y, is_op("relax.tanh")(y))
    assert matched(diamond, lambda a, b: relax.add(r := relax.nn.relu(a), relax.tanh(r))) == ["nn.relu", "tanh", "add"]
    assert matched(diamond, lambda a, b: relax.add(relax.nn.relu(a), relax.tanh(relax.nn.relu(a)))) == []


def test_operands_of_commutative_operators_are_found_in_both_orders() -> None:
    for body in (lambda a, b: relax.add(relax.nn.relu(a), b), lambda a, b: relax.add(b, relax.nn.relu(a))):
        assert matched(add(relu(wildcard()), wildcard()), body) == ["nn.relu", "add"]
    subtract = is_op("relax.subtract")(relu(wildcard()), wildcard())
    assert matched(subtract, lambda a, b: relax.subtract(b, relax.nn.relu(a))) == []


def test_the_order_is_tried_anew_when_what_follows_does_not_fit() -> None:
    """Try the second order of the sum's operands, since both uses must be the same value."""
    x = wildcard()
    pattern = is_op("relax.multiply")(add(x, wildcard()), relu(x))
    body = lambda a, b: relax.multiply(relax.add(b, a), relax.nn.relu(a))  # noqa: E731
    assert matched(pattern, body) == ["add", "nn.relu", "multiply"]


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "equal", "not_equal", "log_add_exp"])
def test_operands_of_commutative_operators_can_be_swapped(name: str) -> None:
    """Check rows with the program."""
    assert is_op(f"relax.{name}").names and relax.dialect.ops[name].commutative
    module = built(lambda a, b: getattr(relax, name)(a, b))
    swapped = rewrite(is_op(f"relax.{name}")(wildcard().named("a"), wildcard().named("b")), _swapped_once(name))
    keeps_results(module, lambda each: rx.apply_walk(each, [swapped]))


def _swapped_once(name: str) -> Callable[[Match], Any]:
    return lambda found: getattr(relax, name)(found["b"], found["a"])


def test_operands_by_name_absent_ones_and_the_rest() -> None:
    def normalized(a: Any, g: Any) -> Any:
        return relax.nn.rms_norm(a, g, axes=[-1])

    rms = is_op("relax.nn.rms_norm")
    shapes = [(4, 4), (4,)]
    assert matched(rms(wildcard(), wildcard()), normalized, *shapes) == ["nn.rms_norm"]
    assert matched(rms(weight=wildcard(), data=wildcard()), normalized, *shapes) == ["nn.rms_norm"]
    assert matched(rms(wildcard(), ...), normalized, *shapes) == ["nn.rms_norm"]


def test_operands_of_variable_number() -> None:
    x, y = wildcard().named("x"), wildcard().named("y")
    body = lambda a, b: relax.concat([a, b], axis=0)  # noqa: E731
    assert matched(is_op("relax.concat")([x, y]), body) == ["concat"]
    assert matched(is_op("relax.concat")([x, y, x]), body) == []
    assert matched(is_op("relax.concat")([x, x]), body) == []


def test_one_of_several_results() -> None:
    split = is_op("relax.split")(wildcard(), ...)
    swapped = is_op("relax.subtract")(split[1], split[0])

    def body(a: Any, b: Any) -> Any:
        one, other = relax.split(a, 2, axis=0)
        return relax.subtract(other, one)

    assert matched(swapped, body) == ["split", "subtract"]
    assert matched(is_op("relax.subtract")(split[0], split[1]), body) == []
    assert matched(is_op("relax.subtract")(split, split), body) == []


def test_operators_of_another_dialect_and_of_upstream() -> None:
    module = rx.Module.parse(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = math.exp %a : tensor<2xf32>\n"
        "  %1 = arith.addf %0, %a : tensor<2xf32>\n  return %1 : tensor<2xf32>\n}"
    )
    x = wildcard()
    found = list(find(module, is_op("arith.addf")(is_op("math.exp")(x), x)))
    assert [op.name for op in found[0].operations] == ["math.exp", "arith.addf"]


# ---- conditions ----
def test_attributes_shapes_dtypes_and_ranks() -> None:
    softmax = is_op("relax.nn.softmax")(wildcard())
    body = lambda a, b: relax.nn.softmax(a, axis=0)  # noqa: E731
    assert matched(softmax.has_attr(axis=0), body)
    assert not matched(softmax.has_attr(axis=1), body)
    assert matched(softmax.has_attr(axis=lambda axis: axis < 1), body)
    for pattern, fits in (
        (softmax.has_shape(4, 4), True),
        (softmax.has_shape(None, 4), True),
        (softmax.has_shape(4, 5), False),
        (softmax.has_shape(4), False),
        (softmax.has_rank(1, 2), True),
        (softmax.has_rank(3), False),
        (softmax.has_dtype("float16", "float32"), True),
        (softmax.has_dtype("float16"), False),
    ):
        module = built(body)
        assert (match(pattern, last(module, "relax.nn.softmax")) is not None) == fits, pattern


def test_shapes_with_symbols() -> None:
    module = built(lambda a: relax.nn.relu(a), ("n", 4))
    op = last(module, "relax.nn.relu")
    assert match(relu(wildcard()).has_shape("n", 4), op)
    assert not match(relu(wildcard()).has_shape("m", 4), op)
    assert not match(relu(wildcard()).has_shape(4, 4), op)
    assert match(relu(wildcard()).has_shape(None, None), op)


def test_attributes_match_in_every_form_that_builders_take() -> None:
    pool = is_op("relax.nn.max_pool2d")(wildcard())
    module = built(lambda a: relax.nn.max_pool2d(a, pool_size=(2, 2), strides=(2, 2)), (1, 3, 8, 8))
    op = last(module, "relax.nn.max_pool2d")
    assert match(pool.has_attr(out_layout=None), op) and not match(pool.has_attr(layout="NHWC"), op)
    assert match(pool.has_attr(strides=2, pool_size=[2, 2], layout="NCHW"), op)
    assert not match(pool.has_attr(strides=1), op)


def test_constants() -> None:
    half = relax.const
    pattern = is_op("relax.multiply")(wildcard(), is_const(0.5))
    assert matched(pattern, lambda a, b: relax.multiply(half(0.5, "float32"), a))
    assert not matched(pattern, lambda a, b: relax.multiply(half(0.25, "float32"), a))
    assert not matched(pattern, lambda a, b: relax.multiply(a, b))
    assert matched(
        is_op("relax.multiply")(wildcard(), is_const()), lambda a, b: relax.multiply(a, half(3.0, "float32"))
    )


def test_checks_are_given_the_match() -> None:
    def is_wide(found: Match) -> bool | str:
        return found["w"].type.shape[1] >= 4 or "few columns"

    pattern = matmul(wildcard(), wildcard().named("w")).where(is_wide)
    assert matched(pattern, relax.matmul)
    module = built(relax.matmul, (4, 4), (4, 2))
    assert str(why_not(pattern, last(module, "relax.matmul"))) == "relax.matmul: few columns"


def test_a_check_that_says_no_leaves_other_ways() -> None:
    """Match the longest chain first, then shorter ones, until the check accepts."""
    tried: list[int] = []

    def is_short(found: Match) -> bool:
        tried.append(len(found.operations))
        return len(found.operations) <= 2

    chain = wildcard().repeated(lambda y: relu(y), least=1).where(is_short)
    body = lambda a, b: relax.nn.relu(relax.nn.relu(relax.nn.relu(relax.tanh(a))))  # noqa: E731
    assert matched(chain, body) == ["nn.relu", "nn.relu"]
    assert tried == [3, 2]


def test_used_elsewhere() -> None:
    product = matmul(wildcard(), wildcard())
    pattern = relu(product.used_inside_only())
    assert matched(pattern, lambda a, b: relax.nn.relu(relax.matmul(a, b)))

    def twice(a: Any, b: Any) -> Any:
        y = relax.matmul(a, b)
        return relax.nn.relu(y), y

    assert not matched(pattern, twice)
    refusal = why_not(pattern, last(built(twice), "relax.nn.relu"))
    assert refusal is not None and refusal.reason == "is used elsewhere, too"


# ---- alternatives, options, repeats ----
def test_alternatives_and_optional_parts() -> None:
    convolution = matmul(wildcard(), wildcard())
    pattern = convolution.optional(lambda y: add(y, is_const())).optional(lambda y: relu(y) | is_op("relax.tanh")(y))
    bias = lambda y: relax.add(y, relax.const([1.0] * 4, "float32"))  # noqa: E731
    for body, expected in (
        (lambda a, b: relax.matmul(a, b), ["matmul"]),
        (lambda a, b: bias(relax.matmul(a, b)), ["matmul", "add"]),
        (lambda a, b: relax.nn.relu(bias(relax.matmul(a, b))), ["matmul", "add", "nn.relu"]),
        (lambda a, b: relax.tanh(relax.matmul(a, b)), ["matmul", "tanh"]),
    ):
        module = built(body)
        final = operations_in(module.operation)[-2]
        found = match(pattern, final)
        assert found is not None and [op.name.removeprefix("relax.") for op in found.operations] == expected


def test_any_number_of_alternatives() -> None:
    """Match alternatives without nesting them."""
    names = ["relax.exp", "relax.sin", "relax.cos", "relax.tanh"]
    whole = functools.reduce(operator.or_, [is_op(names[place % 4]) for place in range(2000)])
    assert whole.heads == tuple(names)
    assert match(whole, last(built(lambda a, b: relax.tanh(a)), "relax.tanh")) is not None


def test_patterns_that_are_too_deep() -> None:
    pattern = wildcard()
    with pytest.raises(RelaxError, match=r"relax\.exp.*more than 320 patterns .* repeated\(\)"):
        for _ in range(2000):
            pattern = is_op("relax.exp")(pattern)


def test_repeats_have_limits() -> None:
    def chain(length: int) -> Body:
        def body(a: Any, b: Any) -> Any:
            for _ in range(length):
                a = relax.nn.relu(a)
            return a

        return body

    two_or_three = is_op("relax.tanh")(wildcard()).repeated(lambda y: relu(y), least=2, most=3)
    for length, taken in ((1, 0), (2, 3), (3, 4), (4, 0)):
        body = lambda a, b, n=length: chain(n)(relax.tanh(a), b)  # noqa: E731
        assert len(matched(two_or_three, body)) == taken
    endless = is_op("relax.tanh")(wildcard()).repeated(lambda y: relu(y))
    module = built(lambda a, b: chain(2000)(relax.tanh(a), b))
    found = match(endless, operations_in(module.operation)[-2])
    assert found is not None and len(found.operations) == 2001


# ---- several outputs ----
def test_outputs_that_share_an_operand() -> None:
    x = wildcard().named("x")
    query, key = (matmul(x, wildcard().named(name)) for name in "qk")
    pattern = outputs(query, relu(key))

    def body(a: Any, b: Any) -> Any:
        return relax.matmul(a, b), relax.matmul(b, b), relax.nn.relu(relax.matmul(a, a))

    found = list(find(built(body), pattern))
    assert [[op.name for op in each.operations] for each in found] == [
        ["relax.matmul", "relax.matmul", "relax.nn.relu"]
    ]
    assert found[0]["q"] != found[0]["k"] and [op.name for op in found[0].outputs] == ["relax.matmul", "relax.nn.relu"]
    alone = built(lambda a, b: (relax.matmul(a, b), relax.nn.relu(relax.matmul(b, b))))
    assert not list(find(alone, pattern))


def test_an_output_is_an_operation_of_its_own() -> None:
    x = wildcard()
    pattern = outputs(relu(x), relu(x))
    assert not list(find(built(lambda a, b: relax.nn.relu(a)), pattern))
    assert len(list(find(built(lambda a, b: (relax.nn.relu(a), relax.nn.relu(a))), pattern))) == 2


# ---- contents of a match ----
def test_a_match_knows_what_comes_in_and_what_goes_out() -> None:
    pattern = relu(add(matmul(wildcard().named("x"), is_const().named("w")).named("product"), wildcard().named("b")))

    def body(a: Any, b: Any) -> Any:
        product = relax.matmul(a, blocks.Weights(0)(4, 4))
        return relax.nn.relu(relax.add(product, b)), product

    module = built(body)
    (found,) = find(module, pattern)
    parameters = list(module.operation.regions[0].blocks[0].operations[0].regions[0].blocks[0].arguments)
    assert [found["x"], found["b"]] == parameters
    assert found.inputs == [found["x"], found["w"], found["b"]] and found.constants == [found["w"]]
    assert found.results == [found["product"], found.root.results[0]]
    assert found.is_used_outside(found["product"])
    assert "x" in found and "y" not in found
    with pytest.raises(RelaxError, match="no part named 'produkt' has matched; did you mean 'product'"):
        found["produkt"]


def test_parts_lie_in_one_block() -> None:
    """Treat a value from outside of a branch as an operand of a match inside."""
    module = rx.Module.parse(
        """func.func @main(%a: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
          %0 = "relax.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
          %1 = scf.if %c -> tensor<4xf32> {
            %2 = "relax.nn.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
            scf.yield %2 : tensor<4xf32>
          } else { scf.yield %0 : tensor<4xf32> }
          return %1 : tensor<4xf32>
        }"""
    )
    op = last(module, "relax.nn.relu")
    refusal = why_not(relu(is_op("relax.tanh")(wildcard())), op)
    assert refusal is not None and str(refusal) == "relax.tanh is in another block; pattern: relax.tanh(*)"
    assert match(relu(wildcard()), op)


def test_why_not_names_the_part_that_got_furthest() -> None:
    pattern = relu(add(matmul(wildcard(), is_const()), wildcard())) | is_op("relax.tanh")
    module = built(lambda a, b: relax.nn.relu(relax.add(relax.matmul(a, b), b)))
    refusal = why_not(pattern, last(module, "relax.nn.relu"))
    assert str(refusal) == "an argument is not a constant; pattern: const"
    assert why_not(relu(add), last(module, "relax.nn.relu")) is None


def test_patterns_read_as_what_they_match() -> None:
    x, w = wildcard().named("x"), is_const().named("w")
    convolution = is_op("relax.nn.conv2d")(x, w).has_attr(groups=1)
    assert repr(convolution) == "relax.nn.conv2d{groups=1}(x, w=const)"
    assert repr(convolution.optional(relu)) == f"(relax.nn.relu({convolution}) | {convolution})"
    assert repr(x.repeated(relu, 1, 3)) == "relax.nn.relu(…)[1..3](x)"
    assert repr(add(x, is_const(2)).has_shape(None, "n").has_dtype("float32")) == "relax.add(x, 2): (*, n): f32"
    assert repr(is_op("relax.concat")([x, x])) == "relax.concat([x, x])"
    assert repr(outputs(relu(x), is_op("relax.split")(x, ...)[1])) == "outputs(relax.nn.relu(x), relax.split(x, …)[1])"


# ---- refusals ----
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: is_op("relax.nn.conv2"), "unknown operator 'relax.nn.conv2'; did you mean 'relax.nn.conv2d'"),
        (lambda: is_op(), "names no operator"),
        (lambda: add(wildcard()), "relax.add's 'x2' is missing; '...' at the end matches the rest"),
        (lambda: add(wildcard(), wildcard(), wildcard()), r"relax.add has 2 operands \(x1, x2\), not 3"),
        (lambda: add(wildcard(), y=wildcard()), "relax.add has no operand 'y'"),
        (lambda: add(..., wildcard()), "'...' matches the remaining operands, and must come last"),
        (lambda: add([wildcard()], wildcard()), "relax.add's 'x1' is one pattern"),
        (lambda: is_op("relax.concat")(wildcard()), "relax.concat's 'tensors' is a list of patterns"),
        (lambda: is_op("arith.addf")(lhs=wildcard()), "have no names: pass them by position"),
        (lambda: is_op("relax.nn.softmax").has_attr(axes=1), "no attribute 'axes'; did you mean 'axis'"),
        (lambda: is_op("relax.nn.softmax").has_attr(axis="x"), "attribute 'axis' expects an integer, got 'x'"),
        (lambda: is_op("arith.addf").has_attr(x=1), "attributes of upstream's operators are not known"),
        (lambda: wildcard().named("a b"), "a name must be an identifier, got 'a b'"),
        (lambda: wildcard().has_dtype("float33"), "unknown element type 'float33'"),
        (lambda: wildcard().repeated(relu, 3, 2), "repeated from 3 to 2 times is not a valid range"),
        (lambda: outputs(), "needs a pattern"),
        (lambda: outputs(relu(wildcard()), relu(wildcard())), "shares no part with earlier outputs"),
        (lambda: list(find(rx.Module(), wildcard())), "it must begin with an operator"),
    ],
)
def test_meaningless_patterns_are_refused_by_their_constructor(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RelaxError, match=message):
        make()


@pytest.mark.parametrize("kind", [bool, numpy.bool_])
def test_a_check_answers_with_any_truth(kind: Any) -> None:
    module = built(relax.nn.relu, (4,))
    assert len(list(find(module, relu(wildcard()).where(lambda found: kind(1))))) == 1
    assert not list(find(module, relu(wildcard()).where(lambda found: kind(0))))


def test_a_check_that_ends_the_program() -> None:
    pattern = relu(wildcard()).where(lambda found: sys.exit(3))
    with pytest.raises(
        RelaxError, match=r"pattern relax.nn.relu.*: <lambda>: SystemExit: 3 .at passes/test_patterns.py:"
    ):
        list(find(built(relax.nn.relu, (4,)), pattern))


def test_a_check_has_to_answer() -> None:
    pattern = relu(wildcard()).where(lambda found: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(RelaxError, match="must return True, False or a reason, got None"):
        matched(pattern, lambda a, b: relax.nn.relu(a))


# ---- random parts of random graphs ----
def part_of(op: Any, source: random.Random, known: dict[Any, GraphPattern], depth: int) -> GraphPattern:
    """Return a pattern of an operation and some of its operands."""
    operands: list[GraphPattern] = []
    for value in op.operands:
        if value not in known:
            owner = value.owner
            is_op_of_graph = hasattr(owner, "operation") and owner.operation.name.startswith("relax.")
            deeper = is_op_of_graph and depth > 0 and source.random() < 0.7
            part = part_of(owner.operation, source, known, depth - 1) if deeper else wildcard()
            known[value] = (
                part if not isinstance(part, Op) or len(owner.operation.results) == 1 else part[value.result_number]
            )
        operands.append(known[value])
    pattern: GraphPattern = is_op(op.name)(*operands) if _is_plain(op) else is_op(op.name)
    if len(op.results) > 1:
        return pattern
    return source.choice([pattern, pattern.named("p"), pattern | is_op("relax.abs"), pattern.has_dtype("float32")])


def _is_plain(op: Any) -> bool:
    return all(operand.arity == "single" for operand in op.opview.definition.operands)


def parts_of(found: Match) -> Iterator[tuple[Op, Any]]:
    for part, subject in found._bound.items():
        if isinstance(part, Op):
            yield part, subject.owner.operation if hasattr(subject, "owner") else subject


@draws(20)
@given(seed=st.integers(0, 1 << 20), module=blocks.images() | blocks.sequences())
def test_a_pattern_of_a_graphs_part_matches_that_part(seed: int, module: rx.Module) -> None:
    source = random.Random(seed)
    ops = [op for op in operations_in(module.operation) if op.name.startswith("relax.") and len(op.results) == 1]
    for op in ops:
        pattern = part_of(op, source, {}, depth=3)
        found = match(pattern, op)
        assert found is not None, f"{pattern}\n{why_not(pattern, op)}\n{module.script()}"
        for each in matches_of(pattern, op):
            for part, made in parts_of(each):
                assert made.name in part.names
        other = is_op("relax.acosh", "relax.tan")
        assert (
            match(is_op(op.name)(*[other] * len(op.operands)) if _is_plain(op) and op.operands else other, op) is None
        )
