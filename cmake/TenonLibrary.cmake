# tenon::tenon        the compiled library: translation units of a folder's .ipp files, and of the kernels of op
#                     families (ops/THEME/FAMILY.hpp), all found by glob
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

# Most of what a file costs the compiler are headers and the standard library's templates, which a unit of several files pays for
# once. What is compiled for each instruction set takes long by itself, and is a unit of its own. tenon_unit_of_FILE (without its
# suffix) is the unit that has it, for who compiles it in another way.
set(tenon_files_in_unit 8)
set(tenon_sources "")
foreach(file IN LISTS tenon_ipp tenon_ops)
    cmake_path(REMOVE_EXTENSION file OUTPUT_VARIABLE name)
    cmake_path(GET file PARENT_PATH unit)
    file(STRINGS "${tenon_include_dir}/${file}" simd REGEX "define TENON_SIMD_FILE" LIMIT_COUNT 1)
    if(simd)
        set(unit "${file}")
    endif()
    if(NOT tenon_files_left_${unit})
        set(tenon_source_${unit} "${PROJECT_BINARY_DIR}/generated/${name}.cpp")
        list(APPEND tenon_sources "${tenon_source_${unit}}")
        set(tenon_files_left_${unit} ${tenon_files_in_unit})
        set(tenon_definitions_${unit} "")
        set(tenon_includes_${unit} "")
    endif()
    set(tenon_unit_of_${name} "${tenon_source_${unit}}")
    math(EXPR tenon_files_left_${unit} "${tenon_files_left_${unit}} - 1")
    if(file MATCHES "/(ops/.*\\.hpp|expr/fused\\.ipp)$")
        cmake_path(GET file STEM family)
        string(APPEND tenon_definitions_${unit} "#define TENON_KERNELS_OF_${family} 1\n")
    endif()
    string(APPEND tenon_includes_${unit} "#include <${file}>\n")
    file(CONFIGURE OUTPUT "${tenon_source_${unit}}"
        CONTENT "${tenon_definitions_${unit}}${tenon_includes_${unit}}" @ONLY)
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
