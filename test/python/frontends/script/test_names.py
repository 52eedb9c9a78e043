# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant expressions of scripts have Python's values, except for unbounded numbers."""

import re

import pytest

import relax_mlir as rx

HEAD = """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    k = """


def read(text):
    """Return a constant through a numeric attribute."""
    module = rx.Module.from_script(f"{HEAD}{text}\n    return R.nn.leakyrelu(x, alpha=k)\n")
    return float(re.findall(r"alpha = (\S+) : f64", str(module))[0])


@pytest.mark.parametrize(
    "text",
    [
        "2.0 ** 3", "2 ** 0.5", "2.5 ** 2.0", "2 ** -1", "4.0 ** -2", "True << 2", "1 << 10", "2 ** 70 >> 68",
        "9 ** 700 % 7", "1 << 3000 >> 2999", "-7 % 3", "-7 // 2", "7 / 2", "7.5 // 2", "0.5 * 3 - 1", "(1, 2)[1] + 1",
        "-(3 - 5)", "6 & 3", "6 | 3", "6 ^ 3", "1e300 * 10",
    ],
)  # fmt: skip
def test_python_says_the_same(text):
    assert read(text) == float(eval(text))


@pytest.mark.parametrize("text", ["9 ** 10 ** 9", "1 << 10 ** 9", "10 ** 100000", "(1 << 4000) ** 4000"])
def test_numbers_without_end_are_refused(text):
    with pytest.raises(rx.RelaxError, match="cannot be computed while the graph is read"):
        read(text)


@pytest.mark.parametrize("text", ["1 // 0", "1.0 / 0", "10.0 ** 400", "1.5 << 2", "1 << -1", "(1, 2)[2]"])
def test_expressions_that_python_refuses_are_reported(text):
    with pytest.raises(rx.RelaxError, match=r"<script>:4:\d+: this cannot be evaluated: "):
        read(text)
