#pragma once

#include <algorithm>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/serve/local_model.hpp>
#include <tenon/serve/model_server.hpp>

namespace tenon::detail {

TENON_INLINE model_parts begin_parts(const std::vector<any_tensor>& feeds, const model_server_options& o) {
    model_parts parts{.feeds = feeds};
    for (const any_tensor& f : feeds)
        if (!f.node()) throw invalid_argument_error("model_server: what is fed is an empty handle");
    std::set<std::string> seen;
    for (const device_name& d : o.devices) {
        parts.devices.push_back(to_string(d));
        if (!seen.insert(parts.devices.back()).second)
            throw invalid_argument_error("model_server_options::devices: " + parts.devices.back() + " is there twice");
    }
    if (o.devices.empty()) {
        if (o.copy_variables)
            throw invalid_argument_error("model_server_options::copy_variables: there are no devices to copy to; name "
                                         "them (model_server_options::devices)");
        parts.devices.push_back("the model's device");
    }
    return parts;
}

TENON_INLINE std::string not_of_first_device(int, const std::string& wished, const tensor_type& type,
                                             const any_tensor* first) {
    return "model_server: the function makes a variable \"" + wished + "\", " + to_string(type) +
           ", for one device, and " +
           (first ? "one that is " + to_string(first->type()) : std::string("none of this name")) +
           " for the first; it must make the same variables for each";
}

TENON_INLINE std::shared_ptr<model_server_state> make_model_server(std::shared_ptr<session> s,
                                                                   const std::string* target, model_parts parts,
                                                                   const model_server_options& o) {
    auto made = std::make_shared<local_model>(std::move(s), target, std::move(parts), o);
    made->start();
    return made;
}

} // namespace tenon::detail
