# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Connected composite functions of one codegen become one function for the codegen. The cases: exp, tanh and add are
# npu's, abs and sqrt are dsp's.
# RUN: graphs %s | relax-opt - --relax-merge-composite-functions --print-script | FileCheck %s
# RUN: graphs %s | not relax-opt - --relax-merge-composite-functions=entry-functions=mian 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: error: pass 'relax-merge-composite-functions': there is no graph function @mian
"""Situations of Apache TVM's test_transform_merge_composite_functions.py."""


@R.function(private=True, attrs={"relax.composite": "npu.exp"})
def exp(x: f32[n]) -> f32[n]:
    z = R.exp(x)
    return z


@R.function(private=True, attrs={"relax.composite": "npu.tanh"})
def tanh(x: f32[n]) -> f32[n]:
    z = R.tanh(x)
    return z


@R.function(private=True, attrs={"relax.composite": "npu.add"})
def add(x: f32[n], y: f32[n]) -> f32[n]:
    z = R.add(x, y)
    return z


@R.function(private=True, attrs={"relax.composite": "dsp.abs"})
def absolute(x: f32[n]) -> f32[n]:
    z = R.abs(x)
    return z


@R.function(private=True, attrs={"relax.composite": "dsp.sqrt"})
def root(x: f32[n]) -> f32[n]:
    z = R.sqrt(x)
    return z


# Calls that follow one another.
# CHECK: def add_npu(
# CHECK: cls.add(
# CHECK-NEXT: cls.exp(
# CHECK-NEXT: cls.tanh(
# CHECK-LABEL: def chain(
# CHECK-NEXT: y = cls.add_npu(a, b)
def chain(a: f32[n], b: f32[n]) -> f32[n]:
    y = cls.tanh(cls.exp(cls.add(a, b)))
    return y


# Nothing passes from the one to the other.
# CHECK-LABEL: def apart(
# CHECK: y = cls.exp_npu(a)
# CHECK-NEXT: z = cls.tanh_npu(b)
def apart(a: f32[n], b: f32[n]) -> R.Tuple(f32[n], f32[n]):
    y = cls.exp(a)
    z = cls.tanh(b)
    return y, z


# Branches that meet.
# CHECK-LABEL: def meeting(
# CHECK: y = cls.exp_npu_1(a, b)
# CHECK-NEXT: return y
def meeting(a: f32[n], b: f32[n]) -> f32[n]:
    y = cls.add(cls.exp(a), cls.tanh(b))
    return y


# Ways that part and meet again.
# CHECK-LABEL: def diamond(
# CHECK: x_y = cls.tanh_npu_1(a, b)
# CHECK-NEXT: return x_y
def diamond(a: f32[n], b: f32[n]) -> f32[n]:
    x = cls.tanh(a)
    y = cls.add(cls.exp(x), cls.add(x, b))
    return y


# Another codegen's function is between them.
# CHECK-LABEL: def other_between(
# CHECK: tanh_npu_2_0 = cls.tanh_npu_2(a)
# CHECK-NEXT: absolute_dsp_0 = cls.absolute_dsp(tanh_npu_2_0)
# CHECK-NEXT: y = cls.exp_npu_2(absolute_dsp_0)
def other_between(a: f32[n]) -> f32[n]:
    y = cls.exp(cls.absolute(cls.tanh(a)))
    return y


# The sum needs exp directly, and through the other codegen's function.
# CHECK-LABEL: def cycle(
# CHECK-NEXT: x = cls.exp_npu_3(a)
# CHECK-NEXT: absolute_dsp_1_0 = cls.absolute_dsp_1(x)
# CHECK-NEXT: y = cls.add_npu_1(x, absolute_dsp_1_0)
def cycle(a: f32[n]) -> f32[n]:
    x = cls.exp(a)
    y = cls.add(x, cls.absolute(x))
    return y


# The same with an operator that no codegen takes.
# CHECK-LABEL: def unassigned_cycle(
# CHECK-NEXT: x = cls.exp_npu_4(a)
# CHECK-NEXT: relu_0: {{.*}} = R.nn.relu(x)
# CHECK-NEXT: y = cls.add_npu_2(x, relu_0)
def unassigned_cycle(a: f32[n]) -> f32[n]:
    x = cls.exp(a)
    y = cls.add(x, R.nn.relu(x))
    return y


# Each codegen could hold all of its own, but then each would need the other.
# CHECK: def exp_npu_5(
# CHECK: cls.exp(
# CHECK-NEXT: cls.add(
# CHECK-NEXT: cls.add(
# CHECK-LABEL: def grown_cycle(
# CHECK: y = cls.absolute_dsp_2(b)
# CHECK-NEXT: exp_npu_5_0, exp_npu_5_1 = cls.exp_npu_5(a, y)
# CHECK-NEXT: r = cls.absolute_dsp_3(exp_npu_5_1)
# CHECK-NEXT: return exp_npu_5_0, r
def grown_cycle(a: f32[n], b: f32[n]) -> R.Tuple(f32[n], f32[n]):
    x = cls.exp(a)
    y = cls.absolute(b)
    z = cls.add(x, y)
    r = cls.root(cls.absolute(cls.add(x, y)))
    return z, r


# A value with other users is a result, too.
# CHECK: def exp_npu_6(
# CHECK: return x, y, z
# CHECK-LABEL: def several_results(
# CHECK: = cls.exp_npu_6(a, b)
# CHECK-NEXT: return
def several_results(a: f32[n], b: f32[n]) -> R.Tuple(f32[n], f32[n], f32[n]):
    x = cls.exp(a)
    y = cls.tanh(x)
    z = cls.add(x, b)
    return x, y, z


# A reader of the first function before the second one moves behind both.
# CHECK-LABEL: def moved(
# CHECK: exp_npu_7_0, exp_npu_7_1 = cls.exp_npu_7(a)
# CHECK-NEXT: r: {{.*}} = R.nn.relu(exp_npu_7_0)
# CHECK-NEXT: return r, exp_npu_7_1
def moved(a: f32[n]) -> R.Tuple(f32[n], f32[n]):
    x = cls.exp(a)
    r = R.nn.relu(x)
    y = cls.tanh(x)
    return r, y


# A print in between keeps its place: the functions before it are one part, and those after it another one.
# CHECK-LABEL: def cut(
# CHECK: exp_npu_8_0, exp_npu_8_1 = cls.exp_npu_8(a)
# CHECK-NEXT: R.print((exp_npu_8_0,), format="x")
# CHECK-NEXT: z = cls.add_npu_3(exp_npu_8_1, exp_npu_8_0)
# CHECK-NEXT: return z
def cut(a: f32[n]) -> f32[n]:
    x = cls.exp(a)
    y = cls.tanh(x)
    R.print((x,), format="x")
    z = cls.tanh(cls.add(y, x))
    return z
