// Going on from a place in a data set that was damaged: it is a data_loss_error or an invalid_argument_error, or what comes then
// has the types that the data set says. The first byte says which data set, the second how far it was gone through; the others
// change the state, or are it.
// covers: io/stream/element_stream data/steps/order data/steps/batching data/steps/buffering data/steps/transform data/steps/nested data/steps/sources data/steps/file_walk data/csv

#include <tuple>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>

#include "fuzz/fuzzing.hpp"
#include "memory_files.hpp"

namespace {

namespace tn = tenon;

std::vector<tn::untyped::data_set> make_sets() {
    auto& files = fuzz::the_files();
    files.bytes = {"1,2\n3,4\n5,6\n7,8\n", "a,b\n1,2\nx,4\n", ""};
    const std::vector<std::string> paths{"fuzz://0", "fuzz://2", "fuzz://1"};
    tn::array<float, tn::shape<tn::dyn, 2>> x(9);
    tn::array<std::string, tn::shape<tn::dyn>> y(9);
    for (int i = 0; i < 9; ++i) {
        x(i, 1) = static_cast<float>(i);
        y(i) = std::string(static_cast<std::size_t>(i), 'y');
    }
    const auto pairs = tn::data::slices(x, y);
    const auto n = tn::data::range(20);
    const auto odd = [](std::int64_t v) {
        if (v == 7) throw tn::data_loss_error("seven");
        return v;
    };
    const auto ragged = n.map_host([](std::int64_t v) { return tn::array<std::int32_t, tn::shape<tn::dyn>>(v % 5); });
    const auto truths = n.map_host([](std::int64_t v) { return v % 2 == 0; });
    return {
        pairs.shuffle(5, {.seed = 1}).skip(1).repeat(3).take(20).shard(2, 1).batch(2).untyped(),
        pairs
            .map_host(
                [](tn::array<float, tn::shape<2>> a, const std::string& b) { return std::tuple(b, std::move(a)); })
            .shuffle(4, {.seed = 2})
            .untyped(),
        pairs.enumerate().batch(4).unbatch().untyped(),
        n.map_host(odd, {.parallelism = 2}).prefetch(3).untyped(),
        n.map_host(odd).batch(3).untyped(),
        n.filter_host([](std::int64_t v) { return v % 3 != 0; }).window(3, {.shift = 2}).untyped(),
        ragged.padded_batch(3).untyped(),
        ragged.bucket_by_length([](const auto& a) { return a.size(); }, {2, 4}, {3, 2, 2}).untyped(),
        n.interleave([](std::int64_t v) { return tn::data::range(v % 4).batch(2); }, {.cycle_length = 3}).untyped(),
        n.flat_map([](std::int64_t v) { return tn::data::range(v % 3); }).concatenate(n).untyped(),
        tn::data::zip(n.cache().repeat(2), truths.repeat(), tn::data::random<float>(3)).batch(2).untyped(),
        tn::data::sample<std::int64_t>({n, n.skip(3)}, {1, 2}, 4).untyped(),
        tn::data::text_lines(paths).untyped(),
        tn::data::csv<std::int64_t, float>(paths).untyped(),
        tn::data::csv<std::int64_t, float>(paths).batch(3).untyped(),
        tn::data::fixed_length_records(paths, 3).untyped(),
        tn::data::generator([] {
            return [i = std::int64_t{0}]() mutable { return i < 9 ? std::optional(i++) : std::nullopt; };
        }).untyped(),
    };
}

const std::vector<tn::untyped::data_set>& sets() {
    static const auto* const all = new std::vector(make_sets());
    return *all;
}

bool next(tn::data_run& run, const tn::untyped::data_set& set, std::vector<tn::any_array>& element) {
    if (!run.next(element)) return false;
    if (element.size() != set.components().size()) std::abort();
    for (std::size_t c = 0; c < element.size(); ++c) {
        if (!tn::misfit(element[c].type(), set.components()[c]).empty()) std::abort();
        if (element[c].element() == tn::element_type::string) { // is it there?
            std::size_t bytes = 0;
            for (std::int64_t i = 0; i < element[c].elements(); ++i) bytes += element[c].data<std::string>()[i].size();
            if (bytes > (std::size_t{1} << 30)) std::abort();
        }
    }
    return true;
}

// A few bytes are a change: where, and what.
std::string changed(std::string state, std::string_view by) {
    while (by.size() >= 4 && !state.empty()) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(by[i]); };
        const std::size_t at = (std::size_t{byte(0)} | std::size_t{byte(1)} << 8) % state.size();
        switch (byte(2) % 6) {
        case 0: state[at] = static_cast<char>(state[at] ^ by[3]); break;
        case 1: state[at] = by[3]; break;
        case 2: // a number
            for (std::size_t i = 0; i < 8 && at + i < state.size(); ++i)
                state[at + i] = i == 0 ? by[3] : byte(3) > 200 ? '\xff' : '\0';
            break;
        case 3: state.resize(at); break;
        case 4: state.insert(at, 1 + byte(3) % 16, by[3]); break;
        default: state.erase(at, byte(3)); break;
        }
        by.remove_prefix(4);
    }
    return state;
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() < 2) return;
    const tn::untyped::data_set& set = sets()[in[0] % sets().size()];
    const std::string_view rest = in.view(2);
    std::vector<tn::any_array> element;
    const auto some = [&](tn::data_run& run, int most) {
        bool more = true; // also behind an element that fails
        for (int i = 0; i < most && more; ++i) fuzz::is_read<tn::error>([&] { more = next(run, set, element); });
    };
    std::string state(rest);
    if (in[1] < 200) {
        tn::data_run run(set);
        some(run, in[1] % 25);
        state = changed(run.save(), rest);
    }
    tn::data_run run(set);
    if (!fuzz::is_read<tn::data_loss_error, tn::invalid_argument_error>([&] { run.restore(state); })) return;
    some(run, 60);
    (void)run.save();
}
