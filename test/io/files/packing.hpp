#pragma once

#include <tenon/io/files/compressed.hpp>

#include <io/sources.hpp>

#include "tests.hpp"

/// Bytes that a test packs and unpacks.

struct outcome {
    std::string bytes, error;
};

/// Everything up to the end or the error, in pieces.
template <class Error = tenon::data_loss_error> outcome drain(tenon::readable_file& file, std::size_t piece = 100) {
    outcome o;
    std::string part(piece, '\0');
    try {
        while (const std::size_t n = file.read(part.data(), piece)) o.bytes.append(part, 0, n);
    } catch (const Error& e) {
        o.error = e.what();
    }
    return o;
}
template <class Error = tenon::data_loss_error>
outcome unpack(const std::string& bytes, tenon::compression how = tenon::compression::automatic,
               std::size_t piece = 100) {
    return drain<Error>(*tenon::unpacked(std::make_unique<test_file>(bytes), "it", how), piece);
}

inline std::string pack(const std::string& bytes, tenon::compression how, int level = -1) {
    struct held final : tenon::writable_file {
        std::string& to;
        explicit held(std::string& t) : to(t) {}
        void write(const void* from, std::size_t n) override { to.append(static_cast<const char*>(from), n); }
        void commit() override {}
    };
    std::string packed;
    const auto file = tenon::packed(std::make_unique<held>(packed), "it", how, level);
    file->write(bytes.data(), bytes.size());
    file->commit();
    return packed;
}

/// Bytes of which some can be packed and some not; the same each time.
inline std::string mixed(std::size_t size) {
    std::mt19937 random(7);
    std::string s(size, 'a');
    for (char& c : s) c = static_cast<char>(random() % 4 == 0 ? random() : 'a');
    return s;
}

/// A file of these bytes goes to any place, forth and back, and beyond its end.
inline void check_goes_anywhere(tenon::readable_file& file, const std::string& bytes) {
    std::mt19937 random(3);
    for (int i = 0; i < 30; ++i) {
        const std::size_t at = random() % bytes.size();
        file.seek(at);
        std::string part(50, '\0');
        part.resize(tenon::detail::read_fully(file, part.data(), part.size()));
        CHECK(part == bytes.substr(at, 50));
    }
    file.seek(bytes.size() + 100);
    char c = 0;
    CHECK(file.read(&c, 1) == 0);
    file.seek(0);
    CHECK(drain(file).bytes == bytes);
}
