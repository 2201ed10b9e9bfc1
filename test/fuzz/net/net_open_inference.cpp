// Reads requests of the Open Inference Protocol, and heads of HTTP: what is read is small beside its bytes, fits the model, and comes
// back when it is written.
// covers: net/serve/open_inference net/http/request_head

#include <net/http/request_head.hpp>
#include <net/serve/open_inference.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;
namespace tn = tenon;

void try_input(const fuzz::input& in) {
    const std::string text = in.text();
    constexpr std::size_t most = 1000;
    const body_said said = body_of_head(text, most);
    fuzz::require(said.bytes <= most, "a body is larger than it may be");
    fuzz::require(said.refused.empty() || said.bytes == 0, "a body that is refused is waited for");
    fuzz::require(without_expectation(text).size() <= text.size(), "a head grows");
    fuzz::require(!body_of_head(without_expectation(text), most).waits_to_be_told, "an expectation stays");

    static const tn::model_signature model{"m",
                                           {{"x", {tn::element_type::float32, {tn::dynamic_extent, 2}}},
                                            {"s", {tn::element_type::string, {tn::dynamic_extent}}},
                                            {"b", {tn::element_type::boolean, {tn::dynamic_extent}}}},
                                           {{"x", {tn::element_type::float32, {tn::dynamic_extent, 2}}},
                                            {"s", {tn::element_type::string, {tn::dynamic_extent}}},
                                            {"b", {tn::element_type::boolean, {tn::dynamic_extent}}}},
                                           32};
    // Where the JSON ends is said elsewhere: at a line's end, if there is one.
    const std::size_t end = text.find('\n');
    fuzz::is_read<tn::invalid_argument_error>([&] {
        const inference_request r = read_inference_request(text, end == std::string::npos ? text.size() : end, model);
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < r.inputs.size(); ++i) {
            fuzz::require(r.inputs[i].element() == model.inputs[i].type.element, "an input has another element type");
            bytes += r.inputs[i].bytes();
        }
        fuzz::require(bytes <= 64 * text.size(), "a request becomes much larger than it is");
        for (const inference_request::output& o : r.outputs)
            fuzz::require(o.index < model.outputs.size(), "an output is wanted that there is not");
        const inference_response made = inference_response_of(r, model, 1, r.inputs);
        fuzz::require(made.json_bytes <= made.body.size(), "an answer is shorter than its head");
        if (r.outputs.size() != model.outputs.size()) return;
        const std::size_t at = made.body.find("\"outputs\"");
        const std::string request = "{\"inputs\"" + made.body.substr(at + 9, made.json_bytes - at - 9);
        (void)read_inference_request(request + made.body.substr(made.json_bytes), request.size(), model);
    });
}
