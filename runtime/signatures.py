# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functions take and give, for people and for Python's tools: texts of what the manifest describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect


def signature_text(entry: Mapping[str, Any]) -> str:
    """As `main(x: float32[n, 4], i: int64) -> float32[n]`."""
    taken = ", ".join(f"{each['name']}: {type_text(each)}" for each in entry["inputs"])
    return f"{entry['name']}({taken}) -> {_results_text(entry['outputs'])}"


def type_text(described: Mapping[str, Any]) -> str:
    """A type as the manifest describes it."""
    kind = described["kind"]
    if kind == "tensor":
        sizes = ", ".join("?" if size is None else str(size) for size in described["shape"])
        return f"{described.get('holds', described['dtype'])}[{sizes}]"
    if kind == "list":
        rest = [f"*{type_text(described['rest'])}"] if "rest" in described else []
        return _optional(described, f"list[{', '.join([*map(type_text, described['items']), *rest])}]")
    text = {"scalar": described.get("dtype", ""), "nothing": "None"}.get(kind, kind)
    return _optional(described, str(text))


def _optional(described: Mapping[str, Any], text: str) -> str:
    return f"{text} | None" if described.get("optional") else text


def _results_text(outputs: Sequence[Mapping[str, Any]]) -> str:
    texts = [_optional(each, type_text(each)) for each in outputs]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "None"


def documentation(entry: Mapping[str, Any]) -> str:
    """What `help` shows."""
    lines = [f"{signature_text(entry)}", ""]
    for title, values in (("Takes", entry["inputs"]), ("Gives", entry["outputs"])):
        lines += [f"{title}:" if values else f"{title} nothing."]
        lines += [f"    {_value_text(position, each)}" for position, each in enumerate(values)]
    return "\n".join(lines)


def _value_text(position: int, described: Mapping[str, Any]) -> str:
    name = described.get("name", f"#{position}")
    return f"{name}: {type_text(described)}{', which a call writes to' if described.get('written') else ''}"


def python_signature(entry: Mapping[str, Any]) -> inspect.Signature:
    """For tools that show and check calls. Names that Python cannot write are changed, and go by place only."""
    import inspect
    import keyword
    import re

    names = [each["name"] for each in entry["inputs"]]
    written = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if written else inspect.Parameter.POSITIONAL_ONLY
    shown = names if written else _different(re.sub(r"\W", "_", f"_{name}") for name in names)
    parameters = [
        inspect.Parameter(name, kind, annotation=type_text(each))
        for name, each in zip(shown, entry["inputs"], strict=True)
    ]
    return inspect.Signature(parameters, return_annotation=_results_text(entry["outputs"]))


def _different(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(name if name not in found else f"{name}_{len(found)}")
    return found
