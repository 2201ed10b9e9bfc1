#pragma once

#include <algorithm>
#include <string_view>

#include <tenon/core/xxh64.hpp>
#include <tenon/io/text/element_text.hpp>
#include <tenon/io/text/regex_replacer.hpp>
#include <tenon/op/immediate_kernel.hpp>
#include <tenon/ops/input/records_kernel.hpp>
#include <tenon/ops/shape/copied_view.hpp>

namespace tenon {

namespace detail {

// Of each text an element: `Function`, made of the setup, writes it, and throws a string that says what is wrong with the text.
template <class Function> struct text_kernel final : kernel {
    explicit text_kernel(const kernel_setup& s) :
        function(s), who(s.node.op->name), sizes(s.inputs[0].extents), texts(sizes.elements()) {}
    void run(const kernel_run& r) override {
        const std::string* from = r.input<std::string>(0);
        auto* const to = r.output<typename Function::result>(0);
        for_each_record(r.pool, texts, Function::nanoseconds, [&](std::int64_t i) {
            if (const std::string why = function(from[i], to, i); !why.empty())
                throw invalid_argument_error(who + ": " + to_string(record_place{{}, 0, i, &sizes, "element"}) +
                                             shown_text(from[i]) + " " + why);
        });
    }
    double cost() const override { return 50 + static_cast<double>(texts) * Function::nanoseconds; }
    // Also of longer and shorter strings: each element is read before it is written.
    bool may_share(int, int) const override { return std::is_same_v<typename Function::result, std::string>; }

    const Function function;
    const std::string who;
    const extents sizes;
    const std::int64_t texts;
};

// What these functions answer: what is wrong with the text, or nothing.
struct strip_text {
    using result = std::string;
    static constexpr double nanoseconds = 30;
    explicit strip_text(const kernel_setup&) {}
    static constexpr const char* spaces = " \t\n\v\f\r";
    std::string operator()(const std::string& text, std::string* to, std::int64_t i) const {
        const std::size_t begin = text.find_first_not_of(spaces);
        if (begin == std::string::npos) to[i].clear();
        else to[i] = text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
        return {};
    }
};

template <char First, char Last> struct turn_case {
    using result = std::string;
    static constexpr double nanoseconds = 50;
    explicit turn_case(const kernel_setup&) {}
    std::string operator()(const std::string& text, std::string* to, std::int64_t i) const {
        to[i] = text;
        for (char& c : to[i])
            if (c >= First && c <= Last) c = static_cast<char>(c ^ 0x20);
        return {};
    }
};
using lower_text = turn_case<'A', 'Z'>;
using upper_text = turn_case<'a', 'z'>;

inline bool begins_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }
inline std::int64_t length_of(std::string_view text, text_unit unit) {
    return unit == text_unit::bytes ? static_cast<std::int64_t>(text.size())
                                    : std::count_if(text.begin(), text.end(), begins_character);
}

struct length_of_text {
    using result = std::int64_t;
    static constexpr double nanoseconds = 20;
    explicit length_of_text(const kernel_setup& s) : unit(decode<string_length_op::attributes>(s.attrs).unit) {}
    std::string operator()(const std::string& text, std::int64_t* to, std::int64_t i) const {
        to[i] = length_of(text, unit);
        return {};
    }
    text_unit unit;
};

struct part_of_text {
    using result = std::string;
    static constexpr double nanoseconds = 50;
    explicit part_of_text(const kernel_setup& s) : what(decode<substr_op::attributes>(s.attrs)) {
        if (what.length < 0)
            throw invalid_argument_error("substr: a part cannot be " + std::to_string(what.length) + " long");
    }
    std::string operator()(const std::string& text, std::string* to, std::int64_t i) const {
        const std::int64_t all = length_of(text, what.unit);
        const std::int64_t first = what.position < 0 ? all + what.position : what.position;
        if (first < 0 || first > all)
            return "has " + std::to_string(all) + (what.unit == text_unit::bytes ? " bytes" : " characters") +
                   ", and no position " + std::to_string(what.position);
        const std::int64_t last = first + std::min(what.length, all - first);
        const std::size_t begin = byte_at(text, first), end = byte_at(text, last);
        to[i] = text.substr(begin, end - begin);
        return {};
    }
    std::size_t byte_at(const std::string& text, std::int64_t place) const {
        if (what.unit == text_unit::bytes) return static_cast<std::size_t>(place);
        std::size_t at = 0;
        for (std::int64_t seen = 0; at < text.size(); ++at)
            if (begins_character(text[at]) && seen++ == place) break;
        return at;
    }
    substr_op::attributes what;
};

struct replace_in_text {
    using result = std::string;
    static constexpr double nanoseconds = 2000;
    explicit replace_in_text(const kernel_setup& s) : replace_in_text(decode<regex_replace_op::attributes>(s.attrs)) {}
    explicit replace_in_text(const regex_replace_op::attributes& a) :
        replaced("regex_replace", a.pattern, a.rewrite, a.replace_global) {}
    std::string operator()(const std::string& text, std::string* to, std::int64_t i) const {
        to[i] = replaced(text);
        return {};
    }
    regex_replacer replaced;
};

struct bucket_of_text {
    using result = std::int64_t;
    static constexpr double nanoseconds = 30;
    explicit bucket_of_text(const kernel_setup& s) :
        buckets(static_cast<std::uint64_t>(decode<to_hash_bucket_op::attributes>(s.attrs).buckets)) {}
    std::string operator()(const std::string& text, std::int64_t* to, std::int64_t i) const {
        to[i] = static_cast<std::int64_t>(xxh64(text) % buckets);
        return {};
    }
    std::uint64_t buckets;
};

struct number_of_text {
    using result = char; // of the element's bytes
    static constexpr double nanoseconds = 30;
    explicit number_of_text(const kernel_setup& s) : element(s.outputs[0].element) {}
    std::string operator()(const std::string& text, char* to, std::int64_t i) const {
        const text_fault f = element_of_text(text, element, to + static_cast<std::size_t>(i) * size_of(element));
        return f == text_fault::none ? std::string() : words(f, element);
    }
    element_type element;
};

// Operands whose sizes are repeated to those of the result.
class repeated_texts : public kernel {
public:
    explicit repeated_texts(const kernel_setup& s) : count_(s.outputs[0].extents.elements()) {
        for (const tensor_type& t : s.inputs) views_.push_back(repeated_view(t.extents, s.outputs[0].extents));
    }
    double cost() const override { return 50 + nanoseconds * static_cast<double>(count_ * operands()); }

protected:
    static constexpr double nanoseconds = 10; // an operand
    std::int64_t operands() const { return static_cast<std::int64_t>(views_.size()); }
    template <class T> const T& element(const kernel_run& r, std::size_t operand, std::int64_t i) const {
        const copied_view& from = views_[operand];
        std::int64_t at = 0;
        for (int d = from.rank; d-- > 0; i /= from.dims[d].size) at += i % from.dims[d].size * from.dims[d].from_step;
        return r.input<T>(static_cast<int>(operand))[at];
    }
    template <class F> void for_each(const kernel_run& r, const F& f) const {
        for_each_record(r.pool, count_, nanoseconds * static_cast<double>(operands()), f);
    }

private:
    const std::int64_t count_;
    std::vector<copied_view> views_;
};
struct string_join_kernel final : repeated_texts {
    explicit string_join_kernel(const kernel_setup& s) :
        repeated_texts(s), separator(decode<string_join_op::attributes>(s.attrs).separator) {}
    void run(const kernel_run& r) override {
        for_each(r, [&](std::int64_t i) {
            std::string& to = r.output<std::string>(0)[i];
            to.clear();
            for (std::int64_t k = 0; k < operands(); ++k) {
                if (k > 0) to += separator;
                to += element<std::string>(r, static_cast<std::size_t>(k), i);
            }
        });
    }
    const std::string separator;
};
struct string_equal_kernel final : repeated_texts {
    using repeated_texts::repeated_texts;
    void run(const kernel_run& r) override {
        for_each(r, [&](std::int64_t i) {
            r.output<bool>(0)[i] = element<std::string>(r, 0, i) == element<std::string>(r, 1, i);
        });
    }
};
struct string_where_kernel final : repeated_texts {
    using repeated_texts::repeated_texts;
    void run(const kernel_run& r) override {
        for_each(r, [&](std::int64_t i) {
            r.output<std::string>(0)[i] = element<std::string>(r, element<bool>(r, 0, i) ? 1 : 2, i);
        });
    }
};

struct string_split_select {
    explicit string_split_select(const kernel_setup& s) : how(decode<string_split_op::attributes>(s.attrs)) {}
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const any_array& x = in[0];
        const std::string* texts = x.data<std::string>();
        std::vector<std::string_view> pieces;
        std::vector<std::size_t> ends;
        std::size_t most = 0;
        for (std::int64_t i = 0; i < x.elements(); ++i) {
            const std::size_t before = pieces.size();
            split(texts[i], pieces);
            ends.push_back(pieces.size());
            most = std::max(most, pieces.size() - before);
        }
        if (how.count.rank() == 1 && how.count[0].is_number()) {
            const auto wanted = static_cast<std::size_t>(how.count[0].size);
            if (most > wanted) too_many(x, texts, ends, wanted);
            most = wanted;
        }
        extents sizes = x.extents();
        sizes.push_back(static_cast<std::int64_t>(most));
        std::vector<any_array> out;
        auto* to = out.emplace_back(element_type::string, sizes).data<std::string>();
        std::size_t at = 0;
        for (const std::size_t end : ends) {
            for (std::size_t k = 0; k < most; ++k, ++to) {
                if (at < end) to->assign(pieces[at++]);
                else *to = how.padding;
            }
        }
        return out;
    }

private:
    void split(std::string_view text, std::vector<std::string_view>& pieces) const {
        const bool by_spaces = how.separator.empty();
        for (;;) {
            const std::size_t end = by_spaces ? text.find_first_of(strip_text::spaces) : text.find(how.separator);
            const std::string_view piece = text.substr(0, end);
            if (!piece.empty() || !(by_spaces || how.skip_empty)) pieces.push_back(piece);
            if (end == std::string_view::npos) return;
            text.remove_prefix(end + (by_spaces ? 1 : how.separator.size()));
        }
    }
    [[noreturn]] static void too_many(const any_array& x, const std::string* texts,
                                      const std::vector<std::size_t>& ends, std::size_t wanted) {
        std::size_t i = 0;
        while (ends[i] - (i == 0 ? 0 : ends[i - 1]) <= wanted) ++i;
        const record_place where{{}, 0, static_cast<std::int64_t>(i), &x.extents(), "element"};
        throw invalid_argument_error("string_split: " + to_string(where) + shown_text(texts[i]) + " has " +
                                     std::to_string(ends[i] - (i == 0 ? 0 : ends[i - 1])) +
                                     " pieces, and there is room for " + std::to_string(wanted));
    }

    string_split_op::attributes how;
};

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor string_strip(const any_tensor& x, called_from here) {
    return tenon::add<string_strip_op>({}, {x}, here);
}
TENON_INLINE any_tensor string_lower(const any_tensor& x, called_from here) {
    return tenon::add<string_lower_op>({}, {x}, here);
}
TENON_INLINE any_tensor string_upper(const any_tensor& x, called_from here) {
    return tenon::add<string_upper_op>({}, {x}, here);
}
TENON_INLINE any_tensor string_length(const any_tensor& x, text_unit unit, called_from here) {
    return tenon::add<string_length_op>({unit}, {x}, here);
}
TENON_INLINE any_tensor substr(const any_tensor& x, std::int64_t position, std::int64_t length, text_unit unit,
                               called_from here) {
    return tenon::add<substr_op>({position, length, unit}, {x}, here);
}
TENON_INLINE any_tensor regex_replace(const any_tensor& x, const std::string& pattern, const std::string& rewrite,
                                      bool replace_global, called_from here) {
    const making made(here);
    (void)regex_replacer("regex_replace", pattern, rewrite); // what is wrong with them is said here, not in the step
    return tenon::add<regex_replace_op>({pattern, rewrite, replace_global}, {x});
}
TENON_INLINE any_tensor to_hash_bucket(const any_tensor& x, std::int64_t buckets, called_from here) {
    const making made(here);
    if (buckets < 1)
        throw invalid_argument_error("to_hash_bucket: there are " + std::to_string(buckets) +
                                     " buckets; 1 at least is needed");
    return tenon::add<to_hash_bucket_op>({buckets}, {x});
}
TENON_INLINE any_tensor to_number(const any_tensor& x, element_type element, called_from here) {
    return tenon::add<to_number_op>({element}, {x}, here);
}
TENON_INLINE any_tensor string_join(const std::string& separator, const std::vector<any_tensor>& texts,
                                    called_from here) {
    return tenon::add<string_join_op>({separator}, texts, here);
}
TENON_INLINE any_tensor string_equal(const any_tensor& a, const any_tensor& b, called_from here) {
    return tenon::add<string_equal_op>({}, {a, b}, here);
}
TENON_INLINE any_tensor string_split(const any_tensor& x, const std::string& separator, const split_options& o,
                                     const extents& count, called_from here) {
    return tenon::add<string_split_op>({separator, o.skip_empty, o.padding, count}, {x}, here);
}
} // namespace untyped

} // namespace tenon
