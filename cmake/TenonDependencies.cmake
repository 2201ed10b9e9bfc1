# Every library Tenon builds on: an installed one first, otherwise a pinned release is fetched.
# CMake's own switches work: CMAKE_DISABLE_FIND_PACKAGE_<Name>, FETCHCONTENT_SOURCE_DIR_<NAME>, ...

include(FetchContent)

# tenon_dependency(<package> REPOSITORY <url> TAG <tag> [FIND_ARGS <argument>...] [SET <name> <value>...])
# Makes the package's targets usable, and says in TENON_<package>_ORIGIN where they came from. SET gives the
# variables of a fetched project.
function(tenon_dependency package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "REPOSITORY;TAG" "FIND_ARGS;SET")

    while(arg_SET)
        list(POP_FRONT arg_SET name value)
        set(${name} ${value})
    endwhile()
    set(BUILD_SHARED_LIBS OFF)
    set(BUILD_TESTING OFF)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    set(CMAKE_EXPORT_COMPILE_COMMANDS OFF)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # a fetched project's options take the values set here
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
    set(CMAKE_WARN_DEPRECATED OFF)
    set(CMAKE_MESSAGE_LOG_LEVEL NOTICE)

    FetchContent_Declare(${package}
        GIT_REPOSITORY ${arg_REPOSITORY}
        GIT_TAG ${arg_TAG}
        GIT_SHALLOW ON
        SYSTEM
        FIND_PACKAGE_ARGS QUIET ${arg_FIND_ARGS})
    FetchContent_MakeAvailable(${package})

    if(${package}_FOUND)
        set(origin "${${package}_VERSION}")
        if(NOT origin)
            set(origin "${${package}_VERSION_STRING}") # FindZLIB before CMake 3.26
        endif()
    else()
        set(origin "${arg_TAG} (fetched: not installed)")
        set_property(GLOBAL APPEND PROPERTY TENON_FETCHED ${package})
        string(TOLOWER ${package} lower)
        set(${package}_SOURCE_DIR "${${lower}_SOURCE_DIR}" PARENT_SCOPE)
        set(${package}_BINARY_DIR "${${lower}_BINARY_DIR}" PARENT_SCOPE)
    endif()
    set(TENON_${package}_ORIGIN "${origin}" PARENT_SCOPE)
endfunction()

find_package(Threads REQUIRED)

tenon_dependency(Eigen3
    REPOSITORY https://gitlab.com/libeigen/eigen.git
    TAG 3.4.0
    FIND_ARGS 3.4 CONFIG
    SET EIGEN_BUILD_DOC OFF EIGEN_BUILD_PKGCONFIG OFF)

tenon_dependency(nlohmann_json
    REPOSITORY https://github.com/nlohmann/json.git
    TAG v3.11.2
    FIND_ARGS 3.10 CONFIG
    SET JSON_BuildTests OFF JSON_Install OFF)

if(TENON_WITH_ZLIB)
    tenon_dependency(ZLIB
            REPOSITORY https://github.com/madler/zlib.git
        TAG v1.3.1
        SET ZLIB_BUILD_EXAMPLES OFF)
    if(NOT TARGET ZLIB::ZLIB)
        add_library(ZLIB::ZLIB INTERFACE IMPORTED GLOBAL)
        target_link_libraries(ZLIB::ZLIB INTERFACE zlibstatic)
        target_include_directories(ZLIB::ZLIB SYSTEM INTERFACE "${ZLIB_SOURCE_DIR}" "${ZLIB_BINARY_DIR}")
        set_target_properties(zlib PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endif()

# zstd files are read by an installed libzstd; without it they are refused with what to install.
set(TENON_HAS_ZSTD OFF)
if(TENON_WITH_ZSTD)
    find_package(ZSTD QUIET)
    if(TARGET ZSTD::ZSTD)
        set(TENON_HAS_ZSTD ON)
        set(TENON_ZSTD_ORIGIN "${ZSTD_VERSION}")
    endif()
endif()

# Images are decoded by what is installed; without it the functions are there and say what to install.
foreach(package IN ITEMS PNG JPEG)
    set(TENON_HAS_${package} OFF)
    if(TENON_WITH_${package})
        find_package(${package} QUIET)
        if(TARGET ${package}::${package})
            set(TENON_HAS_${package} ON)
            set(TENON_${package}_ORIGIN "${${package}_VERSION}")
            if(NOT TENON_${package}_ORIGIN)
                set(TENON_${package}_ORIGIN "${${package}_VERSION_STRING}") # FindPNG before CMake 4
            endif()
        endif()
    endif()
endforeach()

# tenon_links(HAS LIBRARY PROGRAM)   sets HAS to whether PROGRAM can be linked with LIBRARY
include(CheckCXXSourceCompiles)
function(tenon_links has library program)
    set(CMAKE_REQUIRED_LIBRARIES ${library})
    set(CMAKE_CXX_STANDARD 20)
    string(REPLACE "_HAS_" "_LINKS_" links ${has})
    check_cxx_source_compiles("${program}" ${links})
    set(${has} ${${links}} PARENT_SCOPE)
endfunction()

# The same of regular expressions. RE2 speaks in strings of a C++ standard library, which must be the one used here.
set(TENON_HAS_RE2 OFF)
if(TENON_WITH_RE2)
    find_package(RE2 QUIET)
    if(TARGET RE2::RE2)
        tenon_links(TENON_HAS_RE2 RE2::RE2 "
            #include <string>
            #include <re2/re2.h>
            int main() { std::string text; return RE2::GlobalReplace(&text, text, text); }")
    endif()
endif()

# Parquet and Arrow files. These libraries speak in strings of a C++ standard library, too.
set(TENON_HAS_ARROW OFF)
if(TENON_WITH_ARROW)
    if(TENON_WITH_ARROW STREQUAL "AUTO")
        find_package(ArrowParquet QUIET)
    else()
        find_package(ArrowParquet REQUIRED)
    endif()
    if(TARGET ArrowParquet::ArrowParquet)
        tenon_links(TENON_HAS_ARROW ArrowParquet::ArrowParquet "
            #include <arrow/memory_pool.h>
            #include <parquet/properties.h>
            int main() {
                return arrow::default_memory_pool()->backend_name().empty() + parquet::default_reader_properties().is_buffered_stream_enabled();
            }")
        set(TENON_Arrow_ORIGIN "${ArrowParquet_VERSION}")
    endif()
endif()

# oneDNN takes long to build, so it is fetched only when asked for by name.
set(TENON_HAS_ONEDNN OFF)
if(TENON_WITH_ONEDNN STREQUAL "AUTO")
    find_package(oneDNN 2.6 QUIET)
    set(TENON_oneDNN_ORIGIN "${oneDNN_VERSION}")
elseif(TENON_WITH_ONEDNN)
    tenon_dependency(oneDNN
            REPOSITORY https://github.com/oneapi-src/oneDNN.git
        TAG v2.6.3
        FIND_ARGS 2.6 MODULE
        SET DNNL_BUILD_TESTS OFF DNNL_BUILD_EXAMPLES OFF DNNL_LIBRARY_TYPE STATIC)
    if(NOT TARGET oneDNN::oneDNN)
        add_library(oneDNN::oneDNN INTERFACE IMPORTED GLOBAL)
        target_link_libraries(oneDNN::oneDNN INTERFACE dnnl)
    endif()
endif()
if(TARGET oneDNN::oneDNN)
    set(TENON_HAS_ONEDNN ON)
endif()

# Small products by libxsmm, whose interface this is written for. How it is linked is said here, since its .pc files name its stand-in for a
# BLAS before what needs that.
set(TENON_HAS_LIBXSMM OFF)
set(TENON_LIBXSMM_LINK "-lxsmm -lxsmmnoblas -ldl -lm")
if(TENON_WITH_LIBXSMM)
    find_package(LIBXSMM 1.16 QUIET)
    if(TARGET LIBXSMM::LIBXSMM)
        set(TENON_HAS_LIBXSMM ON)
    endif()
endif()

# Asio is headers only and has no CMake package of its own.
if(TENON_WITH_NET)
    find_package(OpenSSL 3.0 REQUIRED)
    find_path(TENON_ASIO_INCLUDE_DIR asio.hpp)
    mark_as_advanced(TENON_ASIO_INCLUDE_DIR)
    if(TENON_ASIO_INCLUDE_DIR)
        file(STRINGS "${TENON_ASIO_INCLUDE_DIR}/asio/version.hpp" asio_version REGEX "define ASIO_VERSION ")
        string(REGEX MATCH "[0-9]+" asio_version "${asio_version}")
        math(EXPR asio_major "${asio_version} / 100000")
        math(EXPR asio_minor "${asio_version} / 100 % 1000")
        math(EXPR asio_patch "${asio_version} % 100")
        set(TENON_Asio_ORIGIN "${asio_major}.${asio_minor}.${asio_patch}")
    else()
        FetchContent_Declare(asio GIT_REPOSITORY https://github.com/chriskohlhoff/asio.git GIT_TAG asio-1-30-2 GIT_SHALLOW ON
            SOURCE_SUBDIR asio/include) # there is nothing to be configured
        FetchContent_MakeAvailable(asio)
        set(TENON_ASIO_INCLUDE_DIR "${asio_SOURCE_DIR}/asio/include")
        set(TENON_Asio_ORIGIN "asio-1-30-2 (fetched: not installed)")
    endif()
    add_library(tenon_asio INTERFACE)
    target_include_directories(tenon_asio SYSTEM INTERFACE "${TENON_ASIO_INCLUDE_DIR}")
    # Under clang, Asio before 1.24 does not find coroutines by itself.
    target_compile_definitions(tenon_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
        $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT ASIO_HAS_STD_COROUTINE>)
endif()

# cpp-httplib is headers only, or, as in Debian, a header and a library with definitions of its own, which say how it was built.
set(TENON_HAS_HTTPLIB OFF)
if(TENON_WITH_NET AND TENON_WITH_HTTPLIB)
    find_path(TENON_HTTPLIB_INCLUDE_DIR httplib.h)
    find_library(TENON_HTTPLIB_LIBRARY cpp-httplib)
    mark_as_advanced(TENON_HTTPLIB_INCLUDE_DIR TENON_HTTPLIB_LIBRARY)
    if(TENON_HTTPLIB_INCLUDE_DIR)
        file(STRINGS "${TENON_HTTPLIB_INCLUDE_DIR}/httplib.h" version REGEX "define CPPHTTPLIB_VERSION \"")
        string(REGEX REPLACE ".*\"(.*)\".*" "\\1" TENON_httplib_ORIGIN "${version}")
        add_library(tenon_httplib INTERFACE)
        target_include_directories(tenon_httplib SYSTEM INTERFACE "${TENON_HTTPLIB_INCLUDE_DIR}")
        if(TENON_HTTPLIB_LIBRARY)
            find_package(PkgConfig QUIET)
            pkg_check_modules(TENON_HTTPLIB QUIET cpp-httplib)
            target_compile_options(tenon_httplib INTERFACE ${TENON_HTTPLIB_CFLAGS_OTHER})
            target_link_libraries(tenon_httplib INTERFACE "${TENON_HTTPLIB_LIBRARY}")
        endif()
        set(TENON_HAS_HTTPLIB ON)
    endif()
endif()

# MPI's C interface; which of several is the compiler's to say, MPI_C_COMPILER.
set(TENON_HAS_MPI OFF)
if(TENON_WITH_MPI)
    include(CheckLanguage)
    check_language(C)
    if(CMAKE_C_COMPILER)
        enable_language(C) # FindMPI asks its compiler
        # Debian's openmpi-bin has mpicc without mpi.h, which FindMPI takes for an error even where it may find nothing.
        find_program(MPI_C_COMPILER NAMES mpicc)
        file(WRITE "${CMAKE_BINARY_DIR}/mpi_is_there.c" "#include <mpi.h>\n")
        execute_process(COMMAND "${MPI_C_COMPILER}" -fsyntax-only "${CMAKE_BINARY_DIR}/mpi_is_there.c"
            RESULT_VARIABLE tenon_mpi_lacks OUTPUT_QUIET ERROR_QUIET)
        if(NOT TENON_WITH_MPI STREQUAL "AUTO")
            find_package(MPI REQUIRED COMPONENTS C)
        elseif(tenon_mpi_lacks EQUAL 0)
            find_package(MPI QUIET COMPONENTS C)
        endif()
        set(TENON_HAS_MPI ${MPI_C_FOUND})
    endif()
endif()

if(TENON_WITH_NET)
    tenon_dependency(CLI11
            REPOSITORY https://github.com/CLIUtils/CLI11.git
        TAG v2.3.2
        FIND_ARGS 2.1 CONFIG
        SET CLI11_BUILD_TESTS OFF CLI11_BUILD_EXAMPLES OFF CLI11_BUILD_DOCS OFF CLI11_INSTALL OFF)
endif()

if(TENON_BUILD_TESTS)
    tenon_dependency(doctest
            REPOSITORY https://github.com/doctest/doctest.git
        TAG v2.4.11
        FIND_ARGS 2.4 CONFIG
        SET DOCTEST_WITH_TESTS OFF DOCTEST_NO_INSTALL ON)
endif()

if(TENON_BUILD_BENCHMARKS)
    tenon_dependency(benchmark
            REPOSITORY https://github.com/google/benchmark.git
        TAG v1.7.1
        FIND_ARGS 1.6 CONFIG
        SET BENCHMARK_ENABLE_TESTING OFF BENCHMARK_ENABLE_INSTALL OFF)
endif()

# A package that others find must itself be built from packages that others can find.
get_property(tenon_fetched GLOBAL PROPERTY TENON_FETCHED)
list(REMOVE_ITEM tenon_fetched CLI11 doctest benchmark)
if(TENON_INSTALL AND tenon_fetched)
    list(JOIN tenon_fetched ", " tenon_fetched)
    message(STATUS "No install rules: fetched, not installed: ${tenon_fetched}")
    set(TENON_INSTALL OFF)
endif()
