#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

/// Event files and their messages, read by what has nothing of the library in it.

namespace events {

/// A message in the wire format: what its fields hold, in their order.
struct message {
    struct value {
        std::uint64_t number = 0; // of a varint, or the bits of a fixed one
        std::string bytes;
    };
    std::map<int, std::vector<value>> fields;

    explicit message(const std::string& all) {
        std::size_t at = 0;
        const auto byte = [&] {
            if (at >= all.size()) throw std::runtime_error("cut off");
            return static_cast<unsigned char>(all[at++]);
        };
        const auto varint = [&] {
            std::uint64_t v = 0;
            for (int shift = 0; shift < 70; shift += 7) {
                const unsigned char b = byte();
                v |= static_cast<std::uint64_t>(b & 127) << shift;
                if (b < 128) return v;
            }
            throw std::runtime_error("a varint without an end");
        };
        while (at < all.size()) {
            const std::uint64_t tag = varint();
            value v;
            switch (tag & 7) {
            case 0: v.number = varint(); break;
            case 1:
            case 5:
                for (int i = 0; i < ((tag & 7) == 1 ? 8 : 4); ++i) v.number |= std::uint64_t{byte()} << 8 * i;
                break;
            case 2:
                for (std::uint64_t left = varint(); left > 0; --left) v.bytes += static_cast<char>(byte());
                break;
            default: throw std::runtime_error("a wire type that there is not");
            }
            fields[static_cast<int>(tag >> 3)].push_back(v);
        }
    }
    bool has(int field) const { return fields.contains(field); }
    std::size_t count(int field) const { return has(field) ? fields.at(field).size() : 0; }
    const value& of(int field, std::size_t i = 0) const { return fields.at(field).at(i); }
    std::string text(int field, std::size_t i = 0) const { return of(field, i).bytes; }
    std::int64_t number(int field) const { return static_cast<std::int64_t>(of(field).number); }
    double real(int field) const {
        double d;
        std::memcpy(&d, &of(field).number, sizeof d);
        return d;
    }
    float real32(int field) const {
        const auto bits = static_cast<std::uint32_t>(of(field).number);
        float f;
        std::memcpy(&f, &bits, sizeof f);
        return f;
    }
    message sub(int field, std::size_t i = 0) const { return message(text(field, i)); }
};

inline std::vector<double> doubles(const std::string& packed) {
    std::vector<double> all(packed.size() / 8);
    std::memcpy(all.data(), packed.data(), all.size() * 8);
    return all;
}

/// CRC32C, bit by bit, as it is stored beside records.
inline std::uint32_t masked_crc(const std::string& bytes) {
    std::uint32_t crc = ~0U;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0U);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/// Throws where a record is damaged or cut off.
inline std::vector<message> read_events(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), {}};
    std::vector<message> found;
    const auto fixed = [&](std::size_t at, std::size_t bytes) {
        if (at + bytes > all.size()) throw std::runtime_error("the file is cut off");
        std::uint64_t v = 0;
        for (std::size_t i = 0; i < bytes; ++i) v |= std::uint64_t{static_cast<unsigned char>(all[at + i])} << 8 * i;
        return v;
    };
    for (std::size_t at = 0; at < all.size();) {
        const std::uint64_t length = fixed(at, 8);
        if (fixed(at + 8, 4) != masked_crc(all.substr(at, 8))) throw std::runtime_error("a length is damaged");
        const std::string record = all.substr(at + 12, length);
        if (fixed(at + 12 + length, 4) != masked_crc(record)) throw std::runtime_error("a record is damaged");
        found.emplace_back(record);
        at += 16 + length;
    }
    return found;
}

} // namespace events
