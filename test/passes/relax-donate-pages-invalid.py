# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-donate='args=*pages' --split-input-file --verify-diagnostics
"""Pages that cannot be updated in the caller's memory."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class ReadBefore:
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
    ) -> R.Tuple(R.Tensor(("p", 4, 2, 8), "float32"), R.Tensor(("p", 4, 2, 8), "float32")):
        new = R.append_pages(pages, rows, slots)
        # expected-error @+1 {{argument 'pages' cannot be updated in place: 'relax.add' reads its rows from before relax.append_pages: let it read the result instead}}
        return new, R.add(pages, new)


# -----
@I.ir_module(ssa=True)
class Twice:
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
    ) -> R.Tensor(("p", 4, 2, 8), "float32"):
        one = R.append_pages(pages, rows, slots)
        # expected-error @+1 {{argument 'pages' cannot be updated in place: 'relax.append_pages' reads its rows from before relax.append_pages}}
        other = R.append_pages(pages, rows, slots)
        return R.add(one, other)


# -----
@I.ir_module(ssa=True)
class Unread:
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
    ) -> R.Tuple(R.Tensor(("p", 4, 2, 8), "float32"), R.Tensor(("t", 2, 8), "float32")):
        # expected-error @+1 {{argument 'pages' cannot be updated in place: no result depends on its new rows: do not donate it}}
        new = R.append_pages(pages, rows, slots)
        unused = R.exp(R.add(new, new))  # noqa: F841
        return new, R.exp(rows)


# -----
@I.ir_module(ssa=True)
class OnlyPages:
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "int8"),
        scales: R.Tensor(("p", 4, 2), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
    ) -> R.Tensor(("p", 4, 2, 8), "float32"):
        # expected-error @+1 {{argument 'pages' cannot be updated in place: its scales are no donated argument: donate both}}
        codes, steps = R.append_pages_quantized(pages, scales, rows, slots)
        return R.multiply(R.astype(codes, "float32"), R.expand_dims(steps, axis=[3]))


# -----
@I.ir_module(ssa=True)
class Lists:
    # expected-error @+2 {{@main returns lists: pages are updated in place only where results are separate}}
    @R.function(attrs={"relax.result_groups": [{"kind": "list", "name": "all", "size": 2}]})
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
    ) -> R.Tuple(R.Tensor(("p", 4, 2, 8), "float32"), R.Tensor(("p", 4, 2, 8), "float32")):
        new = R.append_pages(pages, rows, slots)
        return new, R.exp(new)


# -----
@I.ir_module
class Branch:
    @R.function
    def main(
        pages: R.Tensor(("p", 4, 2, 8), "float32"),
        rows: R.Tensor(("t", 2, 8), "float32"),
        slots: R.Tensor(("t",), "int32"),
        flag: R.Tensor((), "bool"),
    ) -> R.Tensor(("p", 4, 2, 8), "float32"):
        if flag:
            # expected-error @+1 {{argument 'pages' cannot be updated in place: relax.append_pages is in a branch or a loop}}
            new = R.append_pages(pages, rows, slots)
        else:
            new = R.exp(pages)
        return new
