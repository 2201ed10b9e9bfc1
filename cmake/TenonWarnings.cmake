# tenon_warnings: the warnings that Tenon's own code is written to; never passed on to a user's code.

add_library(tenon_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    set(TENON_WARNING_FLAGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef)
    # doctest's macros count with __COUNTER__, of which clang 22's -Wpedantic warns where they are expanded.
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(-Wc2y-extensions TENON_WARNS_OF_C2Y)
    if(TENON_WARNS_OF_C2Y)
        list(APPEND TENON_WARNING_FLAGS -Wno-c2y-extensions)
    endif()
    # A process exits while threads of its servers and sessions go on: what is static stays (static auto& x = *new X).
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        set(TENON_LIBRARY_WARNINGS -Wexit-time-destructors)
    endif()
    if(TENON_WERROR)
        list(APPEND TENON_WARNING_FLAGS -Werror)
    endif()
    target_compile_options(tenon_warnings INTERFACE ${TENON_WARNING_FLAGS})
endif()
