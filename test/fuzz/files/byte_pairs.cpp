// Whatever the bytes, byte_pair_tokenizer::parse gives a tokenizer that keeps every text, or throws a tenon::error.
// covers: io/text/tokenizer

#include <tenon/core/error.hpp>
#include <tenon/io/text/tokenizer.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    const std::string_view text = in.view();
    fuzz::is_read<tenon::error>([&] {
        const auto t = tenon::byte_pair_tokenizer::parse(text);
        if (t.decode(t.encode(text)) != text) std::abort();
    });
}
