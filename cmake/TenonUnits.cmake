# tenon_units(OUT [APART] SOURCE...)   sets OUT to translation units of up to twenty sources each: of a part of the library, of a folder of tests and all
# below it, else of one folder. Most of what a source costs the compiler are headers and the standard library's templates, which a unit pays for once.
# What is compiled for each instruction set takes long by itself, and is a unit of its own. A unit names its sources from where it is
# itself: those of several copies of the project are the same, and compiled once. The global property tenon_unit_of_FILE, from the project's
# folder and without its suffix, is the unit that has it, for who compiles it in another way.
#
# APART: tests, each in a namespace of its own (test/unit.sh). Files that open a namespace of others, or have directives of
# their own beside Tenon's options, stay alone: headers of a GPU's libraries have names that are ours, too.
function(tenon_units out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "APART" "" "")
    set(alone "define TENON_SIMD_FILE")
    set(into "${PROJECT_BINARY_DIR}/units")
    if(arg_APART)
        set(into "${CMAKE_CURRENT_BINARY_DIR}/units") # a file of tests is of several programs
        set(alone "^(namespace [a-z_:]+ {|template <>|extern |# *(define|if (!|defined|.*[\\]$))|int main|[a-z][a-z_:*<>& ]* [a-z_]+::[a-z_]+\\()")
    endif()
    set(units "")
    set(made "")
    foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
        cmake_path(ABSOLUTE_PATH source NORMALIZE)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
        cmake_path(REMOVE_EXTENSION name)
        cmake_path(GET name PARENT_PATH part)
        if(arg_APART OR name MATCHES "^include/") # whose names are told apart
            string(REGEX MATCH "^(include/)?[^/]+/[^/]+" part "${name}")
        endif()
        file(STRINGS "${source}" own LIMIT_COUNT 1 REGEX "${alone}")
        if(own AND arg_APART)
            list(APPEND units "${source}")
            continue()
        elseif(own)
            set(part "${name}")
        endif()
        if(NOT left_${part})
            set(unit_${part} "${into}/${name}.cpp")
            set(left_${part} 20)
            list(APPEND made "${unit_${part}}")
        endif()
        math(EXPR left_${part} "${left_${part}} - 1")
        list(APPEND "sources_${unit_${part}}" "${source}")
        set_property(GLOBAL PROPERTY "tenon_unit_of_${name}" "${unit_${part}}")
    endforeach()
    foreach(unit IN LISTS made)
        cmake_path(GET unit PARENT_PATH from)
        set(kernels "")
        set(text "")
        foreach(source IN LISTS "sources_${unit}")
            cmake_path(GET source STEM family)
            if(source MATCHES "/include/tenon/(ops/.*\\.hpp|expr/fused\\.ipp)$")
                string(APPEND kernels "#define TENON_KERNELS_OF_${family} 1\n")
            endif()
            if(source MATCHES "/include/(tenon/.*)") # found as the headers are: graph/called_from.hpp tells by the path what is the library's
                string(APPEND text "#include <${CMAKE_MATCH_1}>\n")
                continue()
            endif()
            file(RELATIVE_PATH path "${from}" "${source}")
            string(APPEND text "#include \"${path}\"\n")
        endforeach()
        if(arg_APART)
            file(MAKE_DIRECTORY "${from}")
            add_custom_command(OUTPUT "${unit}"
                COMMAND "${PROJECT_SOURCE_DIR}/test/unit.sh" "${unit}" ${sources_${unit}}
                DEPENDS "${PROJECT_SOURCE_DIR}/test/unit.sh" ${sources_${unit}}
                COMMENT "" VERBATIM)
        else()
            file(CONFIGURE OUTPUT "${unit}" CONTENT "${kernels}${text}" @ONLY)
            # Its sources are no headers, whose types would be different ones elsewhere.
            set_source_files_properties("${unit}" PROPERTIES
                COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
        endif()
    endforeach()
    set(${out} ${units} ${made} PARENT_SCOPE)
endfunction()
