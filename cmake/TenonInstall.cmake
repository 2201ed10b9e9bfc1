# install, find_package(tenon [COMPONENTS tenon core image header_only net server launch mpi cuda]), pkg-config tenon,
# tenon-core, tenon-net, tenon-server

include(CMakePackageConfigHelpers)
set(tenon_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")

# Components: what programs need that run (runtime), and what one needs who builds them (dev, which is everything that says nothing).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
set(tenon_artifacts LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" PATTERN "*.md" EXCLUDE)

foreach(library IN ITEMS core image)
    install(TARGETS tenon_${library} EXPORT tenon_${library} ${tenon_artifacts})
    install(EXPORT tenon_${library} FILE tenon-${library}-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
endforeach()
install(TARGETS tenon EXPORT tenon)
install(EXPORT tenon FILE tenon-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
install(TARGETS tenon_header_only EXPORT tenon_header_only)
install(EXPORT tenon_header_only FILE tenon-header_only-targets.cmake NAMESPACE tenon::
    DESTINATION "${tenon_cmake_dir}")

if(TENON_WITH_NET)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/net/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    foreach(library IN ITEMS server launch)
        install(TARGETS tenon_${library} EXPORT tenon_${library} ${tenon_artifacts})
        install(EXPORT tenon_${library} FILE tenon-${library}-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
    endforeach()
    install(TARGETS tenon_net EXPORT tenon_net)
    install(EXPORT tenon_net FILE tenon-net-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
    install(TARGETS tenon_command COMPONENT runtime) # `tenon`
endif()

if(TENON_HAS_MPI)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/net/mpi/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(TARGETS tenon_mpi EXPORT tenon_mpi ${tenon_artifacts})
    install(EXPORT tenon_mpi FILE tenon-mpi-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
endif()

if(TENON_HAS_CUDA)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/cuda/include/tenon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(TARGETS tenon_cuda EXPORT tenon_cuda ${tenon_artifacts})
    install(EXPORT tenon_cuda FILE tenon-cuda-targets.cmake NAMESPACE tenon:: DESTINATION "${tenon_cmake_dir}")
endif()

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
    "${CMAKE_CURRENT_LIST_DIR}/FindRE2.cmake"
    DESTINATION "${tenon_cmake_dir}")

# What a static library leaves to the program's link line (pkg-config --static).
set(tenon_pc_requires "")
set(tenon_pc_libs "-pthread")
set(tenon_pc_cflags "")
if(TENON_WITH_ZLIB)
    list(APPEND tenon_pc_requires "zlib")
    string(APPEND tenon_pc_cflags " -DTENON_WITH_ZLIB=1")
endif()
if(TENON_HAS_RE2)
    list(APPEND tenon_pc_requires "re2")
    string(APPEND tenon_pc_cflags " -DTENON_WITH_RE2=1")
endif()
list(JOIN tenon_pc_requires ", " tenon_pc_requires)
set(tenon_image_pc_requires "")
set(tenon_image_pc_cflags "")
if(TENON_HAS_PNG)
    list(APPEND tenon_image_pc_requires "libpng")
    string(APPEND tenon_image_pc_cflags " -DTENON_WITH_PNG=1")
endif()
if(TENON_HAS_JPEG)
    list(APPEND tenon_image_pc_requires "libjpeg")
    string(APPEND tenon_image_pc_cflags " -DTENON_WITH_JPEG=1")
endif()
list(JOIN tenon_image_pc_requires ", " tenon_image_pc_requires)
if(TENON_HAS_ONEDNN)
    string(PREPEND tenon_pc_libs "-ldnnl ")
    cmake_path(GET oneDNN_LIBRARY PARENT_PATH tenon_dnnl_dir)
    if(NOT tenon_dnnl_dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        string(PREPEND tenon_pc_libs "-L${tenon_dnnl_dir} ")
    endif()
    string(APPEND tenon_pc_cflags " -DTENON_WITH_ONEDNN=1")
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
if(TENON_HAS_MPI)
    list(APPEND tenon_pc tenon-mpi)
    list(JOIN MPI_C_LIBRARIES " " tenon_pc_mpi)
endif()
set(tenon_pc_image "-Wl,-u,tenon_image_linked -ltenon_image")
set(tenon_pc_launch "-Wl,-u,tenon_launch_linked -ltenon_launch")
set(tenon_pc_server "-Wl,-u,tenon_server_linked -ltenon_server") # as tenon_always_linked() does
if(TENON_HAS_HTTPLIB)
    string(PREPEND tenon_pc_server "-Wl,-u,tenon_http_linked ")
endif()
if(BUILD_SHARED_LIBS)
    foreach(library IN ITEMS image launch server)
        set(tenon_pc_${library} "-Wl,--push-state,--no-as-needed -ltenon_${library} -Wl,--pop-state")
    endforeach()
endif()
foreach(name IN LISTS tenon_pc)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
