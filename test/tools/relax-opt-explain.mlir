// All that is known of one operator, and where it is written.

// RUN: relax-opt --explain-op=relax.nn.conv2d | FileCheck %s --check-prefix=CONV
// CONV: relax.nn.conv2d(data, weight, strides: ints = (1, 1), {{.*}}groups: int = 1, {{.*}}out_dtype: dtype = None)
// CONV: Convolution over H and W.
// CONV: padding {{ +}}ints = (0, 0): one entry,
// CONV: Its row says
// CONV-NEXT: pure: it may be merged with its like
// CONV-NEXT: fuses as 'out_ewise_fusable'
// CONV-NEXT: operations on numbers: two for each tap and channel summed, for each element of the result
// CONV-NEXT: windows slide over H, W; 'weight' says how large they are
// CONV-NEXT: 'data_layout' is the layout of 'data', of the dimensions NCHW
// CONV-NEXT: 'kernel_layout' is the layout of 'weight', of the dimensions OIHW
// CONV: Where it is written
// CONV-NEXT: row {{ +}}relax/nn_conv.py:{{[0-9]+}}
// CONV-NEXT: inference {{ +}}convolution {{ +}}relax/nn_conv.py:
// CONV: gradient {{ +}}convolution {{ +}}rules/convolution.py:
// CONV: canonicalization {{ +}}drop_defaults {{ +}}canonicalize/default_attributes.py:
// CONV: legalization {{ +}}default {{ +}}default/legalize_conv.py:
// CONV: plans of its loops {{ +}}llvm conv {{ +}}plans/conv.py:

// RUN: relax-opt --explain-op relax.reshape | FileCheck %s --check-prefix=VIEW
// VIEW: view: its result is the memory of 'x'
// VIEW-NEXT: its result has the shape that 'shape' is
// VIEW: arguments {{ +}}resolve_new_shape {{ +}}relax/manipulate.py:
// VIEW: reference {{ +}}reshape {{ +}}relax/manipulate.py:
// VIEW: as it is {{ +}}llvm {{ +}}a view

// RUN: relax-opt --explain-op=relax.call_inplace_packed | FileCheck %s --check-prefix=CALL
// CALL: Its row says
// CALL: result types are not inferred, 'ty_args' states them
// CALL-NEXT: role call: no target needs a rule for it
// CALL-NEXT: in place: 'inplace_indices' says for each result which operand it is written over
// CALL: verification
// CALL-NOT: legalization
// CALL-NOT: plans

// RUN: relax-opt --explain-op=relax.print | FileCheck %s --check-prefix=EFFECT
// EFFECT: effects: it stays where it is, as often as it stands there
// EFFECT: role effect: no target needs a rule for it

// RUN: relax-opt --explain-op=tir.exp | FileCheck %s --check-prefix=INTRINSIC
// INTRINSIC: e to the power of x.
// INTRINSIC: row {{ +}}tir/float_unary.py:
// INTRINSIC: reference {{ +}}tir/float_unary.py:
// INTRINSIC: intrinsic {{ +}}llvm legalize f32 f64 {{ +}}intrinsics/exponential.py:
// INTRINSIC: intrinsic {{ +}}llvm legalize fast-math f32 f64 {{ +}}intrinsics/exponential.py:

// ONNX's operators, by the names that relax-compile --list-onnx-operators has.
// RUN: relax-opt --explain-op=Softmax | FileCheck %s --check-prefix=ONNX
// ONNX: Softmax, an operator of ONNX
// ONNX: since version 1 {{ +}}{{[a-z_]+}} {{ +}}operators/activations.py:
// ONNX-NEXT: since version 13 {{ +}}{{[a-z_]+}} {{ +}}operators/activations.py:

// RUN: not relax-opt --explain-op=relax.nn.conv2 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt --explain-op=conv2d 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not relax-opt --explain-op=Sofmax 2>&1 | FileCheck %s --check-prefix=UNKNOWN-ONNX
// RUN: not relax-opt --explain-op 2>&1 | FileCheck %s --check-prefix=NONE
// UNKNOWN: relax-opt: error: unknown operator 'relax.nn.conv2'; did you mean 'relax.nn.conv2d'?
// SHORT: relax-opt: error: unknown operator 'conv2d'; did you mean 'relax.nn.conv2d'?
// UNKNOWN-ONNX: relax-opt: error: unknown operator 'Sofmax'; did you mean 'Softmax'?
// NONE: relax-opt: error: option --explain-op needs a value: --explain-op=<operator>
