# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators as attributes of the package: `relax.nn.conv2d` is the operator nn.conv2d."""

from __future__ import annotations

from functools import reduce

import pytest
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.dialect import find_op


@pytest.mark.parametrize("name", sorted(relax.dialect.ops))
def test_no_module_hides_an_operator(name):
    assert reduce(getattr, name.split("."), relax) is find_op(f"relax.{name}")


def test_an_unknown_operator_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no operator 'nn\.conv2'; did you mean"):
        _ = relax.nn.conv2
