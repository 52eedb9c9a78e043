# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned kernels that come with a target: use by default, order of folders, and validity of the files."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from relax_mlir.bindings.package_files import described, files_in, own_files
from relax_mlir.compilation.schedules import planned, until_rules
from relax_mlir.dialects.tir.prim_func import prim_funcs_in, type_key
from relax_mlir.passes.kernels.schedule.plan import parse_plan
from relax_mlir.passes.kernels.schedule.tuned_plans import (
    MachineFacts,
    Times,
    TunedKernel,
    kernel_key,
    plans_of,
    read_tuned,
    use_plans,
)
from relax_mlir.targets.core.backend import tuned_names
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.llvm.backend import LLVMBackend
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx
from relax_mlir import relax

TARGET = "llvm{cpu=x86-64-v3}"
OWN = Path(LLVMBackend.tuned_folder)
KERNELS = Path(__file__).parent / "tuned_kernels"
FILES = sorted(path.name for path in OWN.glob("*.json"))


def product(rows: int = 24) -> rx.Module:
    with rx.Module() as module, module.function("main", {"x": rx.tensor((rows, 40)), "y": rx.tensor((40, 64))}) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    return module


def write_tuned(folder: Path, rule: str) -> TunedKernel:
    """Write a file with smaller tiles for the product, under another name of the rule."""
    kernel = rx.lower(product(), TARGET, pipeline=until_rules(rx.stages(TARGET)))
    (function,) = prim_funcs_in(kernel.operation)
    key = kernel_key(function)
    with_plans = rx.lower(kernel, TARGET, pipeline=planned(rx.stages(TARGET)))
    default = plans_of(prim_funcs_in(with_plans.operation)[0])
    plans = tuple(text.replace("0: 6", "0: 3").replace("rule matmul", f"rule {rule}") for text in default)
    assert "0: 3" in plans[1]
    made = TunedKernel("product", key, (), facts(TARGET), plans, default, Times(10.0, 9.0, 0.01))
    made.write(folder)
    return made


def facts(target: str) -> MachineFacts:
    chosen = parse_target(target)
    return MachineFacts.of(rx.find_backend(chosen.name).machine(chosen))


def plans_in(target: str = TARGET, tuned: Path | bool | None = None, module: rx.Module | None = None) -> str:
    stages = rx.stages(target).until("plan")
    return str(rx.lower(module or product(), target, pipeline=stages, tuned=tuned))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the target's folder."""
    folder = tmp_path / "own"
    write_tuned(folder, "own")
    monkeypatch.setattr(LLVMBackend, "tuned_folder", str(folder))
    return folder


@pytest.mark.parametrize("tuned", [None, True])
def test_own_kernels_are_used_by_default(own: Path, tuned: bool | None) -> None:
    assert "rule own" in plans_in(tuned=tuned)


def test_own_kernels_can_be_left_out(own: Path) -> None:
    text = plans_in(tuned=False)
    assert "rule own" not in text and "rule matmul" in text


def test_folders_of_users_come_first(own: Path, tmp_path: Path) -> None:
    write_tuned(tmp_path / "mine", "mine")
    text = plans_in(tuned=tmp_path / "mine")
    assert "rule mine" in text and "rule own" not in text


def test_own_kernels_are_used_beside_a_folder_of_the_user(own: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert "rule own" in plans_in(tuned=tmp_path / "mine")


def test_own_kernels_replace_damaged_ones_of_the_user(own: Path, tmp_path: Path) -> None:
    made = write_tuned(tmp_path / "mine", "mine")
    (tmp_path / "mine" / made.file_name).write_text("{", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="no JSON object"):
        text = plans_in(tuned=tmp_path / "mine")
    assert "rule own" in text


def test_a_file_under_the_name_of_another_kernel_is_left_out(own: Path, tmp_path: Path) -> None:
    made = write_tuned(tmp_path / "mine", "mine")
    text = (tmp_path / "mine" / made.file_name).read_text().replace(made.key, "0" * len(made.key))
    (tmp_path / "mine" / made.file_name).write_text(text)
    with pytest.warns(RuntimeWarning, match="is for the key 0+: rename it 'product-0"):
        text = plans_in(tuned=tmp_path / "mine")
    assert "rule own" in text


@pytest.mark.parametrize("start", ["start", "", "epilogue of 0"])
@pytest.mark.parametrize("consumer", ["start", "", "epilogue of 0"])
@pytest.mark.parametrize("is_carried", [True, False])
def test_plans_that_fit_alone_only_are_left_out(start: str, consumer: str, is_carried: bool, tmp_path: Path) -> None:
    """Lower a fill, a product and a consumer with each combination of plans."""
    made = write_tuned(tmp_path, "mine")
    middle = made.plans[1] if is_carried else made.plans[1].replace("carried 1; ", "")
    replace(made, plans=(start, middle, consumer)).write(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = str(rx.lower(product(), TARGET, pipeline=rx.stages(TARGET).until("parallel"), tuned=tmp_path))
    assert "vector<8xf32>" in text
    fits = (
        (start, consumer) in [("start", "epilogue of 0"), ("start", ""), ("", "")]
        if is_carried
        else not start + consumer
    )
    assert fits != any("its tuned file is left out" in str(each.message) for each in caught)


@pytest.mark.parametrize("target", ["llvm{cpu=x86-64-v4}", "llvm{cpu=x86-64-v2}", "llvm{triple=aarch64-linux-gnu}"])
def test_other_machines_do_not_look_for_own_kernels(own: Path, target: str) -> None:
    assert not any("tuned" in str(each) for each in rx.stages(target)["plan"].passes)
    assert "rule own" not in plans_in(target)


def test_machines_with_equal_facts_use_own_kernels(own: Path) -> None:
    assert "rule own" in plans_in("llvm{cpu=x86-64-v4 vector-bytes=32}")


def test_machines_of_the_same_name_with_other_facts_keep_the_rules(own: Path) -> None:
    target = "llvm{cpu=x86-64-v3 features=-fma}"
    assert any("tuned" in str(each) for each in rx.stages(target)["plan"].passes)
    assert "rule own" not in plans_in(target)


def test_other_sizes_keep_the_rules(own: Path) -> None:
    assert "rule own" not in plans_in(module=product(rows=25))


def test_dot_products_matter_for_narrow_numbers(own: Path) -> None:
    (kernel,) = (read_tuned(path) for path in own.iterdir())
    other = facts("llvm{cpu=alderlake}")
    assert other.dots != kernel.machine.dots
    assert kernel.fits(other)
    narrow = TunedKernel("k", "0", ("tensor<8xi8>",), kernel.machine, (), (), kernel.times)
    assert not narrow.fits(other) and narrow.fits(kernel.machine)


def test_stages_of_a_search_leave_own_kernels_out(own: Path) -> None:
    names = [str(each) for stage in until_rules(rx.stages(TARGET)) for each in stage.passes]
    assert not any("tuned" in name for name in names)


def test_an_empty_folder_name_is_refused(own: Path) -> None:
    with pytest.raises(rx.OptionError, match="tuned='': expected a folder, False for none"):
        rx.lower(product(), TARGET, tuned="")


@pytest.mark.parametrize(("options", "is_used"), [([], True), (["--no-tuned"], False)])
def test_the_tool_leaves_own_kernels_out(own: Path, tmp_path: Path, options: list[str], is_used: bool) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(str(product()), encoding="utf-8")
    stdout, stderr = io.StringIO(), io.StringIO()
    arguments = [str(path), "--stop=plan", f"--target={TARGET}", "--no-cache", *options]
    assert run(arguments, io.StringIO(), stdout, stderr) == 0, stderr.getvalue()
    assert ("rule own" in stdout.getvalue()) == is_used and "tir.plan" in stdout.getvalue()


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--tuned=x", "--no-tuned"], "give one of them"), (["--tuned="], "option --tuned expects a folder")],
)
def test_the_tool_refuses_contradictions(options: list[str], expected: str) -> None:
    stderr = io.StringIO()
    assert run(["model.onnx", *options], io.StringIO(), io.StringIO(), stderr) == 1
    assert expected in stderr.getvalue() and stderr.getvalue().count("\n") == 1


def test_equal_files_give_equal_programs(own: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.rxa" for number in range(3)]
    for path, tuned in zip(paths, (None, None, False), strict=True):
        rx.compile(product(), TARGET, cache=False, jobs=1, tuned=tuned).save(path)
    one, again, without = (path.read_bytes() for path in paths)
    assert one == again and one != without


_IMPORTS = """
import sys
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.targets.llvm.backend import LLVMBackend
LLVMBackend.tuned_folder = sys.argv[2]
module = rx.Module()
with module.function("main", [rx.tensor((8, 9))]) as f:
    f.returns(relax.exp(*f))
rx.compile(module, sys.argv[1], cache=False, jobs=1)
print(*(name.rpartition(".")[2] for name in sys.modules if "tuned" in name))
"""


@pytest.mark.parametrize(("target", "modules"), [("llvm{cpu=x86-64-v4}", []), (TARGET, ["tir_use_tuned"])])
def test_kernels_without_a_file_import_nothing_for_it(own: Path, target: str, modules: list[str]) -> None:
    command = [sys.executable, "-c", _IMPORTS, target, str(own)]
    assert subprocess.check_output(command, text=True).split() == modules


# ---- the files of this repository ----


def test_cache_keys_cover_the_files(own: Path) -> None:
    """Check that keys have all files of the target's package, and change with a file of a folder in it."""
    lines = set(own_files())
    assert {described(str(path)) for path in OWN.parent.rglob("*") if path.suffix in (".py", ".json")} <= lines
    before = list(files_in([str(own.parent)]))
    write_tuned(own, "other")
    assert list(files_in([str(own.parent)])) != before


@pytest.mark.parametrize("name", FILES)
def test_files_are_valid(name: str) -> None:
    kernel = read_tuned(OWN / name)
    assert kernel.file_name == name and tuned_names(OWN)[kernel.key]
    assert kernel.machine == facts(TARGET)
    assert kernel.plans != kernel.default and len(kernel.plans) == len(kernel.default)
    assert all(str(parse_plan(text)) == text for text in (*kernel.plans, *kernel.default) if text)
    assert kernel.times.tuned <= 0.95 * kernel.times.default


@pytest.mark.parametrize("name", FILES)
def test_files_fit_their_kernels(name: str) -> None:
    """Read the kernel, which bench/models/tune_shipped.py stores beside, and set its plans."""
    kernel = read_tuned(OWN / name)
    module = rx.Module.parse((KERNELS / f"{kernel.key}.mlir").read_text(encoding="utf-8"))
    (function,) = prim_funcs_in(module.operation)
    assert kernel_key(function) == kernel.key and kernel.key.startswith(type_key(function))
    chosen = parse_target(TARGET)
    use_plans(function, kernel.plans, rx.find_backend(chosen.name).machine(chosen))
    assert plans_of(function) == kernel.plans


def test_no_kernel_is_left_over() -> None:
    assert {path.stem for path in KERNELS.glob("*.mlir")} == {read_tuned(OWN / name).key for name in FILES}
