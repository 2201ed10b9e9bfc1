#include <cuda/tapes/compiler.hpp>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

#include <cuda/device/library.hpp>
#include <cuda/tapes/hash.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda::tapes {

namespace {

std::atomic<compiler*> of_this_process{nullptr};

// A program that ends destroys what its main thread has for itself before all else. Nothing may be compiled while other objects are
// destroyed: NVRTC was seen to crash, or to wait for ever, in the first program that did so beside a real driver.
struct ended_first {
    bool is_there = true;
    ~ended_first() {
        if (compiler* const made = of_this_process; made && getpid() == gettid()) made->end();
    }
};
thread_local ended_first of_thread;
[[maybe_unused]] const bool is_made = of_thread.is_there; // by the main thread, before main

std::exception_ptr cancelled() {
    return std::make_exception_ptr(cancelled_error("the program ends while kernels wait to be compiled"));
}

} // namespace

bool compilation::is_done() const {
    const std::lock_guard lock(guard_);
    return done_;
}

std::shared_ptr<const std::string> compilation::image() const {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return done_; });
    if (error_) std::rethrow_exception(error_);
    return image_;
}

void compilation::finish(std::shared_ptr<const std::string> image, std::exception_ptr error) {
    {
        const std::lock_guard lock(guard_);
        done_ = true;
        image_ = std::move(image);
        error_ = std::move(error);
    }
    changed_.notify_all();
}

compiler::compiler(std::shared_ptr<const nvrtc> by, disk_cache cache) :
    nvrtc_(std::move(by)), cache_(std::move(cache)) {
    // A program that ends ends what was made last first: the process's compiler, and what its thread does, before what NVRTC works with.
    nvrtc_->prepare();
}

compiler::~compiler() { end(); }

void compiler::end() {
    std::map<std::string, std::deque<request>> left;
    {
        const std::lock_guard lock(guard_);
        ending_ = true;
        left.swap(waiting_);
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (auto& [target, requests] : left)
        for (request& r : requests) r.result->finish(nullptr, cancelled());
}

compiler& compiler::of_process() {
    static library nvrtc_library("NVRTC, which compiles elementwise expressions for GPUs,",
                                 {"libnvrtc.so.13", "libnvrtc.so"}, library_folders::nvrtc, "libnvrtc-builtins.so");
    static compiler made(
        [] {
            auto found = std::make_shared<nvrtc>([](const char* name) { return nvrtc_library.find(name); });
            nvrtc_library.require_version(found->version() / 1000, found->version() % 1000 / 10, 13, true);
            return found;
        }(),
        disk_cache(disk_cache::usual_folder()));
    of_this_process = &made;
    return made;
}

std::string compiler::key_of(const kernel_source& source, const std::string& target) const {
    std::string all = target + "\n" + std::to_string(nvrtc_->version()) + "\n";
    for (const std::string& o : nvrtc::options()) all += o + "\n";
    return hash_of(all + prelude() + source.text).text();
}

std::shared_ptr<const compilation> compiler::ask(const kernel_source& source, int capability) {
    const std::string target = nvrtc_->target(capability), key = key_of(source, target);
    std::shared_ptr<compilation> result;
    {
        const std::lock_guard lock(guard_);
        std::shared_ptr<compilation>& known = known_[key];
        if (known) return known;
        known = result = std::make_shared<compilation>();
    }
    try {
        if (std::optional<std::string> image = cache_.load(key)) {
            result->finish(std::make_shared<const std::string>(std::move(*image)), nullptr);
            return result;
        }
        const std::lock_guard lock(guard_);
        if (ending_) {
            result->finish(nullptr, cancelled());
            return result;
        }
        waiting_[target].push_back({key, source, result});
        if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    } catch (...) {
        result->finish(nullptr, std::current_exception());
        return result;
    }
    changed_.notify_all();
    return result;
}

namespace {

// Where the toolkit's headers are, of those places where they may be. No other file is read: what is kept is known by its text.
std::vector<std::string> own_options() {
    std::vector<std::string> all{"--std=c++20", "--disable-warnings", "--no-source-include"};
    const char* const roots[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (const char* root : roots) {
        std::error_code none;
        if (!root || !std::filesystem::exists(std::filesystem::path(root) / "include" / "cuda_fp16.h", none)) continue;
        all.push_back("--include-path=" + std::string(root) + "/include");
        break;
    }
    return all;
}

} // namespace

std::shared_ptr<const std::string> compiler::compile(const std::string& name, const std::string& text, int capability) {
    const std::string target = nvrtc_->target(capability);
    const std::vector<std::string> how = own_options();
    std::string all = "own\n" + target + "\n" + std::to_string(nvrtc_->version()) + "\n" + name + "\n";
    for (const std::string& o : how) all += o + "\n";
    const std::string key = hash_of(all + text).text();
    {
        const std::lock_guard lock(guard_);
        if (const auto known = own_.find(key); known != own_.end()) return known->second;
    }
    std::shared_ptr<const std::string> image;
    if (std::optional<std::string> kept = cache_.load(key))
        image = std::make_shared<const std::string>(std::move(*kept));
    else {
        try {
            image = std::make_shared<const std::string>(nvrtc_->compile(text, target, name + ".cu", how));
        } catch (const internal_error& e) {
            throw invalid_argument_error(
                std::string("its text does not compile: ") + e.what() +
                (how.size() > 3 ? ""
                                : "\n(the toolkit's headers were found neither in CUDA_HOME nor in /usr/local/cuda)"));
        }
        cache_.store({key}, *image);
    }
    const std::lock_guard lock(guard_);
    return own_.emplace(key, std::move(image)).first->second; // another thread's, where that was first
}

void compiler::work() {
    for (;;) {
        std::vector<request> together;
        std::string target;
        {
            std::unique_lock lock(guard_);
            changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
            if (ending_) return;
            const auto first = waiting_.begin();
            target = first->first;
            while (!first->second.empty() && together.size() < most_together) {
                together.push_back(std::move(first->second.front()));
                first->second.pop_front();
            }
            if (first->second.empty()) waiting_.erase(first);
        }
        compile(std::move(together), target);
    }
}

void compiler::compile(std::vector<request> together, const std::string& target) {
    std::string text = prelude();
    std::vector<std::string> keys;
    for (const request& r : together) {
        text += r.source.text;
        keys.push_back(r.key);
    }
    std::shared_ptr<const std::string> image;
    std::exception_ptr error;
    try {
        image = std::make_shared<const std::string>(nvrtc_->compile(text, target));
        cache_.store(keys, *image);
    } catch (const internal_error& e) {
        if (together.size() == 1)
            error = std::make_exception_ptr(
                internal_error("kernel " + together[0].source.name + save_source(keys[0], text) + ": " + e.what()));
        else {
            // Which of them it is, and the others are served.
            for (request& r : together) compile({std::move(r)}, target);
            return;
        }
    } catch (...) {
        error = std::current_exception();
        // It may be asked for again when there is memory.
        const std::lock_guard lock(guard_);
        for (const std::string& k : keys) known_.erase(k);
    }
    for (request& r : together) r.result->finish(image, error);
}

// For the message: where the source of a kernel that does not compile can be read.
std::string compiler::save_source(const std::string& key, const std::string& text) const {
    std::error_code failed;
    for (const std::filesystem::path& folder : {cache_.folder(), std::filesystem::temp_directory_path(failed)}) {
        if (folder.empty()) continue;
        std::filesystem::create_directories(folder, failed);
        const std::filesystem::path file = folder / (key + ".cu");
        std::ofstream out(file, std::ios::trunc);
        out << text;
        out.close();
        if (out) return " (source saved as " + file.string() + ")";
    }
    return " (its source could not be saved)";
}

} // namespace tenon::cuda::tapes
