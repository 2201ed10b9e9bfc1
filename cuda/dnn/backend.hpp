#pragma once

#include <string>

#include <cudnn_graph.h>

#include <cuda/device/library.hpp>

/// cuDNN's functions, and its descriptors as values.

namespace tenon::cuda::dnn {

/// The functions of cuDNN that this library calls, found when it is made. Throws unavailable_error where cuDNN, or one of them, is not
/// there, or is older than 9.
struct functions {
    functions();

    decltype(cudnnGetVersion)* version;
    decltype(cudnnGetErrorString)* error_string;
    decltype(cudnnGetLastErrorString)* last_error_string;
    decltype(cudnnCreate)* create;
    decltype(cudnnDestroy)* destroy;
    decltype(cudnnSetStream)* set_stream;
    decltype(cudnnBackendCreateDescriptor)* create_descriptor;
    decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor;
    decltype(cudnnBackendSetAttribute)* set_attribute;
    decltype(cudnnBackendGetAttribute)* get_attribute;
    decltype(cudnnBackendFinalize)* finalize;
    decltype(cudnnBackendExecute)* execute;

    /// "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM: what cuDNN says of it".
    std::string text_of(cudnnStatus_t answer, const char* call) const;

private:
    library library_;
};

/// cuDNN does not take what it was asked: nobody's fault, and something else may do.
struct refused {
    std::string why;
};

/// Nothing where `answer` is success. What tells that a request is not supported, or not well formed, is thrown as `refused`; want of
/// memory as resource_exhausted_error; all else as internal_error.
void check(const functions& f, cudnnStatus_t answer, const char* call);

/// A descriptor that is being filled in or is final.
class descriptor {
public:
    descriptor(const functions& f, cudnnBackendDescriptorType_t type);
    ~descriptor();
    descriptor(descriptor&& d) noexcept;
    descriptor& operator=(descriptor&&) = delete;

    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
             const void* values);
    void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
    void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
    void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
    void set(cudnnBackendAttributeName_t name, const descriptor& value) {
        set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
    }
    template <class List> void set_list(cudnnBackendAttributeName_t name, const List& values) {
        set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
    }
    /// The number of values that were written to `values`; with room for none, how many there are.
    std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                     void* values) const;
    void finalize();
    cudnnBackendDescriptor_t raw() const noexcept { return raw_; }

private:
    const functions* functions_;
    cudnnBackendDescriptor_t raw_ = nullptr;
};

} // namespace tenon::cuda::dnn
