// Parquet and Arrow files of any bytes: rows and batches hold the same, who goes on from a state gets the rest, and errors name the file.
// covers: arrow/table_reading

#include <algorithm>

#include <tenon/arrow.hpp>

#include "fuzz/fuzzing.hpp"
#include "memory_files.hpp"

namespace tn = tenon;

namespace {

struct row {
    std::int32_t a = 0;
    float b = 0;
    std::string c;
    tn::array<std::int32_t, tn::shape<2>> d;
    static constexpr auto fields() { return tn::record_fields("a", &row::a, "b", &row::b, "c", &row::c, "d", &row::d); }
};

// Of a few bytes a file may make more rows than there is time for.
constexpr std::size_t most_rows = 200, most_errors = 50;

struct seen {
    std::vector<std::string> rows;
    std::size_t errors = 0;
    bool whole = false;
};

std::string text_of(const std::vector<tn::any_array>& element, std::int64_t r) {
    std::string text;
    for (const tn::any_array& a : element) {
        const auto each =
            static_cast<std::size_t>(a.elements() / std::max<std::int64_t>(a.rank() == 0 ? 1 : a.extents()[0].size, 1));
        const std::size_t from = static_cast<std::size_t>(r) * each;
        if (a.element() == tn::element_type::string) text += a.data<std::string>()[from];
        else
            text.append(static_cast<const char*>(a.data()) + from * tn::size_of(a.element()),
                        each * tn::size_of(a.element()));
        text += '|';
    }
    return text;
}

// Elements of a batch of n, or single ones where n is 0, which are shaped as a batch of one would be.
seen go_through(tn::data_run& run, std::int64_t n) {
    seen s;
    while (s.rows.size() < most_rows && s.errors < most_errors) {
        std::vector<tn::any_array> element;
        try {
            if (!run.next(element)) {
                s.whole = true;
                break;
            }
        } catch (const tn::error& e) {
            if (std::string(e.what()).find("'fuzz://") == std::string::npos) std::abort();
            ++s.errors;
            continue;
        }
        if (n == 0)
            for (tn::any_array& a : element) {
                tn::extents sizes = a.extents();
                sizes.insert(0, 1);
                a = std::move(a).reshape(sizes);
            }
        const std::int64_t rows = element[0].extents()[0].size;
        if (rows < 1 || rows > std::max<std::int64_t>(n, 1)) std::abort();
        for (std::int64_t r = 0; r < rows; ++r) s.rows.push_back(text_of(element, r));
    }
    return s;
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() < 1) return;
    fuzz::the_files().bytes = {in.text(1)};
    tn::data::table_read_options o;
    if (in[0] & 2) o.defaults = {"1", std::nullopt, "none", "-2"};
    o.decoded_rows = in[0] & 4 ? 2 : 100;
    const bool parquet = in[0] & 1;
    // Of structs, lists of structs, and maps.
    const auto nested = tn::data::columns<std::int32_t, float, tn::component<std::string, tn::shape<2>>,
                                          tn::component<std::int32_t, tn::shape<2>>>("s.a", "s.t.b", "l.c", "m.value");
    const auto set =
        in[0] & 8
            ? (parquet ? tn::data::parquet("fuzz://0", nested, o) : tn::data::arrow_file("fuzz://0", nested, o))
                  .untyped()
            : (parquet ? tn::data::parquet<row>("fuzz://0", o) : tn::data::arrow_file<row>("fuzz://0", o)).untyped();
    tn::data_run singly(set);
    const seen all = go_through(singly, 0);
    tn::data_run batches(set.batch(3));
    const seen together = go_through(batches, 3);
    if (all.whole && together.whole && all.rows != together.rows) std::abort();
    // On from the middle.
    tn::data_run first(set);
    std::vector<tn::any_array> element;
    std::size_t given = 0;
    for (std::size_t k = 0; k < all.rows.size() / 2 + all.errors / 2; ++k)
        fuzz::is_read<tn::error>([&] { given += first.next(element); });
    tn::data_run second(set);
    if (!fuzz::is_read<tn::error>([&] { second.restore(first.save()); })) {
        if (all.errors == 0) std::abort(); // what stands before the place cannot be read again
        return;
    }
    const seen rest = go_through(second, 0);
    if (all.whole && rest.whole && all.errors == 0 &&
        !std::equal(rest.rows.begin(), rest.rows.end(), all.rows.begin() + static_cast<std::ptrdiff_t>(given),
                    all.rows.end()))
        std::abort();
}
