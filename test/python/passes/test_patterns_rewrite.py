# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.rewrite: replacements of matches, and the operations at which patterns are tried."""

from __future__ import annotations

from typing import Any

import pytest
from before_after import keeps_results, op_names
from partitioning import built
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    GraphPattern,
    Match,
    every,
    is_const,
    is_filled,
    is_op,
    match,
    outputs,
    rewrite,
    why_not,
    wildcard,
)

matmul, relu, add = is_op("relax.matmul"), is_op("relax.nn.relu"), is_op("relax.add")
multiply, negative, concat = is_op("relax.multiply"), is_op("relax.negative"), is_op("relax.concat")
x, y = wildcard().named("x"), wildcard().named("y")


def rewritten(pattern: GraphPattern, replacement: Any, body: Any, *shapes: Any) -> list[str]:
    """Return the operators after a rewrite, with a check that results stay the same."""
    module = built(body, *shapes)
    after = keeps_results(module, lambda each: rx.apply_greedy(each, [rewrite(pattern, replacement)]))
    return [name.removeprefix("relax.") for name in op_names(after)]


def test_rewriting() -> None:
    x, w, b = (wildcard().named(name) for name in "xwb")
    products = outputs(*(matmul(x, wildcard().named(name)) for name in "wb"))

    def together(found: Match) -> Any:
        both = relax.matmul(found["x"], relax.concat([found["w"], found["b"]], axis=1))
        return list(relax.split(both, 2, axis=1))

    module = built(lambda a, p, q: (relax.nn.relu(relax.matmul(a, p)), relax.matmul(a, q)), *[(4, 4)] * 3)
    after = keeps_results(module, lambda each: rx.apply_greedy(each, [rewrite(products, together)]))
    assert op_names(after) == ["relax.concat", "relax.matmul", "relax.split", "relax.nn.relu"]
    assert repr(w) == "w" and repr(b) == "b"


def test_rewriting_gives_as_many_values_as_there_are_outputs() -> None:
    x = wildcard().named("x")
    pattern = outputs(relu(x), is_op("relax.tanh")(x))
    module = built(lambda a, b: (relax.nn.relu(a), relax.tanh(a)))
    with pytest.raises(RelaxError, match="has 2 outputs, the replacement gives 1"):
        rx.apply_greedy(module, [rewrite(pattern, lambda found: found["x"], name="half")])


def test_a_replacement_cannot_read_later_operands() -> None:
    """Refuse a replacement at the first product, since the second product's operand comes after it."""
    x = wildcard().named("x")
    products = outputs(*(matmul(x, wildcard().named(name)) for name in "wb"))

    def body(a: Any, p: Any) -> Any:
        one = relax.matmul(a, p)
        return one, relax.matmul(a, relax.tanh(one))

    module = built(body)
    assert not rx.apply_greedy(module, [rewrite(products, lambda found: [found["x"], found["x"]])])
    module.verify()


def test_rewriting_asks_where_an_operand_fits_alone() -> None:
    """Derive the producers of an operand from the pattern."""
    x, y = wildcard(), is_const()
    products, chain = matmul(relu(x), y), is_op("relax.tanh")(x).repeated(relu)
    patterns = {
        relu(x): [],
        relu(y): [],
        matmul(x, relu(x) | is_op("relax.tanh")): ["relax.nn.relu", "relax.tanh"],
        products.named("it").where(lambda found: True): ["relax.nn.relu"],
        products | relu(products): ["relax.matmul", "relax.nn.relu"],
        products | relu(x): [],
        is_op("relax.split")(products, ...)[0]: ["relax.matmul"],
        matmul(x, chain): ["relax.nn.relu", "relax.tanh"],
        relu(x).repeated(relu): [],
        outputs(relu(chain), is_op("relax.abs")(chain)): ["relax.nn.relu", "relax.tanh"],
    }
    for pattern, makers in patterns.items():
        assert list(rewrite(pattern, lambda found: None).after) == makers, pattern


# ---- replacements that are patterns ----
def test_a_part_takes_the_place() -> None:
    body = lambda a, b: relax.nn.relu(relax.negative(relax.negative(a)))  # noqa: E731
    assert rewritten(negative(negative(x)), x, body) == ["nn.relu"]


def test_a_part_of_another_type_does_not() -> None:
    pattern = is_op("relax.astype")(is_op("relax.astype")(x))
    back = lambda a: relax.astype(relax.astype(a, "float64"), "float32")  # noqa: E731
    other = lambda a: relax.astype(relax.astype(a, "float64"), "float16")  # noqa: E731
    assert rewritten(pattern, x, back, (4,)) == []
    assert rewritten(pattern, x, other, (4,)) == ["astype", "astype"]


def test_operators_around_parts_take_the_place() -> None:
    product = add(multiply(x, y), multiply(x, wildcard().named("z")))
    z = product.parts[1].parts[1]
    body = lambda a, b: relax.add(relax.multiply(a, b), relax.multiply(a, relax.nn.relu(b)))  # noqa: E731
    assert rewritten(product, multiply(x, add(y, z)), body) == ["nn.relu", "add", "multiply"]
    joined = add(is_op("relax.sum")(x).has_attr(axis=[0]), is_op("relax.sum")(y).has_attr(axis=[0]))
    wanted = is_op("relax.sum")(concat([x, y]).has_attr(axis=0)).has_attr(axis=[0])
    sums = lambda a, b: relax.add(relax.sum(a, axis=0), relax.sum(b, axis=0))  # noqa: E731
    assert rewritten(joined, wanted, sums) == ["concat", "sum"]


def test_operations_with_impossible_types_are_unchanged() -> None:
    """Leave an operation that no pattern can match, because its type is impossible."""
    narrowed = is_op("relax.sum")(x).has_attr(axis=[0], keepdims=False)
    assert rewritten(narrowed, relu(x), lambda a, b: relax.sum(a, axis=0)) == ["sum"]


@pytest.mark.parametrize(
    "wanted",
    [
        wildcard(),
        is_op("relax.abs"),
        is_op("relax.abs", "relax.sign")(x),
        is_op("relax.add")(x, ...),
        relu(is_op("relax.add")(x, wildcard())),
        is_op("relax.nn.softmax")(x).has_attr(axis=lambda axis: True),
    ],
    ids=str,
)
def test_replacements_with_unstated_parts_are_refused(wanted: GraphPattern) -> None:
    with pytest.raises(RelaxError, match=r"nn\.relu\(x\): replacement .* (neither a part|by a function)"):
        rewrite(relu(x), wanted)


# ---- constraints of rules ----
def holds(pattern: GraphPattern, body: Any, *shapes: Any) -> bool:
    module = built(body, *shapes)
    op = next(op for op in reversed(operations_in(module.operation)) if op.name.startswith("relax."))
    found = match(pattern, op)
    assert (found is None) == (why_not(pattern, op) is not None)
    return found is not None


def test_filled_with_a_number() -> None:
    filled = {
        "const": lambda: relax.const([2.0] * 4),
        "full": lambda: relax.full((4,), relax.const(2.0), dtype="float32"),
        "ones": lambda: relax.ones((4,), "float32"),
        "other": lambda: relax.const([2.0, 1.0, 2.0, 2.0]),
    }
    for pattern, fitting in (
        (is_filled(), {"const", "full", "ones"}),
        (is_filled(2), {"const", "full"}),
        (is_filled(lambda number, dtype: number < 2 and dtype == "f32"), {"ones"}),
    ):
        for name, make in filled.items():
            assert holds(add(x, pattern), lambda a, make=make: relax.add(a, make()), (4,)) == (name in fitting), name
    assert not holds(add(x, is_filled()), lambda a: relax.add(a, a), (4,))
    module = built(lambda a: relax.add(a, relax.const([2.5] * 4)), (4,))
    found = match(add(x, is_filled().named("c")), operations_in(module.operation)[-2])
    assert found is not None and found.number("c") == 2.5 and found.number("x") is None
    with pytest.raises(RelaxError, match=r"relu.* has matched no value"):
        found[relu(x)]


def test_one_use() -> None:
    once, twice = relu(x).used_once(), (lambda a, b: relax.add(relax.nn.relu(a), b))
    assert holds(add(once, y), twice)

    def both(a: Any, b: Any) -> Any:
        c = relax.nn.relu(a)
        return relax.add(c, c)

    assert not holds(add(once, y), both) and not holds(once, lambda a, b: (relax.nn.relu(a), b)[1:])


def test_operands_as_they_stand() -> None:
    for pattern, fits in ((add(x, relu(y)), True), (add.in_order()(x, relu(y)), False)):
        assert holds(pattern, lambda a, b: relax.add(relax.nn.relu(a), b)) == fits
        assert holds(pattern, lambda a, b: relax.add(a, relax.nn.relu(b)))


def test_classes_of_element_types() -> None:
    for dtype, floating, integer in (("float16", 1, 0), ("int8", 0, 1), ("uint8", 0, 1), ("bool", 0, 0)):
        made = lambda a, dtype=dtype: relax.astype(a, dtype)  # noqa: E731
        assert holds(is_op("relax.astype")(x).has_dtype("floating"), made, (4,)) == floating
        assert holds(is_op("relax.astype")(x).has_dtype("integer"), made, (4,)) == integer
        assert holds(is_op("relax.astype")(x).has_dtype("integer", dtype), made, (4,))
    with pytest.raises(RelaxError, match="unknown element type 'floatin'; did you mean 'floating'"):
        relu(x).has_dtype("floatin")


def test_every_operand() -> None:
    pattern = concat(every(lambda: relu(wildcard().named("x")).named("y"), least=2))
    fine = lambda a, b: relax.concat([relax.nn.relu(a), relax.nn.relu(b), relax.nn.relu(a)])  # noqa: E731
    assert holds(pattern, fine)
    assert not holds(pattern, lambda a, b: relax.concat([relax.nn.relu(a), b]))
    assert not holds(pattern, lambda a, b: relax.concat([relax.nn.relu(a)]))
    assert str(pattern) == "relax.concat(every y=relax.nn.relu(x))"
    module = built(fine)
    op = next(op for op in operations_in(module.operation) if op.name == "relax.concat")
    found = match(pattern, op)
    assert found is not None and found.all("y") == list(op.operands)
    assert [each.owner.OPERATION_NAME for each in found.all("y")] == ["relax.nn.relu"] * 3
    assert found.op().axis == 0 and found.op("y").x == found["x"] == found.all("x")[0]
    with pytest.raises(RelaxError, match="'tensors' is a list of patterns, or every"):
        concat(x)


def test_operators_that_call_their_operands_otherwise() -> None:
    """Match operands with other names: relu and batch_flatten have `data`, abs has `x`."""
    either = is_op("relax.abs", "relax.flip", "relax.nn.relu")(negative(x), ...)
    for make in (relax.abs, relax.nn.relu, lambda value: relax.flip(value, axis=0)):
        assert holds(either, lambda a, make=make: make(relax.negative(a)), (4,))
        assert not holds(either, lambda a, make=make: make(relax.exp(a)), (4,))
    with pytest.raises(RelaxError, match="'x1' is never absent"):
        add(None, x)


def test_across_blocks() -> None:
    """Match operators before a branch from inside of it, if the rule permits this."""
    text = """func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
      %a = "relax.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %r = scf.if %c -> (tensor<4xf32>) {
        %b = "relax.negative"(%a) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      } else {
        scf.yield %a : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }"""
    for is_across, searched in ((False, False), (True, False), (False, True), (True, True)):
        module = rx.Module.parse(text)
        pattern = negative(negative(x).repeated(relu) if searched else negative(x))
        assert rx.apply_greedy(module, [rewrite(pattern, x, is_across=is_across)]) == is_across
