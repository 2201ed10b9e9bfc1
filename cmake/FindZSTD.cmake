# Finds libzstd as target ZSTD::ZSTD: by the package file of its own, which says whether it is shared or static, or by its header and
# library. ZSTD_VERSION is what the header says.

find_package(zstd CONFIG QUIET)
foreach(target IN ITEMS zstd::libzstd zstd::libzstd_shared zstd::libzstd_static)
    if(TARGET ${target})
        set(ZSTD_FOUND TRUE)
        set(ZSTD_VERSION "${zstd_VERSION}")
        if(NOT TARGET ZSTD::ZSTD)
            add_library(ZSTD::ZSTD INTERFACE IMPORTED)
            target_link_libraries(ZSTD::ZSTD INTERFACE ${target})
        endif()
        return()
    endif()
endforeach()

find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
mark_as_advanced(ZSTD_INCLUDE_DIR ZSTD_LIBRARY zstd_DIR)
if(ZSTD_INCLUDE_DIR)
    file(STRINGS "${ZSTD_INCLUDE_DIR}/zstd.h" version REGEX "define ZSTD_VERSION_(MAJOR|MINOR|RELEASE) ")
    list(TRANSFORM version REPLACE "[^0-9]" "")
    list(JOIN version "." ZSTD_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZSTD REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE_DIR VERSION_VAR ZSTD_VERSION)

if(ZSTD_FOUND AND NOT TARGET ZSTD::ZSTD)
    add_library(ZSTD::ZSTD UNKNOWN IMPORTED)
    set_target_properties(ZSTD::ZSTD PROPERTIES
        IMPORTED_LOCATION "${ZSTD_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${ZSTD_INCLUDE_DIR}")
endif()
