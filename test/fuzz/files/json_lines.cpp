// Whatever the bytes, a line is decoded into the elements that are asked for, or is an invalid_argument_error.
// covers: io/text/json_lines io/text/element_text

#include <nlohmann/json.hpp>

#include <tenon/io/text/json_lines.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    using tenon::element_type;
    static const tenon::json_row_decoder decoder("json", {{"id", element_type::int32, {}, {}},
                                                          {"scores", element_type::float32, {2, 3}, "0.5"},
                                                          {"none", element_type::float64, {2, 0}, "1"},
                                                          {"name", element_type::string, {}, "nobody"},
                                                          {"tags", element_type::string, {2}, "no"},
                                                          {"good", element_type::boolean, {}, "1"},
                                                          {"long", element_type::int32, {}, "0", 0, true},
                                                          {"pairs", element_type::string, {2}, "", 0, true}});
    std::int32_t id = 0;
    float scores[6] = {};
    double nothing = 0;
    std::string texts[3];
    bool good = false;
    tenon::any_array list, pairs;
    void* const out[] = {&id, scores, &nothing, texts, texts + 1, &good, &list, &pairs};
    fuzz::is_read<tenon::invalid_argument_error>([&] {
        const std::string line = in.text();
        decoder.decode(line, {"fuzz", 1}, out, 0);
        if (nothing != 0 || texts[0].size() > in.size() + 6) std::abort();
        // Lines of a usual kind are read by a reader of their own, which takes nothing that the library's parser does not.
        const nlohmann::json tree = nlohmann::json::parse(line, nullptr, false);
        if (!tree.is_object()) std::abort();
        if (tree["id"] != id) std::abort();
        if (const auto name = tree.find("name"); name != tree.end() && !name->is_null() && *name != texts[0])
            std::abort();
        if (const auto l = tree.find("long"); l != tree.end() && !l->is_null()) {
            if (l->size() != static_cast<std::size_t>(list.elements())) std::abort();
            for (std::size_t i = 0; i < l->size(); ++i)
                if ((*l)[i] != list.data<std::int32_t>()[i]) std::abort();
        } else if (list.elements() != 0) std::abort();
        if (pairs.rank() != 2 || pairs.extents()[1].size != 2) std::abort();
    });
}
