// Whatever the bytes, byte_pair_tokenizer::parse gives a tokenizer that keeps every text, or throws a tenon::error.
// covers: io/text/tokenizer

#include <tenon/core/error.hpp>
#include <tenon/io/text/tokenizer.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const auto t = tenon::byte_pair_tokenizer::parse(text);
        if (t.decode(t.encode(text)) != text) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
