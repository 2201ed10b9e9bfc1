# What can be chosen when configuring, and the defaults that follow from it.

option(TENON_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TENON_BUILD_BENCHMARKS "Configure the benchmarks (target tenon_benchmarks)" OFF)
option(TENON_BUILD_PYTHON "Build the Python module tenon (Python 3.10 with its headers, nanobind)" OFF)
option(TENON_HEADER_ONLY_TESTS "Link tests and examples to tenon::header_only" OFF)
option(TENON_WERROR "Treat warnings in Tenon's own code as errors" OFF)
option(TENON_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})

# tenon_auto_option(NAME DEFAULT WORDS)   AUTO, ON or OFF
function(tenon_auto_option name default words)
    set(${name} ${default} CACHE STRING "${words}")
    set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
endfunction()
set(tenon_auto_alone OFF) # what a project that takes Tenon in asks for, if it wants that
if(PROJECT_IS_TOP_LEVEL)
    set(tenon_auto_alone AUTO)
endif()
tenon_auto_option(TENON_WITH_ONEDNN AUTO
    "Use oneDNN for matrix products and convolutions: AUTO (when found), ON (find or fetch), OFF")
tenon_auto_option(TENON_WITH_CUDA ${tenon_auto_alone}
    "Build tenon::cuda: the machine's NVIDIA GPUs (CUDA Toolkit 13): AUTO (where there is a GPU and the toolkit), ON, OFF")
option(TENON_WITH_NET "Build tenon::net: servers and remote sessions (Asio, OpenSSL)" ${PROJECT_IS_TOP_LEVEL})
option(TENON_WITH_HTTPLIB "Servers tell by HTTP how they are, with cpp-httplib, where it is found" ON)
tenon_auto_option(TENON_WITH_MPI ${tenon_auto_alone}
    "Build tenon::mpi: collectives of processes that mpirun started: AUTO (when MPI is found), ON, OFF")
tenon_auto_option(TENON_WITH_ARROW ${tenon_auto_alone}
    "Build tenon::arrow: Parquet and Arrow files as data sets (Apache Arrow): AUTO (when found), ON, OFF")
set(TENON_ARROW_ROOT "" CACHE PATH "A folder with Arrow's include/ and libraries, such as that of Python's pyarrow (empty: find its packages)")
option(TENON_WITH_LIBXSMM "Small products of matrices by libxsmm, where it is found" ON)
option(TENON_WITH_ZLIB "Read gzipped files with zlib (find or fetch)" ON)
option(TENON_WITH_ZSTD "Read and write .zst files with libzstd, where it is found" ON)
option(TENON_WITH_PNG "Read and write PNG files with libpng, where it is found" ON)
option(TENON_WITH_JPEG "Read and write JPEG files with libjpeg-turbo, where it is found" ON)
option(TENON_WITH_RE2 "Replace regular expressions with RE2, where it is found" ON)

set(TENON_SANITIZE "" CACHE STRING "Sanitizers for everything built: address,undefined or thread")
set(TENON_TEST_FOLDERS "" CACHE STRING "Folders of test/ to build, separated by ';' (empty: all)")
option(TENON_COMPILER_TESTS
    "Register the tests that run the compiler: headers, compile failures, build cost, packages" ON)

# Everything below is for Tenon's own build: as a part of another project it takes that project's settings.
if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()

get_property(tenon_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT tenon_multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Plain -O2: kernels hold code for several instruction sets and choose among them at run time.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# A unit's garbage is hardly worth collecting: up to 500 MB that costs g++ 5 to 10 % of its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>")
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(TENON_CCACHE ccache)
mark_as_advanced(TENON_CCACHE)
if(TENON_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths relative to the sources let copies of them, and presets, share what is compiled in the same way. What is not there
    # yet is not preprocessed beforehand: the compiler tells what it depends on.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 "${TENON_CCACHE}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

if(TENON_SANITIZE)
    add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${TENON_SANITIZE})
endif()
