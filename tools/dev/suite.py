#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a suite of tests or measurements in its environment: suite.py NAME [OPTIONS]. Without a name, list all suites.

make sets the environments up. --jobs and --draw are options of this program, all others of the suite's:

    tools/dev/suite.py torch --draw ''                  # all tests; usually a part of the slow ones is drawn
    tools/dev/suite.py torch-ops --only sin --dynamic   # an option of tools/dev/torch_ops.py
"""

from __future__ import annotations

import argparse
import glob
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODELS = "build/models"
#: Exit code of pytest if no test of a file was drawn.
_NONE_DRAWN = 5
_DRAWN = {"RELAX_MLIR_DRAW": "{draw}"}
_OPENCL = {"RELAX_MLIR_OPENCL": str(ROOT / "build" / "env-opencl")}
_DEVICES = {**_DRAWN, **_OPENCL, "RELAX_MLIR_DEVICES": "1"}
_ONE_THREAD = {"RELAX_NUM_THREADS": "1"}
_ON_CUDA = {"RELAX_MLIR_TEST_TARGET": "cuda"}
_LIT = "{bin}/lit -j{jobs} -sv --no-progress-bar test plugins/*/test/lit plugins/tvm/test/primitives"
_OPERATORS = "test/python/targets/test_legalize_*.py"
_PYTEST = "{python} -m pytest -n {jobs} --dist worksteal"
_REPEATED = "--jobs {jobs} --draw {number}"
_NOT_OF_REFERENCE = "not refuse and not declined and not fit and not agree and not another_size"
_DIFFERENTIAL = "{python} test/fuzz/differential.py --seconds 60 --kind"


class Suite(NamedTuple):
    """Commands, goals of make that they need, and environment variables."""

    purpose: str
    commands: Sequence[str]
    goals: Sequence[str] = ("env",)
    variables: Mapping[str, str] = {}


def _of_operators(targets: Sequence[str]) -> list[str]:
    """Return commands that run all tests of operators, for each target."""
    return [f"RELAX_MLIR_TEST_TARGET={shlex.quote(target)} {_PYTEST} {_OPERATORS}" for target in targets]


SUITES = {
    "test": Suite(
        "house rules, lit, the tests of the core and of the plug-ins: `make test`",
        [
            "{python} tools/dev/check.py --jobs {jobs}",
            _LIT,
            _PYTEST,
            f"{_PYTEST} plugins",
        ],
        variables=_DRAWN,
    ),
    "processes": Suite(
        "the lit tests, each command as a process of its own",
        [f"{_LIT} --param processes=1"],
    ),
    "plugins": Suite(
        "each plug-in's tests with the core alone, and the core with none",
        ["{python} tools/dev/plugin_tests.py --jobs {jobs}"],
    ),
    "pythons": Suite(
        "a few tests on the oldest and the newest Python on PATH or in pyenv",
        ["{python} tools/dev/test_pythons.py"],
        variables={**_DRAWN, "JOBS": "{jobs}"},
    ),
    "torch": Suite(
        "the tests with torch",
        [
            "{torch} -m pytest test/pytorch -n {jobs} --dist worksteal",
            "{torch} -m pytest plugins/llm/test/test_transformers.py -n {jobs} --dist worksteal",
            "{torch} -m pytest plugins/shard/test/test_engines.py plugins/shard/test/test_trainer_ranks.py "
            "plugins/llm/test/test_ranks.py -k torch",
        ],
        ["env-torch"],
        _DRAWN,
    ),
    "torch-ops": Suite(
        "torch's tables of operators beside torch, compared with the lists of refusals",
        ["{torch} tools/dev/torch_ops.py --jobs {jobs}"],
        ["env-torch"],
    ),
    "torch-inductor": Suite(
        "Inductor's CommonTemplate with the backend relax_mlir (--tests FOLDER --share 0.02)",
        [f"{{torch}} tools/dev/torch_inductor.py {_REPEATED}"],
        ["env-torch"],
    ),
    "torch-models": Suite(
        "170 architectures of torch's libraries, each in three ways (--share 0.1 --only 'timm *')",
        [f"{{torch}} tools/dev/torch_models.py {_REPEATED}"],
        ["env-torch"],
    ),
    "jax": Suite(
        "the tests with jax",
        [
            "{jax} -m pytest test/with_jax -n {jobs} --dist worksteal",
            "{jax} -m pytest plugins/shard/test/test_shardy.py plugins/shard/test/test_sdy_executables.py "
            "-n {jobs} --dist worksteal",
        ],
        ["env-jax"],
        _DRAWN,
    ),
    "shardy": Suite(
        "Shardy's executable tests, compared with the list of failures (--tests FOLDER --planner rule)",
        [f"{{jax}} tools/dev/shardy_tests.py {_REPEATED}"],
        ["env-jax"],
    ),
    "jax-harnesses": Suite(
        "jax's table of functions beside jax, compared with the lists of refusals",
        ["{jax} tools/dev/jax_harnesses.py --jobs {jobs}"],
        ["env-jax"],
    ),
    "jax-tests": Suite(
        "jax's tests on the platform relax, compared with the list of failures (--tests FOLDER --share 0.02)",
        [f"{{jax}} tools/dev/jax_tests.py {_REPEATED}"],
        ["env-jax"],
    ),
    "stablehlo-interpret": Suite(
        "the tests of StableHLO's interpreter, compared with the list of failures (--tests FOLDER)",
        [f"{{python}} tools/dev/stablehlo_interpret.py {_REPEATED}"],
    ),
    "tvm": Suite("the tests with TVM", ["{tvm} -m pytest test/with_tvm -n {jobs} --dist worksteal"], ["env-tvm"]),
    "llm": Suite(
        "the tests of language models, also with SmolLM2",
        [f"{_PYTEST} plugins/llm", "RELAX_MLIR_DRAW= {python} -m pytest test/python/test_docs.py -k llm"],
        ["env", "env-llm"],
        _DRAWN,
    ),
    "quantize": Suite(
        "other people's nets quantized by this project, NNCF and onnxruntime: scores and times",
        ["{quantize} test/quantize/compare.py"],
        ["env-quantize"],
        _ONE_THREAD,
    ),
    "conformance": Suite("ONNX's test suites, whole", ["{python} tools/dev/conformance.py --jobs {jobs}"]),
    "check-codegens": Suite(
        "relax-check of targets and codegens, compared with test/conformance (--share 0.02; --write, --add)",
        [f"{{python}} tools/dev/check_codegens.py {_REPEATED}"],
        variables=_OPENCL,
    ),
    "reference": Suite(
        "rx.reference beside ONNX's node suite, compiled operators, and the tables of the tests of operators",
        [
            "{python} tools/dev/conformance.py --reference --kinds node --jobs {jobs}",
            "{python} -m pytest -n {jobs} plugins/proof/test/interpreter",
            "RELAX_MLIR_TEST_TARGET=reference {python} -m pytest -n {jobs} "
            f"{_OPERATORS} -k '{_NOT_OF_REFERENCE} and not without_elements and not made'",
        ],
    ),
    "npu": Suite(
        "the models of examples/npu on its simulated accelerator",
        [
            "{python} examples/npu/run_requantize.py --cases 100000",
            "{python} examples/npu/run_resnet.py",
            "{python} examples/npu/run_resnet.py --float",
            "{python} examples/npu/run_llama.py",
        ],
    ),
    "scaffold": Suite(
        "relax-check of the codegen that relax-new-codegen writes: a tenth of its patterns' cases, for 150 s",
        [
            "rm -rf build/scaffold",
            "{bin}/relax-new-codegen vdsp --quantized --process -o build/scaffold",
            "PYTHONPATH=build/scaffold {bin}/relax-check vdsp --load-plugin=vdsp.codegen --load-plugin=vdsp.runtime "
            "--groups=composites --share=0.1 --time-limit=150 -q",
        ],
    ),
    "dsp": Suite(
        "relax-check of the target of examples/dsp: half of its products",
        [
            "{bin}/relax-check dsp --target=dsp --load-plugin=examples/dsp/dsp_target.py "
            "--only=relax.matmul --share=0.5 -q"
        ],
    ),
    "devices": Suite(
        "tests on drivers of Vulkan, OpenCL and WebGPU (apt: mesa-vulkan-drivers libvulkan1)",
        [
            "{bin}/relax-run --list-devices",
            f"{_PYTEST} test/python/runtime/devices",
            f"{_PYTEST} plugins/spirv plugins/webgpu plugins/llm/test/test_devices.py",
        ],
        ["env", "env-llm", "env-opencl"],
        _DEVICES,
    ),
    "device-operators": Suite(
        "all tests of operators on those drivers",
        _of_operators(["vulkan{{subgroup=8 fma=twice}}", "opencl", "opencl{{language=c}}", "webgpu"]),
        ["env", "env-llm", "env-opencl"],
        {**_DEVICES, "RELAX_MLIR_DRAW": ""},
    ),
    "gpu-emulated": Suite(
        "all tests of operators for cuda on the emulator of GPUs",
        [f"{_PYTEST} {_OPERATORS} test/python/targets/cuda test/python/targets/gpu"],
        variables=_ON_CUDA,
    ),
    "gpu": Suite(
        "the same on an NVIDIA GPU, NVIDIA's checks, models beside others: `make gpu`",
        [
            "{python} bench/gpu.py --must --only 'no such case' build/no-models",
            f"{_PYTEST} {_OPERATORS} test/python/targets/cuda",
            "{python} tools/dev/gpu_checks.py",
            "{python} bench/gpu_startup.py --must",
            f"{{python}} bench/gpu.py --must {MODELS}",
            "{python} bench/gpu_graphs.py --must",
        ],
        variables={**_ON_CUDA, "RELAX_MLIR_GPU": "1"},
    ),
    "gpu-code": Suite(
        "registers and spills of the models' kernels for three GPUs, by NVIDIA's assembler",
        [
            f"{{python}} bench/models/quantize.py {MODELS} resnet50 mobilenet_v2 bert vit",
            f"{{python}} bench/gpu_code.py {MODELS} --strict",
        ],
        ["env", "models"],
    ),
    "fuzz": Suite(
        "mutated inputs and models, random graphs and scripts beside others, calls from threads: a minute each",
        [
            "{python} test/fuzz/run.py --seconds 60",
            "{python} test/fuzz/run.py --seconds 60 --onnx",
            f"{_DIFFERENTIAL} relax",
            f"{_DIFFERENTIAL} relax --schedules",
            *(f"{_DIFFERENTIAL} relax --target {target}" for target in ("c", "cuda", "vulkan", "opencl", "webgpu")),
            f"{_DIFFERENTIAL} onnx",
            f"{_DIFFERENTIAL} script",
            "{python} test/fuzz/partitions.py --seconds 60",
            "{python} test/fuzz/quantized.py --seconds 60",
            "{python} test/fuzz/quantized_nets.py --seconds 60",
            "{python} test/fuzz/narrow_kernels.py --share 0.05 --draw {process} --minutes 1",
            "{python} test/fuzz/threads.py --seconds 60 --seed {process}",
        ],
    ),
    "mutants": Suite(
        "small bugs in changed files, one at a time, and which ones no test notices", ["{python} tools/dev/mutants.py"]
    ),
    "replay": Suite(
        "compile cases with a commit and with this tree, and print what differs: replay BASE",
        ["{python} tools/dev/replay.py --jobs {jobs}"],
    ),
    "code-digests": Suite(
        "the code of 20 kernels and 4 models, compared with tools/dev/code_digests.txt (--write)",
        ["{python} tools/dev/code_digests.py --jobs {jobs}"],
    ),
    "bench-floor": Suite("layers beside the least times that this machine allows", ["{python} bench/layer_floors.py"]),
    "bench-llm": Suite(
        "SmolLM2 beside llama.cpp: answers, speed, start, memory, servers",
        [
            "{python} bench/llm/accuracy.py",
            "{python} bench/llm/figures.py {peers}",
            "{python} bench/llm/figures.py {peers} --activations i8 --only speed",
            f"{{python}} bench/llm/serving.py --peer {MODELS}/env-llm/bin/python {{vllm}}",
        ],
        ["env", "env-llm", f"{MODELS}/env-llm", f"{MODELS}/env-llama-native"],
    ),
    "bench-tune": Suite(
        "plans of the target, of rx.tune and of MetaSchedule for te_workload's operators",
        [f"{{tvm}} bench/tune.py --metaschedule={MODELS}/env-metaschedule/bin/python"],
        ["env-tvm", f"{MODELS}/env-metaschedule"],
    ),
    "bench-models": Suite(
        "exported models beside other compilers: results, times, and what is a goal",
        [
            f"{{python}} bench/models/compare.py {MODELS}",
            f"{{python}} bench/models/latency.py {MODELS} --goals={MODELS}/goals.md",
            f"{{python}} bench/decode.py {MODELS} --goals={MODELS}/goals.md",
            f"{{python}} bench/few_bits.py --goals={MODELS}/goals.md",
            f"{{python}} bench/operators.py --goals={MODELS}/goals.md",
            f"{{python}} bench/models/compile_times.py {MODELS} --peers={MODELS}/env-peers/bin/python",
            f"{{python}} bench/models/partition.py {MODELS}",
        ],
        ["env", "models", f"{MODELS}/env-peers"],
        _ONE_THREAD,
    ),
}


def tree_draw() -> str:
    """Return a number that follows from the committed files, so that each run of a commit draws the same tests."""
    command = ["git", "rev-parse", "HEAD^{tree}"]
    try:
        tree = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "0"
    return str(int(tree[:7], 16))


def fields(jobs: int, draw: str) -> dict[str, str]:
    """Return the values for the names in braces of commands and variables."""
    environments = {name: f"build/env-{name}/bin/python" for name in ("torch", "jax", "tvm", "quantize")}
    binaries = os.environ.get("VENV", ".venv") + "/bin"
    vllm = ROOT / MODELS / "env-vllm" / "bin" / "python"
    return {
        **environments,
        "bin": binaries,
        "python": f"{binaries}/python",
        "jobs": str(jobs),
        "draw": draw,
        "number": draw or "0",
        "process": str(os.getpid()),
        "peers": f"--peer {MODELS}/env-llm/bin/python --native {MODELS}/env-llama-native/bin/python",
        "vllm": f"--vllm {vllm}" if vllm.exists() else "",
    }


def arguments_of(command: str) -> tuple[dict[str, str], list[str]]:
    """Return the environment variables in front of a command, and its arguments with file patterns expanded."""
    words = shlex.split(command)
    variables: dict[str, str] = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    arguments: list[str] = []
    for word in words:
        files = sorted(glob.glob(word, root_dir=ROOT)) if "*" in word and "/" in word else []
        arguments += files or [word]
    return variables, arguments


def run(suite: Suite, values: Mapping[str, str], rest: Sequence[str]) -> bool:
    """Run all commands of a suite, and return whether all of them succeeded."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment.update({key: value.format(**values) for key, value in suite.variables.items()})
    if subprocess.run(["make", "--no-print-directory", *suite.goals], cwd=ROOT).returncode:
        return False
    outcomes: list[tuple[bool, str]] = []
    for command in suite.commands:
        variables, arguments = arguments_of(command.format(**values))
        shown = shlex.join([*arguments, *rest])
        print(f"== {shown[:200]}", flush=True)
        begun = time.monotonic()
        code = subprocess.run([*arguments, *rest], cwd=ROOT, env={**environment, **variables}).returncode
        succeeded = code == 0 or (code == _NONE_DRAWN and "pytest" in arguments and bool(values["draw"]))
        outcomes.append((succeeded, f"{time.monotonic() - begun:6.0f} s  {'ok' if succeeded else 'failed':6}  {shown}"))
    if len(outcomes) > 1:
        print(*(line[:120] for _, line in outcomes), sep="\n", flush=True)
    return all(succeeded for succeeded, _ in outcomes)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="suite.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("name", nargs="?", help="a suite; without it, all suites are listed")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--draw", default=tree_draw(), help="number that selects slow tests; '' selects all")
    options, rest = parser.parse_known_args(argv)
    if options.name is None:
        print(*(f"{name:<20} {suite.purpose}" for name, suite in SUITES.items()), sep="\n")
        return 0
    if options.name not in SUITES:
        parser.error(f"there is no suite {options.name}: one of {', '.join(SUITES)}")
    suite = SUITES[options.name]
    if rest and len(suite.commands) > 1:
        shown = "\n  ".join(suite.commands)
        parser.error(
            f"{options.name} has several programs, and does not know which one takes {shlex.join(rest)}:\n  {shown}"
        )
    return 0 if run(suite, fields(options.jobs, options.draw), rest) else 1


if __name__ == "__main__":
    sys.exit(main())
