# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=main,fewer inputs=1' 2>&1 | FileCheck %s --check-prefix=FEWER
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=main,smaller inputs=1' 2>&1 | FileCheck %s --check-prefix=SMALLER
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=main,other inputs=1' 2>&1 | FileCheck %s --check-prefix=DTYPE
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=main,main inputs=1' 2>&1 | FileCheck %s --check-prefix=TWICE
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=main,fewr inputs=1' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=smaller inputs=1' 2>&1 | FileCheck %s --check-prefix=TAKEN
# RUN: graphs %s | not relax-opt - --relax-lift-transform-params='function=caller inputs=1' 2>&1 | FileCheck %s --check-prefix=CALLED
"""Weights that differ, and an existing function of this name.

Situations of Apache TVM's test_transform_lift_transform_params.py.
"""

# FEWER: pass 'relax-lift-transform-params': @main and @fewer do not take the same weights: the first has 2 weights, the second 1
# SMALLER: pass 'relax-lift-transform-params': @main and @smaller do not take the same weights: 'b' is tensor<4xf32>, 'b' is tensor<2xf32>
# DTYPE: pass 'relax-lift-transform-params': @main and @other do not take the same weights: 'b' is tensor<4xf32>, 'c' is tensor<4xf16>
# TWICE: pass 'relax-lift-transform-params': function must name one function or several, each once
# UNKNOWN: pass 'relax-lift-transform-params': there is no graph function @fewr with a body;
# UNKNOWN-SAME: did you mean 'fewer'?
# TAKEN: pass 'relax-lift-transform-params': the function @smaller_transform_params exists already, but does not return the weights that @smaller takes, one by one
# CALLED: pass 'relax-lift-transform-params': @caller_transform_params is called here with its present parameters: inline it first (relax-inline)


def main(x: f32[4], a: f32[4], b: f32[4]) -> f32[4]:
    return R.add(x, R.exp(R.add(a, b)))


def fewer(x: f32[4], a: f32[4]) -> f32[4]:
    return R.add(x, R.exp(a))


def smaller(x: f32[4], a: f32[4], b: f32[2]) -> f32[4]:
    return R.add(x, R.exp(a))


def smaller_transform_params(a: f32[4]) -> f32[4]:
    return a


def other(x: f32[4], a: f32[4], c: f16[4]) -> f32[4]:
    return R.add(x, R.exp(a))


def caller(x: f32[4], a: f32[4]) -> f32[4]:
    return R.add(x, cls.caller_transform_params(a))


def caller_transform_params(a: f32[4]) -> f32[4]:
    return R.exp(a)
