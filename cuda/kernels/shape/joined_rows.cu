#include <cuda/kernels/shape/joined_rows.hpp>

#include <numeric>
#include <utility>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/division.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

// What one launch moves, in units.
struct group {
    static constexpr int most_parts = 64;
    int parts = 0;
    void* pointers[most_parts];
    std::int64_t offsets[most_parts]; // in a row of the whole
    divider widths[most_parts];
    std::uint32_t begins[most_parts + 1]{};
};

template <class U, bool Joins> __global__ void move_rows(U* whole, std::int64_t row, group g) {
    const std::uint32_t n = g.begins[g.parts], all = gridDim.x * blockDim.x;
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) {
        int low = 0, high = g.parts; // part `low` begins at i or before, part `high` after it
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            (g.begins[middle] <= i ? low : high) = middle;
        }
        const std::uint32_t in_part = i - g.begins[low];
        std::uint32_t column = in_part;
        const std::uint32_t r = g.widths[low].divide(column);
        U* const part = static_cast<U*>(g.pointers[low]) + in_part;
        U* const at = whole + r * row + g.offsets[low] + column;
        if constexpr (Joins) *at = *part;
        else *part = *at;
    }
}

} // namespace

joined_rows::joined_rows(std::int64_t rows, std::vector<std::int64_t> widths, std::size_t element_bytes,
                         std::int64_t most) :
    rows_(rows),
    row_(std::accumulate(widths.begin(), widths.end(), std::int64_t{0})),
    widths_(std::move(widths)),
    element_bytes_(element_bytes),
    most_(most) {}

template <bool Joins> void joined_rows::move(const void* const* parts, const void* whole, void* stream) const {
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    // The largest unit of which all rows and pointers are multiples, and all widths: parts begin behind those that nobody reads, too.
    auto unit =
        static_cast<std::int64_t>(std::gcd(std::uintptr_t{16}, std::gcd(reinterpret_cast<std::uintptr_t>(whole),
                                                                        static_cast<std::uintptr_t>(row_ * bytes))));
    for (std::size_t p = 0; p < widths_.size(); ++p) {
        unit = std::gcd(unit, widths_[p] * bytes);
        if (parts[p]) unit = std::gcd(unit, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(parts[p]) % 16));
    }
    std::int64_t offset = 0;
    group g;
    const auto give = [&] {
        if (g.parts == 0) return;
        with_unit(unit, [&]<class U>(U) {
            launch(move_rows<U, Joins>, blocks_for(g.begins[g.parts]), block_threads, 0, stream,
                   static_cast<U*>(const_cast<void*>(whole)), row_ * bytes / unit, g);
        });
        g.parts = 0;
    };
    for (std::size_t p = 0; p < widths_.size(); offset += widths_[p++]) {
        const std::int64_t width = widths_[p], elements = rows_ * width;
        if (!parts[p] || elements == 0) continue;
        if (elements > most_) {
            const copied_dimension in_whole[] = {{rows_, width, row_}, {width, 1, 1}};
            const copied_dimension of_whole[] = {{rows_, row_, width}, {width, 1, 1}};
            const strided_copy alone(Joins ? in_whole : of_whole, 2, element_bytes_, most_);
            char* const at = static_cast<char*>(const_cast<void*>(whole)) + offset * bytes;
            if constexpr (Joins) alone.run(parts[p], at, stream);
            else alone.run(at, const_cast<void*>(parts[p]), stream);
            continue;
        }
        if (g.parts == group::most_parts || g.begins[g.parts] + elements * bytes / unit > most_) give();
        g.pointers[g.parts] = const_cast<void*>(parts[p]);
        g.offsets[g.parts] = offset * bytes / unit;
        g.widths[g.parts] = divider(static_cast<std::uint32_t>(width * bytes / unit));
        g.begins[g.parts + 1] = g.begins[g.parts] + static_cast<std::uint32_t>(elements * bytes / unit);
        ++g.parts;
    }
    give();
}

void joined_rows::join(const void* const* parts, void* whole, void* stream) const { move<true>(parts, whole, stream); }
void joined_rows::take_apart(const void* whole, void* const* parts, void* stream) const {
    move<false>(parts, whole, stream);
}

} // namespace tenon::cuda
