# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-donate='args=past*' --split-input-file --verify-diagnostics
# RUN: graphs %s | not relax-opt - --relax-donate='args=pst' --split-input-file 2>&1 | FileCheck %s
"""Arguments that cannot grow in place."""

# CHECK: pass 'relax-donate': @main has no argument 'pst'; it has past, x; did you mean 'past'?


def main(past: f32[p, 4], x: f32[s, 4]) -> f32[p + s, 4]:
    # Rows before those that there are.
    # expected-error @+1 {{argument 'past' cannot grow in place: exactly one concat(argument, new) must extend it, found 0}}
    return R.concat((x, past), axis=0)


# -----
def main(past: f32[p, 4], x: f32[s, 4]) -> f32:
    one = R.concat((past, x), axis=0)
    # expected-error @+1 {{argument 'past' cannot grow in place: exactly one concat(argument, new) must extend it, found 2}}
    other = R.concat((past, one), axis=0)
    return R.sum(other)


# -----
def main(past: f32[3, 4], x: f32[s, 4]) -> f32[s + 3, 4]:
    # expected-error @+1 {{argument 'past' cannot grow in place: its length along axis 0, 3, is not a symbol}}
    return R.concat((past, x), axis=0)


# -----
def main(past: f32[p, 4], x: f32["2*s", 4]) -> f32["p + 2*s", 4]:
    # expected-error @+1 {{the number of new rows, 2*s, is neither a number nor a symbol}}
    return R.concat((past, x), axis=0)


# -----
def main(past: f32[p, 4], x: i64[s, 4]) -> f32:
    some: f32[n, 4] = R.call_pure_packed(func="some.rows", args=(x,), out_sinfo=f32[n, 4])
    # expected-error @+1 {{no other argument determines the number of new rows: n is not a size of any}}
    return R.sum(R.concat((past, some), axis=0))


# -----
def main(past: f32[p, 4], past_2: f32[q, 4], x: f32[s, 4]) -> R.Tuple(f32[p + s, 4], f32[q + s, 4]):
    one = R.concat((past, x), axis=0)
    # expected-error @+1 {{argument 'past_2' cannot grow in place: it has q rows, 'past' has p: arguments that grow together must have one length}}
    return one, R.concat((past_2, x), axis=0)


# -----
# expected-error @+2 {{@main takes or returns lists: only separate arguments can grow in place}}
@R.function(attrs={"relax.input_groups": [{"kind": "list", "name": "all", "size": 2}]})
def main(past: f32[p, 4], x: f32[s, 4]) -> f32[p + s, 4]:
    return R.concat((past, x), axis=0)
