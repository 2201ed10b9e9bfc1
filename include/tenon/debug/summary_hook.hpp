#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/debug/summary_writer.hpp>
#include <tenon/train/session/session_hook.hpp>

namespace tenon {

/// A tensor, and its tag where that is not its name: loss, or {"loss", mean(errors)}.
struct tagged_tensor {
    template <class T>
        requires std::convertible_to<const T&, any_tensor> tagged_tensor(const T& t) :
            tensor(t) {} // NOLINT: a tensor has a name
        tagged_tensor(std::string called, const any_tensor& t) : tensor(t), tag(std::move(called)) {}
        any_tensor tensor;
        std::string tag{};
};

struct summary_hook_options {
    std::vector<tagged_tensor> scalars{};    ///< numbers of one element each
    std::vector<tagged_tensor> histograms{}; ///< of any sizes
    hook_period every{};                     ///< every 100 steps, where none is given
    bool steps_per_second = true;            ///< of the global step
    bool graph = true;                       ///< the session's, once
};

/// What steps of a monitored session (train/session/monitored_session.hpp) compute, as TensorBoard shows it: in the first step and then by the
/// period, as those steps compute it. Where a session was restored from a checkpoint the steps after that are shown anew. Each worker
/// that has such a hook is to have a folder of its own.
///
///     const auto log = std::make_shared<tn::summary_writer>("run/logs");
///     tn::monitored_session sess({.checkpoint = "run/model", .hooks = {tn::summary_hook(log, {.scalars = {{"loss", loss}}})}});
std::shared_ptr<session_hook> summary_hook(std::shared_ptr<summary_writer> to, summary_hook_options o);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/debug/summary_hook.ipp>
#endif
