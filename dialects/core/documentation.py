# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documentation of an operator, from its definition: signature, docstring, type hints."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from .attributes import AttrKind
from .opdef import OpDef, OperandDef

# What the builder takes in an operand's place, as type hints in a stub name it.
_OPERAND_HINTS = {"shape": "ShapeLike", "scalar": "ScalarLike", "tensor_or_scalar": "ScalarLike"}
_EMPTY: object = inspect.Parameter.empty


class BuilderArgument(NamedTuple):
    """One argument of an operator's builder. `default` is Parameter.empty where it has to be given."""

    name: str
    kind: str
    default: object
    hint: str
    doc: str = ""
    #: As the tables write it: `*name` takes any number, `name?` may be left out.
    shown: str = ""


def arguments(definition: OpDef) -> Iterator[BuilderArgument]:
    """What the builder takes, in its order."""
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
            yield BuilderArgument(name, "types", _EMPTY, "TypesLike", "the type of each result", name)
        else:  # what only the operator that this one hands over to has
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
    """The builder's signature. What must be given behind what may be left out is shown as a keyword."""
    found, ends_with_default = [], False
    for argument in arguments(definition):
        keyword_only = ends_with_default and argument.default is _EMPTY
        ends_with_default |= argument.default is not _EMPTY
        how = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        found.append(inspect.Parameter(argument.name, how, default=argument.default, annotation=argument.hint))
    for name in ("loc", "ip"):
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
    # Keywords come behind what can be given by position.
    return inspect.Signature(
        sorted(found, key=lambda parameter: parameter.kind), return_annotation=_results(definition)
    )


def _results(definition: OpDef) -> str:
    if not definition.results:
        return "None"
    if any(result.arity != "single" for result in definition.results):
        return "Any"  # one result is handed out as itself, several as a tuple
    return "Value" if len(definition.results) == 1 else f"tuple[{', '.join(['Value'] * len(definition.results))}]"


def call_text(definition: OpDef) -> str:
    """`relax.nn.relu(data)`, with `-> a, b` where the results have names of their own."""
    results = [result.name if result.arity != "variadic" else f"*{result.name}" for result in definition.results]
    shown = "" if results == ["result"] else f" -> {', '.join(results) or '()'}"
    return f"{definition.full_name}({', '.join(map(_argument_text, arguments(definition)))}){shown}"


def _argument_text(argument: BuilderArgument) -> str:
    kind = "" if argument.kind == "tensor" else f": {argument.kind}"
    return f"{argument.shown}{kind}{_default(argument)}"


def _default(argument: BuilderArgument) -> str:
    """Nothing where a mark at the name says already that it may be left out."""
    return "" if argument.default is _EMPTY or argument.shown != argument.name else f" = {argument.default!r}"


def docstring(definition: OpDef) -> str:
    """What `help` shows: the call, what it means, and each argument with its kind, default and meaning."""
    lines = [call_text(definition), "", definition.doc or "(not documented)", ""]
    rows = [
        (each.shown, f"{each.kind}{_default(each)}{': ' if each.doc else ''}{each.doc}")
        for each in arguments(definition)
    ]
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"  {name:{width}}  {text}" for name, text in rows]
    return "\n".join(lines).rstrip()
