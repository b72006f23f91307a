/* The code of the table for AMX with tiles in plain C: a table for tests, to be asked for by name.
 */
#define EF_PLAIN_TILES
#include "kernel/x86/kernels_amx.c"
