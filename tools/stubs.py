# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stubs of a package's own dialects, with which editors and type checkers know the operators.

    python -m relax_mlir.tools.stubs mynpu.ops

A module `ops` with `mynpu = rx.Dialect("mynpu")` gets `ops.pyi` in its folder: a method per operator, and all other
declarations of the module. A class derived from rx.Schedule gets the package's own primitives as methods.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TextIO, get_args

from ..support.errors import RelaxError
from ..support.files import write_whole
from ..support.importing import is_own_module
from ..support.plugins import load_plugin, plugin_module
from .common.command_line import COMMON_OPTIONS, parse_arguments
from .common.tool import Tool
from .opt.information import shows_information

if TYPE_CHECKING:
    from ..dialects.core.dialect import Dialect
    from ..dialects.core.operator import Operator

PACKAGE = __name__.partition(".")[0]
HELP_HEAD = (
    "relax_mlir.tools.stubs: writes what type checkers and editors know of a package's own operators",
    "",
    "usage: python -m relax_mlir.tools.stubs [options] module...    (with what these import of their packages)",
)
# Imports for the hints of operators. `core` is the package dialects.core.
HINTS = """\
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex

from typing_extensions import Unpack

from {core}.dialect import Dialect
from {core}.operands import At, BoundLike, DTypeLike, ScalarLike, ShapeLike, TypesLike, Value
"""
_LOOPS = f"{PACKAGE}.passes.kernels.loops"
_MARK = f"# Written by `python -m {PACKAGE}.tools.stubs`: do not edit.\n"
HEAD = f"""\
{_MARK}\
# ruff: noqa
from collections.abc import Callable
{HINTS.format(core=f"{PACKAGE}.dialects.core")}from {_LOOPS}.handles import BlockRV, IndexMap, LoopRV
"""
# Wider hints for arguments of steps.
_TAKEN = {"BlockRV": "BlockRV | str", "IndexMap": "IndexMap | Callable[..., object]"}


def members(dialect: Dialect, prefix: str, indent: str) -> Iterator[str]:
    """Yield the operators below a prefix. `nn.conv2d` is a static method of a class with the instance `nn`."""
    inner = {name[len(prefix) :].split(".")[0]: "." in name[len(prefix) :] for name in _names(dialect, prefix)}
    for name, is_group in sorted(inner.items()):
        if is_group:
            yield f"\n{indent}class _{name}:"
            yield from members(dialect, f"{prefix}{name}.", indent + "    ")
            yield f"\n{indent}{name}: _{name}\n"
        else:
            yield from _builder(dialect.ops[prefix + name], name, indent)


def _names(dialect: Dialect, prefix: str) -> list[str]:
    """Return the names below a prefix that Python can express, without `tir.assert`."""
    return [name for name in dialect.ops if name.startswith(prefix) and not keyword.iskeyword(name)]


def _builder(op: Operator, name: str, indent: str) -> Iterator[str]:
    if indent:
        yield f"{indent}@staticmethod"
    signature = inspect.signature(op)
    *own, loc, ip = signature.parameters.values()
    assert [loc.name, ip.name] == ["loc", "ip"]
    yield from _definition(name, [*_parameters(own), "**at: Unpack[At]"], signature, op.doc, indent)


def step(name: str, primitive: str) -> Iterator[str]:
    """Yield a primitive of schedules as a method."""
    from ..passes.kernels.loops.primitives import find_primitive

    found = find_primitive(primitive)
    own = [
        parameter.replace(annotation=_widen(parameter.annotation)) for parameter in found.signature.parameters.values()
    ]
    yield from _definition(name, ["self", *_parameters(own)], found.signature, found.summary, "    ")


def _widen(annotation: object) -> str:
    hint = _hint(annotation)
    return _TAKEN.get(hint, hint)


def _definition(name: str, shown: Sequence[str], signature: inspect.Signature, doc: str, indent: str) -> Iterator[str]:
    result = _hint(signature.return_annotation)
    line = f"{indent}def {name}({', '.join(shown)}) -> {result}:"
    if len(line) <= 120:
        yield line
    else:
        yield f"{indent}def {name}("
        yield from (f"{indent}    {parameter}," for parameter in shown)
        yield f"{indent}) -> {result}:"
    is_plain = doc and not doc.endswith('"') and '"""' not in doc and "\\" not in doc
    yield f'{indent}    """{doc}"""\n' if is_plain else f"{indent}    {doc!r}\n"


def _parameters(own: Sequence[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for parameter in own:
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            yield "*"
        keyword_only = keyword_only or bool(stars) or parameter.kind is parameter.KEYWORD_ONLY
        default = "" if parameter.default is parameter.empty else " = ..."
        yield f"{stars}{parameter.name}: {_hint(parameter.annotation)}{default}"


def _hint(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__qualname__
    return inspect.formatannotation(annotation)


def package_stubs(names: Sequence[str]) -> dict[Path, str]:
    """Return stubs by path, for modules that declare dialects or schedules, and imported modules of their packages.

    All modules are imported first, because one may declare operators of another one's dialect.
    """
    for name in names:
        load_plugin(name)
    packages = {plugin_module(name).partition(".")[0] for name in names}
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in packages]
    files = {Path(module.__file__ or ""): module for module in modules if hasattr(module, "__file__")}
    found = {file.with_suffix(".pyi"): _module_stub(file, each) for file, each in files.items() if file.suffix == ".py"}
    return {path: text for path, text in found.items() if text}


def _module_stub(file: Path, module: ModuleType) -> str:
    """Return a module's stub, empty if its source already tells type checkers everything."""
    lines: list[str] = []
    written: set[str] = set()
    for statement in ast.parse(file.read_bytes()).body:
        if own := list(_own_declaration(statement, vars(module), written)):
            lines += own
        elif not _is_left_out(statement):
            lines.append(ast.unparse(_WithoutBodies().visit(statement)))
    return "\n".join([HEAD, *lines, ""]) if written else ""


def _own_declaration(statement: ast.stmt, values: dict[str, object], written: set[str]) -> Iterator[str]:
    """Yield the declarations of dialects, and of a class of schedules. `written` collects the generated classes."""
    from ..dialects.core.dialect import Dialect
    from ..passes.kernels.loops.schedule import Schedule

    if isinstance(statement, ast.ClassDef):
        value = values.get(statement.name)
        if isinstance(value, type) and issubclass(value, Schedule) and (primitives := _own_primitives()):
            written.add(statement.name)
            yield ast.unparse(statement)
            for name in primitives:
                yield from step(name, name)
        return
    names = list(_yield_assigned(statement))
    dialects = {name: value for name in names if isinstance(value := values.get(name), Dialect)}
    for name in names if dialects else ():
        dialect = dialects.get(name)
        kind = f"_{dialect.name}" if dialect else "Any"
        if dialect and kind not in written:
            written.add(kind)
            yield from _dialect_class(dialect)
        yield f"{name}: {kind}"


def _dialect_class(dialect: Dialect) -> Iterator[str]:
    yield f"\nclass _{dialect.name}(Dialect):"
    # The base class accepts any attribute as an operator. This class accepts only its own operators.
    yield "    __getattr__: None  # type: ignore"
    yield from members(dialect, "", "    ")


def _own_primitives() -> list[str]:
    """Return the primitives of packages outside of this project."""
    from ..passes.kernels.loops.primitives import find_primitive, primitive_names

    modules = {name: find_primitive(name).function.__module__ for name in primitive_names()}
    return [name for name, module in modules.items() if not is_own_module(module)]


def _yield_assigned(statement: ast.stmt) -> Iterator[str]:
    targets: Iterable[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else ()
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _is_left_out(statement: ast.stmt) -> bool:
    """Check for statements that declare nothing, and for `from __future__`, which stubs do not need."""
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return isinstance(statement, ast.Expr) or is_future


class _WithoutBodies(ast.NodeTransformer):
    """Replaces function bodies. Classes stay unchanged, because their methods declare attributes."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        doc = ast.get_docstring(node)
        node.body = [ast.Expr(ast.Constant(... if doc is None else doc))]
        return node


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    arguments = parse_arguments(argv, COMMON_OPTIONS)
    if shows_information(arguments, stdout, "relax_mlir.tools.stubs", HELP_HEAD, COMMON_OPTIONS, has_mlir=True):
        return 0
    if not arguments.files:
        raise RelaxError("name the modules: python -m relax_mlir.tools.stubs mynpu.ops")
    if not (found := package_stubs(arguments.files)):
        raise RelaxError(f"{', '.join(arguments.files)}: no rx.Dialect is assigned to a name there: nothing to write")
    for path in filter(Path.exists, found):
        if not path.read_bytes().startswith(_MARK.encode()):
            raise RelaxError(f"{path} was written by something else: move it away, and nothing of it is lost")
    for path, text in found.items():
        write_whole(str(path), text.encode())
        stdout.write(f"{path}\n")
    return 0


run = Tool("relax_mlir.tools.stubs", "..stubs")


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
