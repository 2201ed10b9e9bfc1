// Whatever is in a CSV file whose types are found by looking at all of it, its rows are of these types: as a table and as a data set they
// are the same, and none fails. The first byte says how the file is read.
// covers: data/tables/csv_schema data/csv data/tables/table_rows io/text/csv io/text/element_text

#include <cmath>

#include <tenon/data/tables/csv_schema.hpp>

#include "fuzz/fuzzing.hpp"
#include "memory_files.hpp"

namespace {

namespace tn = tenon;

bool same(const tn::any_array& column, std::int64_t r, const tn::any_array& field) {
    switch (column.element()) {
    case tn::element_type::int64: return column.data<std::int64_t>()[r] == field.data<std::int64_t>()[0];
    case tn::element_type::boolean: return column.data<bool>()[r] == field.data<bool>()[0];
    case tn::element_type::float64: {
        const double a = column.data<double>()[r], b = field.data<double>()[0];
        return a == b || (std::isnan(a) && std::isnan(b));
    }
    default: return column.data<std::string>()[r] == field.data<std::string>()[0];
    }
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() < 1) return;
    fuzz::the_files().bytes = {in.text(1)};
    tn::data::infer_options o;
    o.read.quotes = (in[0] & 1) == 0;
    o.read.delimiter = in[0] & 2 ? '\t' : ',';
    o.read.skip_header_lines = in[0] & 4 ? 1 : 0;
    if (in[0] & 8) o.read.na_values = {"-", "0"};
    o.read.forgiving = (in[0] & 16) != 0;
    if (in[0] & 32) o.names = (in[0] & 64) != 0;
    o.read.compressed = tn::compression::none;
    o.read.largest_line = 1000;
    try {
        o.rows = 2;
        (void)tn::data::infer_csv("fuzz://0", o).to_text();
        const tn::data::csv_table table = tn::data::read_csv("fuzz://0", o);
        (void)table.to_text(3);
        const auto& columns = table.schema().columns;
        if (!table.schema().whole) std::abort();
        try {
            tn::data_run run(tn::data::csv("fuzz://0", table.schema()));
            std::vector<tn::any_array> row;
            for (std::int64_t r = 0; r < table.rows(); ++r) {
                if (!run.next(row) || row.size() != columns.size()) std::abort();
                for (std::size_t c = 0; c < columns.size(); ++c) {
                    const tn::any_array& all = table.column(columns[c].name);
                    if (all.element() != row[c].element() || !same(all, r, row[c])) std::abort();
                }
            }
            if (run.next(row)) std::abort();
        } catch (
            const tn::invalid_argument_error& e) { // two columns of one name, which are told apart by their places only
            if (std::string(e.what()).find("asked for twice") == std::string::npos) std::abort();
        }
    } catch (const tn::error&) { // no table
    }
}
