#pragma once

#include <set>

#include <tenon/core/error.hpp>
#include <tenon/serve/model_signature.hpp>

namespace tenon::detail {

TENON_INLINE void check_signature(const model_signature& s) {
    const std::string model = "model '" + s.name + "': ";
    if (s.name.empty() || s.name.find_first_of("/ \t\r\n?#%") != std::string::npos)
        throw invalid_argument_error("model_server: a model cannot be called '" + s.name +
                                     "'; give a name without blanks, '/', '?', '#' and '%', which mean others in a "
                                     "path (model_server_options::name)");
    if (s.inputs.empty()) throw invalid_argument_error(model + "it has no inputs; give feeds(x, ..)");
    if (s.outputs.empty())
        throw invalid_argument_error(model + "it has no outputs; return a tensor, or a tuple of some");
    if (s.largest_batch < 1)
        throw invalid_argument_error(model + "largest_batch is " + std::to_string(s.largest_batch) +
                                     "; give how many rows a batch may have");
    extent rows = dynamic_extent;
    const model_tensor* named = nullptr;
    for (const auto* all : {&s.inputs, &s.outputs}) {
        const std::string kind = all == &s.inputs ? "input '" : "output '";
        std::set<std::string> seen;
        for (const model_tensor& t : *all) {
            const std::string what = model + kind + t.name + "', " + to_string(t.type) + ", ";
            if (t.name.empty() || !seen.insert(t.name).second)
                throw invalid_argument_error(what + (t.name.empty() ? "has no name" : "has the name of another one"));
            if (t.type.extents.rank() == 0)
                throw invalid_argument_error(what + "is a scalar; its first dimension must be the rows of a batch");
            const extent first = t.type.extents[0];
            if (first.is_number())
                throw invalid_argument_error(what + "has a fixed number of rows; make the first dimension a named size "
                                                    "or tn::dyn, which requests and batches then have some of");
            if (!first.is_named()) continue;
            if (named && !(rows == first))
                throw invalid_argument_error(what + "has other rows than '" + named->name + "', " +
                                             to_string(named->type) + "; a request's are in all of them");
            rows = first;
            named = &t;
        }
    }
}

TENON_INLINE std::int64_t rows_of_request(const model_signature& s, const std::vector<any_array>& inputs) {
    const auto model = [&] { return "model '" + s.name + "': "; };
    if (inputs.size() != s.inputs.size())
        throw invalid_argument_error(model() + "a request has " + std::to_string(inputs.size()) +
                                     " arrays, and there are " + std::to_string(s.inputs.size()) + " inputs");
    std::int64_t rows = -1;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const model_tensor& to = s.inputs[i];
        const any_array& given = inputs[i];
        const auto input = [&] { return model() + "input '" + to.name + "': "; };
        if (!given) throw invalid_argument_error(input() + "a request gives nothing for " + to_string(to.type));
        if (const std::string why = misfit(given.type(), to.type); !why.empty())
            throw invalid_argument_error(input() + why);
        const std::int64_t here = given.extents()[0].size;
        if (rows >= 0 && here != rows)
            throw invalid_argument_error(input() + to_string(given.type()) + " has " + std::to_string(here) +
                                         " rows, and '" + s.inputs[0].name + "' has " + std::to_string(rows));
        rows = here;
    }
    if (rows == 0) throw invalid_argument_error(model() + "a request has no rows; give one at least");
    if (rows > s.largest_batch)
        throw invalid_argument_error(model() + "a request has " + std::to_string(rows) +
                                     " rows, and a batch may have " + std::to_string(s.largest_batch) +
                                     "; send fewer at a time (model_server_options::largest_batch)");
    return rows;
}

} // namespace tenon::detail
