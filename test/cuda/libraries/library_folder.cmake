# cmake -DTO_TEST=cmake/TenonLibraryFolder.cmake -DFOLDER=... -P: which folder is taken for that of a library, from that of its headers.

include("${TO_TEST}")
set(CMAKE_LIBRARY_ARCHITECTURE some-machine)
file(REMOVE_RECURSE "${FOLDER}")
foreach(file IN ITEMS wheels/nvidia/cudnn/lib/libcudnn.so.9 wheels/nvidia/nccl/lib/libnccl.so.2 usr/lib/some-machine/libnccl.so
        toolkit/lib64/libcudnn.so.9)
    file(WRITE "${FOLDER}/${file}" "")
endforeach()

function(expect include_dir folder)
    tenon_library_folder(found "${FOLDER}/${include_dir}" ${ARGN})
    if(NOT found STREQUAL folder)
        message(SEND_ERROR "${include_dir}, ${ARGN}: ${found} in the place of ${folder}")
    endif()
endfunction()
expect(wheels/nvidia/cudnn/include "${FOLDER}/wheels/nvidia/cudnn/lib" libcudnn.so.9)
expect(wheels/nvidia/nccl/include "${FOLDER}/wheels/nvidia/nccl/lib" libnccl.so.2 libnccl.so)
expect(usr/include "${FOLDER}/usr/lib/some-machine" libnccl.so.2 libnccl.so)
expect(toolkit/include "${FOLDER}/toolkit/lib64" libcudnn.so.9)
expect(usr/include "" libcudnn.so.9)
