#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/arrow.hpp>
#include <tenon/data/from.hpp>

/// Rows that tests write and read.

struct flat_row {
    std::int32_t rooms = 0;
    float price = 0;
    std::string city;
    bool sold = false;
    tenon::array<float, tenon::shape<2, 3>> scores;
    static constexpr auto fields() {
        return tenon::record_fields("rooms", &flat_row::rooms, "price", &flat_row::price, "city", &flat_row::city,
                                    "sold", &flat_row::sold, "scores", &flat_row::scores);
    }
};

/// Row i is made of i.
inline flat_row flat_of(std::int32_t i) {
    flat_row r;
    r.rooms = i;
    r.price = static_cast<float>(i) * 0.5F;
    r.city = "city " + std::to_string(i % 7);
    r.sold = i % 3 == 0;
    for (std::int64_t k = 0; k < 6; ++k) r.scores.data()[k] = static_cast<float>(i * 10 + k);
    return r;
}
inline bool is_flat(const flat_row& r, std::int32_t i) {
    const flat_row w = flat_of(i);
    bool same = r.rooms == w.rooms && r.price == w.price && r.city == w.city && r.sold == w.sold;
    for (std::int64_t k = 0; k < 6; ++k) same = same && r.scores.data()[k] == w.scores.data()[k];
    return same;
}

/// Whose columns are fields of structs, which do not stand beside each other.
struct placed_row {
    std::int32_t id = 0;
    std::string city;
    float x = 0;
    std::int64_t last = 0;
    tenon::array<std::int32_t, tenon::shape<2>> y;
    static constexpr auto fields() {
        return tenon::record_fields("id", &placed_row::id, "place.city", &placed_row::city, "place.at.x",
                                    &placed_row::x, "last", &placed_row::last, "place.at.y", &placed_row::y);
    }
};
inline placed_row placed_of(std::int64_t i) {
    placed_row r;
    r.id = static_cast<std::int32_t>(i);
    r.city = "city " + std::to_string(i % 3);
    r.x = static_cast<float>(i) / 2;
    r.last = -i;
    r.y.data()[0] = r.id;
    r.y.data()[1] = r.id + 1;
    return r;
}
inline tenon::data_set<placed_row> placed(std::int64_t n) { return tenon::data::range(n).map_host(placed_of); }

/// begin .. end - 1, as rows.
inline tenon::data_set<flat_row> flats(std::int64_t begin, std::int64_t end) {
    return tenon::data::range(begin, end).map_host([](std::int64_t i) {
        return flat_of(static_cast<std::int32_t>(i));
    });
}
