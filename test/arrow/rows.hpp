#pragma once

#include <cstdint>
#include <string>

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

/// Whose columns are fields of structs in lists: of `path` as many as there are in a row, of `ends` two.
struct walked_row {
    std::int64_t id = 0;
    tenon::array<float, tenon::shape<tenon::dyn>> x;
    tenon::array<std::string, tenon::shape<tenon::dyn>> name;
    tenon::array<std::int32_t, tenon::shape<tenon::dyn, 2>> y;
    tenon::array<std::int32_t, tenon::shape<2>> ends;
    static constexpr auto fields() {
        return tenon::record_fields("id", &walked_row::id, "path.x", &walked_row::x, "path.at.name", &walked_row::name,
                                    "path.at.y", &walked_row::y, "ends.k", &walked_row::ends);
    }
};
inline walked_row walked_of(std::int64_t i) {
    const std::int64_t n = i % 4;
    walked_row r;
    r.id = i;
    r.x = tenon::array<float, tenon::shape<tenon::dyn>>(n);
    r.name = tenon::array<std::string, tenon::shape<tenon::dyn>>(n);
    r.y = tenon::array<std::int32_t, tenon::shape<tenon::dyn, 2>>(n);
    for (std::int64_t k = 0; k < n; ++k) {
        r.x(k) = static_cast<float>(k) / 2;
        r.name(k) = "stop " + std::to_string(i + k);
        r.y(k, 0) = static_cast<std::int32_t>(i);
        r.y(k, 1) = static_cast<std::int32_t>(k);
    }
    r.ends(0) = static_cast<std::int32_t>(-i);
    r.ends(1) = static_cast<std::int32_t>(i);
    return r;
}
inline tenon::data_set<walked_row> walked(std::int64_t n) { return tenon::data::range(n).map_host(walked_of); }

/// begin .. end - 1, as rows.
inline tenon::data_set<flat_row> flats(std::int64_t begin, std::int64_t end) {
    return tenon::data::range(begin, end).map_host([](std::int64_t i) {
        return flat_of(static_cast<std::int32_t>(i));
    });
}
