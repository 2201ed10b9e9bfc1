// Whatever the bytes, a pattern is refused, or finds matches that lie in the text, one behind the other. The pattern ends with
// the first 0; behind it is the text.
// covers: io/regular_expression io/element_text

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/regular_expression.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(all.find('\0'), all.size());
    const std::string_view text = all.substr(std::min(end + 1, all.size()));
    try {
        const tenon::regular_expression e("fuzz", all.substr(0, end));
        std::vector<std::size_t> ends(2 * static_cast<std::size_t>(e.groups()) + 2);
        if (e.find(text, 0, ends) && (ends[0] > ends[1] || ends[1] > text.size())) std::abort();
        const auto whole = e.read_rewrite("fuzz", "$&");
        if (e.replace(text, whole) != text) std::abort();
    } catch (const tenon::invalid_argument_error&) { // as it should be
    }
    return 0;
}
