# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-donate='args=*pages' --split-input-file --verify-diagnostics
"""Pages that cannot be updated in the caller's memory."""


def main(pages: f32[p, 4, 2, 8], rows: f32[t, 2, 8], slots: i32[t]) -> R.Tuple(f32[p, 4, 2, 8], f32[p, 4, 2, 8]):
    new = R.append_pages(pages, rows, slots)
    # expected-error @+1 {{argument 'pages' cannot be updated in place: 'relax.add' reads its rows from before relax.append_pages: let it read the result instead}}
    return new, R.add(pages, new)


# -----
def main(pages: f32[p, 4, 2, 8], rows: f32[t, 2, 8], slots: i32[t]) -> f32[p, 4, 2, 8]:
    one = R.append_pages(pages, rows, slots)
    # expected-error @+1 {{argument 'pages' cannot be updated in place: 'relax.append_pages' reads its rows from before relax.append_pages}}
    other = R.append_pages(pages, rows, slots)
    return R.add(one, other)


# -----
def main(pages: f32[p, 4, 2, 8], rows: f32[t, 2, 8], slots: i32[t]) -> R.Tuple(f32[p, 4, 2, 8], f32[t, 2, 8]):
    # expected-error @+1 {{argument 'pages' cannot be updated in place: no result depends on its new rows: do not donate it}}
    new = R.append_pages(pages, rows, slots)
    unused = R.exp(R.add(new, new))  # noqa: F841
    return new, R.exp(rows)


# -----
def main(pages: i8[p, 4, 2, 8], scales: f32[p, 4, 2], rows: f32[t, 2, 8], slots: i32[t]) -> f32[p, 4, 2, 8]:
    # expected-error @+1 {{argument 'pages' cannot be updated in place: its scales are no donated argument: donate both}}
    codes, steps = R.append_pages_quantized(pages, scales, rows, slots)
    return R.multiply(R.astype(codes, "float32"), R.expand_dims(steps, axis=[3]))


# -----
# expected-error @+2 {{@main returns lists: pages are updated in place only where results are separate}}
@R.function(attrs={"relax.result_groups": [{"kind": "list", "name": "all", "size": 2}]})
def main(pages: f32[p, 4, 2, 8], rows: f32[t, 2, 8], slots: i32[t]) -> R.Tuple(f32[p, 4, 2, 8], f32[p, 4, 2, 8]):
    new = R.append_pages(pages, rows, slots)
    return new, R.exp(new)


# -----
@I.ir_module
class Branch:
    @R.function
    def main(pages: f32[p, 4, 2, 8], rows: f32[t, 2, 8], slots: i32[t], flag: bool) -> f32[p, 4, 2, 8]:
        if flag:
            # expected-error @+1 {{argument 'pages' cannot be updated in place: relax.append_pages is in a branch or a loop}}
            new = R.append_pages(pages, rows, slots)
        else:
            new = R.exp(pages)
        return new
