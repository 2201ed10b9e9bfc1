# install, find_package(tenon [COMPONENTS tenon core image arrow header_only net server launch mpi cuda]), pkg-config tenon,
# tenon-core, tenon-net, tenon-server

include(CMakePackageConfigHelpers)
set(tenon_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")

# Components: what programs need that run (runtime), and what one needs who builds them (dev, which is everything that says nothing).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
set(tenon_artifacts LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" PATTERN "*.md" EXCLUDE)

foreach(library IN ITEMS tenon core image arrow header_only net server launch mpi cuda)
    if(TARGET tenon_${library})
        install(TARGETS tenon_${library} EXPORT tenon_${library} ${tenon_artifacts})
        install(EXPORT tenon_${library} FILE tenon-${library}-targets.cmake NAMESPACE tenon::
            DESTINATION "${tenon_cmake_dir}")
    endif()
endforeach()
if(TENON_WITH_NET)
    install(TARGETS tenon_command COMPONENT runtime) # `tenon`
endif()
if(TARGET tenon_cuda AND NOT TENON_CUDA_ARCHITECTURES MATCHES "-real")
    install(CODE "message(STATUS \"tenon::cuda has no machine code (TENON_CUDA_ARCHITECTURES is ${TENON_CUDA_ARCHITECTURES}): a card's driver \"
        \"compiles all kernels when a program first starts, tens of seconds; -DTENON_CUDA_ARCHITECTURES=release has it for all cards\")" COMPONENT dev)
endif()
foreach(part IN ITEMS net net/mpi cuda)
    cmake_path(GET part FILENAME library)
    if(TARGET tenon_${library})
        install(DIRECTORY "${PROJECT_SOURCE_DIR}/${part}/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
endforeach()

get_target_property(tenon_type tenon_core TYPE)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tenon-config.cmake.in"
    "${PROJECT_BINARY_DIR}/tenon-config.cmake"
    INSTALL_DESTINATION "${tenon_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tenon-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/tenon-config.cmake"
    "${PROJECT_BINARY_DIR}/tenon-config-version.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindoneDNN.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindLIBXSMM.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindRE2.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindZSTD.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/FindArrowParquet.cmake"
    DESTINATION "${tenon_cmake_dir}")

# How gdb shows arrays and tensors: "source" this file.
install(FILES "${CMAKE_CURRENT_LIST_DIR}/tenon_gdb.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/tenon/gdb")

# What a static library leaves to the program's link line (pkg-config --static).
set(tenon_pc_libs "-pthread")
set(tenon_pc_of_ZLIB zlib)
set(tenon_pc_of_ZSTD libzstd)
set(tenon_pc_of_RE2 re2)
set(tenon_pc_of_PNG libpng)
set(tenon_pc_of_JPEG libjpeg)
foreach(library IN ITEMS core image)
    list(TRANSFORM tenon_${library}_definitions PREPEND " -D" OUTPUT_VARIABLE flags)
    list(JOIN flags "" tenon_${library}_pc_cflags)
    set(requires "")
    foreach(package IN ITEMS ZLIB ZSTD RE2 PNG JPEG)
        if("${package}::${package}" IN_LIST tenon_${library}_libraries)
            list(APPEND requires "${tenon_pc_of_${package}}")
        endif()
    endforeach()
    list(JOIN requires ", " tenon_${library}_pc_requires)
endforeach()
if(TENON_HAS_LIBXSMM)
    string(PREPEND tenon_pc_libs "${TENON_LIBXSMM_LINK} ")
endif()
if(TENON_HAS_ONEDNN)
    string(PREPEND tenon_pc_libs "-ldnnl ")
    cmake_path(GET oneDNN_LIBRARY PARENT_PATH tenon_dnnl_dir)
    if(NOT tenon_dnnl_dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        string(PREPEND tenon_pc_libs "-L${tenon_dnnl_dir} ")
    endif()
endif()

# The path from the .pc file up to the prefix, so that an installed Tenon can be moved.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "/prefix" NORMALIZE OUTPUT_VARIABLE tenon_pc_dir)
cmake_path(APPEND tenon_pc_dir "pkgconfig")
cmake_path(RELATIVE_PATH tenon_pc_dir BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE tenon_pc_dir)
string(REGEX REPLACE "[^/]+" ".." tenon_pc_up "${tenon_pc_dir}")
set(tenon_net_pc_requires "")
if(TENON_HAS_HTTPLIB AND TENON_HTTPLIB_LIBRARY)
    set(tenon_net_pc_requires ", cpp-httplib")
endif()
set(tenon_pc tenon tenon-core)
if(TENON_WITH_NET)
    list(APPEND tenon_pc tenon-net tenon-server)
endif()
if(TENON_HAS_ARROW AND NOT TENON_ARROW_ROOT) # such a folder has no .pc files
    list(APPEND tenon_pc tenon-arrow)
endif()
if(TENON_HAS_MPI)
    list(APPEND tenon_pc tenon-mpi)
    list(JOIN MPI_C_LIBRARIES " " tenon_pc_mpi)
endif()
foreach(library IN ITEMS image launch server) # as tenon_always_linked() does
    set(tenon_pc_${library} "-Wl,-u,tenon_${library}_linked -ltenon_${library}")
    if(BUILD_SHARED_LIBS)
        set(tenon_pc_${library} "-Wl,--push-state,--no-as-needed -ltenon_${library} -Wl,--pop-state")
    elseif(library STREQUAL "server" AND TENON_HAS_HTTPLIB)
        string(PREPEND tenon_pc_server "-Wl,-u,tenon_http_linked ")
    endif()
endforeach()
foreach(name IN LISTS tenon_pc)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
