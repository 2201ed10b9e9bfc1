// A table of comma-separated values with missing fields teaches a linear model. The members of a struct are found by the names in
// the file's first line; a flat without a balcony has nothing in that column, which is 0 square metres, and one on the ground
// floor has a "-" there. Mean and deviation of each column, from one pass over the data, bring them to one scale. Here the table is
// made up, by a formula and some noise, so that it shows whether what is learned is right.
//
//     street,area,balcony,rooms,floor,rent
//     "Elm Road, 5",95.5,,4,-,1245.25
//     1000 flats: 488 without balcony, 188 on the ground floor
//     area: mean 57.0, deviation 25.3 square metres
//     1000 steps of 20 flats
//     rent = 9.0 area +60 rooms +4 balcony -5 floor +150
#include <tenon/input.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>

#include "tour/shared/own_folder.hpp"

namespace tn = tenon;

namespace {

inline constexpr struct flat_batch : tn::dim<"batch"> {} flat_batch;
constexpr int flats = 1000, batch_size = 20, epochs = 20;

struct flat {
    float area = 0; // square metres
    std::int32_t rooms = 0;
    float balcony = 0;
    std::int32_t floor = 0;
    float rent = 0;
    static constexpr auto fields() {
        return tn::record_fields("area", &flat::area, "rooms", &flat::rooms, "balcony", &flat::balcony, "floor",
                                 &flat::floor, "rent", &flat::rent);
    }
};

void write_table(const std::string& path) {
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    tn::csv_writer out(path, {"street", "area", "balcony", "rooms", "floor", "rent"});
    for (int i = 0; i < flats; ++i) {
        const int rooms = 1 + below(4), floor = below(5), balcony = below(2) == 0 ? 0 : 2 + below(9);
        const double area = 10 + below(180) / 2.0, noise = below(1001) / 100.0 - 5;
        out.field("Elm Road, " + std::to_string(i)).field(area);
        if (balcony > 0) out.field(balcony);
        else out.field("");
        out.field(rooms);
        if (floor > 0) out.field(floor);
        else out.field("-");
        out.field(std::round(100 * (9 * area + 60 * rooms + 4 * balcony - 5 * floor + 150 + noise)) / 100);
        out.end_row();
    }
    out.commit();
}

// A column at mean 0 and deviation 1.
template <class X, class M> auto normal(const X& column, const M& m) {
    return tn::normalize(tn::cast<float>(column), static_cast<float>(m.mean()), static_cast<float>(m.deviation()));
}

} // namespace

int main() {
    const own_folder folder("tenon-csv");
    const std::string path = folder / "flats.csv";
    write_table(path);
    const auto lines = tn::data::text_lines(path);
    for (const std::string& line : lines.take(1).concatenate(lines.skip(6).take(1))) std::printf("%s\n", line.c_str());

    const std::optional<std::string> needed; // it must not be missing
    const auto table = tn::data::csv<flat>(path, {.na_values = {"-"}, .defaults = {needed, needed, "0", "0", needed}});
    int rows = 0, without_balcony = 0, on_the_ground = 0;
    for (const flat& f : table) {
        ++rows;
        without_balcony += f.balcony == 0;
        on_the_ground += f.floor == 0;
    }
    std::printf("%d flats: %d without balcony, %d on the ground floor\n", rows, without_balcony, on_the_ground);
    const auto areas = tn::data::moments<&flat::area>(table), balconies = tn::data::moments<&flat::balcony>(table);
    const auto rooms = tn::data::moments<&flat::rooms>(table), floors = tn::data::moments<&flat::floor>(table);
    std::printf("area: mean %.1f, deviation %.1f square metres\n", areas.mean(), areas.deviation());

    // The file is read and taken apart in the first epoch; the others shuffle what is kept of it.
    const auto train = tn::make_one_shot_iterator(
        table.cache().shuffle(flats, {.seed = 1}).batch<flat_batch>(batch_size).repeat(epochs).prefetch());
    const auto [area, room, balcony, floor, rent] = train.get_next(); // float[batch], int32[batch], ..
    const auto of_area = tn::variable("area", 0.0f), of_rooms = tn::variable("rooms", 0.0f);
    const auto of_balcony = tn::variable("balcony", 0.0f), of_floor = tn::variable("floor", 0.0f);
    const auto base = tn::variable("base", 0.0f);
    const auto guess = of_area * normal(area, areas) + of_rooms * normal(room, rooms) +
                       of_balcony * normal(balcony, balconies) + of_floor * normal(floor, floors) + base;
    const auto step = tn::gradient_descent(0.02f).minimize(tn::nn::mean_squared_error(guess, rent));

    tn::session sess;
    sess.run(tn::initialize_variables());
    int steps = 0;
    try {
        for (;; ++steps) sess.run(step);
    } catch (const tn::end_of_data_error&) { // the last epoch is over
    }
    std::printf("%d steps of %d flats\n", steps, batch_size);

    // Back to square metres, rooms and floors.
    const auto [a, r, b, f, c] = sess.run(of_area, of_rooms, of_balcony, of_floor, base);
    double offset = static_cast<double>(c());
    const auto slope = [&](float learned, const auto& m) {
        const double of_one = static_cast<double>(learned) / m.deviation();
        offset -= of_one * m.mean();
        return of_one;
    };
    const double per_area = slope(a(), areas), per_room = slope(r(), rooms), per_balcony = slope(b(), balconies),
                 per_floor = slope(f(), floors);
    std::printf("rent = %.1f area %+.0f rooms %+.0f balcony %+.0f floor %+.0f\n", per_area, per_room, per_balcony,
                per_floor, offset);
    return 0;
}
