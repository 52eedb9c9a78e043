# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check the house rules of imports and files; needs Python alone. Usage: check_layers.py [REPOSITORY]."""

from __future__ import annotations

import argparse
import ast
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeVar

from lost_names import children, lost_names

_Name = TypeVar("_Name")
_Import = TypeVar("_Import")

PACKAGE = "relax_mlir"
SPDX = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
MAX_LINES = 500
WHEEL_ROOTS = frozenset({"mlir", "torch_mlir"})
WHEEL_SHIM = Path("bindings/wheel.py")

# Folders that each folder of the package may import in addition to itself.
_BELOW_EMIT = ("support", "bindings", "dialects")
_BELOW_PASSES = (*_BELOW_EMIT, "emit", "passes/core", "targets/core")
_BELOW_TARGETS = (*_BELOW_PASSES, "passes")
_BELOW_COMPILATION = (*_BELOW_TARGETS, "frontends/core", "frontends", "runtime", "targets")
_BELOW_TOOLS = (*_BELOW_COMPILATION, "compilation")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "support": (),
    "bindings": ("support",),
    "dialects": ("support", "bindings"),
    "emit": _BELOW_EMIT,
    # The definitions of passes and of targets are layers of their own, below the passes.
    "passes/core": _BELOW_EMIT,
    "targets/core": (*_BELOW_EMIT, "passes/core", "runtime"),
    "passes": _BELOW_PASSES,
    # The common part of front ends knows none of them.
    "frontends/core": _BELOW_TARGETS,
    "frontends": (*_BELOW_TARGETS, "frontends/core"),
    # Targets create artifacts. The runtime itself needs nothing of the compiler.
    "targets": (*_BELOW_TARGETS, "runtime"),
    "runtime": ("support",),
    "compilation": _BELOW_COMPILATION,
    "tools": (*_BELOW_TOOLS, PACKAGE),
    PACKAGE: (*_BELOW_TOOLS, "tools"),
}
# A target imports no other target. These folders are shared by targets.
SHARED_TARGETS = frozenset({"core", "host", "default", "gpu", "text"})
# These folders are imported whenever a tool starts, and these modules would make that slow.
START_UP_FOLDERS = frozenset({*_BELOW_PASSES, "passes", "compilation", "tools", PACKAGE})
SLOW_MODULES = frozenset({"numpy", "scipy", "ml_dtypes"})

# Scripts in folders of the package that are not part of it.
UNPACKAGED = (Path("tools/dev"),)
SKIPPED_FOLDERS = frozenset({"build", "dist", "__pycache__", "Output"})
IMPORT_FUNCTIONS = frozenset({"__import__", "import_module", "find_spec", "importorskip", "run_module"})


@dataclass(frozen=True, order=True)
class Violation:
    file: Path
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: error: {self.text}"


@dataclass(frozen=True)
class SourceFile:
    """Python file of the repository. `folder` is its folder in the package, or None outside of the package."""

    file: Path
    folder: str | None
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        found: list[ast.AST] = [self.tree]
        for node in found:
            found.extend(children(node))
        return found

    @cached_property
    def absolute_names(self) -> list[tuple[ast.AST, str]]:
        """Return modules in import statements, in strings passed to import functions, and in keys of sys.modules."""
        return [(node, name) for node in self.nodes for name in (*_names_of_import(node), *_names_in_strings(node))]

    def violation(self, node: ast.AST, text: str) -> Violation:
        return Violation(self.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, text)

    @property
    def package(self) -> tuple[str, ...]:
        """Return the dotted package of this module, as relative imports count it."""
        parts = self.file.parts[:-1]
        return parts if self.folder == PACKAGE else (PACKAGE, *parts)

    def module_of(self, node: ast.AST) -> tuple[str, ...] | None:
        """Return the module that a relative import names after `from`, or None if it leaves the package or is not
        relative."""
        if not isinstance(node, ast.ImportFrom) or not 0 < node.level <= len(self.package):
            return None
        base = self.package[1 : len(self.package) - node.level + 1]
        return (*base, *(node.module.split(".") if node.module else ()))


def check_repository(root: Path) -> list[Violation]:
    """Return every violation in the Python files under `root`, in the order of files and lines."""
    checked = [_check_file(root, file) for file in python_files(root)]
    sources = [source for source, _ in checked if source is not None and source.folder is not None]
    found = [violation for _, violations in checked for violation in violations]
    # An upward import is reported once, and not as a circle that it closes as well.
    return sorted([*found, *_check_circles(sources), *(() if found else _check_folder_circles(sources))])


def python_files(root: Path) -> Iterator[Path]:
    return (file for file in source_files(root) if file.suffix == ".py")


def source_files(root: Path) -> Iterator[Path]:
    """Yield the files outside of build folders and hidden folders, relative to `root`."""
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(
            name
            for name in subfolders
            if name not in SKIPPED_FOLDERS and not name.startswith(".") and not name.endswith(".egg-info")
        )
        yield from ((Path(folder) / name).relative_to(root) for name in sorted(files))


def _check_file(root: Path, file: Path) -> tuple[SourceFile | None, list[Violation]]:
    try:
        text = (root / file).read_text(encoding="utf-8")
        source = SourceFile(file, package_folder(file), ast.parse(text, filename=str(file)))
    except UnicodeDecodeError as error:
        return None, [Violation(file, 1, 1, f"not UTF-8: {error.reason} at byte {error.start}")]
    except SyntaxError as error:
        return None, [Violation(file, error.lineno or 1, error.offset or 1, f"not valid Python: {error.msg}")]
    return source, [*_check_text(file, text.splitlines()), *_check_source(source)]


def _check_source(source: SourceFile) -> Iterator[Violation]:
    yield from _check_wheel_root(source)
    yield from _check_lost_names(source)
    if source.folder is not None:
        yield from _check_layers(source, source.folder)
        yield from _check_targets(source)
    if source.folder in START_UP_FOLDERS:
        yield from _check_slow_imports(source)


def package_folder(file: Path) -> str | None:
    if any(folder in file.parents for folder in UNPACKAGED):
        return None
    floor = _folder_of(file.parts[:-1])
    return floor if floor != PACKAGE or file.parts[0] == PACKAGE else None


def _check_text(file: Path, lines: list[str]) -> Iterator[Violation]:
    header = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    if header != [SPDX]:
        yield Violation(file, 1, 1, f"the file does not start with `{SPDX}`")
    if len(lines) > MAX_LINES:
        yield Violation(
            file, MAX_LINES + 1, 1, f"{len(lines)} lines; a file has {MAX_LINES} at most: split it at a seam"
        )


def _check_wheel_root(source: SourceFile) -> Iterator[Violation]:
    if source.file == WHEEL_SHIM:
        return
    for node, name in source.absolute_names:
        if _top(name) in WHEEL_ROOTS:
            yield source.violation(
                node, f"only {WHEEL_SHIM} names the MLIR wheel's root, this names `{name}`: import from the shim"
            )


def _check_lost_names(source: SourceFile) -> Iterator[Violation]:
    for node, problem in lost_names(source.nodes):
        yield source.violation(node, problem)


def _check_layers(source: SourceFile, folder: str) -> Iterator[Violation]:
    for node, target in _imported_folders(source):
        if target != folder and target not in MAY_IMPORT[folder]:
            allowed = ", ".join(MAY_IMPORT[folder]) or "no other folder"
            shown = "the front door" if target == PACKAGE else f"`{target}`"
            yield source.violation(node, f"`{folder}` must not import {shown}; it may import: {allowed}")
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.level > len(source.package):
            yield source.violation(node, f"the relative import leaves the package `{PACKAGE}`")
    for node, name in source.absolute_names:
        if _top(name).startswith(f"{PACKAGE}_"):
            yield source.violation(node, f"the core must not import the plug-in `{_top(name)}`: registries find it")
        if _top(name) == PACKAGE != folder:
            yield source.violation(node, f"absolute import of `{name}`: imports inside the package are relative")


def _check_targets(source: SourceFile) -> Iterator[Violation]:
    if source.folder != "targets" or len(source.package) < 3:
        return
    own = source.package[2]
    shared = ", ".join(f"`targets/{name}`" for name in sorted(SHARED_TARGETS))
    for node in source.nodes:
        if not isinstance(node, ast.ImportFrom) or (base := source.module_of(node)) is None:
            continue
        modules = [(*base, alias.name) for alias in node.names]
        others = {module[1] for module in modules if module[0] == "targets" and len(module) > 1}
        for other in sorted(others - SHARED_TARGETS - {own}):
            text = f"the target `{own}` must not import the target `{other}`: what both need is in one of {shared}"
            yield source.violation(node, text)


def _imported_folders(source: SourceFile) -> Iterator[tuple[ast.AST, str]]:
    """Yield the package's folders that a file imports. `relax_mlir` itself denotes the front door."""
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom):
            yield from ((node, folder) for folder in sorted(_folders_of_from_import(source, node)))
    for node, name in source.absolute_names:
        if _top(name) == PACKAGE:
            yield node, _folder_of(tuple(name.split(".")[1:]))


def _folders_of_from_import(source: SourceFile, node: ast.ImportFrom) -> set[str]:
    inner = source.module_of(node)
    if inner is None:
        return set()  # absolute names are checked by absolute_names, too many dots by _check_layers
    return {_folder_of(inner)} if inner else {_folder_of((alias.name,)) for alias in node.names}


def _folder_of(inner: tuple[str, ...]) -> str:
    """Return the layer of a module: its folder in the package, or that folder's own layer."""
    floors = ("/".join(inner[:length]) for length in (2, 1) if len(inner) >= length)
    return next((floor for floor in floors if floor in MAY_IMPORT), PACKAGE)


def _check_circles(sources: list[SourceFile]) -> Iterator[Violation]:
    """Find files that import one another, also inside of functions and for annotations.

    Such a circle is one file, or is cut wrongly.
    """
    by_module = {_module_of(source): source for source in sources}
    imports = {}
    for source in sources:
        for_types = dict(_imported_files(source, by_module, for_types=True))
        imports[source.file] = {**for_types, **dict(_imported_files(source, by_module))}
    for (file, *_), node, shown in circles_in(imports):
        yield Violation(file, node.lineno, node.col_offset + 1, f"files import one another: {shown}")


def circles_in(imports: dict[_Name, dict[_Name, _Import]]) -> Iterator[tuple[list[_Name], _Import, str]]:
    """Yield circles from their first member on, the import that closes each, and the text that shows it."""
    while True:
        try:
            TopologicalSorter(imports).prepare()
            return
        except CycleError as error:
            found = error.args[1][:0:-1]  # each is imported by the next one
            start = found.index(min(found))
            circle = [*found[start:], *found[:start]]
            yield circle, imports[circle[0]].pop(circle[1]), " -> ".join(map(str, [*circle, circle[0]]))


#: Folders that import one another, to be resolved: each row may only become shorter.
KNOWN_CIRCLES = (frozenset({"runtime", *(f"runtime/{device}" for device in ("cuda", "devices"))}),)


def _check_folder_circles(sources: list[SourceFile]) -> Iterator[Violation]:
    """Find folders that import one another, also for annotations.

    Such folders are one, or a file is in the wrong one.
    """
    by_module = {_module_of(source): source for source in sources}
    folders = {source.file: "/".join(source.package[1:]) for source in sources}
    imports: dict[str, dict[str, tuple[Path, ast.ImportFrom]]] = {}
    for source in sources:
        folder = folders[source.file]
        for file, node in _imported_files(source, by_module, for_types=True):
            other = folders[file]
            if other != folder and not any({folder, other} <= known for known in KNOWN_CIRCLES):
                imports.setdefault(folder, {}).setdefault(other, (source.file, node))
    for _, (file, node), shown in circles_in(imports):
        yield Violation(file, node.lineno, node.col_offset + 1, f"folders import one another: {shown}")


def _module_of(source: SourceFile) -> tuple[str, ...]:
    parts = source.file.with_suffix("").parts
    return (*source.package[1:], *(() if parts[-1] == "__init__" else parts[-1:]))


def _imported_files(
    source: SourceFile, by_module: dict[tuple[str, ...], SourceFile], *, for_types: bool = False
) -> Iterator[tuple[Path, ast.ImportFrom]]:
    """Yield the files that a file imports, with `for_types` also the ones for annotations."""
    checks = [node for node in source.nodes if isinstance(node, ast.If) and _is_type_checking(node.test)]
    below = {inner for node in checks for statement in node.body for inner in ast.walk(statement)}
    never_run = set() if for_types else below
    for node in source.nodes:
        module = source.module_of(node)
        if isinstance(node, ast.ImportFrom) and module is not None and node not in never_run:
            for alias in node.names:
                found = by_module.get((*module, alias.name)) or by_module.get(module)
                if found is not None and found is not source:
                    yield found.file, node


def _check_slow_imports(source: SourceFile) -> Iterator[Violation]:
    for node in _import_time_nodes(source.tree.body):
        for name in _names_of_import(node):
            if _top(name) in SLOW_MODULES:
                yield source.violation(
                    node, f"`{name}` imported when the module is: import it inside the function that needs it"
                )


def _import_time_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that are executed during import, without function bodies and `if TYPE_CHECKING:`."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        yield node
        inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            inner = node.orelse
        yield from _import_time_nodes(inner)


def _names_of_import(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        if node.module == PACKAGE:
            return [f"{PACKAGE}.{alias.name}" for alias in node.names]
        return [node.module]
    return []


def _names_in_strings(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Call) and _last_name(node.func) in IMPORT_FUNCTIONS:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Subscript) and _is_sys_modules(node.value):
        arguments = [node.slice]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_sys_modules(node.func.value):
        arguments = list(node.args[:1])
    else:
        return []
    return [text for argument in arguments if (text := _leading_text(argument))]


def _leading_text(node: ast.expr) -> str:
    """Return the start of a string expression: a constant, an f-string or a concatenation."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values:
        return _leading_text(node.values[0])
    if isinstance(node, ast.BinOp):
        return _leading_text(node.left)
    return ""


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_sys_modules(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "modules" and _last_name(node.value) == "sys"


def _is_type_checking(node: ast.expr) -> bool:
    return _last_name(node) == "TYPE_CHECKING"


def _top(name: str) -> str:
    return name.split(".")[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_layers.py", description=__doc__)
    parser.add_argument("repository", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    root = parser.parse_args(arguments).repository
    gc.disable()  # a million nodes stay alive: searching garbage among them takes as long as all the rest
    if not root.is_dir():
        parser.error(f"{root} is not a folder")
    violations = check_repository(root)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
