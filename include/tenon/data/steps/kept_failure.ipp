#pragma once

#include <tenon/core/error.hpp>
#include <tenon/data/steps/kept_failure.hpp>

namespace tenon::detail {

TENON_INLINE void save_kept(state_writer& to, const kept_element& k) {
    to.number(k.failure != nullptr);
    if (!k.failure) return to.element(k.element);
    auto code = error_code::unknown;
    std::string words = "something was thrown that is no std::exception";
    try {
        std::rethrow_exception(k.failure);
    } catch (const error& e) {
        code = e.code();
        words = e.what();
    } catch (const std::exception& e) {
        words = e.what();
    } catch (...) {
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

TENON_INLINE void throw_at(const std::string& place) {
    try {
        throw;
    } catch (const error& e) {
        throw_error(e.code(), place + ": " + e.what());
    } catch (const std::exception& e) {
        throw_error(error_code::unknown, place + ": " + e.what());
    } catch (...) {
        throw_error(error_code::unknown, place + ": something was thrown that is no std::exception");
    }
}

} // namespace tenon::detail
