# tenon::tenon        the compiled library: one translation unit for each .ipp file and for the kernels of
#                     each op family (ops/THEME/FAMILY.hpp), all found by glob
# tenon::header_only  everything inline; a user's program compiles what it uses

set(tenon_include_dir "${PROJECT_SOURCE_DIR}/include")
file(GLOB_RECURSE tenon_ipp CONFIGURE_DEPENDS RELATIVE "${tenon_include_dir}"
    "${tenon_include_dir}/tenon/*.ipp")
file(GLOB tenon_ops CONFIGURE_DEPENDS RELATIVE "${tenon_include_dir}"
    "${tenon_include_dir}/tenon/ops/*/*.hpp")
foreach(file IN LISTS tenon_ops)
    file(STRINGS "${tenon_include_dir}/${file}" ops REGEX "TENON_KERNELS_OF_" LIMIT_COUNT 1)
    if(NOT ops) # functions of other families' ops, or what kernels share
        list(REMOVE_ITEM tenon_ops "${file}")
    endif()
endforeach()

set(tenon_sources "")
foreach(file IN LISTS tenon_ipp tenon_ops)
    string(REGEX REPLACE "\\.hpp$" "_kernels" source "${file}")
    string(REGEX REPLACE "\\.ipp$" "" source "${source}")
    set(source "${PROJECT_BINARY_DIR}/generated/${source}.cpp")
    # The header first, which so compiles alone.
    string(REGEX REPLACE "\\.ipp$" ".hpp" header "${file}")
    set(includes "#include <${file}>\n")
    if(NOT header STREQUAL file AND EXISTS "${tenon_include_dir}/${header}")
        string(PREPEND includes "#include <${header}>\n")
    endif()
    file(CONFIGURE OUTPUT "${source}" CONTENT "${includes}" @ONLY)
    list(APPEND tenon_sources "${source}")
    if(file MATCHES "/(ops/.*\\.hpp|expr/fused\\.ipp)$")
        get_filename_component(family "${file}" NAME_WE)
        set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS TENON_KERNELS_OF_${family}=1)
    endif()
endforeach()

add_library(tenon ${tenon_sources})
add_library(tenon::tenon ALIAS tenon)
tenon_compiled(tenon)
target_compile_options(tenon PRIVATE ${TENON_OPTIMIZE})

add_library(tenon_header_only INTERFACE)
add_library(tenon::header_only ALIAS tenon_header_only)
set_target_properties(tenon_header_only PROPERTIES EXPORT_NAME header_only)
target_compile_definitions(tenon_header_only INTERFACE TENON_HEADER_ONLY=1)

# The libraries behind the kernels: seen only by the library's own sources, or by everybody when header-only.
set(tenon_libraries Eigen3::Eigen nlohmann_json::nlohmann_json)
set(tenon_definitions "")
if(TENON_HAS_ONEDNN)
    list(APPEND tenon_libraries oneDNN::oneDNN)
    list(APPEND tenon_definitions TENON_WITH_ONEDNN=1)
endif()
if(TENON_WITH_ZLIB)
    list(APPEND tenon_libraries ZLIB::ZLIB)
    list(APPEND tenon_definitions TENON_WITH_ZLIB=1)
endif()
foreach(package IN ITEMS PNG JPEG RE2)
    if(TENON_HAS_${package})
        list(APPEND tenon_libraries ${package}::${package})
        list(APPEND tenon_definitions TENON_WITH_${package}=1)
    endif()
endforeach()

# Libraries that are headers only are not needed any more once this one is built: an installed tenon::tenon
# does not ask for them.
foreach(library IN LISTS tenon_libraries)
    if(library MATCHES "Eigen3|json")
        target_link_libraries(tenon PRIVATE $<BUILD_INTERFACE:${library}>)
    else()
        target_link_libraries(tenon PRIVATE ${library})
    endif()
endforeach()
target_link_libraries(tenon PRIVATE $<BUILD_INTERFACE:tenon_warnings> PUBLIC Threads::Threads)
target_link_libraries(tenon_header_only INTERFACE ${tenon_libraries} Threads::Threads)
target_compile_definitions(tenon PUBLIC ${tenon_definitions})
target_compile_definitions(tenon_header_only INTERFACE ${tenon_definitions})

include(GNUInstallDirs)
target_compile_features(tenon PUBLIC cxx_std_20)
target_compile_features(tenon_header_only INTERFACE cxx_std_20)
target_include_directories(tenon PUBLIC
    $<BUILD_INTERFACE:${tenon_include_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(tenon_header_only INTERFACE
    $<BUILD_INTERFACE:${tenon_include_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
