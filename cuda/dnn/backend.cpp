#if defined(TENON_WITH_CUDNN)

#include <cuda/dnn/backend.hpp>

#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::cuda::dnn {

functions::functions() : library_("cuDNN", {"libcudnn.so.9"}, library_folders::cudnn) {
    const auto find = [this]<class F>(F*& to, const char* name) { to = library_.get<F>(name); };
    find(version, "cudnnGetVersion");
    const int is = static_cast<int>(version()), unit = is < 10000 ? 1000 : 10000; // 91900 of 9.19.0; 8907 of 8.9.7
    library_.require_version(is / unit, is % unit / 100, CUDNN_MAJOR, false);
    find(error_string, "cudnnGetErrorString");
    find(last_error_string, "cudnnGetLastErrorString");
    find(create, "cudnnCreate");
    find(destroy, "cudnnDestroy");
    find(set_stream, "cudnnSetStream");
    find(create_descriptor, "cudnnBackendCreateDescriptor");
    find(destroy_descriptor, "cudnnBackendDestroyDescriptor");
    find(set_attribute, "cudnnBackendSetAttribute");
    find(get_attribute, "cudnnBackendGetAttribute");
    find(finalize, "cudnnBackendFinalize");
    find(execute, "cudnnBackendExecute");
}

std::string functions::text_of(cudnnStatus_t answer, const char* call) const {
    char more[1024] = "";
    last_error_string(more, sizeof more);
    std::string text = std::string(call) + ": " + error_string(answer);
    if (more[0] != 0) text += std::string(": ") + more;
    return text;
}

void check(const functions& f, cudnnStatus_t answer, const char* call) {
    if (answer == CUDNN_STATUS_SUCCESS) return;
    const int what = static_cast<int>(answer);
    if (answer == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        answer == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        throw resource_exhausted_error(f.text_of(answer, call));
    if (CUDNN_STATUS_CATEGORY(what) == CUDNN_STATUS_BAD_PARAM ||
        CUDNN_STATUS_CATEGORY(what) == CUDNN_STATUS_NOT_SUPPORTED)
        throw refused{f.text_of(answer, call)};
    throw internal_error(f.text_of(answer, call));
}

descriptor::descriptor(const functions& f, cudnnBackendDescriptorType_t type) : functions_(&f) {
    check(f, f.create_descriptor(type, &raw_), "cudnnBackendCreateDescriptor");
}
descriptor::~descriptor() {
    if (raw_) (void)functions_->destroy_descriptor(raw_);
}
descriptor::descriptor(descriptor&& d) noexcept : functions_(d.functions_), raw_(std::exchange(d.raw_, nullptr)) {}

void descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                     const void* values) {
    check(*functions_, functions_->set_attribute(raw_, name, type, count, values), "cudnnBackendSetAttribute");
}

std::int64_t descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                             void* values) const {
    std::int64_t count = 0;
    check(*functions_, functions_->get_attribute(raw_, name, type, room, &count, values), "cudnnBackendGetAttribute");
    return count;
}

void descriptor::finalize() { check(*functions_, functions_->finalize(raw_), "cudnnBackendFinalize"); }

} // namespace tenon::cuda::dnn

#endif
