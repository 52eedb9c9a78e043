# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-bundle-params='inputs=1' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-bundle-params='inputs=0 params=all results' --print-script | FileCheck %s --check-prefix=ALL
# RUN: graphs %s | relax-opt - --relax-bundle-params='function=says params=weights' --print-script | FileCheck %s --check-prefix=SAYS
# RUN: graphs %s | not relax-opt - --relax-bundle-params 2>&1 | FileCheck %s --check-prefix=SILENT
# RUN: graphs %s | not relax-opt - --relax-bundle-params='inputs=1 params=x' 2>&1 | FileCheck %s --check-prefix=TAKEN
# RUN: graphs %s | not relax-opt - --relax-bundle-params='inputs=1' --relax-bundle-params='inputs=2' 2>&1 | FileCheck %s --check-prefix=MIDDLE
# RUN: graphs %s | not relax-opt - --relax-bundle-params='inputs=1' --relax-bundle-params='inputs=0' 2>&1 | FileCheck %s --check-prefix=NESTED
# RUN: graphs %s | not relax-opt - --relax-bundle-params='inputs=1 params=' 2>&1 | FileCheck %s --check-prefix=NAMELESS
# RUN: graphs %s | relax-opt - --relax-bundle-params='inputs=3' --print-script | FileCheck %s --check-prefix=EMPTY
"""The weights of a function as one list. Situations of Apache TVM's test_transform_bundle_model_params.py."""

# SILENT: pass 'relax-bundle-params': it is unknown which parameters of @main are weights: pass inputs=N,
# TAKEN: pass 'relax-bundle-params': @main has a parameter 'x' already: give params=NAME
# MIDDLE: pass 'relax-bundle-params': the parameters before #2 end in the middle of a list
# NAMELESS: pass 'relax-bundle-params': params must name the list
# NESTED: pass 'relax-bundle-params': 'params' is a list or optional, and cannot be an element of a list


# Callers pass a list; to the function they are values as before.
# CHECK-LABEL: @R.function(attrs={"relax.input_groups": [{"kind": "value", "name": "x", "size": 1}, {"kind": "list", "name": "params", "size": 2}]})
# CHECK-NEXT: def main(
# CHECK-NEXT: x: R.Tensor(("n", 4), "float32"),
# CHECK-NEXT: w: R.Tensor((4, 4), "float32"),
# CHECK-NEXT: b: R.Tensor((4,), "float32"),
# Where there are no weights, there is a list of none.
# EMPTY-LABEL: {"kind": "list", "name": "params", "size": 0}
# ALL-LABEL: @R.function(attrs={"relax.input_groups": [{"kind": "list", "name": "all", "size": 3}], "relax.result_groups": [{"kind": "list", "name": "all", "size": 2}], "relax.result_names": ["all"]})
def main(x: f32[n, 4], w: f32[4, 4], b: f32[4]) -> R.Tuple(f32[n, 4], f32[n, 4]):
    h = R.matmul(x, w)
    return h, R.add(h, b)


# SAYS-LABEL: @R.function(attrs={"num_input": 2, "relax.input_groups": [{"kind": "value", "name": "x", "size": 1}, {"kind": "value", "name": "y", "size": 1}, {"kind": "list", "name": "weights", "size": 1}]})
@R.function(attrs={"num_input": 2})
def says(x: f32[4], y: f32[4], w: f32[4]) -> f32[4]:
    return R.add(R.add(x, y), w)
