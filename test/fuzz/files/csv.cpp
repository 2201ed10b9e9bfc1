// Whatever the bytes, a record of comma-separated values is decoded into the elements that its columns have, or is an
// invalid_argument_error. The first byte says how records are written.
// covers: io/text/csv io/text/element_text

#include <tenon/io/text/csv.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

tenon::csv_row_decoder decoder(int how) {
    using tenon::element_type;
    std::vector<tenon::csv_column> columns;
    if (how & 1) columns = {{element_type::float32, "0", 3}, {element_type::int64, {}}};
    else
        columns = {{element_type::string, "x", 2}, {element_type::none, {}, 1},     {element_type::boolean, "1"},
                   {element_type::float64, {}, 1}, {element_type::float16, "1e-3"}, {element_type::uint8, "7"}};
    tenon::csv_options o{.delimiter = how & 2 ? '\t' : ',', .quotes = (how & 4) == 0};
    if (how & 8) o.na_values = {"NA", "0"};
    o.forgiving = (how & 16) != 0;
    return {"csv", columns, o};
}

} // namespace

void try_input(const fuzz::input& in) {
    static const std::vector<tenon::csv_row_decoder> decoders = [] {
        std::vector<tenon::csv_row_decoder> all;
        for (int how = 0; how < 32; ++how) all.push_back(decoder(how));
        return all;
    }();
    if (in.size() == 0) return;
    const std::string_view record = in.view(1);
    float run[3] = {};
    std::int64_t whole = 0;
    std::string texts[2];
    bool truth = false;
    double wide = 0;
    tenon::half narrow{};
    std::uint8_t byte = 0;
    void* const numbers[] = {run, &whole};
    void* const mixed[] = {texts, &truth, &wide, &narrow, &byte};
    try {
        const int how = in[0] & 31;
        decoders[static_cast<std::size_t>(how)].decode(record, {"fuzz", 1}, how & 1 ? numbers : mixed, 0);
        if (texts[0].size() + texts[1].size() > record.size() + 2) std::abort();
    } catch (const tenon::invalid_argument_error& e) { // as it should be
        if (std::string_view(e.what()).size() > 1000) std::abort();
    }
}
