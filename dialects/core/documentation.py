# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documentation of an operator, from its definition: signature, docstring, type hints."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from .attributes import AttrKind
from .opdef import OpDef, OperandDef

# Type hints of builder arguments for operands, by operand kind, as in a stub file.
_OPERAND_HINTS = {"shape": "ShapeLike", "scalar": "ScalarLike", "tensor_or_scalar": "ScalarLike"}
_EMPTY: object = inspect.Parameter.empty


class BuilderArgument(NamedTuple):
    """One argument of an operator's builder. `default` is Parameter.empty for a required argument."""

    name: str
    kind: str
    default: object
    hint: str
    doc: str = ""
    #: Name in the tables: `*name` takes any number of values, `name?` is optional.
    shown: str = ""


def arguments(definition: OpDef) -> Iterator[BuilderArgument]:
    """Yield the arguments of the builder, in order."""
    operands = {operand.name: operand for operand in definition.operands}
    for name in definition.parameters:
        if name in operands:
            yield _operand(definition, operands[name])
        elif name in definition.attrs:
            kind = definition.attrs[name]
            default = _EMPTY if kind.required else kind.default
            hint = kind.hint if kind.required or kind.default is not None else f"{kind.hint} | None"
            yield BuilderArgument(name, kind.label, default, hint, _meaning(kind), name)
        elif name == definition.explicit:
            yield BuilderArgument(name, "types", _EMPTY, "TypesLike", "type of each result", name)
        else:  # an argument of the operator that this one redirects to
            yield BuilderArgument(name, "tensor", None, "Value | None", "", f"{name}?")


def _operand(definition: OpDef, operand: OperandDef) -> BuilderArgument:
    hint = _OPERAND_HINTS.get(operand.kind, "Value")
    if operand.arity == "variadic":
        return BuilderArgument(operand.name, operand.kind, (), f"{hint} | Sequence[{hint}]", shown=f"*{operand.name}")
    default = definition.defaults.get(operand.name, _EMPTY if operand.arity == "single" else None)
    hint = f"{hint} | None" if default is None else hint
    optional = operand.arity == "optional" or default is None
    return BuilderArgument(operand.name, operand.kind, default, hint, shown=operand.name + "?" * optional)


def _meaning(kind: AttrKind) -> str:
    choices: tuple[str, ...] = getattr(kind, "choices", ())
    one_of = [f"one of {', '.join(map(repr, choices))}"] if choices else []
    return "; ".join([*filter(None, [kind.doc]), *one_of])


def signature(definition: OpDef) -> inspect.Signature:
    """Return the builder's signature. A required argument behind an optional one is shown as a keyword."""
    found, ends_with_default = [], False
    for argument in arguments(definition):
        keyword_only = ends_with_default and argument.default is _EMPTY
        ends_with_default |= argument.default is not _EMPTY
        how = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        found.append(inspect.Parameter(argument.name, how, default=argument.default, annotation=argument.hint))
    for name in ("loc", "ip"):
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
    # Keywords come behind positional arguments.
    return inspect.Signature(
        sorted(found, key=lambda parameter: parameter.kind), return_annotation=_results(definition)
    )


def _results(definition: OpDef) -> str:
    if not definition.results:
        return "None"
    if any(result.arity != "single" for result in definition.results):
        return "Any"  # one result is returned directly, several as a tuple
    return "Value" if len(definition.results) == 1 else f"tuple[{', '.join(['Value'] * len(definition.results))}]"


def call_text(definition: OpDef) -> str:
    """Return the call as text: `relax.nn.relu(data)`, with `-> a, b` if the results have names."""
    results = [result.name if result.arity != "variadic" else f"*{result.name}" for result in definition.results]
    shown = "" if results == ["result"] else f" -> {', '.join(results) or '()'}"
    return f"{definition.full_name}({', '.join(map(_argument_text, arguments(definition)))}){shown}"


def _argument_text(argument: BuilderArgument) -> str:
    kind = "" if argument.kind == "tensor" else f": {argument.kind}"
    return f"{argument.shown}{kind}{_default(argument)}"


def _default(argument: BuilderArgument) -> str:
    """Return the default as text, or nothing if the name has a mark for optional arguments."""
    return "" if argument.default is _EMPTY or argument.shown != argument.name else f" = {argument.default!r}"


def docstring(definition: OpDef) -> str:
    """Return the text of `help`: the call, its meaning, and the kind, default and meaning of each argument."""
    lines = [call_text(definition), "", definition.doc or "(not documented)", ""]
    rows = [
        (argument.shown, f"{argument.kind}{_default(argument)}{': ' if argument.doc else ''}{argument.doc}")
        for argument in arguments(definition)
    ]
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"  {name:{width}}  {text}" for name, text in rows]
    return "\n".join(lines).rstrip()
