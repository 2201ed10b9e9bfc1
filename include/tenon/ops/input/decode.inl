#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include <tenon/core/with_element.hpp>
#include <tenon/ops/input/records_kernel.hpp>

namespace tenon {

namespace detail {

inline std::shared_ptr<const any_array> text_list(const std::vector<std::string>& texts) {
    any_array a(element_type::string, extents{static_cast<std::int64_t>(texts.size())});
    std::copy(texts.begin(), texts.end(), a.data<std::string>());
    return std::make_shared<const any_array>(std::move(a));
}
inline std::vector<std::string> texts_of(const any_array& list) {
    const std::string* t = list.data<std::string>();
    return {t, t + list.elements()};
}
// A handle on each output.
inline std::vector<any_tensor> outputs_of(node* n, std::size_t count) {
    std::vector<any_tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(any_tensor({n, static_cast<int>(i)}));
    return all;
}

TENON_INLINE inferred decoded_columns::check(type_list in, int output) const {
    if (const inferred r = decodes::records(in); !r) return r;
    const auto n = static_cast<std::int64_t>(types.size());
    if (n == 0 || !is_text_list(defaults) || defaults->elements() != n || has_default.size() != types.size())
        return fault::names_differ;
    const tensor_type& t = types[static_cast<std::size_t>(output)];
    if (t.element == element_type::none) return fault::element_type_not_supported;
    if (!t.extents.is_static()) return fault::size_must_be_known;
    return behind_records(in[0], t.element, t.extents);
}

// Records of a tensor, decoded one by one.
template <class Decoder> struct decode_kernel : kernel {
    decode_kernel(const kernel_setup& s, Decoder d, double cost_of_one) :
        decoder(std::move(d)), sizes(s.inputs[0].extents), records(sizes.elements()), nanoseconds(cost_of_one) {}
    void run(const kernel_run& r) override {
        const std::string* record = r.input<std::string>(0);
        for_each_record(r.pool, records, nanoseconds, [&](std::int64_t i) {
            decoder.decode(record[i], record_place{{}, 0, i, &sizes}, r.out, i);
        });
    }
    double cost() const override { return 100 + static_cast<double>(records) * nanoseconds; }

    const Decoder decoder;
    const extents sizes;
    const std::int64_t records;
    const double nanoseconds;
};

inline double cost_of(const decoded_columns& a, double of_element) {
    double elements = 0;
    for (const tensor_type& t : a.types) elements += static_cast<double>(t.extents.elements());
    return 20 + of_element * elements;
}
inline std::optional<std::string> default_of(const decoded_columns& a, std::size_t i) {
    if (a.has_default[i] == 0) return {};
    return a.defaults->data<std::string>()[i];
}
template <class Columns> void set_columns(decoded_columns& a, const Columns& columns) {
    std::vector<std::string> defaults;
    for (const auto& c : columns) {
        defaults.push_back(c.otherwise.value_or(""));
        a.has_default.push_back(c.otherwise.has_value() ? 1 : 0);
    }
    a.defaults = text_list(defaults);
}

// Written where it is set only, so that graphs of before are read.
inline constexpr const char* forgiving_csv = "forgiving";

inline csv_row_decoder csv_decoder_of(const decode_csv_op::attributes& a, bool forgiving) {
    std::vector<csv_column> columns;
    for (std::size_t i = 0; i < a.columns.types.size(); ++i)
        columns.push_back(
            {a.columns.types[i].element, default_of(a.columns, i), a.columns.types[i].extents.elements()});
    return {"decode_csv",
            std::move(columns),
            {static_cast<char>(a.delimiter), a.quotes, texts_of(*a.na_values), texts_of(*a.header), forgiving}};
}
struct decode_csv_kernel final : decode_kernel<csv_row_decoder> {
    explicit decode_csv_kernel(const kernel_setup& s) :
        decode_csv_kernel(s, decode<decode_csv_op::attributes>(s.attrs)) {}
    decode_csv_kernel(const kernel_setup& s, const decode_csv_op::attributes& a) :
        decode_kernel(s, csv_decoder_of(a, s.attrs.find(forgiving_csv) != nullptr), cost_of(a.columns, 15)) {}
};

inline json_row_decoder json_decoder_of(const decode_json_op::attributes& a) {
    std::vector<json_column> columns;
    for (std::size_t i = 0; i < a.columns.types.size(); ++i)
        columns.push_back({a.names->data<std::string>()[i], a.columns.types[i].element, a.columns.types[i].extents,
                           default_of(a.columns, i)});
    return {"decode_json", std::move(columns)};
}
struct decode_json_kernel final : decode_kernel<json_row_decoder> {
    explicit decode_json_kernel(const kernel_setup& s) :
        decode_json_kernel(s, decode<decode_json_op::attributes>(s.attrs)) {}
    decode_json_kernel(const kernel_setup& s, const decode_json_op::attributes& a) :
        decode_kernel(s, json_decoder_of(a), cost_of(a.columns, 100)) {}
};

struct decode_raw_kernel final : kernel {
    explicit decode_raw_kernel(const kernel_setup& s) :
        how(decode<decode_raw_op::attributes>(s.attrs)),
        sizes(s.inputs[0].extents),
        strings(sizes.elements()),
        width(size_of(how.element)),
        bytes(static_cast<std::size_t>(how.sizes.elements()) * width) {}
    void run(const kernel_run& r) override {
        const std::string* from = r.input<std::string>(0);
        auto* const out = r.output<unsigned char>(0);
        const bool turn = (how.order == byte_order::big) != (std::endian::native == std::endian::big);
        for_each_record(r.pool, strings, 20 + 0.2 * static_cast<double>(bytes), [&](std::int64_t i) {
            if (from[i].size() != bytes)
                throw invalid_argument_error("decode_raw: " + to_string(record_place{{}, 0, i, &sizes, "string"}) +
                                             std::to_string(from[i].size()) + " bytes, and " +
                                             to_string(tensor_type{how.element, how.sizes}) + " takes " +
                                             std::to_string(bytes));
            if (bytes == 0) return;
            unsigned char* const to = out + static_cast<std::size_t>(i) * bytes;
            std::memcpy(to, from[i].data(), bytes);
            if (turn)
                for (std::size_t k = 0; k < bytes; k += width) std::reverse(to + k, to + k + width);
            if (how.element == element_type::boolean)
                for (std::size_t k = 0; k < bytes; ++k) to[k] = to[k] != 0;
        });
    }
    double cost() const override {
        return 100 + static_cast<double>(strings) * (20 + 0.2 * static_cast<double>(bytes));
    }

    const decode_raw_op::attributes how;
    const extents sizes;
    const std::int64_t strings;
    const std::size_t width, bytes;
};

} // namespace detail

namespace untyped {
TENON_INLINE std::vector<any_tensor> decode_csv(const any_tensor& records, const std::vector<csv_column>& columns,
                                                const csv_options& how, called_from here) {
    const making made(here);
    decode_csv_op::attributes a;
    for (const csv_column& c : columns)
        a.columns.types.push_back({c.element, c.fields == 1 ? extents{} : extents{extent(c.fields)}});
    detail::set_columns(a.columns, columns);
    a.delimiter = how.delimiter;
    a.quotes = how.quotes;
    a.na_values = detail::text_list(how.na_values);
    a.header = detail::text_list(how.header);
    (void)csv_row_decoder("decode_csv", columns, how); // what is wrong with them is said here, not in the step
    attributes written = encode(a);
    if (how.forgiving) written.set(detail::forgiving_csv, std::int64_t{1});
    return detail::outputs_of(add_node(definition_of<decode_csv_op>(), {records}, std::move(written)), columns.size());
}
TENON_INLINE std::vector<any_tensor> decode_json(const any_tensor& records, const std::vector<json_column>& columns,
                                                 called_from here) {
    const making made(here);
    decode_json_op::attributes a;
    std::vector<std::string> names;
    for (const json_column& c : columns) {
        names.push_back(c.name);
        a.columns.types.push_back({c.element, c.sizes});
    }
    detail::set_columns(a.columns, columns);
    a.names = detail::text_list(names);
    (void)json_row_decoder("decode_json", columns);
    return detail::outputs_of(add_node(definition_of<decode_json_op>(), {records}, encode(a)), columns.size());
}
TENON_INLINE any_tensor decode_raw(const any_tensor& bytes, element_type element, const extents& sizes,
                                   byte_order order, called_from here) {
    return tenon::add<decode_raw_op>({element, sizes, order}, {bytes}, here);
}
} // namespace untyped

} // namespace tenon
