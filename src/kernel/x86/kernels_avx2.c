/* The AVX2 table. */
#include "kernel/x86/lanes_avx2.h"

#define TABLE ef_kernels_avx2
#define TABLE_NAME "avx2"
#include "kernel/panel_kernels.h"
