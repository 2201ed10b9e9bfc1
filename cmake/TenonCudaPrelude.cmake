# tenon_cuda_prelude(OUTPUT)   writes a C++ source with the text that is given to NVRTC before the kernels of tapes: device code that
# nvcc compiles too.

function(tenon_cuda_prelude output)
    set(text "")
    foreach(name IN ITEMS include/tenon/simd/polygamma cuda/kernels/tape/functions cuda/kernels/tape/loops)
        set(file "${PROJECT_SOURCE_DIR}/${name}.hpp")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
        file(READ "${file}" content)
        string(REPLACE "#pragma once\n" "" content "${content}")
        string(APPEND text "${content}")
    endforeach()
    # Compilers need not take longer literals than 64 KiB, nor CMake's lists semicolons.
    file(CONFIGURE OUTPUT "${output}" CONTENT
"#include <cuda/tapes/source.hpp>

namespace tenon::cuda::tapes {
const char* prelude() {
    return R\"TENON(${text})TENON\";
}
} // namespace tenon::cuda::tapes
" @ONLY)
endfunction()
