// Whatever is in CSV files, going through them gives the same rows and errors one by one, in batches, and from any place between
// two; it comes to an end. The first byte says how they are read, the second where they are cut into two files.
// covers: data/csv data/tables/table_rows data/steps/file_walk io/text/csv io/text/element_text

#include <tenon/data/csv.hpp>

#include "fuzz/fuzzing.hpp"
#include "memory_files.hpp"

namespace {

namespace tn = tenon;

struct row {
    float x = 0;
    std::int64_t n = 0;
    std::string text;
    static constexpr auto fields() { return tn::record_fields("x", &row::x, "n", &row::n, "text", &row::text); }
};

std::string text_of(const std::vector<tn::any_array>& element, std::int64_t i) {
    std::string all;
    for (const tn::any_array& a : element)
        all += (a.element() == tn::element_type::float32 ? std::to_string(a.data<float>()[i])
                : a.element() == tn::element_type::int64 ? std::to_string(a.data<std::int64_t>()[i])
                                                         : a.data<std::string>()[i]) +
               "|";
    return all;
}

// What comes of it, errors as "!".
std::vector<std::string> rows_of(tn::data_run& run, std::size_t most) {
    std::vector<std::string> all;
    std::vector<tn::any_array> element;
    for (;;) {
        try {
            if (!run.next(element)) return all;
            const std::int64_t n = element[0].rank() == 0 ? 1 : element[0].extents()[0].size;
            for (std::int64_t i = 0; i < n; ++i) all.push_back(text_of(element, i));
        } catch (const tn::error& e) {
            all.push_back(std::string("!") + e.what());
        }
        if (all.size() > most) std::abort(); // it never ends
    }
}

template <class... C> void check(const tn::data::csv_read_options& o, std::size_t bytes, int at) {
    const auto set = tn::data::csv<C...>({"fuzz://0", "fuzz://1"}, o);
    tn::data_run one(set.untyped());
    const std::vector<std::string> all = rows_of(one, bytes + 8);
    tn::data_run batched(set.batch(3).untyped());
    std::vector<std::string> in_batches = rows_of(batched, bytes + 8);
    // An error comes before the batch whose rows were read already.
    const auto sorted = [](std::vector<std::string> rows) {
        std::stable_partition(rows.begin(), rows.end(), [](const std::string& r) { return r[0] == '!'; });
        return rows;
    };
    if (sorted(in_batches) != sorted(all)) std::abort();
    tn::data_run first(set.untyped());
    std::vector<tn::any_array> element;
    std::size_t taken = 0;
    for (bool more = true; taken < static_cast<std::size_t>(at); ++taken) {
        fuzz::is_read<tn::error>([&] { more = first.next(element); });
        if (!more) break;
    }
    tn::data_run second(set.untyped());
    // Its first line is opened anew.
    if (!fuzz::is_read<tn::invalid_argument_error>([&] { second.restore(first.save()); })) return;
    const std::vector<std::string> rest = rows_of(second, bytes + 8);
    if (rest != std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(taken), all.end())) std::abort();
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() < 2) return;
    const std::string bytes = in.text(2);
    const std::size_t cut = in[1] * bytes.size() / 255;
    fuzz::the_files().bytes = {bytes.substr(0, cut), bytes.substr(cut)};
    tn::data::csv_read_options o{
        .skip_header_lines = in[0] & 4 ? 1 : 0, .delimiter = in[0] & 2 ? '\t' : ',', .quotes = (in[0] & 1) == 0};
    if (in[0] & 8) o.na_values = {"NA"};
    if (in[0] & 16) o.defaults = {"0", "7", "none"};
    o.forgiving = (in[1] & 1) != 0;
    o.comment = in[1] & 2 ? '#' : '\0';
    o.compressed = tn::compression::none;
    o.largest_line = 1000;
    if (in[0] & 32) check<row>(o, bytes.size(), in[0] >> 6);
    else check<float, std::int64_t, std::string>(o, bytes.size(), in[0] >> 6);
}
