# Puts files into a program.
#
#   embed_files(TARGET NAME FILE...)   adds NAME.c to the target: const sv_file NAME[], a line for each
#                                      file and one with a name NULL (serve/api/embedded.h)
#
# The same file, run as a script with -P, writes NAME.c: no other program is needed to build.
if(CMAKE_SCRIPT_MODE_FILE)
    set(type_html "text/html; charset=utf-8")
    set(type_css "text/css; charset=utf-8")
    set(type_js "text/javascript; charset=utf-8")
    set(type_svg "image/svg+xml")
    set(type_json "application/json")
    string(REPLACE "|" ";" FILES "${FILES}")
    set(arrays "")
    set(table "")
    set(number 0)
    foreach(file IN LISTS FILES)
        get_filename_component(name "${file}" NAME)
        string(REGEX REPLACE "^.*\\." "" extension "${name}")
        if(NOT DEFINED type_${extension})
            message(FATAL_ERROR "${name}: no content type is known for .${extension}")
        endif()
        file(READ "${file}" bytes HEX)
        string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
        # The 0 behind the end is not counted: texts may be read as such.
        string(APPEND arrays
               "static const unsigned char bytes_${number}[] = {\n${bytes}0};\n")
        string(APPEND table "    {\"${name}\", \"${type_${extension}}\", bytes_${number}, "
                            "sizeof bytes_${number} - 1},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    file(WRITE "${OUT}" "/* Made by cmake/EmbedFiles.cmake. */\n#include \"api/embedded.h\"\n\n"
                        "${arrays}\nconst sv_file ${NAME}[] = {\n${table}"
                        "    {NULL, NULL, NULL, 0},\n};\n")
    return()
endif()

set(embed_files_script "${CMAKE_CURRENT_LIST_FILE}")

function(embed_files target name)
    set(files "")
    foreach(file IN LISTS ARGN)
        get_filename_component(file "${file}" ABSOLUTE)
        list(APPEND files "${file}")
    endforeach()
    set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}.c")
    string(REPLACE ";" "|" list "${files}") # a semicolon would end the argument
    add_custom_command(
        OUTPUT "${out}"
        COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DNAME=${name}" "-DFILES=${list}"
                -P "${embed_files_script}"
        DEPENDS ${files} "${embed_files_script}"
        COMMENT "Embedding ${name}"
        VERBATIM)
    target_sources(${target} PRIVATE "${out}")
endfunction()
