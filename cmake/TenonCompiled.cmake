# tenon_compiled(TARGET [INTERNAL NAMESPACE])   gives a compiled library what all of them have: code that can be shared, a name with
# its version and, where it is shared, no symbols but those of namespace tenon and of none of tenon::NAMESPACE.
#
# What is shared is chosen by the linker, and not by -fvisibility=hidden with a macro at each public name. Templates that users
# instantiate call what is in detail namespaces, exceptions and what has virtual functions must be one type on both sides, and
# variables of inline functions one variable: nearly all of namespace tenon would have to be marked. What must not be seen are
# the instantiations of Eigen, nlohmann/json, Asio, CLI11, CUDA's runtime and the standard library: a program may have others.
function(tenon_compiled target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "INTERNAL" "")
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        DEFINE_SYMBOL "" # the same objects as for a static library, so that ccache has them
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        INSTALL_RPATH "$ORIGIN")
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "SHARED_LIBRARY" OR NOT UNIX OR APPLE)
        return()
    endif()

    set(names "*")
    if(arg_INTERNAL) # globs that match all but what begins with its length and name, as far as its second letter
        string(LENGTH "${arg_INTERNAL}" length)
        string(SUBSTRING "${arg_INTERNAL}" 0 1 first)
        string(SUBSTRING "${arg_INTERNAL}" 1 1 second)
        set(names "[!${length}]*" "${length}[!${first}]*" "${length}${first}[!${second}]*")
    endif()
    # As the Itanium ABI spells it: functions and variables; vtables, type_info and its names, VTTs; thunks; variables of functions
    # and guards; references' temporaries; thread-local variables.
    set(kinds N NK NR NO NKR NKO TVN TIN TSN TTN "Th*_N" "Th*_NK" "Tv*_N" "Tv*_NK" ZN ZNK GVN GVZN GVZNK GRN TWN THN)
    set(script "{\nglobal:\n    tenon_*;\n")
    foreach(kind IN LISTS kinds)
        foreach(name IN LISTS names)
            string(APPEND script "    _Z${kind}5tenon${name};\n")
        endforeach()
    endforeach()
    string(APPEND script "local:\n    *;\n};\n")
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${script}" @ONLY)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${file}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${file}")
endfunction()

# tenon_library(NAME SOURCE... )   makes tenon::NAME, a compiled library, the target tenon_NAME; of no sources: of others.
function(tenon_library name)
    set(target tenon_${name})
    if(NOT ARGN)
        add_library(${target} INTERFACE)
    else()
        add_library(${target} ${ARGN})
        tenon_compiled(${target})
        target_compile_options(${target} PRIVATE ${TENON_OPTIMIZE} ${TENON_LIBRARY_WARNINGS})
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tenon_warnings>)
    endif()
    add_library(tenon::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endfunction()

# tenon_always_linked(TARGET SYMBOL)   has programs link the library although they name nothing of it; SYMBOL is defined in what
# must be there.
function(tenon_always_linked target symbol)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY") # of which a linker with --as-needed, as Debian's compilers call it, counts no such symbols
        target_link_options(${target} INTERFACE "LINKER:--no-as-needed")
    else()
        target_link_options(${target} INTERFACE "LINKER:-u,${symbol}")
    endif()
endfunction()

# As a part of another project Tenon is built as that says; one that says nothing would get kernels that are many times slower.
set(TENON_OPTIMIZE "")
get_property(tenon_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT tenon_multi_config
   AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
    message(STATUS "Tenon: CMAKE_BUILD_TYPE is not set: its libraries are compiled with -O2 "
        "(what is header-only takes the flags of your own targets)")
    set(TENON_OPTIMIZE -O2)
endif()
