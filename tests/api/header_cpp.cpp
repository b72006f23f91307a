// Compiles if the public headers stand alone in C++11.
#include <efface/efface.h>

static_assert(EFFACE_OK == 0, "success is zero");
