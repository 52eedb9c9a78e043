/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMX intrinsics that read what was stored before them. gcc 12 declares 8 of the 64 bytes of a tile configuration and
   no memory that a tile load reads, so it drops or moves stores, and llama.cpp stops at ldtilecfg. Every file of
   llama.cpp is compiled with this header in front. */
#pragma once

#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define _tile_loadconfig(config)                                            \
  do {                                                                      \
    __asm__ volatile("" ::"m"(*(const char(*)[64])(config)) : "memory");    \
    (_tile_loadconfig)(config);                                             \
  } while (0)
#undef _tile_loadd
#define _tile_loadd(tile, base, stride)       \
  do {                                        \
    __asm__ volatile("" ::: "memory");        \
    _tile_loadd_internal(tile, base, stride); \
  } while (0)
#endif
