# libtenon.a and net/libtenon_net.a in the build folder: scripts of the linker which name the static libraries that tenon::tenon and
# tenon::net stand for, and what those need, so that a compiler called by hand is given one file:
#
#     g++ -std=c++20 -O2 -Iinclude program.cpp build/release/libtenon.a

set(tenon_link_of_LIBXSMM "${TENON_LIBXSMM_LINK}")
set(tenon_link_of_ZLIB -lz)
set(tenon_link_of_ZSTD -lzstd)
set(tenon_link_of_RE2 -lre2)
set(tenon_link_of_PNG -lpng)
set(tenon_link_of_JPEG -ljpeg)
set(tenon_link_tenon "")
foreach(package IN ITEMS PNG JPEG RE2 LIBXSMM ZSTD ZLIB)
    if("${package}::${package}" IN_LIST tenon_image_libraries OR "${package}::${package}" IN_LIST tenon_core_libraries)
        string(APPEND tenon_link_tenon " ${tenon_link_of_${package}}")
    endif()
endforeach()
if(TARGET dnnl)
    string(APPEND tenon_link_tenon " $<TARGET_FILE:dnnl>")
elseif(TENON_HAS_ONEDNN)
    string(APPEND tenon_link_tenon " ${oneDNN_LIBRARY}")
endif()
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/libtenon.a" CONTENT
"EXTERN(tenon_image_linked)
GROUP($<TARGET_FILE:tenon_image> $<TARGET_FILE:tenon_core>${tenon_link_tenon} -lpthread)
")
if(TENON_WITH_NET)
    set(tenon_link_net "-lssl -lcrypto")
    if(TENON_HAS_HTTPLIB AND TENON_HTTPLIB_LIBRARY)
        string(PREPEND tenon_link_net "-lcpp-httplib ")
    endif()
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/net/libtenon_net.a" CONTENT
"EXTERN(tenon_launch_linked tenon_server_linked $<$<BOOL:${TENON_HAS_HTTPLIB}>:tenon_http_linked>)
GROUP($<TARGET_FILE:tenon_launch> $<TARGET_FILE:tenon_server> ${PROJECT_BINARY_DIR}/libtenon.a ${tenon_link_net})
")
endif()
