// Whatever the bytes, json_tokenizer::parse gives a tokenizer whose tokens have texts, or throws a tenon::error.
// covers: io/text/json_tokenizer io/json/json_parse

#include <tenon/core/error.hpp>
#include <tenon/io/text/json_tokenizer.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    const std::string_view text = in.view();
    fuzz::is_read<tenon::error>([&] {
        const auto t = tenon::json_tokenizer::parse(text);
        for (const bool special : {false, true})
            for (const std::string_view x : {text.substr(0, 500), std::string_view("ab  <mask> aba\n\xC3\xA4 12<e>")}) {
                const auto tokens = t.encode(x, {special});
                for (const std::int32_t token : tokens)
                    if (token < 0 || token >= t.size()) std::abort();
                (void)t.decode(tokens, {special});
            }
    });
}
