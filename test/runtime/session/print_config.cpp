#include <sstream>

#include "tests.hpp"

namespace {

// The part of config_text() after a line's name.
std::string line_of(const std::string& name) {
    std::istringstream text(tenon::config_text());
    for (std::string line; std::getline(text, line);) {
        if (line.find("  " + name + ' ') != 0) continue;
        return line.substr(line.find_first_not_of(' ', name.size() + 2));
    }
    return "there is no such line";
}

} // namespace

TEST_CASE("config_text begins with the version") {
    CHECK(tenon::config_text().starts_with("Tenon " TENON_VERSION "\n"));
    CHECK(TENON_VERSION == std::to_string(TENON_VERSION_MAJOR) + '.' + std::to_string(TENON_VERSION_MINOR) + '.' +
                               std::to_string(TENON_VERSION_PATCH));
}

TEST_CASE("config_text says how Tenon was compiled, with what, and for what it runs") {
    CHECK(line_of("library") == (TENON_HEADER_ONLY ? "header-only" : "compiled"));
#if defined(__clang__)
    CHECK(line_of("compiler").starts_with("clang "));
#else
    CHECK(line_of("compiler").starts_with("g++ "));
#endif
    CHECK(line_of("instruction set") == tenon::simd::name_of(tenon::simd::best_isa()));
    CHECK(std::stoi(line_of("processors")) >= 1);
}

TEST_CASE("config_text gives the version of what was found, and says what is done without what was not") {
#if TENON_WITH_ONEDNN
    CHECK(std::stoi(line_of("oneDNN")) >= 2);
#else
    CHECK(line_of("oneDNN") == "not found: matrix products and convolutions use Eigen");
#endif
#if TENON_WITH_ZLIB
    CHECK(line_of("zlib").starts_with("1."));
#else
    CHECK(line_of("zlib") == "not found: gzipped files cannot be read");
#endif
#if TENON_WITH_ZSTD
    CHECK(line_of("zstd").starts_with("1."));
#else
    CHECK(line_of("zstd") == "not found: .zst files cannot be read");
#endif
#if TENON_WITH_PNG
    CHECK(line_of("libpng").starts_with("1."));
#else
    CHECK(line_of("libpng") == "not found: PNG images cannot be read");
#endif
#if TENON_WITH_JPEG
    CHECK(line_of("libjpeg").starts_with("libjpeg"));
#else
    CHECK(line_of("libjpeg") == "not found: JPEG images cannot be read");
#endif
    CHECK(line_of("RE2") == (TENON_WITH_RE2 ? "found" : "not found: regular expressions cannot be replaced"));
}
