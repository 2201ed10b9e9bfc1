#include "running.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/array/print.hpp>
#include <tenon/ops/state/state.hpp>

namespace op_table {

silence::silence() : kept_(::dup(STDERR_FILENO)) {
    std::fflush(stderr);
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDERR_FILENO);
    ::close(nothing);
}
silence::~silence() {
    std::fflush(stderr);
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
}

namespace {

double allowed_for(element_type e) {
    switch (e) {
    case element_type::float64: return 1e-13;
    case element_type::float32: return 2e-6;
    case element_type::float16: return 2e-3;
    case element_type::bfloat16: return 1.6e-2;
    default: return 0;
    }
}

} // namespace

std::string name_of(const entry& e, const sample& s, element_type t) {
    return e.op + (s.about.empty() ? "" : ", " + s.about) + "; " + tenon::name_of(t);
}

element_type usual_element(const entry& e) {
    for (const element_type t : {element_type::float64, element_type::int32, element_type::boolean})
        if (e.elements.has(t)) return t;
    return element_type::float32;
}

std::vector<any_array> fetch(const built& b, const std::vector<any_array>& values,
                             const std::vector<any_tensor>& fetched, const session_options& o) {
    const graph_scope in(b.in);
    session s(b.in, o);
    std::vector<fed_value> feeds;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (b.operands[i].node()->inputs.empty() && !b.operands[i].node()->op->is(op_flags::resource))
            feeds.push_back({b.operands[i], values[i].share()});
    if (b.node->op->is(op_flags::source))
        for (const any_tensor& t : b.results())
            if (t.node()->inputs.empty()) {
                any_array a(t.element(), t.extents());
                for (std::int64_t i = 0; i < a.elements(); ++i) set_number(a, i, static_cast<double>(i % 2));
                feeds.push_back({t, std::move(a)});
            }
    const silence quiet;
    if (!b.in.collection(global_variables).empty()) s.run_untyped({}, {}, {initialize_variables()});
    return s.run_untyped(std::move(feeds), fetched, b.targets());
}

std::vector<any_array> run(const built& b, const std::vector<any_array>& values, const session_options& o) {
    return fetch(b, values, b.results(), o);
}

std::string difference(const std::vector<any_array>& got, const std::vector<any_array>& want) {
    if (got.size() != want.size()) return std::to_string(got.size()) + " results, not " + std::to_string(want.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
        const std::string here = "result " + std::to_string(o) + " is ";
        if (!(got[o].type() == want[o].type()))
            return here + to_string(got[o].type()) + ", not " + to_string(want[o].type());
        if (got[o].element() == element_type::string) {
            if (!(got[o] == want[o])) return here + "another text";
            continue;
        }
        const std::size_t size = size_of(got[o].element());
        for (std::int64_t i = 0; i < got[o].elements(); ++i) {
            const auto at = static_cast<std::size_t>(i) * size;
            if (std::memcmp(static_cast<const char*>(got[o].data()) + at, static_cast<const char*>(want[o].data()) + at,
                            size) == 0)
                continue;
            const double a = number_at(got[o], i), b = number_at(want[o], i);
            if (std::isnan(a) && std::isnan(b)) continue;
            return here + std::to_string(a) + " at element " + std::to_string(i) + ", not " + std::to_string(b);
        }
    }
    return {};
}

std::string difference(const std::vector<any_array>& got, const arguments& want, double tolerance) {
    if (got.size() != want.size()) return std::to_string(got.size()) + " results, not " + std::to_string(want.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
        const std::string here = "result " + std::to_string(o) + " is ";
        extents sizes;
        for (const std::int64_t n : want[o].sizes) sizes.push_back(n);
        if (!(got[o].extents() == sizes)) return here + to_string(got[o].type()) + ", not of sizes " + to_string(sizes);
        any_array rounded(got[o].element(), sizes); // as the element type has it: wrapped around, or rounded
        for (std::int64_t i = 0; i < got[o].elements(); ++i) {
            const double exact = want[o].values[static_cast<std::size_t>(i)];
            set_number(rounded, i, exact);
            const double a = number_at(got[o], i), b = number_at(rounded, i);
            if (a == b || (std::isnan(a) && std::isnan(exact))) continue;
            if (std::fabs(a - exact) <= tolerance * allowed_for(got[o].element()) * std::fmax(1, std::fabs(exact)))
                continue;
            char text[160];
            std::snprintf(text, sizeof text, "%s%.17g at element %lld, not %.17g", here.c_str(), a,
                          static_cast<long long>(i), b);
            return text;
        }
    }
    return {};
}

} // namespace op_table
