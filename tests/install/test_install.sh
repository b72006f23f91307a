#!/bin/sh
# usage: test_install.sh BUILD_DIR CC CXX [MPICC]
#
# Installs a build into an empty prefix, moves the tree, and then builds and runs programs that use
# it: through the CMake package and through pkg-config, as C and C++, shared and static, and with MPI.
set -eu

build=$1 cc=$2 cxx=$3 mpicc=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cmake --install "$build" --prefix "$tmp/first" >/dev/null
mv "$tmp/first" "$tmp/prefix"
lib=$(dirname "$(find "$tmp/prefix" -name libefface.so)")

echo "CMake package"
version=$(sed -n 's/^#define EFFACE_VERSION "\(.*\)"/\1/p' "$tmp/prefix/include/efface/efface.h")
cmake -S "$here" -B "$tmp/build" -G Ninja -DCMAKE_PREFIX_PATH="$tmp/prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DHEADER_VERSION="$version" >/dev/null
cmake --build "$tmp/build" >/dev/null
programs="shared_c static_c shared_cpp"
if [ -e "$lib/libefface-mpi.so" ]; then programs="$programs shared_mpi"; fi
for program in $programs; do "$tmp/build/$program"; done

echo "pkg-config"
export PKG_CONFIG_PATH="$lib/pkgconfig"
flags="-Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2046,SC2086 # the flags are meant to be split
{
    "$cc" -std=c11 $flags "$here/consumer.c" $(pkg-config --cflags --libs efface) -o "$tmp/shared_c"
    "$cxx" -std=c++11 $flags "$here/consumer.cpp" $(pkg-config --cflags --libs efface) \
        -o "$tmp/shared_cpp"
    "$cc" -std=c11 $flags -static "$here/consumer.c" \
        $(pkg-config --static --cflags --libs efface) -o "$tmp/static_c"
}
for program in shared_c shared_cpp static_c; do LD_LIBRARY_PATH="$lib" "$tmp/$program"; done

if [ -e "$lib/libefface-mpi.so" ] && [ -n "$mpicc" ]; then
    # shellcheck disable=SC2046,SC2086
    "$mpicc" -std=c11 $flags "$here/consumer_mpi.c" $(pkg-config --cflags --libs efface-mpi) \
        -o "$tmp/shared_mpi"
    LD_LIBRARY_PATH="$lib" "$tmp/shared_mpi"
fi

echo "RUNPATH"
/usr/bin/python3 -B "$here/check_runpaths.py" "$tmp/prefix"

# Nothing of the build machine leaked into what is installed.
if grep -rl -e "$build" -e "$tmp" "$tmp/prefix" --include='*.cmake' --include='*.pc'; then
    echo "the files above name the build directory" >&2
    exit 1
fi
