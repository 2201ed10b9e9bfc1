#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/runtime/trace/timed_kernel.hpp>

/// Timing kernels, steps, and what they are compared with.
///
///     auto y = relu(a * x + b);                                        // of tensors
///     auto report = tn::benchmark({{"fused", sess.kernel_of(y, tn::feed(x, values))},       // its own time on its device
///                                  {"a step", [&] { step(values); }},                       // the host's time of a call
///                                  {"by hand", [&] { loop(p, q, r); }, {.bytes = 12e6, .operations = 3e6}}},
///                                 {.cold = true});
///     std::cout << report.to_text();
///     report.save("today.json");
///     std::cout << tn::compare(tn::benchmark_report::load("yesterday.json"), report);

namespace tenon {

class cost_measurements;

/// What one call does, where it is known.
struct benchmark_work {
    double bytes = 0;      ///< that it must read and write, each once
    double operations = 0; ///< of arithmetic; a multiply-add is two
};

/// One of those that are timed beside each other.
class benchmark_candidate {
public:
    /// Whatever can be called and has done its work when it returns. Its time is that of the host's clock.
    template <class F>
        requires std::is_invocable_v<F&> benchmark_candidate(std::string called, F f, benchmark_work of_one = {}) :
            name(std::move(called)), call(there(f)), work(of_one) {}
        /// session::kernel_of(). What it does is known of it, where `of_one` does not say other numbers.
        benchmark_candidate(std::string called, std::shared_ptr<timed_kernel> k, benchmark_work of_one = {});

        std::string name;
        shared_function<void()> call;
        std::shared_ptr<timed_kernel> kernel;
        benchmark_work work;

    private:
        template <class F> F&& there(F& f) const {
            if constexpr (!std::is_empty_v<F> && requires { f == nullptr; }) require(f != nullptr);
            return std::move(f);
        }
        void require(bool can_be_called) const;
};

struct benchmark_options {
    double seconds = 0.5; ///< of measuring, each candidate
    double warm_up = 0.1; ///< seconds that each runs before
    int rounds = 21;      ///< in each all candidates are timed once, in an order that is drawn anew
    /// Each call finds none of its operands in the caches (of the device, or of the host), which are filled with others before it.
    bool cold = false;
    bool peaks = true;      ///< measures what the devices can do, where bytes or operations are known
    std::uint64_t seed = 1; ///< of the orders
    /// The medians of kernels are added there: what a cost-based placement learns from (session_options::cost_measurements).
    cost_measurements* measurements = nullptr;
};

struct benchmark_row {
    std::string name, on;                  ///< on: the device; "host": what was called
    std::vector<double> seconds;           ///< of one call, by round
    benchmark_work work;                   ///< of one call
    device_peak peak;                      ///< of the device, operations in the kernel's element type
    std::vector<launched_kernel> launches; ///< of a kernel on a card

    double median() const;
    /// A quarter of the rounds took less, a quarter more.
    std::pair<double, double> middle_half() const;
    double bytes_per_second() const;      ///< by the median; 0 where they are not known
    double operations_per_second() const; ///< the same
};

struct benchmark_report {
    std::vector<benchmark_row> rows;
    bool cold = false;
    std::string machine{}; ///< its processor, and the cards of its kernels; empty where that is not known

    /// A table: median, the middle half of the rounds, how often as fast as the first, and where it is known bytes and operations a second
    /// with their shares of the peaks; below it what each kernel launches, with registers and occupancy.
    std::string to_text() const;
    std::string to_json() const;
    /// data_loss_error where the text is no JSON, invalid_argument_error, naming the entry, where it is no report.
    static benchmark_report from_json(const std::string& text);
    /// Writes and reads such a file; throws what fits where that fails: not_found_error, permission_denied_error, ...
    void save(const std::string& path) const;
    static benchmark_report load(const std::string& path);
};

namespace detail {
benchmark_report time_in_turns(const std::vector<benchmark_candidate>& candidates, const benchmark_options& o);
} // namespace detail

/// Times the candidates in turns: a list of them, or one, a kernel or what can be called. What they throw is thrown, and where it is one of
/// Tenon's errors it names the candidate; invalid_argument_error where an option makes no sense, naming it.
// One function, so that a compiler that refuses a call has little to say.
template <class What = std::vector<benchmark_candidate>>
benchmark_report benchmark(const What& what, const benchmark_options& o = {}) {
    constexpr bool is_list = std::is_convertible_v<const What&, const std::vector<benchmark_candidate>&>;
    constexpr bool is_kernel = std::is_convertible_v<const What&, std::shared_ptr<timed_kernel>>;
    static_assert(is_list || is_kernel || std::is_invocable_v<What&>,
                  "tenon::benchmark: a kernel is timed, benchmark(sess.kernel_of(y, feed(x, value))), or what can "
                  "be called, such as a step: benchmark([&] { step(value); })");
    if constexpr (is_list) return detail::time_in_turns(what, o);
    else if constexpr (is_kernel) {
        const std::shared_ptr<timed_kernel> kernel = what;
        return detail::time_in_turns({{kernel ? kernel->node() : "kernel", kernel}}, o);
    } else if constexpr (std::is_invocable_v<What&>) return detail::time_in_turns({{"call", what}}, o);
    else return {};
}

/// A table of what has changed, by name: both medians, how often as fast it is now, and whether the middle halves of their rounds lie apart
/// ("faster", "slower") or not ("the same"). It says where the reports are of different machines.
std::string compare(const benchmark_report& before, const benchmark_report& now);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/debug/benchmark.ipp>
#endif
