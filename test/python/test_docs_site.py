# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages as a whole: links have targets, the site shows every page, the reference has every public name."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import relax_mlir as rx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OTHERS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md")]
OTHERS += sorted(ROOT.glob("plugins/*/README.md"))
FENCE = re.compile(r"^ *(````?)\w*\n.*?^ *\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(#[^)\s]*)?\)")
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
#: `::: relax_mlir.compile` of a reference page, which mkdocstrings replaces by the docstring.
DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)
#: Modules with public names for users.
MODULES = ("attrs", "loops", "optim", "runtime", "patterns", "te", "recipes")
#: Modules with public names of one kind, which until 0.2 are also names of rx.
NAMESPACES = ("rules", "schedules", "codegens", "rewriting")


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def slugs(page: Path) -> set[str]:
    """Return the anchors of a page's headings in links, as by GitHub and by pymdownx.slugs."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\]\([^)]*\)", "]", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for path, anchor in LINK.findall(CODE.sub("", prose(page))):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(ROOT):
            broken.append(path)
        elif anchor and target.suffix == ".md" and anchor[1:] not in slugs(target):
            broken.append(path + anchor)
    assert broken == []


def test_the_site_shows_every_page_once() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    shown = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", settings, re.MULTILINE)
    assert Counter(shown) == Counter(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_a_list_has_an_empty_line_above() -> None:
    """Check for an empty line above lists and tables: GitHub needs none, but the site's Markdown does."""
    wrong = []
    for page in [*PAGES, *OTHERS]:
        lines = prose(page).splitlines()
        for above, line in pairwise(lines):
            starts = re.match(r"[-*] |\d+\. |\|", line) and not re.match(r"[-*] |\d+\. |\||  |#", above)
            if starts and above.strip():
                wrong.append(f"{page.relative_to(ROOT)}: {line}")
    assert wrong == []


def shown_in_the_reference() -> Iterator[object]:
    """Yield the objects that the reference's directives show, with a module's definitions or its names in __all__."""
    for page in sorted(DOCS.glob("reference/*.md")):
        for path in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            shown = found(path)
            yield shown
            if isinstance(shown, ModuleType):
                yield from (each for _, each in public(shown) if hasattr(shown, "__all__") or is_from(shown, each))


def is_from(module: ModuleType, each: object) -> bool:
    return getattr(each, "__module__", "") == module.__name__


def found(path: str) -> object:
    """Return the module or the object of a dotted path. Raise if there is none."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(found(module), name)


def public(module: ModuleType) -> list[tuple[str, object]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [(name, getattr(module, name)) for name in names]


def users_names() -> Iterator[tuple[str, object]]:
    """Yield the names of rx that are not modules, and the names of its modules for users."""
    yield from ((name, getattr(rx, name)) for name in dir(rx) if not isinstance(getattr(rx, name), ModuleType))
    for name in (*MODULES, *NAMESPACES):
        module = getattr(rx, name, None) or importlib.import_module(f"relax_mlir.{name}")
        for member, each in public(module):
            is_own = str(getattr(each, "__module__", "")).startswith("relax_mlir.")
            if is_own and (inspect.isclass(each) or inspect.isfunction(each)) and not is_taken(module, each):
                yield f"{name}.{member}", each


def is_taken(module: ModuleType, each: object) -> bool:
    """Check whether a module without __all__ imports an object for its own use: `from ... import name`, not `as
    name`."""
    if hasattr(module, "__all__") or is_from(module, each):
        return False
    return f"import {each.__name__} as {each.__name__}" not in inspect.getsource(module)


def test_the_reference_has_every_public_name() -> None:
    shown = {id(each) for each in shown_in_the_reference()}
    assert [name for name, each in users_names() if id(each) not in shown and name != "__version__"] == []


def test_the_reference_has_every_name_once_where_it_belongs() -> None:
    pages = (page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md"))
    shown = Counter(path for text in pages for path in DIRECTIVE.findall(text))
    assert [path for path, count in shown.items() if count > 1] == []
    for namespace in NAMESPACES:
        module = importlib.import_module(f"relax_mlir.{namespace}")
        assert {f"relax_mlir.{namespace}.{name}" for name in module.__all__} <= set(shown)
        assert not {f"relax_mlir.{name}" for name in module.__all__} & set(shown)
        assert all(getattr(rx, name) is getattr(module, name) for name in module.__all__)
        assert not set(module.__all__) & set(dir(rx)) and dir(module) == module.__all__


def test_the_site_reads_the_plug_ins_that_define_public_names() -> None:
    (line,) = re.findall(r"preload_modules: \[(.*)\]", (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    packages = {module.partition(".")[0] for module in vars(rx)["_PLUGIN_EXPORTS"].values()}
    assert sorted(packages) == line.split(", ")


def test_an_unknown_name_of_a_namespace_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"'relax_mlir.schedules' has no attribute 'Plam' \(it has Panel, Plan, "):
        rx.schedules.Plam  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'relax_mlir' has no attribute 'Codegem' \(it has ArtifactError, Backend, "
    ):
        rx.Codegem  # type: ignore[attr-defined]  # noqa: B018


def test_the_reference_names_every_public_module() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md"))
    modules = [name for name in dir(rx) if isinstance(getattr(rx, name), ModuleType)]
    assert [name for name in modules if not re.search(rf"^#.*`rx\.{name}`", text, re.MULTILINE)] == []


def test_public_functions_and_classes_say_what_they_are() -> None:
    described = (each for each in users_names() if inspect.isclass(each[1]) or inspect.isfunction(each[1]))
    assert [name for name, each in described if not inspect.getdoc(each)] == []


def test_the_table_of_stages_has_them_all() -> None:
    text = (DOCS / "compiling.md").read_text(encoding="utf-8").partition("| stage |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\w[\w-]*)(?: \(-O(\d)\))? \|", text, re.MULTILINE)
    assert rows == [(each.name, str(each.level) if each.level else "") for each in rx.stages("llvm", 3)]
