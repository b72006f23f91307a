/* The table for AVX-512 with VNNI. */
#include "kernel/x86/lanes_avx512.h"

#define TABLE ef_kernels_vnni
#define TABLE_NAME "vnni"
#define WORDS_OF "kernel/x86/words_vnni.h"
#include "kernel/panel_kernels.h"
