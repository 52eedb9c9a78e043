# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices of a whole program: layouts, fusion and passes of other packages, their files, and bad input."""

from __future__ import annotations

import importlib
import io
import json
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.tuned_programs import TunedProgram, find_program, program_key, read_program
from relax_mlir.passes.core.stage_edits import edit_stages, pass_place
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times
from relax_mlir_tune import Choice, register_choice, tune
from relax_mlir_tune.measuring import Outcome
from relax_mlir_tune.program import Candidate, ProgramSpace, all_choices, are_compatible, fitted, stages_of
from relax_mlir_tune.program_measuring import difference
from relax_mlir_tune.program_search import ProgramSearch, tune_program
from relax_mlir_tune.space import Plans, machine_of
from relax_mlir_tune.tasks import tasks_of
from relax_mlir_tune.tool import run

#: Passes of a user's package. `slow` repeats each sort, which keeps all bits; `fast` removes the repetitions.
_PASSES = '''
from typing import Any, ClassVar

import relax_mlir as rx
from relax_mlir.bindings.navigation import operations_named


def sorts(op: Any) -> list[Any]:
    return list(operations_named(op, "relax.sort"))


@rx.register_pass
class Slow(rx.Pass):
    """Repeat each sort."""

    name: ClassVar[str] = "other-slow"
    anchor: ClassVar[str] = "any"

    def run(self, op: Any) -> None:
        for each in sorts(op):
            last = each
            for _ in range(3):
                made = each.clone(ip=rx.ir.InsertionPoint.after(last))
                last.results[0].replace_all_uses_except(made.results[0], made)
                made.operands[0] = last.results[0]
                last = made


@rx.register_pass
class Fast(rx.Pass):
    """Remove repetitions of a sort."""

    name: ClassVar[str] = "other-fast"
    anchor: ClassVar[str] = "any"

    def run(self, op: Any) -> None:
        for each in sorts(op):
            if getattr(each.operands[0].owner, "name", "") == "relax.sort":
                each.results[0].replace_all_uses_with(each.operands[0])
                each.erase()


@rx.register_pass
class Wrong(rx.Pass):
    """Replace each sort by its operand."""

    name: ClassVar[str] = "other-wrong"
    anchor: ClassVar[str] = "any"

    def run(self, op: Any) -> None:
        for each in sorts(op):
            each.results[0].replace_all_uses_with(each.operands[0])
            each.erase()
'''


@pytest.fixture(scope="module", autouse=True)
def passes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import a package with passes, as a plug-in of a user does."""
    folder = tmp_path_factory.mktemp("package")
    Path(folder, "relax_other_passes.py").write_text(_PASSES)
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(folder))
    importlib.import_module("relax_other_passes")
    yield
    patch.undo()


def choice(name: str, **options: bool) -> Choice:
    edit = f"run other-{name} before relax-legalize-ops"
    return Choice(f"{name} sorts", "relax-legalize-ops", (edit,), ("relax.sort",), **options)


def chain(repeats: int) -> rx.Module:
    """Return a program with a repeated sort."""
    with rx.Module() as module, module.function("main", {"x": rx.tensor((64, 256))}) as f:
        (x,) = f
        for _ in range(repeats):
            x = relax.sort(x)
        f.returns(x)
    return module


def network() -> rx.Module:
    draw = numpy.random.default_rng(0)

    def weights(*shape: int) -> rx.ir.Value:
        return relax.const(draw.standard_normal(shape).astype("float32"))

    with rx.Module() as module, module.function("main", {"x": rx.tensor((1, 16, 12, 12))}) as f:
        (x,) = f
        for channels in (16, 16, 32):
            x = relax.nn.relu(relax.nn.conv2d(x, weights(channels, 16, 3, 3), padding=[1, 1]))
        f.returns(x)
    return module


def space_of(module: rx.Module, *choices: Choice) -> ProgramSpace:
    return ProgramSpace(fitted(module, "llvm", None), "llvm", "f32", choices or all_choices())


def outputs(module: rx.Module, folder: Path | None) -> bytes:
    x = numpy.random.default_rng(1).standard_normal((64, 256)).astype("float32")
    return numpy.from_dlpack(rx.compile(module, tuned=folder)["main"](x)).tobytes()


def test_a_choice_that_slows_a_program_down_never_wins(tmp_path: Path) -> None:
    found = tune_program(chain(1), "llvm", tmp_path, (1, None), choices=[choice("slow")])
    ((edits, outcome),) = found.outcomes.items()
    assert edits == choice("slow").edits and outcome.ratio > 1.5
    assert found.winner is None and not list(tmp_path.glob("*.json"))


def test_a_choice_that_speeds_a_program_up_wins_and_replays(tmp_path: Path) -> None:
    module = chain(4)
    assert len(kernel_calls(module, None)) == 4, "the compiler keeps the repetitions"
    found = tune_program(module, "llvm", tmp_path, (1, None), choices=[choice("fast")])
    assert found.winner is not None and found.winner.plans == choice("fast").edits and found.ratio < 0.8
    (path,) = tmp_path.glob("program-main-*.json")
    program = read_program(path)
    assert program.edits == choice("fast").edits and program.times.tuned < program.times.default
    assert len(kernel_calls(module, tmp_path)) == 1
    assert outputs(module, tmp_path) == outputs(module, None)
    # other programs have another key
    assert len(kernel_calls(chain(3), tmp_path)) == 3


def kernel_calls(module: rx.Module, folder: Path | None) -> list[str]:
    stages = rx.stages("llvm").until("legalize")
    if folder is not None:
        stages = stages_of(module, "llvm", folder, None, "f32").until("legalize")
    lowered = rx.lower(module, "llvm", pipeline=stages)
    return [line for line in str(lowered).splitlines() if "call_tir" in line]


def test_wrong_candidates_are_refused_and_reported(tmp_path: Path) -> None:
    for inexact in (False, True):
        found = tune_program(chain(1), "llvm", tmp_path, (1, None), choices=[choice("wrong")], inexact=inexact)
        (outcome,) = found.wrong
        assert "the results " in outcome.problem and found.winner is None
        assert "refused: run other-wrong" in "\n".join(found.lines())


def test_inexact_choices_need_an_option(tmp_path: Path) -> None:
    found = tune_program(chain(4), "llvm", tmp_path, (1, None), choices=[choice("fast", exact=False)])
    assert not any("other-fast" in edit for edits in found.outcomes for edit in edits)
    assert found.refused == list(choice("fast").edits) and "not tried without inexact" in "\n".join(found.lines())
    again = tune_program(chain(4), "llvm", tmp_path, (1, None), choices=[choice("fast", exact=False)], inexact=True)
    assert choice("fast").edits in again.outcomes and not again.refused


def test_results_are_compared_to_the_bit() -> None:
    one = numpy.array([1.0, 100.0], "float32")
    near, far = numpy.nextafter(one, 2), one + 1
    assert not difference([one], [one.copy()], inexact=False)
    assert "needs inexact" in difference([one], [near], inexact=False)
    assert not difference([one], [near], inexact=True)
    assert "far" in difference([one], [far.astype("float32")], inexact=True)
    assert "far" in difference([one], [numpy.array([1.0, numpy.nan], "float32")], inexact=True)
    assert "far" in difference([numpy.array([1])], [numpy.array([2])], inexact=True)


# ---- the space ----


def test_candidates_change_the_program_each_in_another_way() -> None:
    space = space_of(network())
    edits = [each.edit for each in space.candidates("llvm-block-channels", ())]
    assert "drop llvm-block-channels" in edits
    assert "set llvm-block-channels{keep=nn.conv2d#0,nn.conv2d#1}" in edits, "equal convolutions are one group"
    fusion = [each.edit for each in space.candidates("relax-fuse-ops", ())]
    assert "set relax-fuse-ops{epilogues=false}" in fusion
    assert not [each for each in fusion if "layout_transform" in each], "no candidate without effect"
    assert not space.candidates("relax-fuse-attention", ()), "the program has no attention"


def test_later_candidates_see_earlier_edits() -> None:
    space = space_of(network())
    default = space.candidates("relax-fuse-ops", ())
    kept = space.candidates("relax-fuse-ops", ("drop llvm-block-channels",))
    assert default and kept and space.anchors().index("llvm-block-channels") < space.anchors().index("relax-fuse-ops")


def test_conflicting_edits_are_incompatible() -> None:
    alternatives = Choice("a", "p", ("set p{x=1}", "set p{x=2}"))
    nodes = Choice("n", "p", (), several=True)
    dropped, other = Choice("d", "p", ("drop p",)), Choice("o", "q", ("drop q",))
    one, two = (Candidate(edit, alternatives) for edit in alternatives.edits)
    group, rest = Candidate("set p{keep=a}", nodes), Candidate("set p{keep=b}", nodes)
    assert not are_compatible(one, two) and are_compatible(group, rest) and are_compatible(one, group)
    assert not are_compatible(Candidate("drop p", dropped), group)
    assert are_compatible(Candidate("drop p", dropped), Candidate("drop q", other))


def test_choices_that_win_are_combined() -> None:
    """Measure with made times: two choices gain, and both together gain more."""
    space = space_of(network())
    gains = {"set relax-fuse-ops{epilogues=false}": 0.9, "drop llvm-block-channels": 0.8}

    def measure(wanted: list[Plans], turns: int) -> list[Outcome]:
        ratios = {edits: float(numpy.prod([gains.get(edit, 1.1) for edit in edits])) for edits in wanted}
        return [Outcome(edits, ((1.0, ratio),) * turns) for edits, ratio in ratios.items()]

    search = ProgramSearch(space, inexact=False, most=100, is_over=bool)
    search.run(measure)
    winner = search.winner(measure)
    assert winner is not None and winner.plans == ("drop llvm-block-channels", "set relax-fuse-ops{epilogues=false}")
    few = ProgramSearch(space, inexact=False, most=3, is_over=bool)
    few.run(measure)
    assert len(few.outcomes) == 3


def test_a_choice_has_a_name_of_its_own() -> None:
    with pytest.raises(rx.RelaxError, match="there is a choice 'batch' already"):
        register_choice(Choice("batch", "relax-split-batch", ("drop relax-split-batch",)))
    with pytest.raises(rx.RelaxError, match="changes 'cse', expected 'relax-split-batch'"):
        register_choice(Choice("other", "relax-split-batch", ("drop cse",)))
    with pytest.raises(rx.RelaxError, match="'remove cse' is no edit of stages: expected 'drop PASS'"):
        tune(chain(1), graph=True, choices=[Choice("other", "cse", ("remove cse",))])


# ---- files ----


@pytest.fixture
def tuned(tmp_path: Path) -> TunedProgram:
    """Write the file of a program without layouts in blocks, without a search."""
    return written(network(), tmp_path, ("drop llvm-block-channels",))


def written(module: rx.Module, folder: Path, edits: Plans, tuned: float = 9.0) -> TunedProgram:
    key = program_key(fitted(module, "llvm", None).operation, "llvm")
    facts = MachineFacts.of(machine_of("llvm"))
    return read_program(TunedProgram("main", key, "llvm", facts, edits, Times(10.0, tuned, 0.01)).write(folder))


def blocks_in(folder: Path | None) -> int:
    lowered = rx.lower(network(), pipeline=rx.stages("llvm").until("plan"), tuned=folder)
    return str(lowered).count("@layout_transform")


def test_programs_use_files(tuned: TunedProgram, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert blocks_in(tmp_path) == 0 and blocks_in(empty) == blocks_in(None) > 0


def test_keys_do_not_depend_on_weights(tuned: TunedProgram, tmp_path: Path) -> None:
    other = rx.Module.parse(network().bytecode())
    assert program_key(other.operation, "llvm") == tuned.key
    assert program_key(other.operation, "llvm", "bf16") != tuned.key
    assert program_key(other.operation, "llvm{numerics=fast}") != tuned.key
    assert program_key(other.operation, "llvm{cpu=haswell}") == tuned.key, "the file states the machine"


def test_tuned_kernels_are_those_of_the_program(tuned: TunedProgram, tmp_path: Path) -> None:
    """A search of kernels takes the program's choices, and its files stand beside the program's."""
    found = tune(network(), trials=1, folder=tmp_path)
    assert {each.task.name for each in found.tasks} == {
        each.name for each in tasks_of(network(), "llvm", stages=stages_of(network(), "llvm", tmp_path, None, "f32"))
    }
    assert not [each for each in found.tasks if "layout_transform" in each.task.name]
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    assert [each for each in tune(network(), trials=1, folder=kernels).tasks if "layout" in each.task.name]


def test_a_search_of_program_and_kernels(tmp_path: Path) -> None:
    told: list[str] = []
    found = tune(
        chain(4),
        trials=1,
        folder=tmp_path,
        graph=True,
        choices=[choice("fast")],
        progress=lambda each: told.append(each.kernel),
    )
    assert found.program is not None and found.program.winner is not None
    assert told[0] == "program main" and "run other-fast" in found.table()


def damage(path: Path, how: str) -> str:
    """Damage a file. Return words of the warning."""
    content = json.loads(path.read_text())
    changes: dict[str, tuple[str, object, str]] = {
        "version": ("version", 99, "version 99, expected 1"),
        "field": ("unknown", 1, "field 'unknown' is unknown"),
        "edits": ("edits", "drop cse", "expected a list of texts"),
        "pass": ("edits", ["drop relax-unknown"], "no stage of target 'llvm' runs 'relax-unknown'"),
        "form": ("edits", ["remove cse"], "is no edit of stages"),
        "option": ("edits", ["set relax-fuse-ops{unknown=1}"], "has no option 'unknown'"),
        "key": ("key", "0123", "is for the key 0123: rename it"),
    }
    if how == "text":
        path.write_text("{")
        return "no JSON object"
    name, value, words = changes[how]
    path.write_text(json.dumps({**content, name: value}))
    return words


@pytest.mark.parametrize("how", ["text", "version", "field", "edits", "pass", "form", "option", "key"])
def test_bad_files_are_left_out_with_a_warning(tuned: TunedProgram, tmp_path: Path, how: str) -> None:
    words = damage(Path(tuned.path), how)
    with pytest.warns(RuntimeWarning, match=words):
        assert blocks_in(tmp_path) > 0


def test_other_machines_and_targets_keep_the_default(tuned: TunedProgram, tmp_path: Path) -> None:
    assert find_program(tmp_path, tuned.key, "llvm{cpu=haswell vector-bytes=16}") is None
    content = json.loads(Path(tuned.path).read_text())
    Path(tuned.path).write_text(json.dumps({**content, "target": "cuda"}))
    assert blocks_in(tmp_path) > 0


def test_edits_of_stages_that_a_level_leaves_out_have_no_effect() -> None:
    stages = rx.stages("llvm", 1)
    assert pass_place(stages, "llvm-block-channels") is None
    assert edit_stages(stages, ["drop llvm-block-channels"]) == stages


# ---- the tool ----


def told(*arguments: str) -> str:
    stdout, stderr = io.StringIO(), io.StringIO()
    assert run(arguments, stdout, stderr) == 0, stderr.getvalue()
    return stdout.getvalue() + stderr.getvalue()


def test_the_tool_keeps_files_in_order(tuned: TunedProgram, tmp_path: Path) -> None:
    model, folder = tmp_path / "network.mlir", str(tmp_path)
    model.write_text(str(network()))
    assert "program main" in told("--list", "-o", folder) and "drop llvm-block-channels" in told("--list", "-o", folder)
    other = tmp_path / "other"
    assert "1 files of programs added" in told("--merge", folder, "-o", str(other))
    written(network(), other, ("drop relax-split-batch",), tuned=8.0)
    assert "1 files of programs added" in told("--merge", str(other), "-o", folder)
    assert read_program(Path(tuned.path)).edits == ("drop relax-split-batch",), "the faster one stays"
    written(chain(2), tmp_path, ("drop cse",))
    assert "1 files of programs removed" in told(str(model), "--prune", "-o", folder)
    assert [each.name for each in tmp_path.glob("program-*.json")] == [Path(tuned.path).name]
    # a program without effect is not faster
    assert "removed" in told(str(model), "--replay", "-o", folder) and not Path(tuned.path).exists()


def test_the_tool_reports_bad_files(tuned: TunedProgram, tmp_path: Path) -> None:
    words = damage(Path(tuned.path), "version")
    assert words in told("--list", "-o", str(tmp_path))
