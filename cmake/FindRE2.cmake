# Finds RE2 as target RE2::RE2: by the package file of its own, which newer releases have, or by its header and library.

find_package(re2 CONFIG QUIET)
if(TARGET re2::re2)
    set(RE2_FOUND TRUE)
    if(NOT TARGET RE2::RE2)
        add_library(RE2::RE2 INTERFACE IMPORTED)
        target_link_libraries(RE2::RE2 INTERFACE re2::re2)
    endif()
    return()
endif()

find_path(RE2_INCLUDE_DIR re2/re2.h)
find_library(RE2_LIBRARY re2)
mark_as_advanced(RE2_INCLUDE_DIR RE2_LIBRARY re2_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RE2 REQUIRED_VARS RE2_LIBRARY RE2_INCLUDE_DIR)

if(RE2_FOUND AND NOT TARGET RE2::RE2)
    find_package(Threads QUIET)
    add_library(RE2::RE2 UNKNOWN IMPORTED)
    set_target_properties(RE2::RE2 PROPERTIES
        IMPORTED_LOCATION "${RE2_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
