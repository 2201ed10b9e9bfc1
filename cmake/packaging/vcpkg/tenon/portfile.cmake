# An overlay port of the sources that it lies in:
#   vcpkg install tenon --overlay-ports=cmake/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
    arrow  TENON_WITH_ARROW
    images TENON_WITH_PNG
    images TENON_WITH_JPEG
    net    TENON_WITH_NET
    re2    TENON_WITH_RE2
    zstd   TENON_WITH_ZSTD)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${FEATURE_OPTIONS} -DTENON_WITH_ONEDNN=OFF -DTENON_WITH_LIBXSMM=OFF -DTENON_WITH_CUDA=OFF -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tenon)
vcpkg_fixup_pkgconfig()
if("net" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES tenon AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
