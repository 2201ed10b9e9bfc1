#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cudnn_graph.h>

/// What the stand-in of cuDNN keeps of a descriptor, and how it computes the operations.

namespace tenon::emulator::cudnn {

/// What a function answers instead of success, and cudnnGetLastErrorString() after it.
struct complaint : std::runtime_error {
    complaint(cudnnStatus_t s, const std::string& why) : std::runtime_error(why), status(s) {}
    cudnnStatus_t status;
};
inline void require(bool holds, const std::string& what, cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
    if (!holds) throw complaint(status, what);
}

struct attribute {
    cudnnBackendAttributeType_t type;
    std::int64_t count = 0;
    std::vector<std::byte> bytes;
};

struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool final = false;
    std::map<cudnnBackendAttributeName_t, attribute> attributes;
    int engine = -1; ///< of engines, their configurations and plans

    bool has(cudnnBackendAttributeName_t n) const { return attributes.count(n) != 0; }
    template <class T> std::vector<T> list(cudnnBackendAttributeName_t n) const {
        const auto at = attributes.find(n);
        require(at != attributes.end(),
                "attribute " + std::to_string(n) + " of descriptor type " + std::to_string(type) + " is not set");
        std::vector<T> values(static_cast<std::size_t>(at->second.count));
        require(values.size() * sizeof(T) == at->second.bytes.size(),
                "attribute " + std::to_string(n) + " has another type");
        std::memcpy(static_cast<void*>(values.data()), at->second.bytes.data(), at->second.bytes.size());
        return values;
    }
    template <class T> T value(cudnnBackendAttributeName_t n) const {
        if constexpr (std::is_same_v<T, bool>) return value<unsigned char>(n) != 0;
        else {
            const std::vector<T> all = list<T>(n);
            require(all.size() == 1,
                    "attribute " + std::to_string(n) + " has " + std::to_string(all.size()) + " values instead of 1");
            return all[0];
        }
    }
    /// Another descriptor, which must be final and of that type.
    std::shared_ptr<descriptor> refer(cudnnBackendAttributeName_t n, cudnnBackendDescriptorType_t to) const;
};

/// Which type an attribute has, and whether a descriptor is complete without it.
struct expectation {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    bool needed = true;
};
/// The attributes of descriptors of a type.
const std::vector<expectation>& expected(cudnnBackendDescriptorType_t type);
/// Of one value.
std::size_t bytes_of(cudnnBackendAttributeType_t type);

/// The descriptor behind what a program holds.
std::shared_ptr<descriptor> find(cudnnBackendDescriptor_t raw);

struct tensor {
    std::int64_t uid = 0;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t alignment = 0;
    bool is_virtual = false;
    bool is_by_value = false; ///< lies on the host

    std::int64_t elements() const;
    std::int64_t offset(const std::vector<std::int64_t>& at) const;
};
tensor tensor_of(const descriptor& d);

/// One operation of a graph: its tensors by their roles.
struct operation {
    cudnnBackendDescriptorType_t type;
    std::shared_ptr<descriptor> what = {}; ///< the convolution, pointwise, ... descriptor; may be none
    std::vector<tensor> inputs = {}, outputs = {};
};
/// Checks the operation as finalizing its descriptor does.
operation operation_of(const std::shared_ptr<descriptor>& d);

/// Tensors' elements, dense in the order of their sizes, by uid.
using values = std::map<std::int64_t, std::vector<double>>;
/// Adds the outputs of an operation to `all`.
void compute(const operation& o, values& all);

double load(const std::byte* at, cudnnDataType_t type);
void store(std::byte* at, cudnnDataType_t type, double value);
std::size_t size_of(cudnnDataType_t type);

} // namespace tenon::emulator::cudnn
