# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.rewrite: what takes the place of what a pattern matches, and where it is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from before_after import keeps_results, op_names
from partitioning import built
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    Match,
    is_const,
    is_op,
    outputs,
    rewrite,
    wildcard,
)

matmul, relu = is_op("relax.matmul"), is_op("relax.nn.relu")


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


def test_what_is_not_made_yet_cannot_be_read() -> None:
    """The second product's operand comes after the first product, in whose place both would be computed."""
    x = wildcard().named("x")
    products = outputs(*(matmul(x, wildcard().named(name)) for name in "wb"))

    def body(a: Any, p: Any) -> Any:
        one = relax.matmul(a, p)
        return one, relax.matmul(a, relax.tanh(one))

    module = built(body)
    assert not rx.apply_greedy(module, [rewrite(products, lambda found: [found["x"], found["x"]])])
    module.verify()


def test_rewriting_asks_where_an_operand_fits_alone() -> None:
    """What must make an operand is told from the pattern."""
    x, y = wildcard(), is_const()
    products, chain = matmul(relu(x), y), is_op("relax.tanh")(x).repeated(relu)
    told = {
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
    for pattern, makers in told.items():
        assert list(rewrite(pattern, lambda found: None).after) == makers, pattern
