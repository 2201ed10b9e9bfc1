#pragma once

#include <algorithm>
#include <charconv>

#include <tenon/core/sizes/size_name.hpp>
#include <tenon/onnx/onnx_import.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Sizes that a model computes of sizes that are known in the step: as sums of products of names, and as tensors that have them.

namespace tenon::detail::onnx {

inline constexpr std::size_t max_terms = 16, max_name = 1024;
inline constexpr std::int64_t max_coefficient = std::int64_t{1} << 60;

inline std::string_view trimmed(std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
}
// Where one of these begins that is in no parentheses.
inline std::size_t find_outside(std::string_view text, std::initializer_list<std::string_view> wanted) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        for (const std::string_view w : wanted)
            if (depth == 0 && text.substr(i).starts_with(w)) return i;
    }
    return std::string_view::npos;
}
// "2*n" or "n*floor(m/2)", as factors; false where it is neither.
inline bool read_product(std::string_view text, size_product& p) {
    for (std::size_t to = 0; to != std::string_view::npos;) {
        to = find_outside(text, {"*"});
        const std::string_view part = trimmed(text.substr(0, to));
        if (to != std::string_view::npos) text.remove_prefix(to + 1);
        if (part.empty() || find_outside(part, {" "}) != std::string_view::npos) return false;
        std::int64_t n = 0;
        const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), n);
        if (fault != std::errc() || end != part.data() + part.size()) p.names.emplace(part);
        else if (n < 1 || n > max_folded || p.number > max_folded) return false;
        else p.number *= n;
    }
    return p.names.size() <= max_rank;
}
// Terms with their signs: "past + seq", "a+2*b", "n - 1". What has other signs is no sum: then all of it is one name.
inline std::optional<size_sum> read_sum(std::string_view text) {
    if (find_outside(text, {"/", "%", "^", ","}) != std::string_view::npos) return std::nullopt;
    size_sum sum;
    std::int64_t sign = 1;
    if (text.starts_with('-')) sign = -1, text.remove_prefix(1);
    while (true) {
        const std::size_t next = find_outside(text, {"+", " - "});
        size_product p;
        if (!read_product(trimmed(text.substr(0, next)), p)) return std::nullopt;
        size_sum term;
        term.terms[p.names] = p.number;
        const auto both = plus(std::move(sum), term, sign);
        if (!both) return std::nullopt;
        sum = *both;
        if (next == std::string_view::npos) return sum;
        sign = text[next] == '+' ? 1 : -1;
        text.remove_prefix(next + (sign > 0 ? 1 : 3));
    }
}
// A part of a size, rounded down: "floor((h+1)/2)".
inline constexpr std::string_view part_begins = "floor((", part_between = ")/", part_ends = ")";

TENON_INLINE std::optional<size_product> product_of(const extent& e) {
    size_product p;
    if (e.is_number()) return p.number = e.size, p;
    if (e.is_dynamic() || is_nameless(e)) return std::nullopt;
    const std::string_view name = e.name;
    if (find_outside(name, {"+", "-", "/", " "}) != name.npos || !read_product(name, p)) p = {1, {std::string(name)}};
    return p;
}
TENON_INLINE std::optional<size_sum> sum_of(const extent& e) {
    if (is_nameless(e)) return std::nullopt;
    size_sum s;
    if (!e.is_named()) {
        if (e.size > max_coefficient || e.size < -max_coefficient) return std::nullopt;
        if (e.size != 0) s.terms[{}] = e.size;
        return s;
    }
    if (auto read = read_sum(e.name)) return read;
    s.terms[{e.name}] = 1;
    return s;
}
TENON_INLINE std::optional<size_sum> plus(size_sum a, const size_sum& b, std::int64_t factor) {
    for (const auto& [names, n] : b.terms) {
        checked_size all = checked_size(std::abs(n)) * std::abs(factor);
        std::int64_t& sum = a.terms[names];
        all += std::abs(sum);
        if (all.saturated() > max_coefficient) return std::nullopt;
        sum += n * factor;
        if (sum == 0) a.terms.erase(names);
    }
    if (a.terms.size() > max_terms) return std::nullopt;
    return a;
}
TENON_INLINE std::optional<size_sum> times(const size_sum& a, const size_sum& b) {
    std::optional<size_sum> all = size_sum{};
    for (const auto& [names, n] : a.terms)
        for (const auto& [others, m] : b.terms) {
            if (!all || (checked_size(std::abs(n)) * std::abs(m)).saturated() > max_coefficient) return std::nullopt;
            std::multiset<std::string> both = names;
            both.insert(others.begin(), others.end());
            if (both.size() > max_rank) return std::nullopt;
            size_sum term;
            term.terms[both] = n * m;
            all = plus(std::move(*all), term);
        }
    return all;
}
TENON_INLINE std::optional<size_sum> distance(const extent& a, const extent& b) {
    const auto from = sum_of(a), to = sum_of(b);
    if (!from || !to) return std::nullopt;
    return plus(*to, *from, -1);
}

TENON_INLINE extent size_of(const call& c, const size_sum& s) {
    if (s.is_number()) return size_entry(s.number());
    if (const auto own = c.name_of_input(s)) return *own;
    std::string text;
    const auto add = [&](const std::multiset<std::string>& names, std::int64_t n) {
        text += n < 0 ? text.empty() ? "-" : " - " : text.empty() ? "" : "+";
        std::string product = std::abs(n) == 1 && !names.empty() ? "" : std::to_string(std::abs(n));
        for (const std::string& name : names) product += (product.empty() ? "" : "*") + name;
        text += product;
    };
    for (const auto& [names, n] : s.terms)
        if (!names.empty()) add(names, n);
    if (const auto n = s.terms.find({}); n != s.terms.end()) add({}, n->second);
    return text.size() > max_name ? computed_size : c.named(text);
}
TENON_INLINE bool is_below_0(const size_sum& s) { // whatever its names stand for
    return !s.terms.empty() && std::all_of(s.terms.begin(), s.terms.end(), [](const auto& t) { return t.second < 0; });
}
TENON_INLINE std::optional<size_sum> part_of(const call& c, const size_sum& s, std::int64_t n, bool to_zero) {
    if (to_zero && is_below_0(s)) {
        const auto part = part_of(c, *plus({}, s, -1), n, true);
        return part ? plus({}, *part, -1) : part;
    }
    size_sum whole, rest; // what n divides, and what it does not
    for (const auto& [names, k] : s.terms) (k % n == 0 ? whole : rest).terms[names] = k % n == 0 ? k / n : k;
    if (rest.terms.empty()) return whole;
    if (rest.is_number()) { // rounded down
        const std::int64_t k = rest.number();
        return plus(whole, *sum_of(size_entry(k / n - (k < 0 ? 1 : 0))));
    }
    const bool below = is_below_0(rest); // -floor((m + n - 1) / n)
    if (below) {
        const auto up = plus(*sum_of(extent(n - 1)), rest, -1);
        if (!up) return up;
        rest = *up;
    }
    const extent divided = size_of(c, rest);
    if (is_nameless(divided)) return std::nullopt;
    size_sum part;
    part.terms[{std::string(part_begins) + divided.name + std::string(part_between) + std::to_string(n) +
                std::string(part_ends)}] = 1;
    return plus(whole, part, below ? -1 : 1);
}
TENON_INLINE extent size_of(const call& c, const size_product& p) {
    std::optional<size_sum> all = sum_of(extent(p.number));
    for (const std::string& n : p.names)
        if (const auto factor = sum_of(extent::named(n.c_str())); all)
            all = factor ? times(*all, *factor) : std::nullopt;
    return all ? size_of(c, *all) : computed_size;
}

TENON_INLINE std::optional<std::vector<extent>> moved_sizes(const call& c,
                                                            function_ref<any_tensor(const any_tensor&)> f) {
    const value& v = c.in(0);
    if (!v.sizes || v.first.extents().elements() != static_cast<std::int64_t>(v.sizes->size())) return std::nullopt;
    std::vector<std::int64_t> places(v.sizes->size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
    const auto moved = c.known(value_of(f(integer_constant(places, v.first.extents()))));
    if (!moved) return std::nullopt;
    std::vector<extent> list;
    for (std::int64_t i = 0; i < moved->elements(); ++i)
        list.push_back((*v.sizes)[static_cast<std::size_t>(moved->data<std::int64_t>()[i])]);
    return list;
}

TENON_INLINE any_tensor with_size_named(const any_tensor& x, int axis, const extent& e) {
    if (is_nameless(e)) return x;
    reshape_op::attributes a;
    for (int i = 0; i < x.rank(); ++i) {
        a.sizes.push_back(i != axis ? reshape_op::copied(i) : e.is_number() ? e.size : reshape_op::deduced);
        a.declared.push_back(i == axis ? e : extent{});
    }
    return tenon::add<reshape_op>(a, {x});
}
TENON_INLINE any_tensor with_multiple(const call& c, const any_tensor& x, int axis, const extent& e, std::int64_t n) {
    const auto sum = e.is_named() ? sum_of(e) : std::nullopt;
    const auto all = sum ? times(*sum, *sum_of(extent(n))) : std::nullopt;
    return all ? with_size_named(x, axis, size_of(c, *all)) : x;
}
// Of sizes that are to be one: a number, else what an input has, else the first.
inline extent one_size(const call& c, const std::vector<extent>& sizes) {
    const auto of_input = [&](const extent& e) {
        const auto sum = sum_of(e);
        return sum && c.name_of_input(*sum);
    };
    extent one;
    for (const extent& e : sizes) {
        if (e == extent(1) || e.is_dynamic() || e == one || one.is_number()) continue;
        if (one.is_dynamic() || e.is_number() || (!of_input(one) && of_input(e))) one = e;
    }
    return one;
}
inline any_tensor with_size_of(const any_tensor& x, int axis, const extent& one) {
    const extent& own = x.extents()[axis];
    return own.is_named() && !(own == one) ? with_size_named(x, axis, one) : x;
}
TENON_INLINE void agree(const call& c, any_tensor& x, int a, any_tensor& y, int b) {
    const extent one = one_size(c, {x.extents()[a], y.extents()[b]});
    x = with_size_of(x, a, one), y = with_size_of(y, b, one);
}
TENON_INLINE std::vector<any_tensor> agreed(const call& c, std::vector<any_tensor> xs, int but, int behind) {
    int rank = 0;
    for (const any_tensor& x : xs) rank = std::max(rank, x.rank());
    for (int from_end = 1 + behind; from_end <= rank; ++from_end) {
        if (rank - from_end == but) continue;
        std::vector<extent> sizes;
        for (const any_tensor& x : xs)
            if (x.rank() >= from_end) sizes.push_back(x.extents()[x.rank() - from_end]);
        const extent one = one_size(c, sizes);
        for (any_tensor& x : xs)
            if (x.rank() >= from_end) x = with_size_of(x, x.rank() - from_end, one);
    }
    return xs;
}
TENON_INLINE any_tensor product_of_agreed(const call& c, const any_tensor& a, const any_tensor& b) {
    std::vector<any_tensor> xs = agreed(c, {a, b}, -1, 2);
    if (a.rank() > 0 && b.rank() > 0) {
        agree(c, xs[0], a.rank() - 1, xs[1], std::max(b.rank() - 2, 0));
    }
    return untyped::matmul(xs[0], xs[1]);
}
TENON_INLINE any_tensor joined(const call& c, const std::vector<any_tensor>& xs, int axis) {
    const bool alike = std::all_of(xs.begin(), xs.end(), [&](const any_tensor& x) { return x.rank() == xs[0].rank(); });
    const any_tensor all = untyped::concat(alike ? agreed(c, xs, axis) : xs, axis);
    std::optional<size_sum> sum = size_sum{};
    for (const any_tensor& x : xs) {
        const extent& e = x.extents()[axis];
        const auto part = e.is_dynamic() ? std::nullopt : sum_of(e);
        sum = sum && part ? plus(*sum, *part) : std::nullopt;
    }
    return !sum || sum->is_number() ? all : with_size_named(all, axis, size_of(c, *sum));
}
TENON_INLINE any_tensor counted_to(const call& c, const size_sum& n, element_type e, const any_tensor& start) {
    any_tensor numbers;
    if (n.is_number()) {
        if (n.number() < 0 || n.number() > max_folded) return {};
        numbers = untyped::cast(numbers_to(c, n.number()), e);
    } else if (const auto like = c.with_size(size_of(c, n)))
        numbers = untyped::arange_like(like->first, e, like->second);
    else return {};
    return start.node() ? untyped::add(numbers, start) : numbers;
}

TENON_INLINE std::optional<std::pair<any_tensor, int>> call::with_size(const extent& e) const {
    return in_.with_size(*this, e);
}
TENON_INLINE std::optional<extent> call::name_of_input(const size_sum& s) const { return in_.name_of_input(s); }
TENON_INLINE bool call::is_found(const any_tensor& t, int axis) const {
    return !t.extents()[axis].is_number() && in_.is_found(t.node());
}
TENON_INLINE void call::name_size(int i, int axis) const {
    in_.name_size(in(i), node_.inputs[static_cast<std::size_t>(i)], axis);
}
TENON_INLINE std::optional<std::vector<extent>> call::sizes_in_step(int i) const {
    if (!in(i).sizes && known(i)) return sizes(i);
    in_.name_computed(*this, in(i), node_.inputs[static_cast<std::size_t>(i)]);
    return in(i).sizes;
}
TENON_INLINE extent call::size_in_step(const any_tensor& n) const {
    if (in_.in_body()) return computed_size;
    const extent e = in_.free_name(node_.outputs.empty() ? node_.op : node_.outputs[0], 0);
    in_.count(e, n);
    return e;
}
TENON_INLINE any_tensor call::of_sizes(const std::vector<extent>& sizes, element_type e, const number& value) const {
    extents wanted;
    std::vector<any_tensor> like;
    for (const extent& s : sizes) {
        if (!s.is_number()) {
            const auto has = with_size(s);
            if (!has) return {};
            like.push_back(has->first);
        }
        wanted.push_back(s);
    }
    return untyped::full(e, wanted, value, like);
}

// A tensor as long as a name says that an input has in "4*name" or "2*name+1" alone.
TENON_INLINE any_tensor importer::solved_for(const call& c, const std::multiset<std::string>& name) {
    for (const auto& [sum, e] : named_) {
        const auto of = sum.terms.find(name), rest = sum.terms.find({});
        if (of == sum.terms.end() || of->second < 1 || sum.terms.size() > (rest == sum.terms.end() ? 1U : 2U)) continue;
        any_tensor t = c.of_sizes({e}, element_type::boolean, 0);
        const std::int64_t more = rest == sum.terms.end() ? 0 : rest->second;
        if (more < -max_folded || of->second > max_folded) continue;
        if (more > 0) t = part_along(t, 0, more, unbounded);
        if (more < 0) t = untyped::pad(t, {{0, -more}}, 0);
        return of->second == 1 ? t : untyped::slice(t, {{of->second - 1, unbounded, of->second}});
    }
    return {};
}
TENON_INLINE std::optional<std::pair<any_tensor, int>> importer::with_size(const call& c, const extent& e) {
    if (!e.is_named() || is_nameless(e)) return std::nullopt;
    if (const auto found = sized_.find(e.name); found != sized_.end()) return found->second;
    const auto kept = [&](const any_tensor& t) {
        const std::pair result{with_size_named(t, 0, e), 0};
        if (levels_.size() == 1) sized_.emplace(e.name, result);
        return result;
    };
    const auto sum = sum_of(e);
    if (!sum) return std::nullopt;
    if (const std::string_view text = e.name;
        sum->terms.size() == 1 && sum->terms.begin()->first.contains(std::string(text))) { // not computed, or rounded
        if (const any_tensor t = solved_for(c, sum->terms.begin()->first); t.node()) return kept(t);
        const std::size_t at = text.rfind(part_between);
        std::int64_t n = 0;
        if (!text.starts_with(part_begins) || at == text.npos) return std::nullopt;
        std::from_chars(text.data() + at + part_between.size(), text.data() + text.size(), n);
        const extent whole = named(std::string(text.substr(part_begins.size(), at - part_begins.size())));
        const any_tensor t = n > 0 ? c.of_sizes({whole}, element_type::boolean, 0) : any_tensor();
        if (!t.node()) return std::nullopt;
        return kept(untyped::slice(t, {{n - 1, unbounded, n}}));
    }
    // A sum is the length of its parts one behind the other, a product that of a tensor that is flat.
    std::vector<any_tensor> parts;
    std::int64_t less = 0;
    for (const auto& [names, n] : sum->terms) {
        if (names.empty() && n < 0) {
            less = -n;
            continue;
        }
        if (n < 0) return std::nullopt;
        std::vector<extent> sizes{n};
        for (const std::string& name : names) sizes.push_back(named(name));
        if (sizes.size() > max_rank) return std::nullopt;
        const any_tensor part = c.of_sizes(sizes, element_type::boolean, 0);
        if (!part.node()) return std::nullopt;
        parts.push_back(reshaped(part, {reshape_op::deduced}));
    }
    if (parts.empty()) return std::nullopt;
    any_tensor all = parts.size() == 1 ? parts[0] : untyped::concat(parts, 0);
    if (less > 0) all = part_along(all, 0, less, unbounded);
    return kept(all);
}
TENON_INLINE std::optional<extent> importer::name_of_input(const size_sum& s) const {
    for (const auto& [sum, e] : named_)
        if (sum == s) return e;
    return std::nullopt;
}
TENON_INLINE extent importer::free_name(const std::string& of, int at) {
    std::string name = of + '.' + std::to_string(at);
    while (name.starts_with('/')) name.erase(0, 1);
    for (char& letter : name)
        if (std::string_view("+-*/()%^, ").find(letter) != std::string_view::npos) letter = '_';
    const std::string first = name;
    for (int k = 2; sized_.contains(name); ++k) name = first + '_' + std::to_string(k);
    return named(name);
}
TENON_INLINE void importer::name_size(value& v, const std::string& of, int axis) {
    const any_tensor& t = v.first;
    if (levels_.size() > 1 || !t.extents()[axis].is_dynamic()) return; // a body's sizes may change from run to run
    const extent e = free_name(of, axis);
    v.first = with_size_named(t, axis, e);
    constexpr int places[] = {0, 3, 1, 2};
    if (v.last.node()) v.last = with_size_named(v.last, places[axis], e);
    sized_.emplace(e.name, std::pair(v.first, axis));
}
TENON_INLINE void importer::name_computed(const call& c, value& v, const std::string& of) {
    const any_tensor& t = v.first;
    if (in_body() || t.rank() > 1 || !is_integer(t.element()) || !t.extents().is_static() ||
        t.extents().elements() > most_sizes)
        return;
    if (!v.sizes) v.sizes.emplace(static_cast<std::size_t>(t.extents().elements()), computed_size);
    const any_tensor list = reshaped(t, {t.extents().elements()});
    for (std::size_t i = 0; i < v.sizes->size(); ++i) {
        extent& e = (*v.sizes)[i];
        if (!e.is_named() || with_size(c, e)) continue;
        if (is_nameless(e)) e = free_name(of, static_cast<int>(i));
        count(e, int64_at(list, static_cast<std::int64_t>(i)));
    }
}
TENON_INLINE void importer::count(const extent& e, const any_tensor& n) {
    sized_.emplace(e.name, std::pair(untyped::arange_to(n, {e}), 0));
}

// What the model calls a size: a number where the options say what its names are.
TENON_INLINE extent importer::size_called(const std::string& name) {
    if (const auto bound = bound_.find(name); bound != bound_.end()) return bound->second;
    const auto sum = sum_of(extent::named(name.c_str()));
    std::optional<size_sum> all = sum ? std::optional(size_sum{}) : std::nullopt;
    for (const auto& [names, n] : sum ? sum->terms : size_sum{}.terms) {
        std::optional<size_sum> term = size_sum{};
        term->terms[{}] = n;
        for (const std::string& part : names) {
            const auto bound = bound_.find(part);
            const auto factor = sum_of(bound == bound_.end() ? extent::named(part.c_str()) : bound->second);
            term = term && factor ? times(*term, *factor) : std::nullopt;
        }
        all = all && term ? plus(*all, *term) : std::nullopt;
    }
    return all && all->is_number() && all->number() >= 0 ? extent(all->number()) : named(name);
}
// An output's sizes are called as the model says where no input has that name, nor another output for another size.
TENON_INLINE any_tensor importer::with_names_of(const value_message& v, any_tensor t) {
    for (int i = 0; i < t.rank() && static_cast<int>(v.sizes.size()) == t.rank(); ++i) {
        const std::string said = v.sizes[static_cast<std::size_t>(i)].name.c_str();
        const extent own = t.extents()[i];
        if (said.empty() || own.is_number() || (own.is_named() && own == extent::named(said.c_str()))) continue;
        const auto sum = own.is_named() ? sum_of(own) : std::nullopt;
        if (sized_.contains(said) || (sum && name_of_input(*sum))) continue;
        const auto [known, is_new] = named_outputs_.emplace(said, own);
        if (is_new || (own.is_named() && known->second == own)) t = with_size_named(t, i, named(said));
    }
    return t;
}

} // namespace tenon::detail::onnx
