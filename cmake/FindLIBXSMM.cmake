# Finds libxsmm as target LIBXSMM::LIBXSMM, by its header and static libraries: with its own stand-in for a BLAS, which Tenon does not have it
# call. LIBXSMM_VERSION is what the header says.

find_path(LIBXSMM_INCLUDE_DIR libxsmm.h)
find_library(LIBXSMM_LIBRARY xsmm)
find_library(LIBXSMM_NOBLAS_LIBRARY xsmmnoblas)
mark_as_advanced(LIBXSMM_INCLUDE_DIR LIBXSMM_LIBRARY LIBXSMM_NOBLAS_LIBRARY)
if(LIBXSMM_INCLUDE_DIR AND EXISTS "${LIBXSMM_INCLUDE_DIR}/libxsmm_version.h")
    file(STRINGS "${LIBXSMM_INCLUDE_DIR}/libxsmm_version.h" LIBXSMM_VERSION REGEX "define LIBXSMM_CONFIG_VERSION \"")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" LIBXSMM_VERSION "${LIBXSMM_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LIBXSMM
    REQUIRED_VARS LIBXSMM_LIBRARY LIBXSMM_NOBLAS_LIBRARY LIBXSMM_INCLUDE_DIR
    VERSION_VAR LIBXSMM_VERSION)

if(LIBXSMM_FOUND AND NOT TARGET LIBXSMM::LIBXSMM)
    add_library(LIBXSMM::LIBXSMM UNKNOWN IMPORTED)
    set_target_properties(LIBXSMM::LIBXSMM PROPERTIES
        IMPORTED_LOCATION "${LIBXSMM_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${LIBXSMM_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "${LIBXSMM_NOBLAS_LIBRARY};${CMAKE_DL_LIBS};m")
endif()
