# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.tune_placement and partition="measured": real trials with small codegens, files, and bad input."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.claimed_regions import claims_of
from relax_mlir.passes.graph.partition.placement import MeasuredPlacement, PlacedMatch, read_placement
from relax_mlir.support.plugins import load_plugin
from relax_mlir.tools import relax_compile
from relax_mlir_tune import PlacementTuning, tune_placement
from relax_mlir_tune.codegen_options import variants_of
from relax_mlir_tune.placement_plan import TARGET, Prices, cheapest, moves_of, pieces_of
from relax_mlir_tune.runners import LocalRunner
from relax_mlir_tune.tool import run

CODEGENS = str(Path(__file__).with_name("placement_codegens.py"))
load_plugin(CODEGENS)
SIZE = 384


def model(size: int = SIZE, layers: int = 1) -> rx.Module:
    """Return products by a unit matrix, which the test's codegens leave out, with tangents between them."""
    with rx.Module() as module, module.function("main", {"x": rx.tensor((size, size))}) as f:
        (x,) = f
        for _ in range(layers):
            x = relax.tanh(relax.matmul(x, relax.const(numpy.eye(size, dtype="float32"))))
        f.returns(x)
    return module


def tuned(folder: Path, codegens: str, module: rx.Module | None = None, **options: Any) -> PlacementTuning:
    return tune_placement(module or model(), codegens, folder=folder, trials=4, plugins=[CODEGENS], **options)


def parts_of(module: rx.Module, folder: Path) -> str:
    return repr(rx.compile(module, partition="measured", tuned=folder, cache=False)).partition("\n")[0]


def saved(program: rx.runtime.Executable, path: Path) -> bytes:
    program.save(path)
    return path.read_bytes()


# ---- search ----


@pytest.fixture(autouse=True)
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trials take as long as a busy machine needs, except trials that hang."""
    whole, seconds = LocalRunner.__init__, 15.0 if "hanging" in request.node.name else 600.0
    monkeypatch.setattr(LocalRunner, "__init__", lambda self: whole(self, seconds))


def test_a_fast_codegen_gets_its_part_and_a_slow_one_nothing(tmp_path: Path) -> None:
    found = tuned(tmp_path, "slow,tangent,quick")
    assert {each.pattern for each in found.placement.matches} == {"quick.product"}
    assert found.single == "quick" and found.placement.times["measured"] <= found.placement.times["llvm"]
    taken = {each.codegen: each.is_taken for each in found.placement.regions}
    assert taken == {"slow": False, "tangent": False, "quick": True}
    assert "1 part by quick" in parts_of(model(), tmp_path)


def test_equal_layers_are_measured_once(tmp_path: Path) -> None:
    found = tuned(tmp_path, "slow,quick", model(layers=2))
    assert [each.pattern for each in found.placement.matches] == ["quick.product"] * 2
    assert [each.number for each in found.placement.matches] == [0, 1]
    assert [(each.codegen, each.occurrences) for each in found.placement.regions] == [("slow", 2), ("quick", 2)]


@pytest.mark.parametrize(
    ("codegen", "words"), [("crashing", "crashed"), ("hanging", "took more than"), ("wrong", "results differ")]
)
def test_a_bad_codegen_loses_its_trial_only(codegen: str, words: str, tmp_path: Path) -> None:
    found = tuned(tmp_path, f"{codegen},quick")
    assert any(words in note and note.startswith(codegen) for note in found.notes)
    assert {each.pattern for each in found.placement.matches} == {"quick.product"}
    assert codegen not in found.placement.times


def test_the_fastest_exact_option_wins(tmp_path: Path) -> None:
    found = tuned(tmp_path, "optional")
    assert found.placement.codegens == ("optional{mode=quick}",)
    again = rx.compile(model(), partition="measured", tuned=tmp_path, cache=False)
    x = numpy.random.default_rng(0).standard_normal((SIZE, SIZE)).astype("float32")
    numpy.testing.assert_allclose(numpy.from_dlpack(again["main"](x)), numpy.tanh(x), atol=1e-5)


def test_stated_options_stay() -> None:
    assert list(variants_of("optional", 1)) == ["optional{mode=rough}", "optional{mode=quick}"]
    assert list(variants_of("optional{mode=slow}", 1)) == []


def test_trials_of_regions_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned(tmp_path, "slow")
    calls: list[int] = []
    whole = LocalRunner.call

    def counted(self: LocalRunner, threads: int, function: Callable[..., object], *arguments: Any) -> object:
        calls.append(arguments[-1])
        return whole(self, threads, function, *arguments)

    monkeypatch.setattr(LocalRunner, "call", counted)
    tuned(tmp_path, "slow")
    assert calls[-1] == 31 and set(calls[:-1]) == {1}  # the last comparison, and programs for it


def test_the_planner_minimizes_the_sum_with_neighbours() -> None:
    """One owner of three neighbours costs less than the cheapest owner of each, if a border is expensive."""
    claims = claims_of(model(layers=3), "llvm", ["quick", "tangent"])
    pieces = pieces_of(claims)
    assert [set(piece.matches) for piece in pieces] == [{"quick"}, {"tangent"}] * 3
    prices = Prices({(piece.kind, TARGET): 10.0 for piece in pieces})
    prices.seconds |= {(piece.kind, owner): 6.0 for piece in pieces for owner in piece.matches}
    assert cheapest(pieces, prices, ("quick", "tangent")) == ("quick", "tangent") * 3
    assert cheapest(pieces, prices, ("quick",)) == ("quick", TARGET) * 3
    prices.saved[TARGET] = 9.0
    assert cheapest(pieces, prices, ("quick",))[1:] == (TARGET,) * 5
    assert cheapest(pieces, prices, ("quick",), is_joined=False) == ("quick", TARGET) * 3


def test_changes_are_of_equal_pieces_and_of_neighbours() -> None:
    claims = claims_of(model(layers=2), "llvm", ["quick"])
    pieces = pieces_of(claims)
    prices = Prices({(pieces[0].kind, TARGET): 2.0, (pieces[0].kind, "quick"): 1.0})
    assert list(moves_of(pieces, (TARGET, TARGET), prices, ["quick"])) == [("quick", "quick")]


# ---- replay ----


@pytest.fixture
def placed(tmp_path: Path) -> MeasuredPlacement:
    """Write the placement of the product by a codegen, without trials."""
    return write(tmp_path, model(), "quick")


def write(folder: Path, module: rx.Module, codegen: str, number: int = 0) -> MeasuredPlacement:
    from relax_mlir.compilation.claimed_regions import model_key, operators_of
    from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts
    from relax_mlir_tune.space import machine_of

    matches = [match.placed for region in claims_of(module, "llvm", [codegen]).regions for match in region.matches]
    facts, operators = MachineFacts.of(machine_of("llvm")), dict(operators_of(module.operation))
    key = model_key(module.operation, None, "f32")
    placement = MeasuredPlacement(key, facts, (codegen,), (matches[number],), operators)
    return read_placement(placement.write(folder))


def test_a_plan_replays_to_the_same_bytes(placed: MeasuredPlacement, tmp_path: Path) -> None:
    programs = [
        rx.compile(model(), partition=partition, tuned=tuned, cache=False)
        for partition, tuned in (("measured", tmp_path), ("measured", tmp_path), ("quick", None))
    ]
    first, *others = (saved(each, tmp_path / "program.rxa") for each in programs)
    assert all(first == other for other in others)


def test_a_placement_replays_where_names_moved(placed: MeasuredPlacement, tmp_path: Path) -> None:
    text = str(model()).replace("@main", "@other")
    assert "1 part by quick" in parts_of(rx.Module.parse(text, "renamed.mlir"), tmp_path)


def test_the_number_of_equal_matches_counts(tmp_path: Path) -> None:
    write(tmp_path, model(layers=3), "quick", 2)
    lowered = rx.stages("llvm", partition=rx.Partition(("quick",), plan=str(next(tmp_path.glob("*.placement")))))
    text = str(rx.lower(model(layers=3), "llvm", pipeline=lowered.until("partition")))
    assert text.index("relax.call_dps_packed") > text.rindex("relax.matmul")


def test_a_changed_model_uses_what_fits(tmp_path: Path) -> None:
    placement = write(tmp_path, model(layers=2), "quick")
    with pytest.warns(Warning, match="of a similar model is used"):
        assert "1 part by quick" in parts_of(model(layers=3), tmp_path)
    stale = placement.matches[0]._replace(block="0/scf.if.0.1", nodes=("layer",))
    Path(placement.path).unlink()
    MeasuredPlacement(
        placement.model, placement.machine, ("quick",), (*placement.matches, stale), placement.operators
    ).write(tmp_path)
    with pytest.warns(Warning, match=r"1 of 2 matches \(layer\) do not fit the model and stay with the target"):
        assert "1 part by quick" in parts_of(model(layers=2), tmp_path)


def test_a_codegen_that_is_not_installed(placed: MeasuredPlacement, tmp_path: Path) -> None:
    gone = PlacedMatch("0", "goneby.product", "0" * 16, 0)
    matches = (*placed.matches, gone)
    MeasuredPlacement(placed.model, placed.machine, ("goneby", "quick"), matches, placed.operators).write(tmp_path)
    with pytest.warns(Warning, match="its 1 matches of 'goneby' stay with the target: .*unknown codegen 'goneby'"):
        assert "1 part by quick" in parts_of(model(), tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content.update(version=99), "has version 99, expected 1"),
        (lambda content: content.pop("version"), "is damaged"),
        (lambda content: content.update(matches=[["main"]]), "is damaged"),
        (lambda content: content.update(matches=[["main", "quick.product", "k", "0", []]]), "is damaged"),
        (lambda content: content.update(machine=3), "is damaged"),
        (lambda content: content.update(other=3), "field 'other' is unknown"),
        (lambda content: content["machine"].update(architecture="riscv64"), "no placement of this model"),
    ],
)
def test_damaged_and_foreign_files(
    change: Callable[[dict[str, Any]], object], words: str, placed: MeasuredPlacement, tmp_path: Path
) -> None:
    content = json.loads(Path(placed.path).read_bytes())
    change(content)
    Path(placed.path).write_text(json.dumps(content))
    with pytest.raises(rx.RelaxError, match=words) as found:
        rx.compile(model(), partition="measured", tuned=tmp_path)
    assert str(tmp_path) in str(found.value)


def test_a_file_that_is_no_json(placed: MeasuredPlacement, tmp_path: Path) -> None:
    Path(placed.path).write_bytes(b"\xff\x00")
    with pytest.raises(rx.RelaxError, match="is damaged: it is no JSON object"):
        rx.compile(model(), partition="measured", tuned=tmp_path)


@pytest.mark.parametrize("folder", [None, "missing", "."])
def test_without_a_placement_the_error_names_relax_tune(folder: str | None, tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError, match=r"partition='measured'|cannot be read") as found:
        rx.compile(model(), partition="measured", tuned=folder and tmp_path / folder)
    assert folder == "missing" or any("relax-tune" in note for note in found.value.notes)


def test_stages_need_a_module() -> None:
    with pytest.raises(rx.RelaxError, match="partition='measured' needs a module"):
        rx.stages("llvm", partition="measured")


# ---- bad arguments, and the tools ----


@pytest.mark.parametrize(
    ("codegens", "options", "words"),
    [
        ("nowhere", {}, "nowhere"),
        ("quick,quick", {}, "names 'quick' twice"),
        ([], {}, "names no codegen"),
        ("optional{mode=no}", {}, "mode"),
        ("quick", {"target": "lvm"}, "lvm"),
    ],
)
def test_bad_options(codegens: Any, options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError, match=words):
        tune_placement(model(), codegens, **{"folder": tmp_path, **options})


def test_the_tools_measure_and_replay(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, folder, program = tmp_path / "model.mlir", str(tmp_path / "tuned"), str(tmp_path / "model.rxa")
    source.write_text(str(model()))
    stdout, stderr = io.StringIO(), io.StringIO()
    plugin = ["--load-plugin", CODEGENS]
    assert run([str(source), "--partition", "quick", *plugin, "-o", folder, "--trials", "2"], stdout, stderr) == 0
    assert "measured placement" in stdout.getvalue() and "trial 1" in stderr.getvalue()
    arguments = [str(source), *plugin, "--partition=measured", f"--tuned={folder}", "-o", program, "--no-cache"]
    assert relax_compile.run(arguments) == 0
    assert "partition: 1 of" in capfd.readouterr().err
    expected = rx.compile(rx.Module.parse(source.read_text(), str(source)), partition="quick", cache=False)
    assert rx.runtime.load(program)["main"] is not None and "1 part by quick" in repr(expected)


def test_relax_compile_names_relax_tune(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "model.mlir"
    source.write_text(str(model()))
    (tmp_path / "tuned").mkdir()
    for tuned in ([], [f"--tuned={tmp_path / 'tuned'}"]):
        code = relax_compile.run([str(source), "--partition=measured", *tuned, "-o", str(tmp_path / "model.rxa")])
        error = capfd.readouterr().err
        assert code == 1 and "relax-tune model.onnx --partition" in error and "Traceback" not in error
