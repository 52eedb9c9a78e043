# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes dialects/<dialect>/__init__.pyi from the operator tables, passes/loops/steps.pyi from the primitives of
schedules and relax_mlir/*.pyi from the list of its names: what editors and type checkers know of these."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from generated import main

if TYPE_CHECKING:
    from relax_mlir.dialects.core.dialect import Dialect
    from relax_mlir.dialects.core.operator import Operator

DIALECTS = Path(__file__).resolve().parents[2] / "dialects"
STEPS = DIALECTS.parent / "passes" / "loops" / "steps.pyi"
FRONT_DOOR = DIALECTS.parent / "relax_mlir"
FRONT_DOOR_HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.
"""
HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the operator tables (`make generate`): do not edit.
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex

from typing_extensions import Unpack

from ..core.dialect import Dialect
from ..core.operands import At, BoundLike, DTypeLike, ScalarLike, ShapeLike, TypesLike, Value
"""
STEPS_HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from passes/primitives (`make generate`): do not edit.
from collections.abc import Callable, Sequence

from .handles import BlockRV, IndexMap, LoopRV

class Steps:
"""
# What a step takes for an argument besides.
TAKEN = {"BlockRV": "BlockRV | str", "IndexMap": "IndexMap | Callable[..., object]"}
# What the package has in addition to its operators, as its __init__.py hands it out.
OWN = {
    "relax": "from .constants import const as const\n",
    "tir": "from .declare import declare_intrinsic as declare_intrinsic\n",
}


def stub(dialect: Dialect) -> str:
    return HEAD + OWN[dialect.name] + "\ndialect: Dialect\n\n" + "\n".join(members(dialect, "", ""))


def members(dialect: Dialect, prefix: str, indent: str) -> Iterator[str]:
    """The operators below a prefix; `nn.conv2d` is a static method of a class whose instance is `nn`."""
    inner = {name[len(prefix) :].split(".")[0]: "." in name[len(prefix) :] for name in names(dialect, prefix)}
    for name, is_group in sorted(inner.items()):
        if is_group:
            yield f"\n{indent}class _{name}:"
            yield from members(dialect, f"{prefix}{name}.", indent + "    ")
            yield f"\n{indent}{name}: _{name}\n"
        else:
            yield from function(dialect.ops[prefix + name], name, indent)


def names(dialect: Dialect, prefix: str) -> list[str]:
    """Without what Python cannot name: `tir.assert`."""
    return [name for name in dialect.ops if name.startswith(prefix) and not keyword.iskeyword(name)]


def function(op: Operator, name: str, indent: str) -> Iterator[str]:
    if indent:
        yield f"{indent}@staticmethod"
    signature = inspect.signature(op)
    *own, loc, ip = signature.parameters.values()
    assert [loc.name, ip.name] == ["loc", "ip"]
    yield from definition(name, [*parameters(own), "**at: Unpack[At]"], signature, op.doc, indent)


def definition(name: str, shown: Sequence[str], signature: inspect.Signature, doc: str, indent: str) -> Iterator[str]:
    line = f"{indent}def {name}({', '.join(shown)}) -> {signature.return_annotation}:"
    if len(line) <= 120:
        yield line
    else:
        yield f"{indent}def {name}("
        yield from (f"{indent}    {parameter}," for parameter in shown)
        yield f"{indent}) -> {signature.return_annotation}:"
    yield f'{indent}    """{doc}"""\n'


def parameters(own: Sequence[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for parameter in own:
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            yield "*"
        keyword_only = keyword_only or bool(stars) or parameter.kind is parameter.KEYWORD_ONLY
        hint = "Any" if parameter.annotation is parameter.empty else parameter.annotation
        yield f"{stars}{parameter.name}: {hint}{'' if parameter.default is parameter.empty else ' = ...'}"


def steps() -> str:
    """The primitives of schedules as methods."""
    from relax_mlir.passes.loops.primitives import find_primitive, primitive_names
    from relax_mlir.passes.loops.schedule import ALSO

    lines: list[str] = []
    for name in sorted([*primitive_names(), *ALSO]):
        step = find_primitive(ALSO.get(name, name))
        own = [
            each.replace(annotation=TAKEN.get(each.annotation, each.annotation))
            for each in step.signature.parameters.values()
        ]
        lines += definition(name, ["self", *parameters(own)], step.signature, step.summary, "    ")
    return STEPS_HEAD + "\n".join(lines)


def front_door() -> dict[Path, str]:
    """The public names, which are imported when they are first used."""
    import relax_mlir

    written = vars(relax_mlir)  # type checkers see what is written here, and not what it is written from
    namespaces = {name: exported(written["_by_name"](each)) for name, each in written["_NAMESPACES"].items()}
    rows = exported(written["_EXPORTS"]).union(*namespaces.values())
    aliases = []
    for name, module in written["_MODULES"].items():
        package, _, last = module.rpartition(".")
        rows.add(f"from .{package} import {last} as {last if name == last else f'_{last}'}")
        if name != last:  # an import under another name is private to a stub
            aliases.append(f"{name} = _{last}")
    texts = {name: "\n".join([FRONT_DOOR_HEAD, *sorted(each), ""]) for name, each in namespaces.items()}
    texts["__init__"] = "\n".join([FRONT_DOOR_HEAD, *sorted(rows), "", "__version__: str", *aliases, ""])
    return {FRONT_DOOR / f"{name}.pyi": text for name, text in texts.items()}


def exported(modules: Mapping[str, str]) -> set[str]:
    return {f"from .{module} import {name} as {name}" for name, module in modules.items()}


def stubs() -> dict[Path, str]:
    # Importing a dialect declares its operators.
    import relax_mlir.dialects.relax
    import relax_mlir.dialects.tir  # noqa: F401
    from relax_mlir.dialects.core.dialect import registered_dialects

    written = {DIALECTS / name / "__init__.pyi": stub(registered_dialects()[name]) for name in OWN}
    return {**front_door(), STEPS: steps(), **written}


if __name__ == "__main__":
    sys.exit(main(__doc__, stubs))
