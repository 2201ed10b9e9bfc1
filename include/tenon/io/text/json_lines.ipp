#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include <tenon/core/with_element.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/stream/stacked.hpp>
#include <tenon/io/text/json_lines.hpp>
#include <tenon/io/text/json_scanner.hpp>

namespace tenon {

struct json_row_decoder::plan {
    struct column {
        std::string name;
        element_type element;
        extents sizes;
        std::int64_t elements, stride;
        any_array otherwise; // one element, or nothing
        bool any_length;

        int rank() const { return sizes.rank() + any_length; }
        // Of lists in `level` others.
        std::int64_t size(int level) const { return sizes[level - any_length].size; }
        bool is_open(int level) const { return any_length && level == 0; }
        // Makes `list` one of this column with room for some rows.
        void begin(any_array& list) const {
            extents some = sizes;
            some.insert(0, extent(8));
            list = any_array(element, some);
        }
        // Room for row `count`.
        static void grow(any_array& list, std::int64_t count) {
            if (count == list.extents()[0].size) list = detail::with_room(std::move(list), count, 2 * count);
        }
        void fill_default(void* out, std::int64_t row) const {
            if (!out) return;
            if (any_length) {
                begin(*static_cast<any_array*>(out));
                *static_cast<any_array*>(out) = detail::with_room(std::move(*static_cast<any_array*>(out)), 0, 0);
                return;
            }
            detail::with_element(element, [&]<class T>(const T&) {
                T* const to = static_cast<T*>(out) + row * stride;
                std::fill(to, to + elements, *static_cast<const T*>(otherwise.data()));
            });
        }
    };
    std::string who;
    std::vector<column> columns;
    std::unordered_map<std::string_view, std::size_t> named; // in `columns`
};

// A line as nearly all are. Where it says false the handler below reads the line anew, and says what is wrong if anything is.
class json_row_decoder::line_reader {
public:
    line_reader(const plan& p, std::string_view record, void* const* out, std::int64_t row) :
        plan_(p), from_(record), out_(out), row_(row), state_(few_) {
        if (p.columns.size() <= sizeof few_) return;
        many_.resize(p.columns.size());
        state_ = many_.data();
    }
    bool read() {
        from_.pass_spaces();
        if (!from_.take('{')) return false;
        for (bool more = from_.peek() != '}'; more; more = from_.next_of_several())
            if (!member()) return false;
        if (!from_.take('}') || !from_.at_end()) return false;
        for (std::size_t c = 0; c < plan_.columns.size(); ++c) {
            if (state_[c] == set) continue;
            if (!plan_.columns[c].otherwise) return false;
            plan_.columns[c].fill_default(out_[c], row_);
        }
        return true;
    }

private:
    enum : char { missing, was_null, set };

    bool member() {
        std::string_view name;
        bool escaped = false;
        if (!from_.text(name, escaped) || escaped || !from_.colon()) return false;
        const std::size_t c = find(name);
        if (c == plan_.columns.size()) return from_.pass_value();
        if (state_[c] != missing) return false; // twice
        if (from_.peek() == 'n') {
            state_[c] = was_null;
            return from_.word("null");
        }
        state_[c] = set;
        const plan::column& column = plan_.columns[c];
        return detail::with_element(column.element, [&]<class T>(const T&) {
            if (column.any_length) return list<T>(column, *static_cast<any_array*>(out_[c]));
            T* to = out_[c] ? static_cast<T*>(out_[c]) + row_ * column.stride : nullptr;
            return values(column, 0, to);
        });
    }
    // Members mostly come in the order of the columns.
    std::size_t find(std::string_view name) {
        if (next_ < plan_.columns.size() && plan_.columns[next_].name == name) return next_++;
        const auto found = plan_.named.find(name);
        if (found == plan_.named.end()) return plan_.columns.size();
        next_ = found->second + 1;
        return found->second;
    }
    template <class T> bool list(const plan::column& c, any_array& to) {
        if (!from_.take('[')) return false;
        c.begin(to);
        std::int64_t count = 0;
        for (bool more = from_.peek() != ']'; more; more = from_.next_of_several()) {
            c.grow(to, count);
            T* row = to.data<T>() + count++ * c.elements;
            if (!values(c, 0, row)) return false;
        }
        from_.pass_spaces();
        to = detail::with_room(std::move(to), count, count);
        return from_.word("]");
    }
    // A list of lists of .. from level on, to where `to` points; nullptr: nowhere.
    template <class T> bool values(const plan::column& c, int level, T*& to) { // NOLINT(misc-no-recursion)
        if (level == c.sizes.rank()) {
            if (to) return value(*to++);
            T spare{};
            return value(spare);
        }
        if (!from_.take('[')) return false;
        for (std::int64_t i = 0; i < c.sizes[level].size; ++i)
            if ((i > 0 && !from_.next_of_several()) || !values(c, level + 1, to)) return false;
        from_.pass_spaces();
        return from_.word("]");
    }
    template <class T> bool value(T& to) {
        if constexpr (std::is_same_v<T, bool>) return from_.truth(to);
        else if constexpr (std::is_same_v<T, std::string>) {
            std::string_view raw;
            bool escaped = false;
            if (!from_.text(raw, escaped)) return false;
            if (escaped) return detail::json_scanner::unescape(raw, to);
            to.assign(raw);
            return true;
        } else return from_.number(to);
    }

    const plan& plan_;
    detail::json_scanner from_;
    void* const* const out_;
    const std::int64_t row_;
    std::size_t next_ = 0; // the column of the next member, most likely
    char few_[64] = {};
    std::vector<char> many_;
    char* state_; // of each column
};

// Takes what nlohmann's parser reads, and writes the elements. Members that nobody asks for are counted in and out.
class json_row_decoder::handler {
public:
    using number_integer_t = std::int64_t;
    using number_unsigned_t = std::uint64_t;
    using number_float_t = double;
    using string_t = std::string;
    using binary_t = nlohmann::json::binary_t;

    handler(const plan& p, const record_place& where, void* const* out, std::int64_t row) :
        plan_(p), where_(where), out_(out), row_(row), state_(p.columns.size(), missing) {}

    bool null() {
        if (passes_over()) return true;
        if (level_ > 0) fail("null in a list");
        state_[at_] = was_null;
        inside_ = false;
        return true;
    }
    bool boolean(bool v) {
        if (passes_over()) return true;
        *static_cast<bool*>(place_for("a bool", [](element_type e) { return e == element_type::boolean; })) = v;
        return done();
    }
    bool number_integer(std::int64_t v) { return whole(v); }
    bool number_unsigned(std::uint64_t v) { return whole(v); }
    bool number_float(double, std::string text) {
        if (passes_over()) return true;
        for (char& c : text) // the parser writes the decimal point of the locale
            if (!(c >= '0' && c <= '9') && c != '-' && c != '+' && c != 'e' && c != 'E') c = '.';
        void* const to = place_for(text, is_floating);
        floating(text, to);
        return done();
    }
    bool string(std::string& v) {
        if (passes_over()) return true;
        void* const to = place_for(detail::shown_text(v), [](element_type e) { return e == element_type::string; });
        if (out_[at_]) *static_cast<std::string*>(to) = std::move(v);
        return done();
    }
    bool binary(binary_t&) { return false; } // not of texts

    bool start_object(std::size_t) {
        if (depth_++ == 0) return true;
        if (inside_) fail("an object, and " + wanted() + " is expected");
        return true;
    }
    bool key(std::string& name) {
        if (depth_ != 1) return true;
        const auto found = plan_.named.find(name);
        if (found == plan_.named.end()) return true;
        at_ = found->second;
        if (state_[at_] != missing) fail("it is there twice");
        inside_ = true;
        level_ = 0;
        filled_ = 0;
        if (column().any_length) column().begin(list());
        return true;
    }
    bool end_object() {
        --depth_;
        return true;
    }
    bool start_array(std::size_t) {
        if (depth_ == 0) no_object();
        if (inside_) {
            if (level_ == column().rank()) fail("a list, and " + wanted() + " is expected");
            one_more();
            counts_[level_++] = 0;
            return true;
        }
        ++depth_;
        return true;
    }
    bool end_array() {
        if (!inside_) {
            --depth_;
            return true;
        }
        --level_;
        if (column().is_open(level_)) {
            any_array& to = list();
            if (counts_[0] > to.extents()[0].size)
                to = detail::with_room(std::move(to), 0, counts_[0]); // of rows without elements
            to = detail::with_room(std::move(to), counts_[0], counts_[0]);
        } else if (const std::int64_t size = column().size(level_); counts_[level_] != size)
            fail("a list of " + std::to_string(counts_[level_]) + ", and " + std::to_string(size) + " are expected");
        return done();
    }
    bool parse_error(std::size_t at, const std::string& token, const nlohmann::json::exception& e) {
        fail_record(detail::json_defect(at, token, e.id, e.what()));
    }

    void finish() {
        for (at_ = 0; at_ < plan_.columns.size(); ++at_) {
            if (state_[at_] == set) continue;
            const plan::column& c = column();
            if (!c.otherwise)
                fail(state_[at_] == was_null ? "it is null, and has no default" : "it is missing, and has no default");
            c.fill_default(out_[at_], row_);
        }
    }

private:
    enum state : char { missing, was_null, set };

    const plan::column& column() const { return plan_.columns[at_]; }
    any_array& list() const { return *static_cast<any_array*>(out_[at_]); }
    // A value outside of all objects is none.
    bool passes_over() {
        if (depth_ == 0) no_object();
        return !inside_;
    }
    template <class V> bool whole(V v) {
        if (passes_over()) return true;
        void* const to = place_for(std::to_string(v), is_numeric);
        const element_type e = column().element;
        if (is_floating(e)) floating(std::to_string(v), to);
        else
            detail::with_element(e, [&]<class T>(const T&) {
                if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
                    if (!std::in_range<T>(v)) fail(std::to_string(v) + " is out of the range of " + name_of(e));
                    *static_cast<T*>(to) = static_cast<T>(v);
                }
            });
        return done();
    }
    void floating(const std::string& text, void* to) {
        const element_type e = column().element;
        if (const auto f = detail::element_of_text(text, e, to); f != detail::text_fault::none)
            fail(text + " " + detail::words(f, e));
    }
    // Where the next element goes; where nobody wants it, memory for a number.
    template <class Fits> void* place_for(const std::string& what, const Fits& fits) {
        const plan::column& c = column();
        if (!fits(c.element)) fail(what + " is no " + name_of(c.element));
        if (level_ < c.rank()) fail(what + ", and " + wanted() + " is expected");
        one_more();
        if (c.any_length) {
            if (filled_ == list().elements()) c.grow(list(), list().extents()[0].size);
            return static_cast<char*>(list().data()) + static_cast<std::size_t>(filled_++) * size_of(c.element);
        }
        const std::int64_t n = row_ * c.stride + filled_++;
        return out_[at_] ? static_cast<char*>(out_[at_]) + static_cast<std::size_t>(n) * size_of(c.element) : spare_;
    }
    void one_more() {
        if (level_ == 0) return;
        ++counts_[level_ - 1];
        if (column().is_open(level_ - 1)) return;
        const std::int64_t size = column().size(level_ - 1);
        if (counts_[level_ - 1] > size) fail("a list of more than the " + std::to_string(size) + " that are expected");
    }
    bool done() { // with an element or a list
        if (inside_ && level_ == 0) {
            state_[at_] = set;
            inside_ = false;
        }
        return true;
    }
    std::string wanted() const {
        if (level_ == column().rank()) return std::string("one ") + name_of(column().element);
        return column().is_open(level_) ? "a list" : "a list of " + std::to_string(column().size(level_));
    }
    [[noreturn]] void no_object() const { fail_record("it is no JSON object"); }
    [[noreturn]] void fail(const std::string& why) const {
        fail_record("member " + detail::shown_text(column().name) + ": " + why);
    }
    [[noreturn]] void fail_record(const std::string& why) const {
        throw invalid_argument_error(plan_.who + ": " + to_string(where_) + why);
    }

    const plan& plan_;
    const record_place& where_;
    void* const* out_;
    std::int64_t row_;
    std::vector<state> state_;
    std::int64_t depth_ = 0;             // of objects and lists that are open, but those of the member that is read
    bool inside_ = false;                // of a member that is asked for:
    std::size_t at_ = 0;                 // which
    int level_ = 0;                      // of its lists
    std::int64_t counts_[max_rank] = {}; // their elements
    std::int64_t filled_ = 0;            // elements of all
    alignas(8) char spare_[8] = {};
};

TENON_INLINE json_row_decoder::json_row_decoder(std::string who, std::vector<json_column> columns) {
    auto made = std::make_unique<plan>();
    made->who = std::move(who);
    for (json_column& c : columns) {
        const std::string member = made->who + ": member " + detail::shown_text(c.name);
        for (const plan::column& other : made->columns)
            if (other.name == c.name) throw invalid_argument_error(member + " is asked for twice");
        const std::int64_t elements = checked_elements(c.element, c.sizes);
        any_array otherwise;
        if (c.otherwise) {
            otherwise = any_array(c.element, {});
            const detail::text_fault f = detail::element_of_text(*c.otherwise, c.element, otherwise.data());
            if (f != detail::text_fault::none)
                throw invalid_argument_error(member + ": its default, " + detail::shown_text(*c.otherwise) + ", " +
                                             detail::words(f, c.element));
        }
        made->columns.push_back({std::move(c.name), c.element, c.sizes, elements, std::max(c.stride, elements),
                                 std::move(otherwise), c.any_length});
    }
    if (made->columns.empty()) throw invalid_argument_error(made->who + ": no members are asked for");
    for (const plan::column& c : made->columns) made->named.emplace(c.name, made->named.size());
    plan_ = std::move(made);
}
TENON_INLINE json_row_decoder::json_row_decoder(json_row_decoder&&) noexcept = default;
TENON_INLINE json_row_decoder& json_row_decoder::operator=(json_row_decoder&&) noexcept = default;
TENON_INLINE json_row_decoder::~json_row_decoder() = default;

TENON_INLINE void json_row_decoder::decode(std::string_view record, const record_place& where, void* const* out,
                                           std::int64_t row) const {
    if (line_reader(*plan_, record, out, row).read()) return;
    handler h(*plan_, where, out, row);
    nlohmann::json::sax_parse(record.begin(), record.end(), &h);
    h.finish();
}

} // namespace tenon
