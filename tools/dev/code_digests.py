# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the code of 20 kernels and 4 models with the digests in code_digests.txt. With --write, write them.

A difference is a change of the code generator. If it is meant, write the digests and explain the change in the
commit. `suite.py replay COMMIT --show` prints what differs from a commit.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from generated import ROOT
from replay import Runner, Side
from replay_cases import chosen_cases, write_case

FILE = ROOT / "tools" / "dev" / "code_digests.txt"
TARGETS = ("llvm", "c")
#: Products, convolutions, pools, rows, attention, sorting, layouts and schedules; networks with branches and bytes.
CASES = (
    "kernel-matmul-f32-37x64_64x40 kernel-matmul-bf16-37x64_64x40 kernel-matmul-f32-4xmxk_4xkxn "
    "kernel-nn.conv2d-f32-1x8x14x14_16x8x3x3 kernel-nn.conv2d-f32-nx16xhxw_16x1x3x3 "
    "kernel-nn.conv2d_transpose-f32-2x6x7x5_6x4x2x2 kernel-nn.max_pool2d-i8-2x6x15x13 kernel-nn.softmax-f32-nx40 "
    "kernel-nn.layer_norm-f16-nx40_40_40 kernel-nn.group_norm-f32-2x8x5x7_8_8 "
    "kernel-nn.attention-f32-2x17x4x16_2x17x4x16_2x17x4x16 kernel-exp-f32-n kernel-divide-i32-37x1_37x40 "
    "kernel-sum-f32-4xmx5 kernel-argmax-f32-9xm kernel-permute_dims-i8-14xnx20 kernel-take-f32-50x24_n "
    "kernel-topk-f32-9x100 schedule-00-matmul te-convolution model-resnet model-qdq_cnn model-branches model-gpt"
).split()


def digest(record: dict[str, Any]) -> str:
    """Return one digest of all code of a compilation, or "refused"."""
    if record["error"]:
        return "refused"
    code = {stage: pieces for stage, pieces in record["stages"].items() if stage.startswith("code:")}
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def digests(jobs: int) -> list[str]:
    """Return a line for each case and target."""
    with tempfile.TemporaryDirectory(prefix="relax-digests-") as folder:
        cases = {case.name: write_case(case, Path(folder)) for case in chosen_cases(CASES)}
        missing = [name for name in CASES if name not in cases]
        if missing:
            sys.exit(f"error: there is no case {', '.join(missing)}")
        runner, side = Runner(Path(folder), cases), Side("head", ROOT)
        keys = list(itertools.product(cases, TARGETS))
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            found = pool.map(lambda start: runner.run(side, keys[start::jobs]), range(jobs))
            records = {key: record for part in found for key, record in part.items()}
    return [f"{case} {target} {digest(records[case, target])}" for case, target in keys]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the digests of this tree")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time (2)")
    options = parser.parse_args()
    lines = digests(options.jobs)
    if options.write:
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    known = FILE.read_text(encoding="utf-8").splitlines()
    changed = [line for line in lines if line not in known]
    for line in changed:
        print(f"other code than in {FILE.name}: {line}")
    if changed:
        print(f"if this is meant: `python {Path(__file__).relative_to(ROOT)} --write`, and explain it in the commit")
    print(f"{len(lines)} compilations: {len(lines) - len(changed)} equal, {len(changed)} differ")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
