# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process beside the ranks of a machine that names the first rank to end: MPICH kills all others at once."""

import select
import sys


def watch_ranks(size: str, host: str, ranks: list[str]) -> None:
    """Wait for the end of a process. Ranks have an inherited handle each, and their number."""
    numbers = dict(rank.split(":") for rank in ranks)
    for handle in select.select(list(map(int, numbers)), [], [])[0]:
        print(f"rank {numbers[str(handle)]} of {size} on {host} was killed, or ended early", file=sys.stderr)


if __name__ == "__main__":
    watch_ranks(sys.argv[1], sys.argv[2], sys.argv[3:])
