#include "table.hpp"

#include <algorithm>
#include <numeric>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include <tenon/core/with_element.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/ops/state/state.hpp>

namespace op_table {

namespace {

std::vector<entry>& table() {
    static std::vector<entry> all;
    return all;
}

// A size of an operand: a number, or a name.
struct size_word {
    std::string name;
    std::int64_t number = -1;
};

// A named size's text lives for ever.
const char* lasting(const std::string& name) {
    static std::set<std::string> names;
    return names.insert(name).first->c_str();
}

std::vector<size_word> words_of(const std::string& sizes) {
    std::vector<size_word> all;
    std::istringstream in(sizes);
    for (std::string word; in >> word;) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos) all.push_back({word.substr(0, equals), std::stoll(word.substr(equals + 1))});
        else if (word.find_first_not_of("0123456789") == std::string::npos) all.push_back({{}, std::stoll(word)});
        else all.push_back({word, -1});
    }
    return all;
}

bool lists(const std::string& names, const std::string& name) {
    if (names == "*") return true;
    std::istringstream in(names);
    for (std::string word; in >> word;)
        if (word == name) return true;
    return false;
}

extents numbers_of(const operand& o, const setting& at) {
    extents e;
    for (const size_word& w : words_of(o.sizes)) e.push_back(w.name.empty() ? w.number : at[w.name]);
    return e;
}

element_type element_of(const operand& o, const setting& at) {
    return o.element == element_type::none ? at.element : o.element;
}

// The elements of operand `k` of a sample: each a step of its own apart from the others, in an order that looks like none.
any_array value_of(const operand& o, std::size_t k, const setting& at) {
    any_array a(element_of(o, at), numbers_of(o, at));
    const std::int64_t n = a.elements();
    std::int64_t stride = 1;
    for (std::int64_t candidate = std::max<std::int64_t>(2, n * 5 / 8 + 1); candidate < n; ++candidate)
        if (std::gcd(candidate, n) == 1) {
            stride = candidate;
            break;
        }
    for (std::int64_t i = 0; i < n; ++i) {
        const double part =
            (static_cast<double>((i * stride + static_cast<std::int64_t>(k)) % n) + 0.4) / static_cast<double>(n);
        double v = o.low + (o.high - o.low) * part;
        if (!o.values.empty()) v = o.values[static_cast<std::size_t>(i) % o.values.size()];
        else if (is_integer(a.element())) v = std::round(2 * v);
        if (a.element() == element_type::boolean && o.values.empty()) v = v > 0;
        if (is_integer(a.element()) && !is_signed_integer(a.element())) v = std::fabs(v);
        set_number(a, i, v);
    }
    return a;
}

} // namespace

plain tabulate(const std::vector<std::int64_t>& sizes, const std::function<double(const index&)>& f) {
    plain r{sizes, {}};
    std::int64_t count = 1;
    for (const std::int64_t n : sizes) count *= n;
    index i(sizes.size(), 0);
    for (std::int64_t k = 0; k < count; ++k) {
        r.values.push_back(f(i));
        for (std::size_t d = sizes.size(); d-- > 0;) {
            if (++i[d] < sizes[d]) break;
            i[d] = 0;
        }
    }
    return r;
}

plain each(const plain& x, const std::function<double(double)>& f) {
    plain r = x;
    for (double& v : r.values) v = f(v);
    return r;
}

add_entries::add_entries(std::initializer_list<entry> family) {
    for (const entry& e : family) table().push_back(e);
}

const std::vector<entry>& entries() { return table(); }

std::vector<element_type> every_element() {
    std::vector<element_type> all;
    for (int e = 1; e <= static_cast<int>(element_type::string); ++e) all.push_back(static_cast<element_type>(e));
    return all;
}

std::vector<any_tensor> built::results() const {
    std::vector<any_tensor> all;
    for (std::size_t o = 0; o < node->outputs.size(); ++o) all.emplace_back(node_output{node, static_cast<int>(o)});
    return all;
}

std::vector<operation> built::targets() const {
    if (!node->outputs.empty()) return {};
    return {operation(node)};
}

element_type element_of(const entry& e) {
    for (const element_type t : {element_type::float32, element_type::int32, element_type::boolean})
        if (e.elements.has(t)) return t;
    return element_type::float64;
}

setting setting_of(const sample& s, element_type e) {
    setting at{e, {}};
    for (const operand& o : s.operands)
        for (const size_word& w : words_of(o.sizes))
            if (!w.name.empty() && w.number >= 0) at.sizes[w.name] = w.number;
    return at;
}

built build(const entry& e, const sample& s, const setting& at, known how, const std::string& device) {
    built b;
    const graph_scope in(b.in);
    int count = 0;
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
        const operand& o = s.operands[i];
        if (o.held) {
            b.operands.push_back(untyped::variable("v" + std::to_string(i), untyped::constant(value_of(o, i, at))));
            continue;
        }
        extents sizes;
        for (const size_word& w : words_of(o.sizes)) {
            const extent number = w.name.empty() ? w.number : at[w.name];
            const bool open = !w.name.empty() && !lists(s.numbers_only, w.name);
            const bool named = open && !lists(s.without_names, w.name);
            if (how == known::names && named) sizes.push_back(extent::named(lasting(w.name)));
            else if (open && (how == known::nothing || (how == known::some && count++ % 2 == 0))) sizes.push_back({});
            else sizes.push_back(number);
        }
        b.operands.push_back(untyped::placeholder(element_of(o, at), sizes, "x" + std::to_string(i)));
    }
    const op_definition* op = find_op(e.op);
    if (!op) throw std::runtime_error("the table has an op that is not registered: " + e.op);
    const device_scope here{device_name(device)};
    b.node = add_node(*op, s.inputs ? s.inputs(b.operands) : b.operands, s.attributes.of(at), "y");
    return b;
}

std::vector<any_array> values_for(const sample& s, const setting& at) {
    std::vector<any_array> all;
    for (std::size_t k = 0; k < s.operands.size(); ++k) all.push_back(value_of(s.operands[k], k, at));
    return all;
}

double number_at(const any_array& a, std::int64_t i) {
    return tenon::detail::with_element(a.element(), [&](auto zero) -> double {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, std::string>) return std::stod(a.data<std::string>()[i]);
        else return static_cast<double>(a.data<T>()[i]);
    });
}

void set_number(any_array& a, std::int64_t i, double value) {
    tenon::detail::with_element(a.element(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, std::string>) a.data<T>()[i] = std::to_string(value);
        else if constexpr (std::is_same_v<T, bool>) a.data<T>()[i] = value != 0;
        else if constexpr (std::is_integral_v<T>) a.data<T>()[i] = static_cast<T>(static_cast<std::int64_t>(value));
        else if constexpr (std::is_same_v<T, double>) a.data<T>()[i] = value;
        else a.data<T>()[i] = static_cast<T>(static_cast<float>(value));
    });
}

plain to_plain(const any_array& a) {
    plain p;
    for (const extent& e : a.extents()) p.sizes.push_back(e.size);
    for (std::int64_t i = 0; i < a.elements(); ++i) p.values.push_back(number_at(a, i));
    return p;
}

} // namespace op_table
