# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes and dialects of other packages: found by entry point, imported only when used."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

PASSES = '''
    """The plug-in's passes."""
    from dataclasses import dataclass
    from typing import Any, ClassVar

    import relax_mlir as rx


    @rx.register_pass
    @dataclass(frozen=True)
    class Tile(rx.Pass):
        """Marks the module as tiled."""

        name: ClassVar[str] = "mynpu-tile"
        size: int = 8

        def run(self, op: Any) -> None:
            op.attributes["mynpu.tile"] = rx.ir.Attribute.parse(f"{self.size} : i64", op.context)
'''
OPS = '''
    """The plug-in's dialect."""
    import relax_mlir as rx

    mynpu = rx.Dialect("mynpu", doc="Operators of my accelerator.")
    mynpu.op("relu6", "x", infer=lambda call: call.x, doc="min(max(x, 0), 6).")
'''
MODULE = 'func.func @f(%a: tensor<4xf32>) {\n  %0 = "mynpu.relu6"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}\n'
ANNOUNCED = "relax-opt: note: an installed package announces it"
POINTS = {"pass.mynpu-tile": "mynpu.passes", "dialect.mynpu": "mynpu.ops"}


def install(folder: Path, modules: Mapping[str, str], points: Mapping[str, str], package: str = "mynpu") -> None:
    """Install a package with entry points like pip."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text("")
    for name, text in modules.items():
        # Each says when it is imported.
        loud = f"import sys\nsys.stderr.write('[imported {package}.{name}]\\n')\n"
        (folder / package / f"{name}.py").write_text(loud + textwrap.dedent(text))
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("[relax_mlir.plugins]\n" + "\n".join(lines) + "\n")


def relax_opt(folder: Path, *arguments: str, text: str = "module {}") -> subprocess.CompletedProcess[str]:
    return in_tool("relax_opt", folder, *arguments, text=text)


def in_tool(tool: str, folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tool in a process that sees the packages in the folder."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from relax_mlir.tools.{tool} import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], input=text, capture_output=True, text=True, timeout=600
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    install(tmp_path, {"passes": PASSES, "ops": OPS}, POINTS)
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [[], ["--cse"], ["--pass-pipeline=builtin.module(func.func(canonicalize),relax-inline)"]]
)
def test_nothing_is_imported_that_is_not_asked_for(folder: Path, arguments: list[str]) -> None:
    done = relax_opt(folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "tile"),
    [
        (["--mynpu-tile"], 8),
        (["--mynpu-tile=size=16"], 16),
        (["--pass-pipeline=builtin.module(cse,mynpu-tile{size=4})"], 4),
    ],
)
def test_a_pass_is_found_by_its_name(folder: Path, arguments: list[str], tile: int) -> None:
    done = relax_opt(folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "[imported mynpu.passes]\n")
    assert f"mynpu.tile = {tile} : i64" in done.stdout


@pytest.mark.parametrize("bytecode", [False, True])
def test_a_dialect_is_found_by_its_operators(folder: Path, bytecode: bool) -> None:
    done = relax_opt(folder, text=MODULE)
    assert (done.returncode, done.stderr) == (0, "[imported mynpu.ops]\n")
    assert '"mynpu.relu6"(%arg0)' in done.stdout
    if bytecode:
        path = folder / "m.bc"
        relax_opt(folder, "--emit-bytecode", "-o", str(path), text=MODULE)
        again = relax_opt(folder, str(path))
        assert (again.returncode, again.stderr, again.stdout) == (0, "[imported mynpu.ops]\n", done.stdout)


def test_a_dialect_s_errors_are_its_own(folder: Path) -> None:
    done = relax_opt(folder, text=MODULE.replace("relu6", "relu7"))
    assert done.returncode == 1
    assert "<stdin>:2:8: error: unregistered operation 'mynpu.relu7' found in dialect" in done.stderr
    assert "did you mean 'mynpu.relu6'?" in done.stderr
    done = relax_opt(folder, text=MODULE.replace("-> tensor<4xf32>", "-> tensor<5xf32>"))
    assert "'mynpu.relu6' op result 'result' is stated as tensor<5xf32>" in done.stderr


def test_lists_name_plug_ins(folder: Path) -> None:
    assert "mynpu-tile" in relax_opt(folder, "--list-passes").stdout
    assert "mynpu.relu6" in relax_opt(folder, "--list-ops").stdout
    assert ", mynpu, " in relax_opt(folder, "--show-dialects").stdout
    assert "irdl.dialect @mynpu" in relax_opt(folder, "--dump-irdl=mynpu").stdout
    assert "did you mean 'mynpu-tile'?" in relax_opt(folder, "--mynpu-tyle").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def broken(:", "SyntaxError: invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise SystemError('no driver')", "SystemError: no driver"),
        ("import relax_mlir as rx\nrx.Dialect('relax')", "dialect 'relax' is declared twice"),
        (
            "import relax_mlir as rx\n@rx.register_pass\nclass A(rx.Pass):\n    'Doc.'\n    name = 'relax-inline'",
            "already: ",
        ),
    ],
)
def test_a_broken_plug_in_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    install(tmp_path, {"passes": text, "ops": text}, POINTS)
    for done, notes in (
        (relax_opt(tmp_path, "--mynpu-tile", "--relax-inline"), [f"{ANNOUNCED} as pass.mynpu-tile"]),
        (relax_opt(tmp_path, text=MODULE), []),
    ):
        assert done.returncode == 1
        errors = [line for line in done.stderr.splitlines() if not line.startswith(("[", "note: the second one"))]
        assert errors[0].startswith("relax-opt: error: cannot load plug-in 'mynpu.")
        assert message in errors[0]
        assert errors[1:] == notes, done.stderr
    # A broken plug-in does not disturb commands that do not use it.
    assert relax_opt(tmp_path, "--cse").returncode == 0


@pytest.mark.parametrize("point", ["mynpu-tile", "pas.mynpu-tile", "pass.", "."])
def test_a_misnamed_entry_point_is_reported(tmp_path: Path, point: str) -> None:
    install(tmp_path, {"passes": PASSES}, {point: "mynpu.passes"})
    done = relax_opt(tmp_path, "--mynpu-tile")
    assert done.returncode == 1
    assert f"plug-in '{point} = mynpu.passes': its name must be one of dialect.NAME, pass.NAME" in done.stderr


CODEGEN = """
    import relax_mlir as rx
    from relax_mlir.patterns import is_op


    @rx.register_codegen("mynpu")
    class MyNpu(rx.Codegen):
        'My accelerator.'
        patterns = [("mynpu.exp", is_op("relax.exp"))]
"""


def test_lists_do_without_packages_that_are_broken(tmp_path: Path) -> None:
    """Report broken packages at the end of a list, with the reason. A request by name is an error."""
    install(tmp_path, {"codegen": CODEGEN}, {"codegen.mynpu": "mynpu.codegen"})
    broken = {"codegen.dead": "dead.x", "pass.dead-one": "dead.x", "target.dead": "dead.x", "dialect.dead": "dead.x"}
    install(tmp_path, {"x": "import no_driver"}, {**broken, "codgen.npu": "dead.x"}, "dead")
    reasons = ["cannot load plug-in 'dead.x': No module named 'no_driver'", "plug-in 'codgen.npu = dead.x'"]
    for tool, option, named in (
        ("relax_compile", "--list-codegens", "mynpu: My accelerator.\n"),
        ("relax_opt", "--list-passes", "relax-inline"),
        ("relax_opt", "--list-legalizations", "relax.exp"),
        ("relax_opt", "--list-ops", "relax.exp"),
        ("relax_opt", "--help", "--relax-inline"),
    ):
        done = in_tool(tool, tmp_path, option)
        assert done.returncode == 0 and named in done.stdout, done.stderr
        assert all(f"warning: {reason}" in done.stderr for reason in reasons), done.stderr
    for pipeline, message in (
        ("relax-partition{codegens=dead}", reasons[0]),
        ("dead-one", reasons[0]),
        ("relax-partition{codegens=npu}", f"unknown codegen 'npu'.*note: {reasons[1]}"),
        ("external{codegen=dead}(cse)", reasons[0]),
    ):
        done = relax_opt(tmp_path, f"--pass-pipeline=builtin.module({pipeline})")
        assert done.returncode == 1 and re.search(message, done.stderr, re.DOTALL), done.stderr


def test_a_list_of_entry_points_that_cannot_be_read(tmp_path: Path) -> None:
    install(tmp_path, {"passes": PASSES}, {"pass.mynpu-tile": "mynpu.passes"})
    install(tmp_path, {}, {}, "garbled")
    (tmp_path / "garbled-1.0.dist-info" / "entry_points.txt").write_bytes(b"[relax_mlir.plugins]\n\xff\xfe = x\n")
    done = relax_opt(tmp_path, "--mynpu-tile")
    assert done.returncode == 0 and "mynpu.tile" in done.stdout, done.stderr
    listed = relax_opt(tmp_path, "--list-passes")
    assert listed.returncode == 0 and "mynpu-tile" in listed.stdout
    assert "garbled-1.0.dist-info: its entry points cannot be read: UnicodeDecodeError" in listed.stderr


def test_a_plug_in_that_does_not_register_what_it_announces(tmp_path: Path) -> None:
    install(tmp_path, {"passes": "", "ops": ""}, POINTS)
    done = relax_opt(tmp_path, "--mynpu-tile")
    assert done.returncode == 1
    assert "error: a plug-in announces the pass 'mynpu-tile', but does not register it" in done.stderr


def test_a_codegen_that_is_announced_only(tmp_path: Path) -> None:
    install(tmp_path, {"codegen": ""}, {"codegen.npu": "mynpu.codegen"})
    done = relax_opt(tmp_path, "--relax-partition=codegens=npu")
    assert done.returncode == 1
    assert "error: a plug-in announces the codegen 'npu', but does not register it" in done.stderr


def test_two_plug_ins_side_by_side(tmp_path: Path) -> None:
    install(tmp_path, {"passes": PASSES, "ops": OPS}, POINTS)
    other = PASSES.replace("mynpu", "other")
    install(tmp_path, {"passes": other}, {"pass.other-tile": "other.passes"}, package="other")
    done = relax_opt(tmp_path, "--other-tile")
    assert (done.returncode, done.stderr) == (0, "[imported other.passes]\n")
    done = relax_opt(tmp_path, "--other-tile", "--mynpu-tile=size=2")
    assert "mynpu.tile = 2" in done.stdout
    assert "other.tile = 8" in done.stdout


# An operator of the package's own that its pass makes, and a rule: both come after the module that they work on.
FUSE = (
    PASSES[: PASSES.index("    @rx.register_pass")]
    + '''
    @rx.register_pass
    @dataclass(frozen=True)
    class Clamp(rx.Pass):
        """Makes relu6 of relu."""

        name: ClassVar[str] = "mynpu-clamp"

        def run(self, op: Any) -> None:
            from .ops import mynpu

            clamped = lambda relu, rewriter: mynpu.ops["relu6"](relu.operands[0])
            rx.apply_greedy(op, [rx.Pattern("relax.nn.relu", clamped)])
'''
)
TARGET = """
    import relax_mlir as rx

    rx.register_target(rx.Target("mynpu", parents=("llvm",), rule_modules=("mynpu.rules",), doc="An accelerator."))
"""
RULES = """
    import relax_mlir as rx
    from .ops import mynpu

    @rx.register_legalize("relax.nn.relu", target="mynpu")
    def relu(call):
        return mynpu.ops["relu6"](call.operands[0])

    @rx.register_legalize("mynpu.relu6")
    def relu6(call):
        def clamp(x):
            x = rx.number(x)
            return rx.select(x > 6.0, x.constant(6.0), x).value

        return call.elementwise(clamp)
"""
RELU = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.nn.relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def npu(tmp_path: Path) -> Path:
    modules = {"passes": FUSE, "ops": OPS, "target": TARGET, "rules": RULES}
    points = {"pass.mynpu-clamp": "mynpu.passes", "dialect.mynpu": "mynpu.ops", "target.mynpu": "mynpu.target"}
    install(tmp_path, modules, points)
    return tmp_path


def python(folder: Path, program: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_plug_in_works_on_modules_that_were_made_before(npu: Path) -> None:
    printed = python(
        npu,
        f"""
        import relax_mlir as rx

        for module in (rx.Module.parse({RELU!r}), rx.Module.parse({RELU!r}).copy()):
            rx.Pipeline("mynpu-clamp,canonicalize,func.func(cse)").run(module)
            module.verify()
            print(rx.Module.parse(str(module)))
        """,
    )
    assert printed.count('"mynpu.relu6"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>') == 2, printed


@pytest.mark.parametrize(
    "run",
    [
        'rx.apply_greedy(module.operation, [rx.Pattern("relax.nn.relu", late)])',
        'rx.LegalizeOps(customize_legalize_map={"relax.nn.relu": late})(module)',
    ],
)
def test_what_is_declared_while_patterns_run_is_refused(npu: Path, run: str) -> None:
    printed = python(
        npu,
        f"""
        import relax_mlir as rx

        def late(op, *_):
            import mynpu.ops
            return mynpu.ops.mynpu.ops["relu6"](op.operands[0])

        module = rx.Module.parse({RELU!r})
        try:
            {run}
        except rx.RelaxError as error:
            print(error)
        """,
    )
    message = "'mynpu.relu6' op was declared while patterns run, too late for this context: import its module before"
    assert message in printed


def test_a_rule_may_make_an_operator_of_its_package(npu: Path) -> None:
    printed = python(
        npu,
        f"""
        import numpy, relax_mlir as rx

        module = rx.Module.parse({RELU!r})
        executable = rx.compile(module, "mynpu", jobs=1, cache=False)
        print(numpy.from_dlpack(executable["main"](numpy.array([1, 5, 7, 9], "float32"))).tolist())
        """,
    )
    assert printed == "[1.0, 5.0, 6.0, 6.0]\n"


def test_the_tools_know_an_operator_that_a_rule_makes(npu: Path) -> None:
    done = relax_opt(npu, "--relax-legalize-ops=target=mynpu", text=RELU)
    assert done.returncode == 0, done.stderr
    assert "linalg.generic" in done.stdout
    (npu / "m.mlir").write_text(RELU)
    arguments = [str(npu / "m.mlir"), "-o", str(npu / "m.rxa"), "--target=mynpu", "--no-cache"]
    python(npu, f"from relax_mlir.tools.relax_compile import main; sys.argv[1:] = {arguments!r}; main()")
    assert (npu / "m.rxa").stat().st_size > 0


@pytest.mark.parametrize("file", ["ops.py", "__init__.py", "./ops.py"])
def test_a_file_s_path_names_a_module_of_its_package(tmp_path: Path, file: str) -> None:
    install(tmp_path, {"inner": OPS, "ops": "from . import inner\n"}, {})
    (tmp_path / "mynpu" / "__init__.py").write_text("import sys\nsys.stderr.write('[package]\\n')\n")
    code = "from relax_mlir.tools.relax_opt import main; main()"
    arguments = [f"--load-plugin=mynpu/{file}"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=MODULE, capture_output=True, text=True, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    if file == "__init__.py":
        assert done.stderr.startswith("[package]\n") and "mynpu.relu6" in done.stderr
    else:
        assert "mynpu.relu6" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/ops.py", "cannot load plug-in 'nowhere/ops.py': there is no such Python file"),
        ("mynpu/", "cannot load plug-in 'mynpu/': there is no such Python file"),
        ("json.py", "cannot load plug-in 'json.py': the name 'json' is taken by "),
    ],
)
@pytest.mark.parametrize("tool", ["relax_opt", "relax_compile"])
def test_a_path_that_names_no_plug_in_is_one_error(tmp_path: Path, tool: str, name: str, message: str) -> None:
    install(tmp_path, {}, {})
    (tmp_path / "json.py").write_text("")  # Python's own goes first, as ours is in no folder of sys.path
    (tmp_path / "m.mlir").write_text("module {}")
    code = f"import sys; sys.path.remove(''); from relax_mlir.tools.{tool} import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "m.mlir", "--emit=relax", f"--load-plugin={name}"],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
