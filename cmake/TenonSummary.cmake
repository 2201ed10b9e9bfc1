# Says what was found, what was not, and what that means.

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()

function(tenon_say name text)
    string(LENGTH "${name}" length)
    math(EXPR blanks "16 - ${length}")
    string(REPEAT " " ${blanks} blanks)
    message(STATUS "  ${name}${blanks}${text}")
endfunction()

# tenon_say_part(NAME HAS WITH HINT WORDS WITHOUT [TARGET])   WORDS where the variable HAS is true; else why it is not there, and WITHOUT.
# HINT is Debian's package, or more words of where to find it; TARGET is there where it was found and does not link.
function(tenon_say_part name has with hint words without)
    if(hint MATCHES "-dev$")
        string(PREPEND hint "Debian: ")
    endif()
    if(${has})
        tenon_say("${name}" "${words}")
    elseif(ARGC GREATER 6 AND TARGET "${ARGV6}")
        tenon_say("${name}" "found, but it does not link here (another C++ standard library?): ${without}")
    elseif(${with})
        tenon_say("${name}" "not found: ${without} (${hint})")
    else()
        tenon_say("${name}" "switched off: ${without}")
    endif()
endfunction()

get_target_property(tenon_type tenon_core TYPE)
string(TOLOWER "${tenon_type}" tenon_type)
string(REPLACE "_" " " tenon_type "${tenon_type}")
set(tenon_built_type "${CMAKE_BUILD_TYPE}")
if(TENON_SANITIZE)
    string(APPEND tenon_built_type ", sanitizers: ${TENON_SANITIZE}")
endif()

message(STATUS "Tenon ${PROJECT_VERSION}")
tenon_say("compiler" "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${tenon_built_type}")
tenon_say("tenon::tenon" "${tenon_type}, tenon::core and tenon::image; instruction sets are chosen at run time")
tenon_say("Eigen" "${TENON_Eigen3_ORIGIN}")
tenon_say("nlohmann/json" "${TENON_nlohmann_json_ORIGIN}")
tenon_say_part("oneDNN" TENON_HAS_ONEDNN TENON_WITH_ONEDNN libdnnl-dev
    "${TENON_oneDNN_ORIGIN}: matrix products, convolutions and pooling use it"
    "matrix products and convolutions use Eigen, which is slower")
tenon_say_part("libxsmm" TENON_HAS_LIBXSMM TENON_WITH_LIBXSMM libxsmm-dev
    "${LIBXSMM_VERSION}: small products use it" "small products take longer")
tenon_say_part("zlib" TENON_WITH_ZLIB TENON_WITH_ZLIB zlib1g-dev
    "${TENON_ZLIB_ORIGIN}: gzipped data files can be read" "gzipped data files cannot be read")
tenon_say_part("zstd" TENON_HAS_ZSTD TENON_WITH_ZSTD libzstd-dev
    "${TENON_ZSTD_ORIGIN}: .zst data files can be read and written" ".zst data files cannot be read")
foreach(package IN ITEMS PNG JPEG)
    string(TOLOWER "lib${package}" name)
    tenon_say_part("${name}" TENON_HAS_${package} TENON_WITH_${package} ${name}-dev
        "${TENON_${package}_ORIGIN}: ${package} images can be read and written (tenon::image)" "${package} images cannot be read")
endforeach()
tenon_say_part("RE2" TENON_HAS_RE2 TENON_WITH_RE2 libre2-dev
    "found: regular expressions can be replaced" "regular expressions cannot be replaced" RE2::RE2)
tenon_say_part("Arrow" TENON_HAS_ARROW TENON_WITH_ARROW "Python's pyarrow has it: -DTENON_ARROW_ROOT=<its folder>"
    "${TENON_Arrow_ORIGIN}: Parquet and Arrow files are data sets by linking tenon::arrow"
    "no tenon::arrow, and no Parquet and Arrow files" ArrowParquet::ArrowParquet)
tenon_say_part("MPI" TENON_HAS_MPI TENON_WITH_MPI libopenmpi-dev
    "${MPI_C_VERSION}, ${MPI_C_COMPILER}: processes that mpirun starts train together by linking tenon::mpi"
    "no collectives by it")
if(TENON_HAS_CUDA)
    list(JOIN TENON_CUDA_ARCHITECTURES ", " tenon_architectures)
    tenon_say("CUDA" "${CUDAToolkit_VERSION}, for ${tenon_architectures}, ${TENON_CUDA_WHY}: GPUs by linking tenon::cuda")
    foreach(part
        "cuBLASLt;products on GPUs use Tenon's own kernels, which are slower (Python: nvidia-cublas)"
        "NVRTC;elementwise expressions are interpreted on GPUs, which is slow (Python: nvidia-cuda-nvrtc)"
        "cuDNN;convolutions on GPUs use Tenon's own kernels, which are slower (Python: nvidia-cudnn-cu13)"
        "NCCL;gradients of several GPUs are summed by copies (Python: nvidia-nccl-cu13)"
        "cuFFT;Fourier transforms on GPUs use Tenon's own kernels, which are slower (Python: nvidia-cufft)"
        "cuSOLVER;large matrices are decomposed on GPUs by Tenon's own kernels, which are slower (Python: nvidia-cusolver)")
        list(POP_FRONT part name)
        string(TOUPPER "${name}" library)
        if(TENON_HAS_${library})
            set(where "where the dynamic loader finds it")
            if(TENON_${library}_FOLDER)
                string(APPEND where ", else in ${TENON_${library}_FOLDER}")
            endif()
            set(version "")
            if(TENON_${library}_ORIGIN)
                set(version "${TENON_${library}_ORIGIN}, ")
            endif()
            tenon_say("${name}" "${version}opened when it is first needed, ${where}")
        else()
            tenon_say("${name}" "${TENON_${library}_WHY}: ${part}")
        endif()
    endforeach()
else()
    tenon_say("CUDA" "${TENON_CUDA_WHY}: no GPUs but simulated ones")
endif()
tenon_say_part("net" TENON_WITH_NET TENON_WITH_NET ""
    "Asio ${TENON_Asio_ORIGIN}, OpenSSL ${OPENSSL_VERSION}: servers and remote sessions" "no servers, no remote sessions")
if(TENON_WITH_NET AND TENON_WITH_HTTPLIB)
    tenon_say_part("cpp-httplib" TENON_HAS_HTTPLIB TENON_WITH_HTTPLIB libcpp-httplib-dev
        "${TENON_httplib_ORIGIN}: servers tell by HTTP how they are" "servers do not serve HTTP")
endif()
if(TARGET tenon_python)
    tenon_say("Python" "module tenon for ${Python_VERSION} (${Python_EXECUTABLE}), nanobind ${nanobind_VERSION}")
elseif(TENON_BUILD_PYTHON)
    tenon_say("Python" "no module: ${TENON_PYTHON_WHY}")
else()
    tenon_say("Python" "no module (TENON_BUILD_PYTHON: needs Python 3.10 with its headers, and nanobind: pip install nanobind)")
endif()
if(TENON_CCACHE)
    tenon_say("ccache" "${TENON_CCACHE}")
else()
    tenon_say("ccache" "not found: building again after a clean takes as long as the first time")
endif()
if(TENON_BUILD_TESTS)
    set(tenon_target tenon::tenon)
    if(TENON_HEADER_ONLY_TESTS)
        set(tenon_target tenon::header_only)
    endif()
    tenon_say("tests" "yes, with ${tenon_target}; doctest ${TENON_doctest_ORIGIN}")
else()
    tenon_say("tests" "no (TENON_BUILD_TESTS)")
endif()
if(TENON_BUILD_BENCHMARKS)
    tenon_say("benchmarks" "target tenon_benchmarks; Google Benchmark ${TENON_benchmark_ORIGIN}")
else()
    tenon_say("benchmarks" "no (TENON_BUILD_BENCHMARKS)")
endif()
if(TENON_INSTALL)
    tenon_say("install" "to ${CMAKE_INSTALL_PREFIX}")
endif()
