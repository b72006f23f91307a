/* The AVX-512 table. */
#include "kernel/x86/lanes_avx512.h"

#define TABLE ef_kernels_avx512
#define TABLE_NAME "avx512"
#include "kernel/panel_kernels.h"
