# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the sizes of the project beside their goals. With --check, fail if a goal is missed.

A limit is the largest value that `make lint` allows: lower it when the value falls. An aim is the value to reach.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
#: Top-level folders that are no part of the core.
_BESIDE = frozenset({"plugins", "test", "bench", "examples", "docs"})
#: Names that say nothing about a value.
_VAGUE = frozenset({"each", "found", "made", "given", "held", "wanted"})

#: Decorator of a property, and name of a function.
_DEFINITION = re.compile(r"^[ \t]*(@[\w.]*property\n[ \t]*)?(?:async )?def (\w+)", re.MULTILINE)
_PREPOSITION = (
    "of|at|on|in|by|for|over|under|behind|before|after|between|within|among|across|along|around|through|beside|until"
    "|inside|outside|above|below"
)
_PARTICIPLE = (
    "(?!(?:need|feed|seed|embed|speed)(?:_|$))[a-z]+ed|made|held|kept|found|given|known|taken|written|chosen|drawn|shown"
    "|built|bound|told|sent|met|left|seen|done|hidden|frozen|grown|begun"
)
#: Names of functions that state neither an action nor a result: `settled`, `_taken_apart`, `of`, `_of_pairs`.
_BARE = re.compile(
    rf"_*(?:(?:{_PREPOSITION})(?:_\w+)?|(?:{_PARTICIPLE})(?:_(?:{_PREPOSITION}|as|to|from|with|up|out|apart)(?:_\w+)?)?)"
)
#: Names of tests that begin with a question or a pronoun, or end with a pronoun or a verb without a statement.
_RIDDLE = re.compile(
    r"test_(?:(?:it|they|them|this|these|those|what|who|whom|whose|which|so|too|there|as|how)(?:_\w+)?"
    r"|\w+_(?:it|them|they|so|too|there|is|are|has|have|alike|ones?|others?|another|such|something|everything))"
)


class Goal(NamedTuple):
    """A size of the project, the largest value allowed now, and the value to reach."""

    name: str
    measure: Callable[[], int]
    limit: int
    aim: int


@cache
def tracked() -> tuple[PurePosixPath, ...]:
    """Return the files that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return tuple(PurePosixPath(name) for name in listed if (ROOT / name).is_file())


def lines_of(files: Iterable[PurePosixPath]) -> int:
    return sum((ROOT / file).read_bytes().count(b"\n") for file in files)


def is_core(file: PurePosixPath) -> bool:
    return file.parts[0] not in _BESIDE and file.parts[:2] != ("tools", "dev")


def is_product(file: PurePosixPath) -> bool:
    """Check for a file of the core or of a plug-in."""
    return (is_core(file) or file.parts[0] == "plugins") and "test" not in file.parts


def core_lines() -> int:
    return lines_of(file for file in tracked() if is_core(file) and file.suffix in (".py", ".mlir"))


def test_lines() -> int:
    return lines_of(file for file in tracked() if file.suffix == ".py" and "test" in file.parts)


def code_lines() -> int:
    """Return the product's lines of Python and MLIR without blank lines, comments and docstrings."""
    counts = {".py": _code_lines, ".mlir": _mlir_lines}
    return sum(counts[file.suffix](ROOT / file) for file in tracked() if is_product(file) and file.suffix in counts)


def _mlir_lines(file: Path) -> int:
    lines = map(str.strip, file.read_text(encoding="utf-8").splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def _code_lines(file: Path) -> int:
    with tokenize.open(file) as stream:
        tokens = list(tokenize.generate_tokens(stream.readline))
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokens:
        if token.type not in idle:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(file))


def _docstring_lines(file: Path) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def contract_names() -> int:
    """Return the number of names in the codegen contract."""
    tree = ast.parse((ROOT / "support" / "contract.py").read_bytes())
    (names,) = (
        node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "NAMES"
    )
    return len(ast.literal_eval(names or ""))


def top_folders() -> int:
    return len({file.parts[0] for file in tracked() if len(file.parts) > 1 and not file.parts[0].startswith(".")})


def repeated_classes() -> int:
    """Return the number of class names that three files of the product or more define."""
    files: dict[str, set[PurePosixPath]] = defaultdict(set)
    for file in tracked():
        if is_product(file) and file.suffix == ".py":
            for node in ast.walk(ast.parse((ROOT / file).read_bytes())):
                if isinstance(node, ast.ClassDef):
                    files[node.name].add(file)
    return sum(len(places) >= 3 for places in files.values())


def vague_variables() -> int:
    """Return the number of places in the product that bind a variable or parameter with a vague name."""
    return sum(_bound_name(node) in _VAGUE for file in tracked() if is_product(file) and file.suffix == ".py"
               for node in ast.walk(ast.parse((ROOT / file).read_bytes())))  # fmt: skip


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def bare_functions() -> int:
    """Return the number of functions of the product with a bare participle or preposition for a name."""
    return sum(len(bare_names((ROOT / file).read_text("utf-8"))) for file in tracked()
               if is_product(file) and file.suffix == ".py")  # fmt: skip


def bare_names(source: str) -> list[str]:
    """Return such names of functions. Properties are data: a participle describes them."""
    return [name for decorator, name in _DEFINITION.findall(source) if not decorator and _BARE.fullmatch(name)]


def riddles() -> int:
    """Return the number of tests with a name that does not state what must hold."""
    texts = ((ROOT / file).read_text("utf-8") for file in tracked() if file.suffix == ".py" and "test" in file.parts)
    return sum(_RIDDLE.fullmatch(name) is not None for text in texts for _, name in _DEFINITION.findall(text))


def doc_words() -> int:
    pages = (file for file in tracked() if file.parts[0] == "docs" and file.suffix == ".md")
    return sum(len((ROOT / file).read_text("utf-8").split()) for file in pages)


def make_targets() -> int:
    """Return the number of the Makefile's targets that `make help` lists."""
    return len(re.findall(r"^[a-z-]+:[^#\n]*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


GOALS = (
    Goal("lines of the core (.py, .mlir)", core_lines, 162_000, 166_000),
    Goal("lines of code of the product", code_lines, 183_300, 178_500),
    Goal("lines of tests", test_lines, 201_150, 180_000),
    Goal("names of the codegen contract", contract_names, 58, 60),
    Goal("top-level folders", top_folders, 16, 16),
    Goal("class names in three files or more", repeated_classes, 2, 12),
    Goal("variables named each, found, made, ...", vague_variables, 4_430, 2_650),
    Goal("functions named settled, of, ...", bare_functions, 1_310, 800),
    Goal("tests named what_is_refused, it, ...", riddles, 73, 270),
    Goal("words of the docs", doc_words, 95_000, 95_000),
    Goal("targets of the Makefile", make_targets, 15, 15),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="size.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="print only what is over its limit, and fail")
    options = parser.parse_args(arguments)
    rows = [(goal, goal.measure()) for goal in GOALS]
    missed = [(goal, size) for goal, size in rows if size > goal.limit]
    if not options.check:
        print(f"{'size':36}{'now':>9}{'limit':>9}{'aim':>9}")
        for goal, size in rows:
            print(f"{goal.name:36}{size:9,}{goal.limit:9,}{goal.aim:9,}")
    for goal, size in missed:
        print(f"size.py: {goal.name}: {size:,}, and {goal.limit:,} are allowed (tools/dev/size.py)", file=sys.stderr)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
