# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run each plug-in's tests with the core and no other plug-in, and tests of the core with none.

Usage: plugin_tests.py [--jobs N] [NAME...]. The wheel of relax-mlir brings the plug-ins along; here they are left out.
"""

from __future__ import annotations

import argparse
import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "plugins"
CORE = FOLDER / "core"
#: Exit status of pytest if no test was drawn.
NONE_DRAWN = 5
#: Entry points that announce plug-ins.
GROUP = "relax_mlir.plugins"
#: Plug-in -> the plug-ins that it builds on. check_plugins.py allows imports of these.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "c": ("quantize",),
    "example_npu": ("quantize",),
    "jax": ("shard",),
    "llm": ("shard", "spirv", "webgpu"),
    "proof": ("cluster", "quantize"),
    "torch": ("quantize", "shard", "training"),
    "tune": ("cluster", "report"),
}
#: Plug-in -> other plug-ins that its tests use.
_TESTED_WITH: Mapping[str, tuple[str, ...]] = {
    "c": ("proof",),
    "onnxruntime": ("proof", "quantize"),
    "proof": ("c", "example_npu", "spirv"),
    "quantize": ("c", "proof", "training"),
    "shard": ("proof", "report", "training"),
    "tflite": ("proof", "quantize"),
    "training": ("proof",),
    "tune": ("quantize",),
    "webgpu": ("example_npu", "quantize", "spirv"),
}


def build_wheel() -> Path:
    """Build the wheel of relax-mlir and return its path."""
    folder = FOLDER / "wheels"
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # files of earlier builds would be in the wheel
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *quiet, "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_plugin_folders(wheel: Path) -> None:
    """Unpack the wheel: the core into one folder, and each plug-in into one with its own entry points."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for plugin in plugin_names():
            archive.extractall(FOLDER / plugin, [name for name in names if name.startswith(f"relax_mlir_{plugin}/")])
        archive.extractall(CORE, [name for name in names if not name.startswith("relax_mlir_")])
    (points,) = CORE.glob("*.dist-info/entry_points.txt")
    announced = read_entry_points(points)
    rows = announced.pop(GROUP)
    write_entry_points(points, announced)
    for plugin in plugin_names():
        own = {name: module for name, module in rows.items() if module.split(".")[0] == f"relax_mlir_{plugin}"}
        installed = FOLDER / plugin / f"relax_mlir_{plugin}-0.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: relax-mlir-{plugin}\nVersion: 0\n")
        write_entry_points(installed / "entry_points.txt", {GROUP: own})


def read_entry_points(file: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their letters' case
    parser.read(file)
    return {name: dict(parser[name]) for name in parser.sections()}


def write_entry_points(file: Path, groups: Mapping[str, Mapping[str, str]]) -> None:
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_dict(groups)
    with file.open("w") as stream:
        parser.write(stream)


def plugin_names() -> list[str]:
    return sorted(path.parent.parent.name for path in ROOT.glob("plugins/*/relax_mlir_*/__init__.py"))


def run_tests(plugin: Path, jobs: int) -> int:
    """Run the tests of a plug-in in processes that find the core and this plug-in.

    Return pytest's exit status, or lit's if only lit tests fail.
    """
    needed = (plugin.name, *NEEDED.get(plugin.name, ()), *_TESTED_WITH.get(plugin.name, ()))
    path = os.pathsep.join(map(str, (CORE, *(FOLDER / name for name in needed))))
    environment = {**os.environ, "PYTHONPATH": path, "RELAX_MLIR_DRAW": "1"}
    tools = Path(sys.executable).parent  # `python -m pytest` would find the checkout first
    commands = [[str(tools / "pytest"), f"plugins/{plugin.name}/test", "-n", str(jobs), "--dist", "worksteal"]]
    commands += [
        [str(tools / "lit"), "-sv", f"-j{jobs}", str(plugin / "test" / folder)]
        for folder in ("lit", "primitives")
        if (plugin / "test" / folder).is_dir()
    ]
    statuses = [subprocess.run(each, cwd=ROOT, env=environment, check=False).returncode for each in commands]
    return next((status for status in statuses if status not in (0, NONE_DRAWN)), 0)


def run_core_tests() -> int:
    """Run the tests of the core without plug-ins, and return pytest's exit status."""
    command = [str(Path(sys.executable).parent / "pytest"), "test/python/test_core_alone.py"]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(CORE)}, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Run the tests of the named plug-ins, or of all, and return 1 if some fail."""
    known = plugin_names()
    parser = argparse.ArgumentParser(prog="plugin_tests.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"plug-ins to test: {', '.join(known)}")
    parser.add_argument("--jobs", type=int, default=2, help="test processes (default: 2)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no plug-in {unknown[0]!r} (known: {', '.join(known)})")
    shutil.rmtree(FOLDER, ignore_errors=True)
    make_plugin_folders(build_wheel())
    failed = [] if run_core_tests() == 0 else ["the core"]
    failed += [name for name in options.names or known if run_tests(ROOT / "plugins" / name, options.jobs)]
    for name in failed:
        print(f"error: tests of {name} fail with the core's wheel alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
