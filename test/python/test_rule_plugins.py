# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules and ONNX converters of other packages: found by entry point, or among the rules of another target."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_plugins import install

OPS = """
    import relax_mlir as rx
    from relax_mlir import tir

    acme = rx.Dialect("acme", doc="A package's.")
    acme.op("triple", "x", infer=lambda call: call.x, doc="Three times x.")
    tir.declare_intrinsic("thrice", "x", dialect=acme, doc="Three times x.")
"""
RULES = """
    import relax_mlir as rx
    from acme.ops import acme

    @rx.register_legalize("acme.triple")
    def triple(call):
        return call.elementwise(lambda x: acme.thrice(x))

    @rx.register_legalize_intrinsic("acme.thrice")
    def thrice(op):
        return rx.number(op.x) * 3.0
"""
TARGET = """
    import relax_mlir as rx

    rx.register_target(rx.Target("acme-unit", parents=("llvm",), rule_modules=("acme.rules",), doc="A unit."))
"""
CONVERTERS = """
    import relax_mlir as rx
    from relax_mlir import relax

    @rx.register_onnx("com.acme", "Triple")
    def triple(node):
        x = node.tensor(0)
        return relax.multiply(x, relax.const(3.0))
"""
COMPILE = """
import numpy
import relax_mlir as rx
from relax_mlir import relax

{imports}
module = rx.Module()
with module.function("main", {{"x": rx.tensor((4,))}}) as f:
    f.returns({body})
print(numpy.from_dlpack(rx.compile(module, "{target}")["main"](numpy.ones(4, "float32"))))
"""
CONVERT = """
import numpy
import onnx
import relax_mlir as rx
from onnx import helper

x, y = (helper.make_tensor_value_info(name, 1, ["n"]) for name in "xy")
nodes = [helper.make_node("{name}", ["x"], ["y"], domain="com.acme")]
opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.acme", 1)]
model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets)
print(numpy.from_dlpack(rx.compile(rx.from_onnx(model))["main"](numpy.ones(2, "float32"))))
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that sees the packages in the folder."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)


def compiled(folder: Path, body: str = "acme.triple(*f)", imports: str = "from acme.ops import acme",
             target: str = "llvm") -> subprocess.CompletedProcess[str]:  # fmt: skip
    return run(folder, COMPILE.format(body=body, imports=imports, target=target))


@pytest.mark.parametrize(
    "points",
    [
        {"rules.acme": "acme.rules"},
        {"target.acme-unit": "acme.target"},
        {"dialect.acme": "acme.ops", "rules.acme": "acme.rules", "target.acme-unit": "acme.target"},
    ],
)
def test_default_rules_are_found_by_every_target(tmp_path: Path, points: dict[str, str]) -> None:
    """Find default rules of an operator and of an intrinsic, announced by themselves or among another target's
    modules."""
    install(tmp_path, {"ops": OPS, "rules": RULES, "target": TARGET}, points, "acme")
    done = compiled(tmp_path)
    assert (done.returncode, done.stdout) == (0, "[3. 3. 3. 3.]\n"), done.stderr
    assert "[imported acme.rules]" in done.stderr


def test_rules_of_intrinsics_are_found_where_no_operator_asks(tmp_path: Path) -> None:
    install(tmp_path, {"ops": OPS, "rules": RULES}, {"rules.acme": "acme.rules"}, "acme")
    own = "\n".join([
        "from acme.ops import acme",
        'acme.op("sextuple", "x", infer=lambda call: call.x, doc="6 x.")',
        '@rx.register_legalize("acme.sextuple")',
        "def sextuple(call):",
        "    return call.elementwise(lambda x: rx.number(acme.thrice(x)) * 2.0)",
    ])  # fmt: skip
    done = compiled(tmp_path, "acme.sextuple(*f)", own)
    assert (done.returncode, done.stdout) == (0, "[6. 6. 6. 6.]\n"), done.stderr


def test_nothing_is_imported_where_all_have_rules(tmp_path: Path) -> None:
    install(tmp_path, {"ops": OPS, "rules": RULES, "target": TARGET},
            {"rules.acme": "acme.rules", "target.acme-unit": "acme.target"}, "acme")  # fmt: skip
    done = compiled(tmp_path, "relax.exp(*f)", "")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_packages_that_cannot_be_imported(tmp_path: Path) -> None:
    """Check that the error of an operator without a rule names the broken module. Other operators still compile."""
    broken = TARGET.replace('"acme.rules"', '"acme.nowhere"')
    install(tmp_path, {"ops": OPS, "target": broken}, {"target.acme-unit": "acme.target"}, "acme")
    errors = compiled(tmp_path).stderr
    registers = '@rx.rules.register_legalize("acme.triple") registers one; '
    assert f"no pattern is registered for this operation: {registers}" in errors
    assert (
        "target 'acme-unit', rule_modules: acme.nowhere: ModuleNotFoundError: No module named 'acme.nowhere'" in errors
    )
    asked = compiled(tmp_path, target="acme-unit").stderr
    assert "RelaxError: target 'acme-unit', rule_modules: acme.nowhere: ModuleNotFoundError" in asked


def test_rules_that_are_announced_and_fail(tmp_path: Path) -> None:
    install(tmp_path, {"ops": OPS, "rules": "1 / 0"}, {"rules.acme": "acme.rules"}, "acme")
    errors = compiled(tmp_path).stderr
    assert "cannot load plug-in 'acme.rules': ZeroDivisionError: division by zero" in errors
    assert "an installed package announces it as rules.acme" in errors


def test_converters_are_found_by_their_domain(tmp_path: Path) -> None:
    install(tmp_path, {"converters": CONVERTERS}, {"onnx.com.acme": "acme.converters"}, "acme")
    done = run(tmp_path, CONVERT.format(name="Triple"))
    assert (done.returncode, done.stdout) == (0, "[3. 3.]\n"), done.stderr
    other = run(tmp_path, CONVERT.format(name="Tripel"))
    assert other.returncode == 1 and "did you mean 'Triple'" in other.stderr, other.stderr


def test_converters_that_fail_are_reported(tmp_path: Path) -> None:
    install(tmp_path, {"converters": "import acme.nothing"}, {"onnx.com.acme": "acme.converters"}, "acme")
    done = run(tmp_path, CONVERT.format(name="Triple"))
    assert done.returncode == 1
    assert "cannot load plug-in 'acme.converters': No module named 'acme.nothing'" in done.stderr


def test_converters_of_torch_are_found_by_their_namespace(tmp_path: Path) -> None:
    """Find converters of torch: the registry itself needs no torch."""
    register = 'import relax_mlir as rx\n@rx.register_torch("acme::triple.default")\ndef triple(node): ...'
    install(tmp_path, {"of_torch": register}, {"torch.acme": "acme.of_torch"}, "acme")
    find = "from relax_mlir_torch.registry import find_converter as find\n"
    done = run(tmp_path, f"{find}print(find('acme::triple.default').name, find('acme::other.default'))")
    assert (done.returncode, done.stdout) == (0, "acme::triple.default None\n"), done.stderr
