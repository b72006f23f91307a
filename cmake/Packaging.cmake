# Installs the headers, both libraries, the program with its man pages and completion, the pkg-config
# file and the CMake package.
#
#     find_package(efface)                      gives efface::efface, the shared library
#     find_package(efface COMPONENTS static)    gives efface::static too, and looks for what it needs
#     find_package(efface COMPONENTS mpi)       gives efface::mpi too, and looks for MPI
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/efface")

# What is installed has its final RUNPATH from the start. Otherwise CMake leaves room in it for the
# later one by a colon at its end, that is, an empty element: the current folder, whoever wrote what
# is there.
set_target_properties(efface efface-cli PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)

file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/efface/*.h")
list(FILTER public_headers EXCLUDE REGEX "efface_mpi\\.h$")
install(FILES ${public_headers}
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/efface")
install(TARGETS efface EXPORT efface-shared)
install(TARGETS efface_static EXPORT efface-static)
install(TARGETS efface-cli)
if(TARGET efface-serve)
    set_target_properties(efface-serve PROPERTIES
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS efface-serve)
endif()
if(TARGET efface-mpi-lib)
    set_target_properties(efface-mpi-lib efface-mpi-program PROPERTIES
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(FILES "${PROJECT_SOURCE_DIR}/include/efface/efface_mpi.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/efface")
    install(TARGETS efface-mpi-lib EXPORT efface-mpi)
    install(TARGETS efface-mpi-program)
    install(EXPORT efface-mpi NAMESPACE efface:: DESTINATION "${package_dir}")
endif()
file(GLOB man_pages "${PROJECT_SOURCE_DIR}/docs/use/man/*.1")
install(FILES ${man_pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES cli/completion/efface.bash RENAME efface
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES cli/completion/_efface DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(EXPORT efface-shared NAMESPACE efface:: DESTINATION "${package_dir}")
install(EXPORT efface-static NAMESPACE efface:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/efface-config.cmake.in efface-config.cmake
    INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(efface-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/efface-config.cmake" "${PROJECT_BINARY_DIR}/efface-config-version.cmake"
    DESTINATION "${package_dir}")

# A .pc file finds its prefix from where it lies, so an installed tree can be moved.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(pkgconfig_names efface)
if(TARGET efface-mpi-lib)
    list(APPEND pkgconfig_names efface-mpi)
endif()
foreach(name ${pkgconfig_names})
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
