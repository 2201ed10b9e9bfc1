# tenon::core         compiled: translation units of .ipp files, and of the kernels of op families
#                     (ops/THEME/FAMILY.hpp), all found by glob
# tenon::image        the same of images, their files and ops, which who links tenon::core alone does without
# tenon::tenon        both
# tenon::arrow        Parquet and Arrow files, where Apache Arrow is found; header-only a program defines TENON_WITH_ARROW and links it
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

foreach(file IN LISTS tenon_ipp tenon_ops)
    set(library core)
    if(file MATCHES "^tenon/(io|ops)/image/")
        set(library image)
    elseif(file MATCHES "^tenon/arrow/")
        set(library arrow)
    endif()
    list(APPEND tenon_${library}_sources "${tenon_include_dir}/${file}")
endforeach()

# The libraries behind them: seen only by their own sources, or by everybody when header-only.
set(tenon_core_libraries Eigen3::Eigen nlohmann_json::nlohmann_json)
set(tenon_core_definitions "")
set(tenon_image_libraries "")
set(tenon_image_definitions "")
set(TENON_HAS_ZLIB ${TENON_WITH_ZLIB})
foreach(behind oneDNN::oneDNN LIBXSMM::LIBXSMM ZLIB::ZLIB ZSTD::ZSTD RE2::RE2)
    string(REGEX REPLACE "::.*" "" package "${behind}")
    string(TOUPPER "${package}" package)
    if(TENON_HAS_${package})
        list(APPEND tenon_core_libraries ${behind})
        list(APPEND tenon_core_definitions TENON_WITH_${package}=1)
    endif()
endforeach()
foreach(package IN ITEMS PNG JPEG)
    if(TENON_HAS_${package})
        list(APPEND tenon_image_libraries ${package}::${package})
        list(APPEND tenon_image_definitions TENON_WITH_${package}=1)
    endif()
endforeach()

include(GNUInstallDirs)
set(tenon_include_dirs $<BUILD_INTERFACE:${tenon_include_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
tenon_library(header_only)
target_compile_definitions(tenon_header_only INTERFACE TENON_HEADER_ONLY=1)
target_compile_features(tenon_header_only INTERFACE cxx_std_20)
target_include_directories(tenon_header_only INTERFACE ${tenon_include_dirs})
foreach(library IN ITEMS core image)
    tenon_units(units ${tenon_${library}_sources})
    tenon_library(${library} ${units})
    target_compile_features(tenon_${library} PUBLIC cxx_std_20)
    target_include_directories(tenon_${library} PUBLIC ${tenon_include_dirs})
    target_compile_definitions(tenon_${library} PUBLIC ${tenon_${library}_definitions})
    target_compile_definitions(tenon_header_only INTERFACE ${tenon_${library}_definitions})
    # Libraries that are headers only are not needed any more once this one is built: an installed one does not ask for them.
    foreach(behind IN LISTS tenon_${library}_libraries)
        if(behind MATCHES "Eigen3|json")
            target_link_libraries(tenon_${library} PRIVATE $<BUILD_INTERFACE:${behind}>)
        else()
            target_link_libraries(tenon_${library} PRIVATE ${behind})
        endif()
    endforeach()
    target_link_libraries(tenon_${library} PUBLIC Threads::Threads)
    target_link_libraries(tenon_header_only INTERFACE ${tenon_${library}_libraries} Threads::Threads)
endforeach()
target_link_libraries(tenon_image PUBLIC tenon_core)
tenon_always_linked(tenon_image tenon_image_linked) # data sets and event files, which are the core's, name nothing of it
if(TENON_HAS_ARROW)
    tenon_units(units ${tenon_arrow_sources})
    tenon_library(arrow ${units})
    target_compile_definitions(tenon_arrow PUBLIC TENON_WITH_ARROW=1)
    target_link_libraries(tenon_arrow PUBLIC tenon_core PRIVATE ArrowParquet::ArrowParquet)
endif()
tenon_library(tenon)
target_link_libraries(tenon_tenon INTERFACE tenon_image tenon_core)
