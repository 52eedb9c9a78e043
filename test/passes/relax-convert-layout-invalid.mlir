// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2:NHWC' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.add:NHWC' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d:NHWX' 2>&1 | FileCheck %s --check-prefix=LETTER
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d:NHWC:OHW' 2>&1 | FileCheck %s --check-prefix=MISSES
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d:NCHWc' 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.max_pool2d:NHWC:NHWC:NHWC' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.image.resize2d:' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.vision.roi_pool:NHWC' 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d' 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: not relax-opt %s --relax-convert-layout='desire=relax.nn.conv2d:NHWC' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not relax-opt %s --relax-convert-layout 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d:NHWC,relax.nn.conv2d:NCHW' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWICE
// UNKNOWN: desired: unknown operator 'relax.nn.conv2'; did you mean 'relax.nn.conv2d'?
// NONE: desired: relax.add has no layout: none of its attributes is a layout
// LETTER: layout 'NHWX' of relax.nn.conv2d (data) names an unknown dimension 'X' (expects the dimensions N, C, H, W in any
// MISSES: layout 'OHW' of relax.nn.conv2d (weight) misses dimension 'I' (expects the dimensions O, I, H, W in any order
// BLOCK: layout 'NCHWc' of relax.nn.conv2d (data) needs a size of 1 to 999999999 before block 'c', such as '4c'
// MANY: relax.nn.max_pool2d takes 1 to 2 layouts (layout, out_layout), such as 'NCHW:NCHW', got 3 layouts
// EMPTY: layout '' of relax.image.resize2d (data) misses dimension 'N'
// CHOICE: layout of relax.vision.roi_pool (data): expects one of 'NCHW', got 'NHWC'
// PAIRS: option 'desired' expects pairs like a:b,c:d, got 'relax.nn.conv2d'
// OPTION: no option 'desire'; did you mean 'desired'?
// TWICE: option 'desired' names 'relax.nn.conv2d' twice
// NOTHING: pass 'relax-convert-layout' needs option 'desired', such as relax.nn.conv2d:NHWC:OHWI

func.func @convolution(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %y = "relax.nn.conv2d"(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}
