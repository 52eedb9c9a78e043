# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks without dependencies outside of the project: the house rules, and that generated files are current."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKERS = ["check_layers.py", "check_plugins.py", "check_names.py", "check_prose.py"]
# Each writes its files, or only compares them with --check.
GENERATORS = [
    "gen_upstream_passes.py",
    "gen_operators.py",
    "gen_passes.py",
    "gen_support.py",
    "gen_front_ends.py",
    "gen_attributes.py",
    "gen_stubs.py",
    "gen_version_numbers.py",
    "gen_line_counts.py",
    "gen_placement.py",
]
# These take long (the first needs mpmath, make env-dev) and are run by hand. The check only reports when one is due.
# The last one has the signatures of the codegen contract, which change on purpose only.
MEASURED = [
    "gen_intrinsics_table.py",
    "gen_intrinsics_table_cuda.py",
    "gen_cpus.py",
    "gen_contract.py",
    "check_codegens.py",
]


def run(script: str, *options: str) -> int:
    return subprocess.run([sys.executable, str(HERE / script), *options], check=False).returncode


def check_all(jobs: int) -> list[int]:
    """Run the checks in parallel, print their outputs in sequence, and return their exit statuses."""
    commands = [[checker] for checker in CHECKERS]
    commands += [[script, "--check"] for script in ["size.py", *GENERATORS, *MEASURED]]
    statuses = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(_captured, commands):
            print(result.stdout, end="", flush=True)
            statuses.append(result.returncode)
    return statuses


def _captured(command: list[str]) -> subprocess.CompletedProcess[str]:
    script, *options = command
    return subprocess.run(
        [sys.executable, str(HERE / script), *options],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="check.py", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the generated files instead of checking")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many checks run at a time")
    options = parser.parse_args()
    statuses = [run(generator) for generator in GENERATORS] if options.write else check_all(options.jobs)
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
