# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that names of classes and files tell them apart; needs Python alone. Usage: check_names.py [REPOSITORY]."""

from __future__ import annotations

import argparse
import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from check_layers import package_folder, python_files

#: Limits: class names in three or more files, and file names in three or more folders.
MOST_CLASS_NAMES = 12
MOST_FILE_NAMES = 20
_MANY = 3
#: File names that are expected in folders of a kind.
CONVENTIONAL = frozenset(
    {"__init__", "codegen", "driver", "options", "pipeline", "prelude", "registry", "rules", "target"},
)

#: Folders with equal file names on purpose: a family of operators has one name in every front end.
_FAMILIES = ("frontends/*/operators",)

Places = Mapping[str, list[str]]


def common_names(root: Path) -> tuple[Places, Places]:
    """Return class names with the files that define them, and file names with their folders, if there are several."""
    classes: dict[str, set[str]] = defaultdict(set)
    files: dict[str, set[str]] = defaultdict(set)
    for file in python_files(root):
        if package_folder(file) is None:
            continue
        if file.stem not in CONVENTIONAL and not any(map(file.parent.match, _FAMILIES)):
            files[file.stem].add(file.parent.as_posix())
        for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(file.as_posix())
    return _common(classes), _common(files)


def _common(places: Mapping[str, Iterable[str]]) -> Places:
    found = {name: sorted(where) for name, where in places.items()}
    many = {name: where for name, where in found.items() if len(where) >= _MANY}
    return dict(sorted(many.items(), key=lambda each: (-len(each[1]), each[0])))


def problems(root: Path) -> list[str]:
    """Return the counts above their limits, with all names that count."""
    classes, files = common_names(root)
    found = []
    for names, what, most in (
        (classes, "class names of three files or more", MOST_CLASS_NAMES),
        (files, "file names of three folders or more", MOST_FILE_NAMES),
    ):
        if len(names) > most:
            lines = [f"    {name} ({len(where)}): {', '.join(where)}" for name, where in names.items()]
            found.append("\n".join([f"error: {what}: {len(names)}, {most} at most; rename one", *lines]))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_names.py", description=__doc__)
    parser.add_argument("repository", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    gc.disable()  # as in check_layers.py
    found = problems(parser.parse_args(arguments).repository)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
