# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of tensors by the names of files: the items of `xs` are xs.0, xs.1 and so on; what is left out has no name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...runtime import tensor
from ...support.errors import RelaxError


def spread_inputs(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The signature as if every tensor of a list were an input by itself."""
    inputs = [each for described in entry["inputs"] for each in _spread(described)]
    names = [each["name"] for each in inputs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RelaxError(f"'{twice}' names an input and a tensor in a list: relax-run cannot tell them apart")
    return {**entry, "inputs": inputs}


def _spread(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    if described["kind"] == "nothing":
        return []
    if described["kind"] != "list":
        return [dict(described)]
    return [{**item, "name": f"{described['name']}.{index}"} for index, item in enumerate(described["items"])]


def gathered_inputs(entry: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the function takes for each input, of values by the names of `spread_inputs`."""
    return {each["name"]: _gathered(each, values) for each in entry["inputs"]}


def _gathered(described: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    if described["kind"] == "list":
        return [values[each["name"]] for each in _spread(described)]
    return None if described["kind"] == "nothing" else values[described["name"]]


def spread_values(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values by name, those of lists each by itself; None has none."""
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}.{index}", item) for index, item in enumerate(value))
        elif value is not None:
            yield name, value


def passed(value: Any) -> Any:
    """An input as a program takes it."""
    if isinstance(value, list):
        return [tensor(each) for each in value]
    return tensor(value) if hasattr(value, "shape") else value
