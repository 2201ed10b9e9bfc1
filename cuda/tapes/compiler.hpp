#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <cuda/tapes/disk_cache.hpp>
#include <cuda/tapes/nvrtc.hpp>
#include <cuda/tapes/source.hpp>

/// Sources of kernels become code for a GPU: each once in a process, beside what runs, and once on a machine.

namespace tenon::cuda::tapes {

class compiler;

/// Code that is made, or is being made. Thread-safe.
class compilation {
public:
    bool is_done() const;
    /// Waits. What the compiler threw is thrown: internal_error names the target and where the source lies.
    std::shared_ptr<const std::string> image() const;

private:
    friend compiler;
    void finish(std::shared_ptr<const std::string> image, std::exception_ptr error);

    mutable std::mutex guard_;
    mutable std::condition_variable changed_;
    bool done_ = false;
    std::shared_ptr<const std::string> image_;
    std::exception_ptr error_;
};

class compiler {
public:
    /// Most kernels that are compiled as one program.
    static constexpr std::size_t most_together = 16;

    compiler(std::shared_ptr<const nvrtc> by, disk_cache cache);
    /// What is being compiled is finished, what waits fails with cancelled_error.
    ~compiler();
    /// The same now; what is asked for later fails so, too.
    void end();
    compiler(compiler&&) = delete;

    /// The process's, with the usual cache. Throws unavailable_error, saying why, where there is no NVRTC.
    static compiler& of_process();

    /// Gives at once what is there, in memory or on disk; else a thread of this object compiles it, together with what else
    /// waits. Throws unavailable_error where NVRTC is too old for the GPU.
    std::shared_ptr<const compilation> ask(const kernel_source& source, int capability);
    /// A program's own text, which may include the toolkit's headers, compiled by the thread that calls, with the compiler's own options. Throws
    /// invalid_argument_error with the compiler's words.
    std::shared_ptr<const std::string> compile(const std::string& name, const std::string& text, int capability);

private:
    struct request {
        std::string key;
        kernel_source source;
        std::shared_ptr<compilation> result;
    };
    std::string key_of(const kernel_source& source, const std::string& target) const;
    void work();
    void compile(std::vector<request> together, const std::string& target);
    std::string save_source(const std::string& key, const std::string& text) const;

    const std::shared_ptr<const nvrtc> nvrtc_;
    const disk_cache cache_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::map<std::string, std::shared_ptr<compilation>> known_;
    std::map<std::string, std::deque<request>> waiting_;            // by target
    std::map<std::string, std::shared_ptr<const std::string>> own_; // programs' own texts
    bool ending_ = false;
    std::thread thread_; // made when it is first needed
};

} // namespace tenon::cuda::tapes
