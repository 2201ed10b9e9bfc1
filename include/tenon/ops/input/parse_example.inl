#include <algorithm>
#include <string_view>

#include <tenon/io/example/example_wire.hpp>
#include <tenon/op/immediate_kernel.hpp>

// The kernel of parse_example: where each feature of each example lies, then one tensor after another.

namespace tenon::detail {

TENON_INLINE any_array filled_with(any_array element, const extents& sizes) {
    if (sizes.rank() == 0) return element;
    any_array all(element.element(), sizes);
    const auto fill = [&]<class T>(const T& value) { std::fill_n(all.data<T>(), all.elements(), value); };
    if (element.element() == element_type::string) fill(*element.data<std::string>());
    else if (element.element() == element_type::float32) fill(*element.data<float>());
    else fill(*element.data<std::int64_t>());
    return all;
}

template <class T> inline constexpr feature_kind feature_kind_of = feature_kind::floats;
template <> inline constexpr feature_kind feature_kind_of<std::int64_t> = feature_kind::int64s;
template <> inline constexpr feature_kind feature_kind_of<std::string> = feature_kind::bytes;

// How many values there are.
struct value_counter {
    std::int64_t count = 0;
    void bytes(std::string_view) { ++count; }
    void floats(const char*, std::size_t n) { count += static_cast<std::int64_t>(n); }
    void int64(std::int64_t) { ++count; }
};
// Writes the first `room` values, and counts all of them.
template <class T> struct value_writer {
    T* to;
    std::int64_t room;
    std::int64_t count = 0;

    void bytes(std::string_view text) {
        if constexpr (std::is_same_v<T, std::string>)
            if (count < room) to[count] = text;
        ++count;
    }
    void floats(const char* raw, std::size_t n) {
        if constexpr (std::is_same_v<T, float>) {
            const auto fits =
                static_cast<std::size_t>(std::clamp<std::int64_t>(room - count, 0, static_cast<std::int64_t>(n)));
            for (std::size_t i = 0; i < fits; ++i) to[count + static_cast<std::int64_t>(i)] = stored_float(raw + 4 * i);
        }
        count += static_cast<std::int64_t>(n);
    }
    void int64(std::int64_t value) {
        if constexpr (std::is_same_v<T, std::int64_t>)
            if (count < room) to[count] = value;
        ++count;
    }
};

class parse_example_select {
public:
    explicit parse_example_select(const kernel_setup& s) {
        const auto a = decode<parse_example_op::attributes>(s.attrs);
        for (std::size_t i = 0; i < a.types.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            wanted w{a.names->data<std::string>()[at], a.types[i], a.how->data<std::int64_t>()[at]};
            for (int d = w.rows(); d < w.type.extents.rank(); ++d) w.row *= w.type.extents[d].size;
            features_.push_back(std::move(w));
            by_name_.push_back(i);
        }
        std::stable_sort(by_name_.begin(), by_name_.end(),
                         [&](std::size_t i, std::size_t j) { return features_[i].name < features_[j].name; });
    }

    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        batch b{in[0].data<std::string>(), in[0].rank() == 1, in[0].elements(), {"parse_example"}, {}};
        b.found.resize(static_cast<std::size_t>(b.size) * features_.size());
        for (std::int64_t e = 0; e < b.size; ++e) find(b, e);
        std::vector<any_array> out;
        std::size_t next = 1;
        for (std::size_t i = 0; i < features_.size(); ++i) {
            const any_array* filler = parse_example_op::has_filler(features_[i].how) ? &in[next++] : nullptr;
            switch (features_[i].type.element) {
            case element_type::float32: out.push_back(tensor_of<float>(b, i, filler)); break;
            case element_type::int64: out.push_back(tensor_of<std::int64_t>(b, i, filler)); break;
            default: out.push_back(tensor_of<std::string>(b, i, filler)); break;
            }
        }
        return out;
    }

private:
    struct wanted {
        std::string name;
        tensor_type type;
        std::int64_t how = 0;
        std::int64_t row = 1; // values in a row, of what is fixed in all

        feature_layout layout() const { return parse_example_op::layout_of(how); }
        bool rows() const { return layout() != feature_layout::fixed; }
        bool sequence() const { return layout() == feature_layout::sequence; }
        bool required() const { return (how & parse_example_op::required) != 0; }
        bool length() const { return (how & parse_example_op::length) != 0; }
    };
    struct batch {
        const std::string* serialized;
        bool listed; // or there is one
        std::int64_t size;
        wire_context in;
        std::vector<feature_bytes> found; // [size, features]

        // For messages from now on.
        void about(std::int64_t example, std::string_view feature) {
            if (listed) in.who = "parse_example: example " + std::to_string(example) + " of " + std::to_string(size);
            in.feature = feature;
        }
    };

    const feature_bytes& found(const batch& b, std::int64_t example, std::size_t i) const {
        return b.found[static_cast<std::size_t>(example) * features_.size() + i];
    }

    void find(batch& b, std::int64_t example) const {
        b.about(example, {});
        bool context = false, lists = false;
        for (const wanted& w : features_) (w.sequence() ? lists : context) = true;
        feature_bytes* to = b.found.data() + static_cast<std::size_t>(example) * features_.size();
        const auto keep = [&](bool of_lists) {
            return [&, of_lists](std::string_view name, const feature_bytes& f) {
                const auto first =
                    std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [&](std::size_t i, std::string_view n) { return features_[i].name < n; });
                for (auto i = first; i != by_name_.end() && features_[*i].name == name; ++i)
                    if (features_[*i].sequence() == of_lists) to[*i] = f;
            };
        };
        if (context) for_each_feature(b.serialized[example], 1, b.in, keep(false));
        if (lists) for_each_feature(b.serialized[example], 2, b.in, keep(true));
    }

    [[noreturn]] static void refuse(const batch& b, const std::string& why) {
        throw invalid_argument_error(b.in.place() + ' ' + why);
    }
    [[noreturn]] void is_missing(batch& b, std::int64_t example, const wanted& w) const {
        wire_context in{""};
        std::string names;
        int count = 0;
        for_each_feature(b.serialized[example], w.sequence() ? 2 : 1, in,
                         [&](std::string_view name, const feature_bytes&) {
                             if (++count <= 8) names += (count > 1 ? ", \"" : "\"") + std::string(name) + '"';
                         });
        if (count > 8) names += ", and " + std::to_string(count - 8) + " more";
        const std::string what = w.sequence() ? "feature lists" : "features";
        refuse(b, std::string("is missing") + (w.sequence() ? "" : ", and has no default") + "; the example's " + what +
                      (count == 0 ? std::string(": none") : " are " + names));
    }

    // The kind of a feature, which must be that of T where it is not empty.
    template <class T> static feature_kind checked_kind(const batch& b, const feature_bytes& f, std::size_t& from) {
        const feature_kind kind = kind_of(f, b.in, from);
        if (kind != feature_kind::none && kind != feature_kind_of<T>)
            refuse(b,
                   std::string("holds ") + name_of(kind) + ", where " + name_of(feature_kind_of<T>) + " is asked for");
        return kind;
    }
    // Writes the values of a feature, of which there must be `count`; false where it holds nothing.
    template <class T>
    static bool write(const batch& b, const feature_bytes& f, std::int64_t count, T* to, const std::string& whose) {
        std::size_t from = 0;
        const feature_kind kind = checked_kind<T>(b, f, from);
        value_writer<T> writer{to, count};
        read_values(f, kind, from, b.in, writer);
        if (kind == feature_kind::none && count > 0) return false;
        if (writer.count != count)
            refuse(b, whose + "has " + std::to_string(writer.count) + (writer.count == 1 ? " value" : " values") +
                          ", where " + std::to_string(count) + (count == 1 ? " is" : " are") + " asked for");
        return true;
    }

    template <class T> any_array tensor_of(batch& b, std::size_t i, const any_array* filler) const {
        return features_[i].rows() ? rows_of<T>(b, i, filler) : fixed_of<T>(b, i, filler);
    }

    static extents behind(const batch& b, const extents& sizes) {
        extents all = sizes;
        if (b.listed) all.insert(0, b.size);
        return all;
    }

    template <class T> any_array fixed_of(batch& b, std::size_t i, const any_array* filler) const {
        const wanted& w = features_[i];
        any_array out(element_type_of<T>, behind(b, w.type.extents));
        T* to = out.data<T>();
        for (std::int64_t e = 0; e < b.size; ++e, to += w.row) {
            const feature_bytes& f = found(b, e, i);
            b.about(e, w.name);
            if (f.found && write(b, f, w.row, to, "")) continue;
            if (!filler) is_missing(b, e, w);
            std::copy_n(filler->data<T>(), w.row, to);
        }
        return out;
    }

    // How many rows an example has.
    template <class T> std::int64_t rows_in(batch& b, std::int64_t e, std::size_t i) const {
        const wanted& w = features_[i];
        const feature_bytes& f = found(b, e, i);
        b.about(e, w.name);
        if (!f.found) {
            if (w.required()) is_missing(b, e, w);
            return 0;
        }
        std::int64_t rows = 0;
        if (w.sequence()) {
            for_each_step(f, b.in, [&](const feature_bytes&) { ++rows; });
        } else {
            std::size_t from = 0;
            const feature_kind kind = checked_kind<T>(b, f, from);
            value_counter values;
            read_values(f, kind, from, b.in, values);
            if (w.row == 0 ? values.count != 0 : values.count % w.row != 0)
                refuse(b, "has " + std::to_string(values.count) + " values, which rows of " + std::to_string(w.row) +
                              " do not divide");
            rows = w.row == 0 ? 0 : values.count / w.row;
        }
        const extent room = w.type.extents[0];
        if (room.is_number() && rows > room.size)
            refuse(b, "has " + std::to_string(rows) + " rows, where there is room for " + std::to_string(room.size));
        return rows;
    }

    template <class T> any_array rows_of(batch& b, std::size_t i, const any_array* filler) const {
        const wanted& w = features_[i];
        std::vector<std::int64_t> rows;
        for (std::int64_t e = 0; e < b.size; ++e) rows.push_back(rows_in<T>(b, e, i));
        if (w.length()) {
            any_array out(element_type::int64, behind(b, {}));
            std::copy(rows.begin(), rows.end(), out.data<std::int64_t>());
            return out;
        }
        extents sizes = w.type.extents;
        if (!sizes[0].is_number()) sizes[0] = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
        any_array out(element_type_of<T>, behind(b, sizes));
        T* to = out.data<T>();
        const T& padding = *filler->data<T>();
        const std::int64_t each = sizes[0].size * w.row;
        for (std::int64_t e = 0; e < b.size; ++e, to += each) {
            const std::int64_t values = rows[static_cast<std::size_t>(e)] * w.row;
            std::fill(to + values, to + each, padding);
            const feature_bytes& f = found(b, e, i);
            b.about(e, w.name);
            if (!w.sequence()) {
                if (f.found) write(b, f, values, to, "");
                continue;
            }
            std::int64_t step = 0;
            for_each_step(f, b.in, [&](const feature_bytes& values_of) {
                if (!write(b, values_of, w.row, to + step * w.row, "in step " + std::to_string(step) + ' '))
                    refuse(b, "holds nothing in step " + std::to_string(step));
                ++step;
            });
        }
        return out;
    }

    std::vector<wanted> features_;
    std::vector<std::size_t> by_name_; // their numbers, sorted
};

} // namespace tenon::detail
