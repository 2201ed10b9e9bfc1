#pragma once

// What the oneDNN backends share. Included only by them, and only where TENON_ONEDNN is 1.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <tenon/concurrency/exit_gate.hpp>
#include <tenon/core/error.hpp>
#include <tenon/memory/paid_memory.hpp>

namespace tenon::dense::detail {

/// oneDNN divides its work by OpenMP, whose threads would compete with ours and take milliseconds to wake.
inline tenon::detail::exit_gate& gate_of_onednn() noexcept {
    static tenon::detail::exit_gate gate;
    return gate;
}

/// While one of these lives, what this thread makes or runs uses this thread alone.
class one_openmp_thread {
public:
    one_openmp_thread() : before_(functions().get == nullptr ? 1 : functions().get()) {
        if (before_ != 1) functions().set(1);
    }
    ~one_openmp_thread() {
        if (before_ != 1) functions().set(before_);
    }
    one_openmp_thread(one_openmp_thread&&) = delete;

private:
    struct openmp {
        int (*get)() = nullptr;
        void (*set)(int) = nullptr;
    };
    static const openmp& functions() noexcept { // none where the process has no OpenMP
        static const openmp found = [] {
            openmp f;
            f.get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
            f.set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
            if (f.set == nullptr) f.get = nullptr;
            return f;
        }();
        return found;
    }

    const tenon::detail::exit_gate::use inside_{gate_of_onednn()};
    int before_;
};

inline void require(dnnl_status_t status, const char* call) {
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    if (status == dnnl_runtime_error)
        throw resource_exhausted_error(std::string("oneDNN: ") + call +
                                       " failed: the system gives no memory for the code that it writes (see ulimit -v "
                                       "and vm.max_map_count)");
    if (status != dnnl_success) {
        throw internal_error(std::string("oneDNN: ") + call + " failed with status " + std::to_string(status));
    }
}

struct onednn_delete {
    void operator()(dnnl_primitive_desc* p) const noexcept { dnnl_primitive_desc_destroy(p); }
    void operator()(dnnl_primitive* p) const noexcept { dnnl_primitive_destroy(p); }
    void operator()(dnnl_primitive_attr* p) const noexcept { dnnl_primitive_attr_destroy(p); }
    void operator()(dnnl_post_ops* p) const noexcept { dnnl_post_ops_destroy(p); }
    void operator()(dnnl_memory* p) const noexcept { dnnl_memory_destroy(p); }
    void operator()(dnnl_stream* p) const noexcept { dnnl_stream_destroy(p); }
};
template <class T> using onednn_owner = std::unique_ptr<T, onednn_delete>;

/// The process's engine: never destroyed, as primitives may outlive static objects.
inline dnnl_engine_t onednn_engine() {
    static const dnnl_engine_t engine = [] {
        dnnl_engine_t made = nullptr;
        require(dnnl_engine_create(&made, dnnl_cpu, 0), "dnnl_engine_create");
        return made;
    }();
    return engine;
}

using onednn_sizes = std::initializer_list<std::int64_t>;

inline dnnl_memory_desc_t strided(onednn_sizes sizes, onednn_sizes strides) {
    dnnl_memory_desc_t made;
    require(dnnl_memory_desc_init_by_strides(&made, static_cast<int>(sizes.size()), sizes.begin(), dnnl_f32,
                                             strides.begin()),
            "dnnl_memory_desc_init_by_strides");
    return made;
}
/// In the order that the primitive likes best.
inline dnnl_memory_desc_t in_any_order(onednn_sizes sizes) {
    dnnl_memory_desc_t made;
    require(dnnl_memory_desc_init_by_tag(&made, static_cast<int>(sizes.size()), sizes.begin(), dnnl_f32,
                                         dnnl_format_tag_any),
            "dnnl_memory_desc_init_by_tag");
    return made;
}

/// c = scale * (...), then + c, then max(., 0), each where asked for; scratch memory is the caller's.
inline onednn_owner<dnnl_primitive_attr> make_attributes(float scale, bool add, bool clip) {
    dnnl_primitive_attr_t attributes = nullptr;
    require(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
    onednn_owner<dnnl_primitive_attr> owner(attributes);
    require(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "set_scratchpad_mode");
    if (scale != 1.0F) {
        require(dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &scale), "set_output_scales");
    }
    dnnl_post_ops_t operations = nullptr;
    require(dnnl_post_ops_create(&operations), "dnnl_post_ops_create");
    const onednn_owner<dnnl_post_ops> guard(operations);
    if (add) require(dnnl_post_ops_append_sum(operations, 1.0F), "append_sum");
    if (clip) require(dnnl_post_ops_append_eltwise(operations, 1.0F, dnnl_eltwise_relu, 0.0F, 0.0F), "append_eltwise");
    require(dnnl_primitive_attr_set_post_ops(attributes, operations), "set_post_ops");
    return owner;
}

inline onednn_owner<dnnl_primitive> primitive_of(dnnl_primitive_desc_t description) {
    dnnl_primitive_t made = nullptr;
    require(dnnl_primitive_create(&made, description), "dnnl_primitive_create");
    // Its cache is there by now, and so ends after that.
    static const int is_told = std::atexit([] { gate_of_onednn().close(); });
    (void)is_told;
    return onednn_owner<dnnl_primitive>(made);
}

/// A primitive for one thread, with the descriptions of its operands. Empty where oneDNN has none; and where memory ended while such a one was
/// made before: its cache holds a promise then that nobody keeps, and throws that at all who ask for the same.
struct onednn_primitive {
    onednn_owner<dnnl_primitive_desc> description;
    onednn_owner<dnnl_primitive> primitive;

    onednn_primitive() = default;
    onednn_primitive(const void* operation, const dnnl_primitive_attr* attributes, const dnnl_primitive_desc* hint) {
        const one_openmp_thread alone;
        try {
            dnnl_primitive_desc_t made = nullptr;
            if (dnnl_primitive_desc_create(&made, operation, attributes, onednn_engine(), hint) != dnnl_success) return;
            description.reset(made);
            primitive = primitive_of(made);
        } catch (const std::future_error&) {
        }
    }
    explicit operator bool() const noexcept { return primitive != nullptr; }

    const dnnl_memory_desc_t& operand(dnnl_query_t which) const {
        return *dnnl_primitive_desc_query_md(description.get(), which, 0);
    }
    std::size_t scratch_bytes() const { return dnnl_memory_desc_get_size(&operand(dnnl_query_scratchpad_md)); }
};

/// A copy of one operand into another order.
inline onednn_primitive make_reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
    onednn_primitive made;
    const one_openmp_thread alone;
    const auto attributes = make_attributes(1.0F, false, false);
    dnnl_primitive_desc_t description = nullptr;
    require(dnnl_reorder_primitive_desc_create(&description, &from, onednn_engine(), &to, onednn_engine(),
                                               attributes.get()),
            "dnnl_reorder_primitive_desc_create");
    made.description.reset(description);
    made.primitive = primitive_of(description);
    return made;
}

/// Objects that a run needs for itself: made when there are none to spare, kept for later runs.
template <class Context> class context_pool {
public:
    template <class Make> std::unique_ptr<Context> borrow(Make make) {
        {
            const std::lock_guard guard(mutex_);
            if (!spare_.empty()) {
                auto one = std::move(spare_.back());
                spare_.pop_back();
                return one;
            }
        }
        return make();
    }
    void give_back(std::unique_ptr<Context> one) noexcept {
        const std::lock_guard guard(mutex_);
        try {
            spare_.push_back(std::move(one));
        } catch (const std::bad_alloc&) { // it ends
        }
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Context>> spare_;
};

/// A primitive's operands and scratch memory for one run at a time.
class onednn_call {
public:
    struct operand {
        int name;
        dnnl_memory_desc_t description;
    };

    onednn_call(const onednn_primitive& of, std::initializer_list<operand> operands, memory_payer* payer) :
        primitive_(of.primitive.get()), scratch_(payer) {
        scratch_.resize(of.scratch_bytes() + 64);
        dnnl_stream_t stream = nullptr;
        require(dnnl_stream_create(&stream, onednn_engine(), dnnl_stream_default_flags), "dnnl_stream_create");
        stream_.reset(stream);
        for (const auto& o : operands) add(o.name, o.description);
        add(DNNL_ARG_SCRATCHPAD, of.operand(dnnl_query_scratchpad_md));
        auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
        address = (address + 63) / 64 * 64;
        set(operands.size(), reinterpret_cast<void*>(address));
    }

    /// Operands in the order in which they were named. Done on return: a CPU's stream runs at once.
    void run(std::initializer_list<const void*> operands) {
        std::size_t i = 0;
        for (const void* each : operands) set(i++, const_cast<void*>(each));
        const one_openmp_thread alone;
        require(
            dnnl_primitive_execute(primitive_, stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()),
            "dnnl_primitive_execute");
    }

private:
    void add(int name, const dnnl_memory_desc_t& description) {
        dnnl_memory_t made = nullptr;
        require(dnnl_memory_create(&made, &description, onednn_engine(), DNNL_MEMORY_NONE), "dnnl_memory_create");
        memories_.emplace_back(made);
        addresses_.push_back(nullptr);
        arguments_.push_back({name, made});
    }
    void set(std::size_t i, void* data) {
        if (addresses_[i] == data) return; // a plan's operands mostly stay where they are
        addresses_[i] = data;
        require(dnnl_memory_set_data_handle(memories_[i].get(), data), "dnnl_memory_set_data_handle");
    }

    dnnl_primitive_t primitive_;
    paid_vector<std::byte> scratch_;
    onednn_owner<dnnl_stream> stream_;
    std::vector<onednn_owner<dnnl_memory>> memories_;
    std::vector<void*> addresses_; // what each of them has been given
    std::vector<dnnl_exec_arg_t> arguments_;
};

} // namespace tenon::dense::detail
