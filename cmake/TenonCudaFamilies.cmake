# tenon_cuda_families(FOLDER TO): writes the file TO, the one place that knows all families of kernels: each ops/THEME/NAME.cpp has its
# register_NAME().
function(tenon_cuda_families folder to)
    file(GLOB families CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*/*.cpp")
    set(declarations "")
    set(calls "")
    foreach(file IN LISTS families)
        cmake_path(GET file STEM family)
        string(APPEND declarations "void register_${family}();\n")
        string(APPEND calls "    register_${family}();\n")
    endforeach()
    file(CONFIGURE OUTPUT "${to}" CONTENT
"namespace tenon::cuda {
${declarations}void register_families();
void register_families() {
${calls}}
} // namespace tenon::cuda
" @ONLY)
endfunction()
