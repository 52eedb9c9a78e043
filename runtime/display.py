# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts for people and for Python's tools: a summary of an executable, and its functions' arguments and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..support.byte_sizes import byte_text
from ..support.suggest import counted
from .artifact import Artifact, DeviceCode
from .manifest import PassedValue, Signature

if TYPE_CHECKING:
    import inspect


def text(artifact: Artifact) -> str:
    """Return a line on the program, and a line per function."""
    lines = [f"Executable: {', '.join(_facts(artifact))}"]
    lines += [f"  {signature_text(signature)}{_kernels_text(signature)}" for signature in artifact.signatures]
    return "\n".join(lines)


def html(artifact: Artifact) -> str:
    """Return the summary for notebooks."""
    from html import escape

    rows = [
        f"<tr><td style='text-align:left'><code>{escape(signature_text(signature))}</code></td>"
        f"<td>{'' if signature.sites is None else len(signature.sites)}</td></tr>"
        for signature in artifact.signatures
    ]
    head = "<tr><th style='text-align:left'>function</th><th>kernels</th></tr>"
    return f"<div><b>Executable</b>: {escape(', '.join(_facts(artifact)))}<table>{head}{''.join(rows)}</table></div>"


def _facts(artifact: Artifact) -> list[str]:
    code = sum(each.nbytes for each in artifact.objects)
    constants = sum(constant.data.nbytes for constant in artifact.constants)
    parts = Counter(external.codegen for external in artifact.externals)
    return [
        f"for {artifact.triple or 'any machine'}",
        counted(len(artifact.signatures), "function"),
        f"{byte_text(code)} of code",
        f"{byte_text(constants)} of constants",
        *(f"{counted(count, 'part')} by {codegen}" for codegen, count in parts.items()),
        *map(_device_text, artifact.devices),
        *(f"calls {name}" for name in artifact.libraries.names),
    ]


def _device_text(code: DeviceCode) -> str:
    return f"{counted(len(code.kernels), 'kernel')} for {code.kind} ({code.arch}, {code.format})"


def _kernels_text(signature: Signature) -> str:
    """Return the number of kernel call sites, or "" if the program was compiled without clocks."""
    return "" if signature.sites is None else f"  ({counted(len(signature.sites), 'kernel')})"


# ---- arguments and results of functions, from the manifest ----


def signature_text(signature: Signature) -> str:
    """Return a text such as `main(x: float32[n, 4], i: int64) -> float32[n]`."""
    taken = ", ".join(f"{input_.name}: {type_text(input_)}" for input_ in signature.inputs)
    return f"{signature.name}({taken}) -> {_results_text(signature.outputs)}"


def type_text(described: PassedValue) -> str:
    """Return the text of a type in the manifest."""
    if (kind := described.kind) == "tensor":
        sizes = ", ".join("?" if size is None else str(size) for size in described.shape)
        return f"{described.holds or described.dtype}[{sizes}]"
    if kind == "list":
        rest = [f"*{type_text(described.rest)}"] if described.rest is not None else []
        return _optional(described, f"list[{', '.join([*map(type_text, described.items), *rest])}]")
    return _optional(described, {"scalar": described.dtype, "nothing": "None"}.get(kind, kind))


def _optional(described: PassedValue, text: str) -> str:
    return f"{text} | None" if described.optional else text


def _results_text(outputs: Sequence[PassedValue]) -> str:
    texts = [_optional(output, type_text(output)) for output in outputs]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "None"


def documentation(signature: Signature) -> str:
    """Return the text that `help` shows."""
    lines = [signature_text(signature), ""]
    for title, values in (("Takes", signature.inputs), ("Gives", signature.outputs)):
        lines += [f"{title}:" if values else f"{title} nothing."]
        lines += [f"    {_value_text(position, value)}" for position, value in enumerate(values)]
    return "\n".join(lines)


def _value_text(position: int, described: PassedValue) -> str:
    name = described.name or f"#{position}"
    return f"{name}: {type_text(described)}{', which a call writes to' if described.written else ''}"


def python_signature(signature: Signature) -> inspect.Signature:
    """Return the signature for tools that show and check calls.

    Names that are not valid in Python are changed, and those parameters are positional only.
    """
    import inspect
    import keyword
    import re

    names = [input_.name for input_ in signature.inputs]
    written = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if written else inspect.Parameter.POSITIONAL_ONLY
    shown = names if written else _different(re.sub(r"\W", "_", f"_{name}") for name in names)
    parameters = [
        inspect.Parameter(name, kind, annotation=type_text(input_))
        for name, input_ in zip(shown, signature.inputs, strict=True)
    ]
    return inspect.Signature(parameters, return_annotation=_results_text(signature.outputs))


def _different(names: Iterable[str]) -> list[str]:
    different: list[str] = []
    for name in names:
        different.append(name if name not in different else f"{name}_{len(different)}")
    return different
