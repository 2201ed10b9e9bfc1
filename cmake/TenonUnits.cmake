# tenon_units(OUT SOURCE...)   sets OUT to translation units of up to eight sources of a folder each: most of what a source costs the
# compiler are headers and the standard library's templates, which a unit pays for once. A unit names its sources from where it is
# itself: those of several copies of the project are the same, and compiled once.
function(tenon_units out)
    set(units "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source NORMALIZE)
        cmake_path(GET source PARENT_PATH folder)
        if(NOT left_${folder})
            cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
            cmake_path(GET source STEM first)
            set(unit_${folder} "${PROJECT_BINARY_DIR}/units/${name}/${first}.cpp")
            set(text_${folder} "")
            set(left_${folder} 8)
            list(APPEND units "${unit_${folder}}")
            # Its sources are no headers, whose types would be different ones elsewhere.
            set_source_files_properties("${unit_${folder}}" PROPERTIES
                COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
        endif()
        math(EXPR left_${folder} "${left_${folder}} - 1")
        cmake_path(GET unit_${folder} PARENT_PATH from)
        file(RELATIVE_PATH path "${from}" "${source}")
        string(APPEND text_${folder} "#include \"${path}\"\n")
        file(CONFIGURE OUTPUT "${unit_${folder}}" CONTENT "${text_${folder}}" @ONLY)
    endforeach()
    set(${out} ${units} PARENT_SCOPE)
endfunction()
