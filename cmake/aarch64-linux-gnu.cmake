# Cross-compiles for 64-bit ARM and runs the tests under qemu-user. The libraries are Debian's arm64
# packages, which bring their own libc along; the cross compiler's copy (-L) does not mix with them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)
