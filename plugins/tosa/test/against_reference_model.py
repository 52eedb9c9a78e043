# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All programs beside TOSA's reference model, which is in the package `tosa-tools`:

python -m venv build/tosa && build/tosa/bin/pip install tosa-tools
.venv/bin/python plugins/tosa/test/against_reference_model.py build/tosa/bin
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy
import relax_mlir as rx
from tosa_program import Program
from tosa_programs import PROGRAMS


def main() -> int:
    tools = Path(sys.argv[1])
    different, refused = [], []
    for program in PROGRAMS:
        random = numpy.random.default_rng(43)
        given = [each.drawn(random) for each in program.given]
        with tempfile.TemporaryDirectory() as folder:
            try:
                expected = _of_model(tools, Path(folder), program, given)
            except subprocess.CalledProcessError as error:
                refused.append(f"{program.name}: {(error.stderr or error.stdout).strip()[:300]}")
                continue
        made = rx.compile(rx.from_tosa(program.text))["main"](*given)
        for one, other in zip(made if isinstance(made, (list, tuple)) else [made], expected, strict=True):
            error = _difference(program, numpy.asarray(one), other)
            if error:
                different.append(f"{program.name}: {error}")
    print(*different, *refused, sep="\n")
    count = len(PROGRAMS)
    print(f"{count} programs: {count - len(different) - len(refused)} agree, {len(different)} differ, "
          f"{len(refused)} are refused by the model")  # fmt: skip
    return bool(different)


def _of_model(tools: Path, folder: Path, program: Program, given: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
    names = [f"in{place}" for place in range(len(given))]
    results = [f"out{place}" for place in range(len(program.results))]
    _run(folder, tools / "tosa-opt", "program.mlir", "--tosa-serialize=retain-graph-input-output-names=true "
         "tosa-flatbuffer-filename=program.tosa", text=_named(program, names, results))  # fmt: skip
    for name, array in zip(names, given, strict=True):
        numpy.save(folder / f"{name}.npy", array)
    lists = [("ifm_name", names), ("ifm_file", [f"{each}.npy" for each in names])]
    lists += [("ofm_name", results), ("ofm_file", [f"{each}.npy" for each in results])]
    options = [word for option, values in lists for word in (f"--{option}", ",".join(values))]
    places = ["--flatbuffer_dir", ".", "--output_dir", "."]
    _run(folder, tools / "tosa_reference_model", "--tosa_file", "program.tosa", *places, *options)
    return [numpy.load(folder / f"{each}.npy") for each in results]


def _named(program: Program, names: Sequence[str], results: Sequence[str]) -> str:
    """Return the program with names for its arguments and results."""
    given = [f'{type_} {{tosa.tensor_name = "{name}"}}' for type_, name in zip(program.given_types, names, strict=True)]
    text = program.written(given, program.results)
    head, arrow, rest = text.partition(") -> (")
    types = [f'{type_} {{tosa.tensor_name = "{name}"}}' for type_, name in zip(program.results, results, strict=True)]
    return f"{head}{arrow}{', '.join(types)}{rest[rest.index(') {') :]}"


def _run(folder: Path, tool: Path, *arguments: str, text: str = "") -> None:
    if text:
        (folder / "program.mlir").write_text(text)
    subprocess.run([tool.absolute(), *arguments], cwd=folder, check=True, capture_output=True, text=True)


def _difference(program: Program, made: numpy.ndarray, expected: numpy.ndarray) -> str:
    rtol = program.rtol if made.dtype.kind == "f" else 0
    if made.shape != expected.shape:
        return f"{made.shape} and {expected.shape}"
    try:
        numpy.testing.assert_allclose(made.astype("float64"), expected.astype("float64"), rtol=rtol, atol=rtol)
    except AssertionError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
