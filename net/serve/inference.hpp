#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <net/serve/open_inference.hpp>
#include <net/serve/work_queue.hpp>
#include <tenon/serve/served_model.hpp>

namespace tenon::net {

/// A request for a model, from its bytes to those of its answer. Where it has much JSON, or many texts, or its answer has, that is read and
/// written by a queue's thread: who calls waits for neither. When it ends, nobody wants the answer any more. By one thread, but for its end.
class inference : public std::enable_shared_from_this<inference> {
public:
    struct question {
        any_served_model model; ///< answers it also when it is removed meanwhile
        std::string body;
        std::size_t json_bytes = 0;
        double most_seconds = 0; ///< that it may take, if it does not say less
    };
    /// `came` is called by any thread when there is more to do. `long_ones` outlives calls of start() and response().
    inference(question q, work_queue& long_ones, std::function<void()> came);
    ~inference();

    const any_served_model& model() const noexcept { return asked_.model; }
    /// Once. Throws where it is seen at once that this is no request for the model, or the model does not take it.
    void start();
    /// Once it is there; nothing: not yet. Throws what it failed with.
    std::optional<inference_response> response();

private:
    void ask();
    void put(model_answer&& a);
    void write();

    question asked_; // and `request_`: of the thread that reads it, until there is an answer
    const bool is_long_;
    work_queue& long_ones_;
    const std::function<void()> came_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    inference_request request_;

    std::mutex guard_; // of what follows
    std::shared_ptr<tenon::detail::asked_request> taken_;
    std::optional<model_answer> answer_; // once it is there it stays
    std::optional<inference_response> response_;
    bool is_writing_ = false;
};

} // namespace tenon::net
