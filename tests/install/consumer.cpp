// The same from C++: names are not mangled and enums are what they are in C.
#include <efface/efface.h>

#include <cstring>
#include <iostream>

int main() {
    efface_data *data = nullptr;
    efface_error error{};
    const efface_status status = efface_data_create(0, &data, &error);
    if (status == EFFACE_OK || std::strcmp(efface_version(), EFFACE_VERSION) != 0) {
        std::cerr << "the installed library does not work\n";
        return 1;
    }
    std::cout << "0 columns: " << error.message << "\n";
    return 0;
}
