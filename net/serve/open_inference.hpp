#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/serve/model_signature.hpp>
#include <tenon/serve/serving_metrics.hpp>

/// The Open Inference Protocol, version 2, as texts: https://github.com/open-inference/open-inference-protocol, with tensors as JSON
/// and, by the extension for binary tensor data, as bytes behind it.

namespace tenon::net {

struct inference_request {
    std::string id;                ///< given back with the answer
    double seconds = 0;            ///< its parameter "timeout", which is in microseconds; 0: none
    std::vector<any_array> inputs; ///< in the signature's order
    struct output {
        std::size_t index; ///< in the signature
        bool is_binary;
    };
    std::vector<output> outputs; ///< those that are wanted, in their order
};

/// `json_bytes`: how much of the body is JSON; the rest are the binary tensors, one after another. Throws invalid_argument_error where it
/// is no request, or none for this model, and says why. What it makes is no larger than a small multiple of the body.
inference_request read_inference_request(const std::string& body, std::size_t json_bytes, const model_signature& model);

struct inference_response {
    std::string body;
    std::size_t json_bytes = 0; ///< the rest are binary tensors
    bool has_binary = false;
};
inference_response inference_response_of(const inference_request& r, const model_signature& model, std::int64_t version,
                                         const std::vector<any_array>& outputs);

/// "FP32", "BYTES".
const char* inference_type_of(element_type e) noexcept;

// What is told of servers and models.
std::string server_metadata_json(const std::vector<std::string>& extensions);
std::string model_metadata_json(const model_signature& model, std::int64_t version);
std::string model_config_json(const model_signature& model);
std::string model_statistics_json(const std::vector<std::pair<model_signature, serving_metrics>>& models);
struct indexed_model {
    std::string name;
    std::int64_t version;
    std::string why_not_ready; ///< empty where it is
};
std::string repository_index_json(const std::vector<indexed_model>& models);
std::string error_json(const std::string& why);

} // namespace tenon::net
