#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/kernel.hpp>

#include "messages.hpp"

/// Ops that tests watch: written here as any program may write its own.

namespace probe {

namespace tn = tenon;

/// What ran, in order.
class journal {
public:
    static journal& get() {
        static journal j;
        return j;
    }
    void add(const std::string& line, std::thread::id by = std::this_thread::get_id()) {
        const std::lock_guard lock(guard_);
        lines_.push_back(line);
        threads_.insert(by);
    }
    /// The lines since the last call.
    std::vector<std::string> take() {
        const std::lock_guard lock(guard_);
        return std::exchange(lines_, {});
    }
    /// The threads that added lines since the last call.
    std::set<std::thread::id> take_threads() {
        const std::lock_guard lock(guard_);
        return std::exchange(threads_, {});
    }

private:
    std::mutex guard_;
    std::vector<std::string> lines_;
    std::set<std::thread::id> threads_;
};

enum class deed {
    note,        ///< nothing besides the line in the journal
    fail,        ///< throws out_of_range_error
    fail_std,    ///< throws std::runtime_error
    fail_memory, ///< throws std::bad_alloc
    dawdle,      ///< takes at least 3 milliseconds
    meet,        ///< waits until two kernels are here, at most 20 seconds; its result says whether they met
    stay,        ///< waits until leave() is set, at most 20 seconds
    call,        ///< calls called()
    loop,        ///< takes at least 2 milliseconds for each piece of a loop on the pool; present() counts pieces
};

inline std::atomic<int>& present() {
    static std::atomic<int> n{0};
    return n;
}
/// The most kernels that were at a meeting at one time.
inline std::atomic<int>& crowd() {
    static std::atomic<int> n{0};
    return n;
}
inline std::atomic<bool>& leave() {
    static std::atomic<bool> b{false};
    return b;
}
inline std::function<void()>& called() {
    static std::function<void()> f;
    return f;
}
/// Kernels of watched ops that were made: one a node and plan.
inline std::atomic<int>& prepared() {
    static std::atomic<int> n{0};
    return n;
}

/// Its input, after what `deed` says; its name goes to the journal.
struct watched_op {
    static constexpr const char* name = "test_watched";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    struct attributes {
        deed what = deed::note;
    };
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 1) return tn::fault::expects_more_operands;
        return in[0];
    }

    struct watched_kernel final : tn::kernel {
        explicit watched_kernel(const tn::kernel_setup& s) :
            name(s.node.name), what(tn::decode<attributes>(s.attrs).what), type(s.inputs[0]) {
            ++prepared();
        }
        void run(const tn::kernel_run& r) override {
            using clock = std::chrono::steady_clock;
            journal::get().add(name);
            float result = r.input<float>(0)[0];
            switch (what) {
            case deed::note: break;
            case deed::fail: throw tn::out_of_range_error("the end is reached");
            case deed::fail_std: throw std::runtime_error("an error of another library");
            case deed::fail_memory: throw std::bad_alloc();
            case deed::dawdle:
                for (const auto until = clock::now() + std::chrono::milliseconds(3); clock::now() < until;) {
                }
                break;
            case deed::meet: {
                static std::atomic<int> here{0};
                const int now = ++here;
                for (int most = crowd(); most < now && !crowd().compare_exchange_weak(most, now);) {
                }
                ++present();
                const auto until = clock::now() + std::chrono::seconds(20);
                while (present() < 2 && clock::now() < until) {
                }
                result = present() >= 2 ? 1.0f : 0.0f;
                --here;
                break;
            }
            case deed::stay: {
                ++present();
                const auto until = clock::now() + std::chrono::seconds(20);
                while (!leave() && clock::now() < until) {
                }
                break;
            }
            case deed::call: called()(); break;
            case deed::loop:
                r.pool->parallel_for(64, 1, [](std::int64_t, std::int64_t) {
                    ++present();
                    for (const auto until = clock::now() + std::chrono::milliseconds(2); clock::now() < until;) {
                    }
                });
                break;
            }
            for (std::int64_t i = 0; i < type.extents.elements(); ++i)
                r.output<float>(0)[i] = what == deed::meet ? result : r.input<float>(0)[i];
        }
        double cost() const override { return what == deed::meet || what == deed::dawdle ? 3e6 : 100; }
        std::string name;
        deed what;
        tn::tensor_type type;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<watched_kernel>(s); }
};

template <tn::Operand X> auto watched(const X& x, const std::string& name, deed what = deed::note) {
    const auto t = tn::detail::as_tensor(x);
    return std::remove_cvref_t<decltype(t)>::unchecked(tn::add<watched_op>({what}, {t}, name));
}

inline int position(const std::vector<std::string>& lines, const std::string& line) {
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i] == line) return static_cast<int>(i);
    return -1;
}

} // namespace probe
