# Finds oneDNN by its header and library, as target oneDNN::oneDNN with oneDNN_VERSION.
#
# Its own dnnl-config.cmake is not used: on Debian that needs the OpenCL development files, which
# libdnnl-dev does not bring and Tenon does not use.

find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

if(oneDNN_INCLUDE_DIR AND EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
    file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" oneDNN_VERSION
        REGEX "DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
    list(TRANSFORM oneDNN_VERSION REPLACE "[^0-9]" "")
    list(JOIN oneDNN_VERSION "." oneDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN
    REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
    VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
    add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
    set_target_properties(oneDNN::oneDNN PROPERTIES
        IMPORTED_LOCATION "${oneDNN_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
endif()
