# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plugin of pytest: tests with more words in common with a place in a file run first, until the time is spent."""

from __future__ import annotations

import inspect
import math
import os
from collections import Counter
from pathlib import Path

import pytest
from mirrored import FUNCTION, Nearness, function_around, words_of

#: The nearest cases of one function come early, all others after the nearest cases of other functions.
_CASES = 3
#: Additional weight of a case with a parameter that shares a name with the function, by the name's rarity.
_NAMED = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nearest-to", metavar="FILE:LINE", help="run the tests first that are nearest to this")
    parser.addoption("--spend", type=float, metavar="SECONDS", help="start no test after so much processor time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    place = config.getoption("--nearest-to")
    if not place or not items:
        return
    name, line = place.rsplit(":", 1)
    source = Path(name).read_text()
    function = function_around(source, int(line))
    nearness = Nearness({item.nodeid: f"{item.nodeid} {_source(item)}" for item in items})
    near = {item.nodeid: nearness.of(item.nodeid, source, *[function] * FUNCTION) for item in items}
    # Cases are named after names in a function or its decorator, such as operators.
    names = words_of(function.partition("(self")[0].partition(") ->")[0])
    cases = {item.nodeid: words_of(item.nodeid.partition("[")[2]) for item in items}
    having = Counter(word for words in cases.values() for word in words)
    for case, words in cases.items():
        # A name that many cases have, such as an element type, is less informative.
        near[case] *= 1 + _NAMED * sum(math.log(len(cases) / having[word]) for word in words & names)
    items.sort(key=lambda item: -near[item.nodeid])
    before: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        near[item.nodeid] /= _CASES + before[test]
        before[test] += 1
    items.sort(key=lambda item: -near[item.nodeid])


def _source(item: pytest.Item) -> str:
    function = getattr(item, "function", None)
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    try:
        return inspect.getsource(function) if function else ""
    except OSError:
        return ""  # defined by other code


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Return True to skip a test: it counts as done."""
    most = item.config.getoption("--spend")
    return True if most is not None and sum(os.times()[:4]) > most else None
