# tenon_library_folder(OUT INCLUDE_DIR FILE...)   sets OUT to the folder with one of the library's files that belongs to the folder with its
# headers, or to nothing: as in Python's wheels (include, lib), and where systems keep libraries.
function(tenon_library_folder out include_dir)
    set(folder "")
    get_filename_component(prefix "${include_dir}/.." ABSOLUTE)
    foreach(lib IN ITEMS lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
        foreach(file IN LISTS ARGN)
            if(NOT folder AND EXISTS "${prefix}/${lib}/${file}")
                get_filename_component(folder "${prefix}/${lib}" ABSOLUTE)
            endif()
        endforeach()
    endforeach()
    set(${out} "${folder}" PARENT_SCOPE)
endfunction()
