#pragma once

#include <new>

#include <cxxabi.h>

#include <tenon/core/error.hpp>
#include <tenon/core/text/type_text.hpp>
#include <tenon/data/steps/kept_failure.hpp>

namespace tenon::detail {

// "std::runtime_error"; empty where the compiler's library does not say.
inline std::string name_of_thrown() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type ? type_text(*type) : std::string();
}

TENON_INLINE std::string words_of_thrown() {
    try {
        throw;
    } catch (const std::exception& e) {
        const std::string words = e.what();
        return words.empty() ? name_of_thrown() + " without a message" : words;
    } catch (const char* words) {
        return words ? words : "a null pointer to const char was thrown";
    } catch (const std::string& words) {
        return words;
    } catch (int number) {
        return "the int " + std::to_string(number) + " was thrown";
    } catch (...) {
        const std::string type = name_of_thrown();
        return "a value of type " + (type.empty() ? std::string("that is not known") : type) +
               " was thrown, which is no std::exception";
    }
}

TENON_INLINE void save_kept(state_writer& to, const kept_element& k) {
    to.number(k.failure != nullptr);
    if (!k.failure) return to.element(k.element);
    auto code = error_code::unknown;
    std::string words;
    try {
        std::rethrow_exception(k.failure);
    } catch (const error& e) {
        code = e.code();
        words = e.what();
    } catch (...) {
        words = words_of_thrown();
    }
    to.number(static_cast<std::uint64_t>(code));
    to.text(words);
}

TENON_INLINE kept_element restored_kept(state_reader& from, const std::vector<tensor_type>& types) {
    kept_element k;
    if (from.number(0, 1) == 0) {
        k.element = from.element(types);
        return k;
    }
    const std::uint64_t code = from.number(0, static_cast<std::uint64_t>(error_code::data_loss));
    const std::string words = from.text();
    try {
        throw_error(static_cast<error_code>(code), words);
    } catch (const error&) {
        k.failure = std::current_exception();
    }
    return k;
}

TENON_INLINE std::string place_of_element(const std::string& step, std::uint64_t number) {
    return step + ": element " + std::to_string(number);
}

TENON_INLINE void throw_at(const std::string& place) {
    auto code = error_code::unknown;
    try {
        throw;
    } catch (const error& e) {
        code = e.code();
    } catch (const std::bad_alloc&) {
        code = error_code::resource_exhausted;
    } catch (...) {
    }
    throw_error(code, place + ": " + words_of_thrown());
}

class without_failures_node final : public data_node {
public:
    explicit without_failures_node(pointer from) : data_node("ignore_errors", from->components(), {from}) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }

private:
    class stream final : public element_stream {
    public:
        stream(const data_node& n, pipeline& p) : meter_(p.meter(n)), from_(open_step(n.input(), p)) {}
        bool next(data_element& x) override {
            for (;;) {
                try {
                    return from_->next(x);
                } catch (...) {
                    // Who is stopped gets nothing else any more.
                    if (const stop_source* const s = stop_source::of_thread(); s && s->is_stopped()) throw;
                }
                meter_.left_out.fetch_add(1, std::memory_order_relaxed);
            }
        }
        bool is_ready() const override { return false; } // what is ready may be a failure
        void save(state_writer& to) override { from_->save(to); }
        void restore(state_reader& from) override { from_->restore(from); }

    private:
        step_meter& meter_;
        std::unique_ptr<element_stream> from_;
    };
};

TENON_INLINE data_node::pointer without_failures(data_node::pointer from) {
    return std::make_shared<without_failures_node>(std::move(from));
}

} // namespace tenon::detail
