# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check imports of plug-ins: only public modules, no circles. Needs only Python. Usage: check_plugins.py [REPOSITORY].

A plug-in is a package plugins/<name>/relax_mlir_<name>. Its files may import their own package, other libraries, the
names of relax_mlir, and from the modules of PUBLIC every name without an underscore in front. They may also import the
plug-ins that NEEDED of plugin_tests.py lists for them.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from check_layers import PACKAGE, Violation, circles_in
from plugin_tests import NEEDED

#: Public modules: these, and the modules of these packages. docs/versions.md says what that means.
PUBLIC = (
    "bindings compilation dialects emit frontends.core frontends.front_end frontends.module frontends.onnx "
    "frontends.reader passes.core passes.evaluate passes.graph.decompose.registry "
    "passes.graph.decompose.tensor_formulas passes.graph.gradient_rules passes.graph.layout.conversion "
    "passes.graph.outline_tensors.plain_functions passes.graph.params passes.graph.partition "
    "passes.graph.partition_stages passes.graph.parts passes.graph.quantization passes.graph.recipes "
    "passes.graph.relax_bind_symbolic_vars passes.graph.relax_fuse_dequantize_matmul passes.graph.relax_inline "
    "passes.graph.relax_observe passes.graph.relax_unbind_params passes.graph.scales passes.kernels.intrinsics "
    "passes.kernels.loops passes.kernels.primitives passes.kernels.schedule passes.kernels.tir_check_bounds "
    "passes.legalize passes.patterns runtime support targets.core targets.default targets.gpu targets.host "
    "targets.llvm.intrinsics targets.llvm.objects.code_target targets.text tools.common tools.compile.progress "
    "tools.compile.reporting tools.opt tools.run"
).split()
#: Public modules without a list of names. All of their names are public.
_WHOLE = frozenset(f"{PACKAGE}.{name}" for name in ("relax", "tir", "attrs", "loops", "script"))


def public_names(root: Path) -> dict[str, frozenset[str]]:
    """Return the public modules of relax_mlir with their names."""
    files = {f"{PACKAGE}.{file.stem}": file for file in (root / PACKAGE).glob("*.py") if file.stem != "__init__"}
    files[PACKAGE] = root / PACKAGE / "__init__.py"
    return {module: _names_in(file.with_suffix(".pyi"), file) for module, file in files.items()}


def _names_in(*files: Path) -> frozenset[str]:
    """Return the names that the first existing file imports or assigns."""
    tree = ast.parse(next(file for file in files if file.exists()).read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


def check_plugins(root: Path) -> list[Violation]:
    """Return every import of a non-public name by a plug-in, in the order of files and lines."""
    public = public_names(root)
    found = []
    for folder in sorted((root / "plugins").glob(f"*/{PACKAGE}_*")):
        found += [Violation(file.relative_to(root), 1, 1, text) for file, text in _circles(folder)]
        for file in sorted(folder.rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
            depth = len(file.relative_to(folder).parts)
            problems = ((node, text) for node in nodes for text in _problems(node, folder.name, depth, public))
            found += [
                Violation(file.relative_to(root), node.lineno, node.col_offset + 1, text) for node, text in problems
            ]
    return sorted(found)


def _circles(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield files of a plug-in that import one another, also for annotations."""
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in folder.rglob("*.py")}
    modules = {name.removesuffix("__init__").rstrip("/"): name for name in files}
    imports: dict[str, dict[str, None]] = {}
    for name, file in files.items():
        own = imports.setdefault(name, {})
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                own.update(dict.fromkeys(_imported(name, node, modules)))
    for (first, *_), _, shown in circles_in(imports):
        yield files[first], f"files import one another: {shown}"


def _imported(name: str, node: ast.ImportFrom, modules: Mapping[str, str]) -> Iterator[str]:
    """Yield the files of the same plug-in that a relative import names."""
    around = name.split("/")[: -node.level]
    module = "/".join([*around, *(node.module.split(".") if node.module else [])])
    for alias in node.names:
        found = modules.get(f"{module}/{alias.name}".lstrip("/")) or modules.get(module)
        if found is not None and found != name:
            yield found


def _problems(
    node: ast.Import | ast.ImportFrom, own: str, depth: int, public: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Yield the problems of an import statement in a file of the package `own`, `depth` levels below its root."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _problems_of_module(alias.name, own, public)
    elif node.level > depth:
        yield f"the relative import leaves the plug-in `{own}`"
    elif node.level == 0 and node.module is not None:
        yield from _problems_of_module(node.module, own, public)
        if _is_public(node.module):
            private = [alias.name for alias in node.names if alias.name.startswith("_")]
            yield from (f"`{node.module}.{name}` is private" for name in private)
        names = public.get(node.module)
        if names is None:
            return
        for alias in node.names:
            module = f"{node.module}.{alias.name}"
            if alias.name not in names and module not in {*public, *_WHOLE} and not _is_public(module):
                yield f"`{module}` is not public (docs/versions.md)"


def _problems_of_module(module: str, own: str, public: Mapping[str, frozenset[str]]) -> Iterator[str]:
    top = module.partition(".")[0]
    if top == own:
        yield f"absolute import of `{module}`: imports inside a plug-in are relative"
    elif top.startswith(f"{PACKAGE}_") and top not in _needed_packages(own):
        yield f"the plug-in `{own}` must not import the plug-in `{top}` (NEEDED in tools/dev/plugin_tests.py)"
    elif top == PACKAGE and module not in public and module not in _WHOLE and not _is_public(module):
        yield f"the module `{module}` is not public (docs/versions.md)"


def _needed_packages(own: str) -> list[str]:
    """Return the packages of the plug-ins that a plug-in builds on."""
    return [f"{PACKAGE}_{name}" for name in NEEDED.get(own.removeprefix(f"{PACKAGE}_"), ())]


def _is_public(module: str) -> bool:
    """Check whether a module is one of PUBLIC or in a package of PUBLIC. Parts with an underscore are private."""
    inside = f"{module.removeprefix(PACKAGE).lstrip('.')}."
    return any(inside.startswith(f"{name}.") for name in PUBLIC) and "._" not in module


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_plugins.py", description=__doc__)
    parser.add_argument("repository", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    root = parser.parse_args(arguments).repository
    if not root.is_dir():
        parser.error(f"{root} is not a folder")
    violations = check_plugins(root)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
