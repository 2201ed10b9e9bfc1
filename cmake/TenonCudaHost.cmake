# tenon_cuda_host(TARGET INCLUDE_DIRS...)   adds the objects of tenon::cuda that the C++ compiler makes: all but device code, and but what
# library_folders (cuda/device/library.hpp) are. The library has them, and the tests, which put an emulated GPU beneath them.

include(TenonCudaFamilies)
include(TenonCudaPrelude)

function(tenon_cuda_host target)
    set(cuda "${PROJECT_SOURCE_DIR}/cuda")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${cuda}/*.cpp")
    set(registration "${CMAKE_CURRENT_BINARY_DIR}/register_families.cpp")
    tenon_cuda_families("${cuda}/ops" "${registration}")
    set(prelude "${CMAKE_CURRENT_BINARY_DIR}/tape_prelude.cpp")
    tenon_cuda_prelude("${prelude}")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources} "${registration}" "${prelude}")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE ${TENON_OPTIMIZE})
    target_link_libraries(${target} PRIVATE tenon::tenon tenon_warnings)
    target_include_directories(${target} PRIVATE "${cuda}/include" "${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} SYSTEM PRIVATE ${ARGN})
    target_compile_definitions(${target} PRIVATE ${TENON_CUDA_DEFINITIONS})
endfunction()
