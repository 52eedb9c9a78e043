# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks of mkdocs: the package under its names, and pages for files outside of docs/ that docs/ links to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "build" / "site-package" / "relax_mlir"
#: Packages of the plug-ins.
PLUGINS = tuple(path.parent for path in sorted(ROOT.glob("plugins/*/relax_mlir_*/__init__.py")))
#: Folder of the pages for files outside of docs/.
ELSEWHERE = "repository/"
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".toml": "toml", ".json": "json", ".mlir": "mlir"}
#: A page of a longer file has its beginning only.
LONGEST = 50_000


def on_startup(**_: object) -> None:
    """Link the package's folders under their names, where mkdocstrings reads them, before mkdocstrings searches
    them."""
    PACKAGE.mkdir(parents=True, exist_ok=True)
    front_door = [path for path in (ROOT / "relax_mlir").iterdir() if path.suffix in (".py", ".pyi")]
    rooms = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name != "relax_mlir"]
    for path in (*front_door, *rooms):
        if not (PACKAGE / path.name).exists():
            (PACKAGE / path.name).symlink_to(path)
    for plugin in PLUGINS:
        if not (PACKAGE.parent / plugin.name).exists():
            (PACKAGE.parent / plugin.name).symlink_to(plugin)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside of docs/ that a page links to."""
    from mkdocs.structure.files import File

    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    while waiting:
        for target in linked(waiting.pop()):
            if not target.startswith("docs/") and files.get_file_from_path(site_uri(target)) is None:
                files.append(File.generated(config, site_uri(target), content=content(target)))
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect links that leave docs/, or are in a page from elsewhere, to pages of the site."""
    source = repository_path(page.file.src_uri)
    if not (ROOT / source).is_file():  # a list of a folder's files
        return markdown
    folder = PurePosixPath(page.file.src_uri).parent

    def led(link: re.Match[str]) -> str:
        target = resolved(source, link[1])
        if not (ROOT / target).exists():
            return link[0]  # mkdocs warns of it
        return os.path.relpath(site_uri(target), folder) + (link[2] or "")

    return outside_fences(markdown, lambda text: LINK.sub(led, text))


def linked(source: str) -> Iterator[str]:
    """Yield the files and folders that a page links to, by their paths in the repository."""
    path = ROOT / source
    if path.suffix != ".md" or not path.is_file():
        return
    for link in LINK.finditer(outside_fences(path.read_text("utf-8"), str, fences=False)):
        target = resolved(source, link[1])
        if (ROOT / target).exists():
            yield target


def outside_fences(markdown: str, change: Callable[[str], str], fences: bool = True) -> str:
    """Return the text with changes around its code blocks. Without `fences` the blocks are left out."""
    pieces, end = [], 0
    for fence in FENCE.finditer(markdown):
        pieces += [change(markdown[end : fence.start()]), fence[0] if fences else ""]
        end = fence.end()
    return "".join([*pieces, change(markdown[end:])])


def resolved(source: str, link: str) -> str:
    return os.path.normpath(PurePosixPath(source).parent / link)


def site_uri(path: str) -> str:
    """Return the position of a repository file in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{ELSEWHERE}{path}" if path.endswith(".md") else f"{ELSEWHERE}{path}.md"


def repository_path(uri: str) -> str:
    """Return the repository path of a page. Only Markdown has pages of the same name."""
    return uri.removeprefix(ELSEWHERE) if uri.startswith(ELSEWHERE) else f"docs/{uri}"


def content(path: str) -> str:
    """Return the content of a page: Markdown unchanged, the file names of a folder, the text of other files."""
    place = ROOT / path
    if place.suffix == ".md":
        return place.read_text("utf-8")
    head = f"---\nsearch:\n  exclude: true\n---\n# {path}\n"
    if place.is_dir():
        names = sorted(each.relative_to(place).as_posix() for each in place.rglob("*") if shown(each))
        return head + "".join(f"- `{name}`\n" for name in names)
    text = place.read_text("utf-8")
    cut = f"\nThe first {LONGEST} characters.\n" if len(text) > LONGEST else ""
    return f"{head}{cut}\n````{LANGUAGES.get(place.suffix, 'text')}\n{text[:LONGEST]}\n````\n"


def shown(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
