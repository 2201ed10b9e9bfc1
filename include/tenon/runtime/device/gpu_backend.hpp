#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/memory/memory_policy.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/device/gpu_selection.hpp>

/// Where a session's GPUs come from.

namespace tenon {

class device;
class thread_pool;

/// What a task asks a backend for.
struct gpu_setup {
    memory_policy memory = {};
    gpu_selection selection = {};
    /// Whose threads devices use that work on this machine's, beside those that wait for them; nullptr: only these.
    thread_pool* pool = nullptr;
    /// Is told, a line each, which cards were left out and why; not set: standard error is, once in the process.
    shared_function<void(const std::string& line)> log = {};
};

/// Makes a session's GPUs: a GPU library's, or simulated ones.
class gpu_backend {
public:
    virtual ~gpu_backend() = default;
    /// The GPUs that there are, by number.
    virtual std::vector<device_attributes> physical() const = 0;
    /// Where there are none that can be used, why: "the CUDA driver was not found; ...". Programs that use the CPU alone need not ask.
    virtual std::string why_none() const { return {}; }
    /// What keeps this process from using a card: another one has it to itself, or it was lost. "": nothing.
    virtual std::string why_not(int /*card*/) const { return {}; }
    /// The devices: GPU 0, GPU 1, ... Throws invalid_argument_error, with the cards that there are, where the selection names others, or
    /// asks for more memory than a card has; failed_precondition_error while devices are in use that were made of another selection;
    /// resource_exhausted_error where memory that was asked for is not free.
    std::vector<std::unique_ptr<device>> make(const gpu_setup& s) const;

protected:
    /// A device that is asked for.
    struct wanted {
        device_attributes attributes; ///< its own: name.index is the device's
        int card;
        memory_policy memory;               ///< of the card; growth is that of the setup
        std::shared_ptr<const void> in_use; ///< lives as long as the device
    };
    virtual std::vector<std::unique_ptr<device>> make(std::vector<wanted> all, const gpu_setup& s) const = 0;

private:
    // Cards, and the limits of each one's devices.
    using selected = std::vector<std::pair<int, std::vector<std::size_t>>>;
    selected select(const gpu_setup& s, const std::vector<device_attributes>& cards) const;
    std::shared_ptr<const void> use(const selected& cards) const;

    mutable std::weak_ptr<const selected> in_use_; // what devices that live were made of; use() guards it
};

/// What session_options::gpus is where nothing else is said: the one that a linked library has registered, or nullptr.
std::shared_ptr<const gpu_backend> linked_gpu_backend();
/// Called by a GPU library when it is loaded; the last one stays.
void register_gpu_backend(std::shared_ptr<const gpu_backend> b);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/gpu_backend.ipp>
#endif
