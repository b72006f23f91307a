/* The NEON table. */
#include "kernel/arm/lanes_neon.h"

#define TABLE ef_kernels_neon
#define TABLE_NAME "neon"
#include "kernel/panel_kernels.h"
