# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inventory of upstream passes, compared with the installed wheel."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from relax_mlir.bindings.mlir import ROOT, ir, passmanager
from relax_mlir.bindings.upstream_passes import upstream_passes

GENERATOR = Path(__file__).parents[3] / "tools" / "dev" / "gen_upstream_passes.py"


@pytest.fixture(scope="module")
def context():
    with ir.Context() as context:
        yield context


def parses(pipeline: str) -> bool:
    try:
        passmanager.PassManager.parse(pipeline)
    except ValueError:
        return False
    return True


def test_the_list_contains_well_known_passes():
    known = {"cse", "canonicalize", "inline", "sccp", "symbol-dce", "convert-scf-to-cf", "one-shot-bufferize"}
    assert known <= set(upstream_passes())
    assert upstream_passes()["gpu-lower-to-nvvm-pipeline"].is_pipeline
    assert not upstream_passes()["cse"].is_pipeline


def test_names_are_sorted_and_described():
    passes = upstream_passes()
    assert list(passes) == sorted(passes)
    assert all(name == entry.name for name, entry in passes.items())
    assert [name for name, entry in passes.items() if not entry.description] == []


def test_every_name_parses(context):
    assert [name for name in upstream_passes() if not parses(f"any({name})")] == []


def test_every_default_parses(context):
    refused = [
        f"{entry.name}{{{option.name}={option.default}}}"
        for entry in upstream_passes().values()
        for option in entry.options
        if option.default and not parses(f"any({entry.name}{{{option.name}={option.default}}})")
    ]
    assert refused == []


def test_every_printed_option_is_listed(context):
    """Compare the options with MLIR's print of a pass.

    The print is split by its braces only, not by the inventory's names.
    """
    for entry in upstream_passes().values():
        if entry.is_pipeline:
            continue
        printed = str(passmanager.PassManager.parse(f"any({entry.name})"))
        body = printed.removeprefix(f"any({entry.name}").removesuffix(")").strip("{}")
        words = {word.split("=")[0] for word in body.split() if "=" in word}
        assert words <= {option.name for option in entry.options}, printed


def test_options_unknown_to_mlir_are_refused(context):
    assert parses("any(canonicalize{max-iterations=3})")
    assert not parses("any(canonicalize{max-iteration=3})")


@pytest.mark.slow
def test_the_file_is_current():
    if metadata.packages_distributions()[ROOT] != ["torch-mlir"]:
        pytest.skip("the inventory is generated from the pinned wheel, and this is another one")
    result = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, timeout=600, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
