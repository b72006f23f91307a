// Compiles if the public header stands alone in C++11.
#include <efface/efface.h>

static_assert(EFFACE_OK == 0, "success is zero");
