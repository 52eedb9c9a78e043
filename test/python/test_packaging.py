# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel has the whole package and works in a venv without the checkout; its description is current."""

from __future__ import annotations

import re
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from installing import PACKAGE_DIR, PROJECT, PYPROJECT, REPOSITORY, build_wheel, normalized, requirement_name, run
from relax_mlir.support.importing import OWN_PACKAGES

PACKAGES: list[str] = PYPROJECT["tool"]["setuptools"]["packages"]

NOT_PACKAGED = {"tools/dev"}
NOT_PACKAGES = {"test", "bench", "docs", "examples", "build", "dist"}
#: Packages of the plug-ins, which the project's wheel contains.
PLUGINS = sorted(path.parent for path in REPOSITORY.glob("plugins/*/relax_mlir_*/__init__.py"))

DUPLICATE_ADDS = """
func.func @duplicate(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


def folder_of(package: str) -> Path:
    """Return a package's folder by the longest entry of package-dir, like setuptools."""
    parts = package.split(".")
    for length in range(len(parts), 0, -1):
        folder = PACKAGE_DIR.get(".".join(parts[:length]))
        if folder is not None:
            return Path(folder, *parts[length:])
    raise AssertionError(f"no entry of package-dir covers the package {package}")


def subfolders(top: Path) -> list[Path]:
    """Return a folder and its subfolders that are packaged, relative to the repository."""
    found = [top, *(path for path in top.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    relative = [path.relative_to(REPOSITORY) for path in found]
    return [path for path in relative if path.as_posix() not in NOT_PACKAGED]


def files_in(folder: Path) -> list[Path]:
    return [path for path in (REPOSITORY / folder).iterdir() if path.is_file() and path.suffix != ".md"]


def top_folders() -> list[Path]:
    """Return the repository's folders that are packages, independent of pyproject.toml."""
    own = [init.parent for init in REPOSITORY.glob("*/__init__.py") if init.parent.name not in NOT_PACKAGES]
    return own + PLUGINS


def test_every_package_folder_is_listed() -> None:
    folders = {
        folder for top in top_folders() for folder in subfolders(top) if (REPOSITORY / folder / "__init__.py").is_file()
    }
    assert {folder_of(package) for package in PACKAGES} == folders


def test_the_compiler_knows_the_plug_ins_of_the_project() -> None:
    assert {path.name for path in PLUGINS} | {"relax_mlir"} == OWN_PACKAGES


def test_every_folder_with_modules_is_a_package() -> None:
    # Without an __init__.py a folder imports fine from the checkout and is missing from the wheel.
    without_init = [
        str(folder)
        for top in top_folders()
        for folder in subfolders(top)
        if any(path.suffix == ".py" for path in files_in(folder))
        and not (REPOSITORY / folder / "__init__.py").is_file()
    ]
    assert without_init == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel"))


def test_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    expected = {
        "/".join((*package.split("."), path.name)) for package in PACKAGES for path in files_in(folder_of(package))
    }
    # The templates of a new codegen's package lie in folders that are not packages of this project.
    expected |= {f"relax_mlir/{path.relative_to(REPOSITORY)}" for path in REPOSITORY.glob("tools/*/templates/**/*.in")}
    # Tuned kernels are data in a folder of their own.
    tuned = {f"relax_mlir/{path.relative_to(REPOSITORY)}" for path in REPOSITORY.glob("targets/*/tuned/*.json")}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected | tuned
    assert "relax_mlir/py.typed" in names


def test_wheel_is_pure_and_licensed(wheel: Path) -> None:
    assert wheel.name == f"relax_mlir-{PROJECT['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        info = f"relax_mlir-{PROJECT['version']}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
        license_text = archive.read(f"{info}/licenses/LICENSE").decode()
    assert "License-Expression: Apache-2.0 WITH LLVM-exception" in metadata
    assert "LLVM Exceptions to the Apache 2.0 License" in license_text


def test_the_sdist_has_what_tests_and_pages_need() -> None:
    """Check the sdist: it has the package's folders automatically, and others by MANIFEST.in."""
    manifest = (REPOSITORY / "MANIFEST.in").read_text(encoding="utf-8")
    grafted = set(re.findall(r"^graft (\S+)$", manifest, re.MULTILINE))
    included = {name for line in re.findall(r"^include (.*)$", manifest, re.MULTILINE) for name in line.split()}
    assert grafted == {*NOT_PACKAGES - {"build", "dist"}, *NOT_PACKAGED, "plugins"}
    pages = {path.name for path in REPOSITORY.glob("*.md")} - {PROJECT["readme"]}
    assert included == {*pages, "CITATION.cff", "Makefile", "mkdocs.yml"}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of a new environment with the wheel and this environment's dependencies only."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, cwd=place)
    site_packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place
    ).stdout.strip()
    # A folder named in a .pth file comes after site-packages, and Python does not read the .pth files in it: the
    # editable install of this environment stays out.
    dependencies = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (Path(site_packages) / "dependencies.pth").write_text("\n".join(dependencies) + "\n", encoding="utf-8")
    return python.parent


@pytest.mark.slow
def test_installed_packages_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import importlib, sys\nfor name in sys.argv[1:]: print(importlib.import_module(name).__file__)"
    files = run(installed / "python", "-c", code, *PACKAGES, cwd=tmp_path).stdout.splitlines()
    assert len(files) == len(PACKAGES)
    assert [file for file in files if not Path(file).is_relative_to(installed.parent)] == []


def test_installed_tool_knows_its_version(installed: Path, tmp_path: Path) -> None:
    for tool in PROJECT["scripts"]:
        assert PROJECT["version"] in run(installed / tool, "--version", cwd=tmp_path).stdout


def test_installed_tool_has_all_operators(installed: Path, tmp_path: Path) -> None:
    lines = run(installed / "relax-opt", "--list-ops", cwd=tmp_path).stdout.splitlines()
    assert sum(line.startswith("relax.") for line in lines) >= 185


def test_installed_tool_runs_passes(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "adds.mlir").write_text(DUPLICATE_ADDS, encoding="utf-8")
    pipeline = "--pass-pipeline=builtin.module(relax-canonicalize,func.func(cse))"
    done = run(installed / "relax-opt", "adds.mlir", pipeline, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.count('"relax.add"') == 1


def test_installed_tool_fails_cleanly(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "relax-opt", "missing.mlir", cwd=tmp_path, status=1)
    assert "missing.mlir" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_package_is_whole_in_a_checkout_s_root_too(installed: Path) -> None:
    """Import the package in a checkout, where Python finds the folder relax_mlir/ first, with the front door only."""
    code = "from relax_mlir import relax; print(relax.exp)"
    assert run(installed / "python", "-c", code, cwd=REPOSITORY).stdout == "<operator relax.exp>\n"


def declared_dependencies() -> set[str]:
    extras = PROJECT["optional-dependencies"].values()
    names = {
        requirement_name(text) for text in (*PROJECT["dependencies"], *(line for extra in extras for line in extra))
    }
    return names - {normalized(PROJECT["name"])}


def dependencies_in_the_docs() -> dict[str, str]:
    """Return reasons by name, from the table of docs/versions.md whose first column is headed "dependency"."""
    page = (REPOSITORY / "docs" / "versions.md").read_text(encoding="utf-8")
    table = re.search(r"^\| *dependency *\|.*\n\|[-:| ]+\|\n((?:\|.*\n)+)", page, re.IGNORECASE | re.MULTILINE)
    assert table, 'docs/versions.md has no table whose first column is headed "dependency"'
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.group(1).splitlines()]
    return {normalized(name): row[-1] for row in rows for name in re.findall(r"[A-Za-z][\w.-]*", row[0])}


def test_the_docs_give_the_reason_of_every_dependency() -> None:
    reasons = dependencies_in_the_docs()
    assert set(reasons) == declared_dependencies()
    assert [name for name, reason in reasons.items() if len(reason.split()) < 3] == []


def test_changelog_has_this_version() -> None:
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", changelog, re.MULTILINE)


@pytest.mark.parametrize(
    "python, messages",
    [
        ("old-python", ["Python 3.10 or newer is needed", "is Python 3.9.18", "make PYTHON="]),
        ("no-such-python", ["no `", "no-such-python` found", "make PYTHON="]),
    ],
)
def test_make_refuses_an_old_python(tmp_path: Path, python: str, messages: list[str]) -> None:
    old = tmp_path / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" != --version ] || { echo Python 3.9.18; exit 0; }\nexit 1\n', encoding="utf-8")
    old.chmod(0o755)
    place = tmp_path / "venv"
    done = run("make", "env", f"PYTHON={tmp_path / python}", f"VENV={place}", cwd=REPOSITORY, status=2)
    assert [message for message in messages if message not in done.stderr] == []
    assert not place.exists()
