# tenon_units(OUT SOURCE...)   sets OUT to translation units of up to eight sources of a folder each: most of what a source costs the
# compiler are headers and the standard library's templates, which a unit pays for once. A unit names its sources from where it is
# itself: those of several copies of the project are the same, and compiled once. The global property tenon_unit_of_FILE, from the project's
# folder and without its suffix, is the unit that has it, for who compiles it in another way.
function(tenon_units out)
    set(units "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source NORMALIZE)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
        cmake_path(REMOVE_EXTENSION name)
        if(NOT left_${folder})
            set(unit_${folder} "${PROJECT_BINARY_DIR}/units/${name}.cpp")
            set(text_${folder} "")
            set(left_${folder} 8)
            list(APPEND units "${unit_${folder}}")
            # Its sources are no headers, whose types would be different ones elsewhere.
            set_source_files_properties("${unit_${folder}}" PROPERTIES
                COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
        endif()
        set_property(GLOBAL PROPERTY "tenon_unit_of_${name}" "${unit_${folder}}")
        math(EXPR left_${folder} "${left_${folder}} - 1")
        cmake_path(GET unit_${folder} PARENT_PATH from)
        file(RELATIVE_PATH path "${from}" "${source}")
        string(APPEND text_${folder} "#include \"${path}\"\n")
        file(CONFIGURE OUTPUT "${unit_${folder}}" CONTENT "${text_${folder}}" @ONLY)
    endforeach()
    set(${out} ${units} PARENT_SCOPE)
endfunction()
