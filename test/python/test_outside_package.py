# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External package that adds a target with all possible parts, using public names only."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import relax_mlir as rx

PACKAGE = {
    "ops": '''
"""An operator and an intrinsic."""
import relax_mlir as rx
from relax_mlir import tir

vpu = rx.Dialect("vpu", doc="Of a fictional unit.")
vpu.op("ramp", "x", infer=lambda call: call.x, doc="max(x, 0), as the unit computes it.")
tir.declare_intrinsic("positive", "x", dialect=vpu, doc="max(x, 0) of a scalar.")
''',
    "rules": '''
"""How the unit computes operators and intrinsics."""
import relax_mlir as rx

from .ops import vpu


@rx.rules.register_legalize(["vpu.ramp", "relax.nn.relu"], target="vpu")
def ramp(call):
    if call.info(call.operands[0]).dtype != "f32":
        return call.decline("the unit has f32 alone")
    return call.elementwise(lambda x: vpu.positive(x))


@rx.rules.register_lower_intrinsic("vpu.positive", target="vpu")
def positive(op):
    x = rx.number(op.x)
    return rx.select(x > 0.0, x, x.constant(0.0))
''',
    "plans": '''
"""How loops run on it."""
import relax_mlir as rx


@rx.schedules.register_plan("vpu")
def plan_in_a_row(op, machine):
    if op.reductions or len(op.parallels) != 1:
        raise rx.Decline("only what is one loop")
    return rx.schedules.Plan(order=(0,), carried=0, vector=0, lanes=machine.lanes(32))
''',
    "programs": '''
"""The stage of its own: products become programs of the unit."""
from dataclasses import dataclass
from typing import ClassVar

import numpy
import relax_mlir as rx
from relax_mlir import relax


def matmul(a, b, out):
    numpy.matmul(numpy.from_dlpack(a), numpy.from_dlpack(b), out=numpy.from_dlpack(out))


@rx.register_pass
@dataclass(frozen=True)
class Programs(rx.Pass):
    """Products become calls of the unit's programs, which the module lists."""

    name: ClassVar[str] = "vpu-programs"

    def run(self, op):
        programs = []

        def call(product, rewriter):
            programs.append(f"matmul {product.result.type.shape[1]}")
            return relax.call_dps_packed("vpu.matmul", [product.x1, product.x2], product.result.type)

        rx.rewriting.apply_walk(op, [rx.rewriting.Pattern("relax.matmul", call)])
        op.attributes["vpu.programs"] = rx.ir.ArrayAttr.get([rx.ir.StringAttr.get(each) for each in programs])
''',
    "target": '''
"""The target, and how code is made for it."""
import dataclasses

import relax_mlir as rx

from .programs import matmul


class VpuBackend(rx.Backend):
    """The unit's own programs; what is around them is llvm's code."""

    def machine(self, target):
        return dataclasses.replace(rx.find_backend("llvm").machine(target), vector_bytes=16)

    def stages(self, target):
        if target.option("lanes") not in ("", "4", "8"):
            raise rx.RelaxError(f"target '{target}': lanes={target.option('lanes')}: expected 4 or 8")
        return rx.find_backend("llvm").stages(target)

    def build(self, module, target, options):
        programs = self.code(module, target)
        artifact = rx.find_backend("llvm").build(module, target, options)
        entries = tuple({**entry, "vpu": programs} for entry in artifact.entries)
        functions = {name: matmul for name in artifact.calls if name == "vpu.matmul"}
        return dataclasses.replace(artifact, entries=entries, functions=functions)

    def assembly(self, module, target, options):
        return "".join(f"vpu {program}\\n" for program in self.code(module, target))

    def code(self, module, target):
        programs = [rx.ir.StringAttr(each).value for each in module.operation.attributes["vpu.programs"]]
        del module.operation.attributes["vpu.programs"]
        return [f"{program} by {target.option('lanes') or 8}" for program in programs]


rx.register_target(
    rx.Target(
        "vpu",
        rules=("llvm",),
        schedules=("llvm",),
        host="llvm",
        backend=VpuBackend,
        legal=frozenset({"relax.matmul"}),
        stages=lambda stages: stages.insert_after("legalize", "programs", "vpu-programs"),
        rule_modules=("vpu.rules",),
        schedule_modules=("vpu.plans",),
        options=(rx.TargetOption("lanes", "how many numbers a program works on at once: 4 or 8"),),
        doc="A fictional unit next to a CPU.",
    )
)
''',
}
POINTS = {"target.vpu": "vpu.target", "dialect.vpu": "vpu.ops", "pass.vpu-programs": "vpu.programs"}

PROGRAM = """
import numpy
import relax_mlir as rx
from relax_mlir import relax
from vpu.ops import vpu

module = rx.Module()
with module.function("main", {"a": rx.tensor(("n", 8)), "b": rx.tensor((8, 20))}) as f:
    f.returns(vpu.ramp(relax.nn.relu(relax.matmul(*f))), relax.sum(f.args[0], axis=1))

target = "vpu{lanes=4}"
stages = rx.stages(target)
assert stages.names[stages.names.index("legalize") + 1] == "programs", stages.names
planned = str(rx.lower(module, target, pipeline=stages.until("plan")))
assert 'tir.plan = "order (0 1); vector 0 x 4; rule in_a_row"' in planned, planned
assert "rule reduction" in planned, "llvm's plans come after its own"
assert "relax.call_dps_packed" in planned and "vpu.matmul" in planned

executable = rx.compile(module, target, cache=False, jobs=1)
assert executable.signature("main")["vpu"] == ["matmul 20 by 4"]
a, b = numpy.ones((3, 8), "float32"), numpy.linspace(-1, 1, 160, dtype="float32").reshape(8, 20)
y, total = executable["main"](a, b)
numpy.testing.assert_allclose(y, numpy.maximum(a @ b, 0), rtol=1e-6)
numpy.testing.assert_allclose(total, a.sum(1))
executable.save("vpu.rxa")

try:
    rx.compile(module, "vpu{lanes=5}")
except rx.RelaxError as error:
    assert "target 'vpu{lanes=5}': lanes=5: expected 4 or 8" in str(error), error
else:
    raise AssertionError("five lanes")
print(repr(rx.find_target("vpu")))
"""
MODULE = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = "relax.matmul"(%a, %b) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the package as pip installs it."""
    (tmp_path / "vpu").mkdir()
    (tmp_path / "vpu" / "__init__.py").write_text("")
    for name, text in PACKAGE.items():
        (tmp_path / "vpu" / f"{name}.py").write_text(text.lstrip())
    info = tmp_path / "vpu-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vpu\nVersion: 1.0\n")
    lines = [f"{name} = {module}\n" for name, module in POINTS.items()]
    (info / "entry_points.txt").write_text("[relax_mlir.plugins]\n" + "".join(lines))
    return tmp_path


def run(folder: Path, *arguments: str, text: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        input=text,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_outside_package_can_add_a_complete_target(folder: Path) -> None:
    assert run(folder, "-c", PROGRAM) == (
        "<target vpu, rules after llvm, schedules after llvm, host llvm: A fictional unit next to a CPU.>\n"
    )
    load = (
        "import numpy, relax_mlir as rx\n"
        "from vpu.programs import matmul\n"
        "main = rx.runtime.load('vpu.rxa', functions={'vpu.matmul': matmul})['main']\n"
        "print(main(numpy.ones((1, 8), 'float32'), numpy.ones((8, 20), 'float32'))[0][0, 0])\n"
    )
    assert run(folder, "-c", load) == "8.0\n"


def test_the_tool_knows_it_by_its_entry_points(folder: Path) -> None:
    tool = ["-c", "from relax_mlir.tools.relax_compile import main; main()"]
    assert run(folder, *tool, "-", "--target=vpu", "--emit=asm", text=MODULE) == "vpu matmul 16 by 8\n"


def public_uses(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield the names of the project that a file uses, and whether each is public: `rx.<name>` or `from relax_mlir
    import <name>`."""
    public = set(dir(rx))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, each.name == "relax_mlir") for each in node.names if "relax_mlir" in each.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and "relax_mlir" in node.module:
            yield from ((each.name, node.module == "relax_mlir" and each.name in public) for each in node.names)
        elif isinstance(node, ast.Attribute):
            is_front_door = isinstance(node.value, ast.Name) and node.value.id == "rx"
            yield node.attr, node.attr in public if is_front_door else not node.attr.startswith("_")


@pytest.mark.parametrize("name", PACKAGE)
def test_the_package_uses_public_names_only(name: str) -> None:
    uses = list(public_uses(ast.parse(PACKAGE[name])))
    assert uses and all(is_public for _, is_public in uses), [used for used, is_public in uses if not is_public]
