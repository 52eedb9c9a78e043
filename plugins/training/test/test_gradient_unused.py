# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unused operators of rules, of gradients for constants, and of unused parameters are not in a gradient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import relax_mlir as rx
from before_after import op_names
from own_rules import without_new_gradients
from relax_mlir import relax


@pytest.fixture(autouse=True)
def _own_rules() -> Iterator[None]:
    with without_new_gradients():
        yield


def made(build: Callable[[Any], Any]) -> Counter[str]:
    """Count the operators that the gradient of a sum has in addition to the function's own."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3,))}) as f:
        f.returns(relax.sum(build(f.args[0])))
    own = Counter(op_names(module))
    module = rx.grad(module)
    module.verify()
    return Counter(op_names(module)) - own - own


@pytest.mark.parametrize("by_types", [True, False])
def test_unused_operators_of_rules_are_removed(by_types: bool) -> None:
    @rx.register_gradient("relax.bitcast", by_types=by_types)
    def bitcast(call: Any) -> Any:
        # A chain that ends in nothing, of which one tensor is used twice.
        root = relax.sqrt(call.x)
        relax.multiply(root, relax.exp(root))
        # The rule needs the incoming gradient, but nothing uses the result.
        relax.tanh(call.gradient)
        return relax.negative(call.gradient)

    found = made(lambda x: relax.bitcast(relax.bitcast(x, dtype="f32"), dtype="f32"))
    assert found["relax.negative"] == 2
    assert not {"relax.sqrt", "relax.multiply", "relax.exp", "relax.tanh"} & set(found), found


@pytest.mark.parametrize("by_types", [True, False])
def test_gradients_that_no_rule_reads_are_not_computed(by_types: bool) -> None:
    rx.register_gradient("relax.bitcast", by_types=by_types)(lambda call: None)
    found = made(lambda x: relax.sin(relax.bitcast(relax.exp(x), dtype="f32")))
    assert set(found) <= {"relax.zeros_like", "relax.sum"}, found


def test_unused_operators_of_the_function_are_not_differentiated() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3,))}) as f:
        (x,) = f.args
        relax.multiply(relax.cos(x), relax.add(x, x))
        f.returns(relax.sum(relax.exp(x)))
    found = Counter(op_names(rx.grad(module)))
    assert (found["relax.cos"], found["relax.add"]) == (1, 1), "those of @main"
