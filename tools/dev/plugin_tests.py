# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run each plug-in's tests with the wheel of the core and no other plug-in.

Usage: plugin_tests.py [--jobs N] [NAME...]. The wheel of relax-mlir brings the plug-ins along; here they are left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "plugins"
#: Entry points of the core that announce plug-ins.
GROUP = "[relax_mlir.plugins]"


def build_wheel(project: Path) -> Path:
    """Build the wheel of a project and return its path."""
    folder = FOLDER / "wheels" / ("core" if project == ROOT else project.name)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *quiet, "--wheel-dir", folder, project], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(wheel: Path, folder: Path, takes: Callable[[str], bool] = lambda _: True) -> None:
    """Extract the files of a wheel that `takes` accepts."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if takes(name)])


def without_group(text: str, group: str) -> str:
    """Return the text of entry_points.txt without one group."""
    before, _, after = text.partition(group)
    _, bracket, rest = after.partition("\n[")
    return before + bracket.lstrip() + rest


def make_core() -> Path:
    """Unpack the wheel of relax-mlir without the plug-ins, and return the folder."""
    core = FOLDER / "core"
    unpack(build_wheel(ROOT), core, lambda name: not name.startswith("relax_mlir_"))
    (announced,) = core.glob("*.dist-info/entry_points.txt")
    announced.write_text(without_group(announced.read_text(), GROUP))
    return core


def run_tests(plugin: Path, core: Path, jobs: int) -> int:
    """Run the tests of a plug-in in processes that find the core and this plug-in.

    Return pytest's exit status, or lit's if only lit tests fail.
    """
    own = FOLDER / plugin.name
    unpack(build_wheel(plugin), own)
    environment = {**os.environ, "PYTHONPATH": f"{core}{os.pathsep}{own}", "RELAX_MLIR_DRAW": "1"}
    tools = Path(sys.executable).parent  # `python -m pytest` would find the checkout first
    commands = [[str(tools / "pytest"), f"plugins/{plugin.name}/test", "-n", str(jobs), "--dist", "worksteal"]]
    commands += [
        [str(tools / "lit"), "-sv", f"-j{jobs}", str(file.parent)] for file in plugin.glob("test/*/lit.cfg.py")
    ]
    statuses = [subprocess.run(each, cwd=ROOT, env=environment, check=False).returncode for each in commands]
    return next(filter(None, statuses), 0)


def main(arguments: list[str] | None = None) -> int:
    """Run the tests of the named plug-ins, or of all, and return 1 if some fail."""
    known = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
    parser = argparse.ArgumentParser(prog="plugin_tests.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"plug-ins to test: {', '.join(known)}")
    parser.add_argument("--jobs", type=int, default=2, help="test processes (default: 2)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no plug-in {unknown[0]!r} (known: {', '.join(known)})")
    shutil.rmtree(FOLDER, ignore_errors=True)
    core = make_core()
    failed = [name for name in options.names or known if run_tests(ROOT / "plugins" / name, core, options.jobs)]
    for name in failed:
        print(f"error: tests of plug-in {name} fail with the core's wheel alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
