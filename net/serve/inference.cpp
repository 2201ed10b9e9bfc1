#include <net/serve/inference.hpp>

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>

namespace tenon::net {

namespace {

// Of JSON and texts so much is read or written in a millisecond or two. Other tensors that are binary are copied.
constexpr std::size_t long_bytes = std::size_t{16} << 10;

bool is_long(const inference::question& q) {
    const std::vector<model_tensor>& inputs = q.model.signature().inputs;
    const bool has_texts = std::any_of(inputs.begin(), inputs.end(),
                                       [](const model_tensor& t) { return t.type.element == element_type::string; });
    return (has_texts ? q.body.size() : q.json_bytes) >= long_bytes;
}

bool is_long(const inference_request& r, const std::vector<any_array>& outputs) {
    std::size_t bytes = 0;
    for (const inference_request::output& o : r.outputs) {
        if (o.index >= outputs.size()) return false; // which is told when it is written
        const any_array& a = outputs[o.index];
        if (o.is_binary && a.element() != element_type::string) continue;
        bytes += 8 * static_cast<std::size_t>(a.elements()); // about
        for (std::int64_t i = 0; a.element() == element_type::string && i < a.elements() && bytes < long_bytes; ++i)
            bytes += a.data<std::string>()[i].size();
    }
    return bytes >= long_bytes;
}

} // namespace

inference::inference(question q, work_queue& long_ones, std::function<void()> came) :
    asked_(std::move(q)), is_long_(is_long(asked_)), long_ones_(long_ones), came_(std::move(came)) {}

inference::~inference() {
    if (taken_ && !answer_) taken_->stop();
}

void inference::start() {
    if (!is_long_) return ask();
    long_ones_.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return; // who asked has gone
        try {
            self->ask();
        } catch (...) {
            self->put({{}, 0, std::current_exception()});
        }
    });
}

void inference::ask() {
    const model_signature& model = asked_.model.signature();
    request_ = read_inference_request(asked_.body, asked_.json_bytes, model);
    double limit = request_.seconds > 0 ? std::min(request_.seconds, asked_.most_seconds) : asked_.most_seconds;
    if (is_long_) { // it has waited to be read
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
        if (passed.count() >= limit)
            throw deadline_exceeded_error("model '" + model.name + "': it took longer than " +
                                          tenon::detail::text_of_number(limit) +
                                          " s until the request was read; send large tensors binary");
        limit -= passed.count();
    }
    asked_.body = {}; // all of it is in the tensors
    auto taken = asked_.model.state()->ask(tenon::detail::new_client(), std::move(request_.inputs), limit, false,
                                           [weak = weak_from_this()](model_answer&& a) {
                                               if (const auto self = weak.lock()) self->put(std::move(a));
                                           });
    const std::lock_guard lock(guard_);
    taken_ = std::move(taken);
}

void inference::put(model_answer&& a) {
    {
        const std::lock_guard lock(guard_);
        answer_ = std::move(a);
    }
    came_();
}

std::optional<inference_response> inference::response() {
    const std::lock_guard lock(guard_);
    if (!answer_) return {};
    if (answer_->failure) std::rethrow_exception(answer_->failure);
    if (response_) return std::move(response_);
    if (is_writing_) return {};
    if (!is_long(request_, answer_->outputs))
        return inference_response_of(request_, asked_.model.signature(), answer_->version, answer_->outputs);
    is_writing_ = true;
    long_ones_.post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->write();
    });
    return {};
}

void inference::write() {
    try {
        inference_response made =
            inference_response_of(request_, asked_.model.signature(), answer_->version, answer_->outputs);
        const std::lock_guard lock(guard_);
        response_ = std::move(made);
    } catch (...) {
        const std::lock_guard lock(guard_);
        answer_->failure = std::current_exception();
    }
    came_();
}

} // namespace tenon::net
