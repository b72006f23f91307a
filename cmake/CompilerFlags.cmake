# What every file of the project is compiled with, as the target efface_flags.
#
# Contraction into fused multiply-adds is off because it would change result bits; -march is never
# given because kernels choose their instruction set at run time.
add_library(efface_flags INTERFACE)
target_compile_options(efface_flags INTERFACE
    -ffp-contract=off
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
        -Wmissing-prototypes -Wvla -Wcast-qual -Wundef>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
    $<$<BOOL:${EFFACE_WERROR}>:-Werror>)

if(EFFACE_SANITIZE)
    target_compile_options(efface_flags INTERFACE
        -fsanitize=${EFFACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(efface_flags INTERFACE -fsanitize=${EFFACE_SANITIZE})
endif()
