# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile with a mesh: programs of several ranks, their report, and errors."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.tools.relax_compile import run
from relax_mlir_shard.network import Network

NETWORK = Network("mpi", 2, 1e-5, 1e-9, 1024)
BY_COLUMNS = ["--specs=w1:_,tp", "--specs", "w2:_,tp"]


def compile_file(*arguments: object) -> tuple[int, str]:
    errors = io.StringIO()
    return run(list(map(str, arguments)), io.StringIO(), io.StringIO(), errors), errors.getvalue()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    module = rx.Module()
    signature = {"x": rx.tensor(("n", 16)), "w1": rx.tensor((16, 64)), "w2": rx.tensor((64, 16))}
    with module.function("main", signature) as f:
        f.returns(relax.matmul(relax.nn.gelu(relax.matmul(f.args[0], f.args[1])), f.args[2]))
    (tmp_path / "model.mlir").write_text(module.print(debug_info=True))
    return tmp_path / "model.mlir"


@pytest.mark.parametrize("specs", [BY_COLUMNS, ["--specs=w1:_,tp,w2:_,tp"], ["--specs=specs.json"]])
def test_compiled_programs_have_the_bits_of_one_process(
    model: Path, monkeypatch: pytest.MonkeyPatch, specs: list[str]
) -> None:
    monkeypatch.chdir(model.parent)
    Path("specs.json").write_text('{"w1": [null, "tp"], "w2": [null, ["tp"]]}')
    options = ["--mesh=dp=2,tp=2", "--bind=n:2..8", "--specs=x:dp,_", *specs]
    assert compile_file(model, *options) == (
        0,
        "relax-compile: note: the program is for several ranks: relax-run starts them\n"
        "relax-compile: note: written to model.rxa; -o names another file\n",
    )
    random = numpy.random.default_rng(0)
    arguments = [random.standard_normal(shape, "float32") for shape in ((8, 16), (16, 64), (64, 16))]
    expected = to_numpy(rx.compile(rx.Module.from_file(model))["main"](*arguments))
    with rx.launch(rx.runtime.load("model.rxa"), ranks=4) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](*arguments), expected)
        with pytest.raises(rx.RelaxError, match="n is 5, expected 1 to 4"):
            ranks["main"](numpy.zeros((10, 16), "float32"), *arguments[1:])


def test_the_report_shows_shardings_and_collectives(model: Path) -> None:
    (model.parent / "network.json").write_bytes(NETWORK.encode())
    options = ["--mesh=tp=2", "--bind=n:8", *BY_COLUMNS, f"--network={model.parent / 'network.json'}"]
    page = model.with_suffix(".html")
    assert compile_file(model, *options, f"--report={page}", f"-o={page.with_suffix('.rxa')}")[0] == 0
    found = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)
    assert found is not None
    facts: dict[str, list[dict[str, Any]]] = json.loads(found[1])["others"]
    (mesh,), (gather,) = facts["mesh"], facts["collective"]
    assert (mesh["axes"], mesh["ranks"]) == ("tp=2", 2)
    # Each rank has 8x32 numbers: an exchange moves 1,024 bytes, and a rank reads two parts.
    assert (gather["steps"], gather["bytes"], gather["microseconds"]) == (1, 2048, 12.0)
    assert (gather["collective"], gather["operator"]) == ("all_gather", "relax.matmul")
    assert (gather["why"], gather["place"]) == ("it needs the dimension that tp divides", "test_compile_ranks.py:34")
    shardings = [(fact["value"], fact["sharding"], fact["part"]) for fact in facts["sharding"]]
    assert shardings[1:4] == [
        ("w1", "(_, tp)", "tensor<16x32xf32>"),
        ("w2", "(_, tp)", "tensor<64x8xf32>"),
        ("relax.matmul", "(_, tp)", "tensor<8x32xf32>"),
    ]


def test_the_mesh_of_a_program_needs_no_option(model: Path) -> None:
    output = model.with_suffix(".rxa")
    annotated = model.read_text().replace('relax.name = "w1"', 'relax.name = "w1", ccl.sharding = "(_, tp)"')
    model.write_text(re.sub(r"(func.func @main.*) {\n", r'\1 attributes {ccl.mesh = "tp=2"} {\n', annotated))
    assert compile_file(model, "-o", output)[0] == 0
    assert rx.launch(rx.runtime.load(output)).ranks == 2
    # The program of a rank, as text, stays as it is.
    model.write_text(str(rx.shard(rx.Module.from_file(model))))
    assert compile_file(model, "-o", output)[0] == 0
    assert rx.launch(rx.runtime.load(output)).ranks == 2
    assert "the module is the program of one rank already" in compile_file(model, "--mesh=tp=2", "-o", output)[1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--mesh=tp", "mesh 'tp': write axes and sizes as dp=2,tp=4"),
        ("--mesh=,", "mesh ',': write axes and sizes as dp=2,tp=4"),
        ("--mesh=tp=0", "mesh: axis 'tp' needs a number of ranks, 1 or more, got 0"),
        ("--mesh=tp=65537", "mesh: it has 65537 ranks, and 65536 are possible"),
        ("--mesh=tp=2,tp=2", "mesh 'tp=2,tp=2': axis 'tp' occurs twice"),
        ("--specs=w1:_,tp", "@main has no mesh of its own: pass mesh=, such as dp=2,tp=4, and specs"),
        ("--mesh=tp=2 --specs=w3:_,tp", "specs: @main has no value 'w3'; it has: x, w1, w2, result"),
        ("--mesh=tp=2 --specs=w1:_,dp", "specs['w1']: the mesh tp=2 has no axis 'dp'"),
        ("--mesh=tp=2 --specs=w1:tp,tp", "axis 'tp' divides a tensor once, and it is used twice"),
        ("--mesh=tp=2 --specs=w1:tp,_ --specs=w1:_,tp", "specs: 'w1' occurs twice"),
        ("--mesh=tp=2 --specs=tp", "specs: write an axis or _ for each dimension, as in w1:_,tp, got 'tp'"),
        ("--mesh=tp=2 --specs=missing.json", "specs: cannot read 'missing.json': No such file"),
        ("--mesh=tp=2 --network=missing.json", "network: cannot read 'missing.json': No such file"),
    ],
)
def test_meshes_and_specs_are_checked(model: Path, options: str, problem: str) -> None:
    status, errors = compile_file(model, *options.split(), "-o", model.with_suffix(".rxa"))
    assert (status, errors.count("\n")) == (1, 1)
    assert problem in errors
    assert not model.with_suffix(".rxa").exists()


@pytest.mark.parametrize(("text", "problem"), [("[1]", "must have a spec by name"), ("{", "is no JSON"),
                                               ('{"w1": 1}', "specs['w1']: a spec has an axis")])  # fmt: skip
def test_files_of_specs_are_checked(model: Path, text: str, problem: str) -> None:
    path = model.with_suffix(".json")
    path.write_text(text)
    status, errors = compile_file(model, "--mesh=tp=2", f"--specs={path}", "-o", model.with_suffix(".rxa"))
    assert (status, problem in errors) == (1, True), errors
