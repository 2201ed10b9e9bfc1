#include <cuda/tapes/form.hpp>

#include <algorithm>
#include <utility>

namespace tenon::cuda::tapes {

namespace {

using detail::fused_layout;

// Bit d: the operand has dimension d of the layout.
std::uint32_t dimensions_of(const fused_layout& l, int operand) {
    std::uint32_t has = 0;
    for (int d = 0; d < l.rank; ++d)
        if (l.operands[operand].strides[d] != 0) has |= std::uint32_t{1} << d;
    return has;
}

// The tape with some of its outputs.
tape with_outputs(const tape& t, const std::vector<int>& chosen) {
    tape result = t;
    result.output_count = 0;
    for (const int o : chosen) result.outputs[result.output_count++] = t.outputs[o];
    for (int o = result.output_count; o < max_tape_outputs; ++o) result.outputs[o] = tape_output{};
    return without_dead_code(result);
}

// Neighbouring dimensions of a layout that are one in a pass.
struct merged_dimension {
    std::int64_t size;
    int last; // dimension of the layout, whose stride is that of all
    bool kept;
};

std::vector<merged_dimension> merge(const fused_layout& l, const tape& t, std::uint32_t kept) {
    std::vector<std::uint32_t> operands{kept};
    std::vector<int> parts; // which have gaps
    for (int i = 0; i < t.input_count; ++i) {
        if (!t.loads(i)) continue;
        operands.push_back(dimensions_of(l, i));
        if (!l.operands[i].dense) parts.push_back(i);
    }
    std::vector<merged_dimension> dims;
    for (int d = 0; d < l.rank; ++d) {
        const bool joins = d > 0 &&
                           std::all_of(operands.begin(), operands.end(),
                                       [&](std::uint32_t has) { return (has >> d & 1U) == (has >> (d - 1) & 1U); }) &&
                           std::all_of(parts.begin(), parts.end(), [&](int i) {
                               return l.operands[i].read[d - 1] == l.operands[i].read[d] * l.sizes[d];
                           });
        if (joins) dims.back().size *= l.sizes[d], dims.back().last = d;
        else dims.push_back({l.sizes[d], d, (kept >> d & 1U) != 0});
    }
    return dims;
}

int width_of(const tape& t, const form& f) {
    std::size_t largest = 1;
    for (int i = 0; i < t.input_count; ++i)
        if (t.loads(i) && f.group_of[i] >= 0) largest = std::max(largest, size_of(t.inputs[i]));
    int sums = 0;
    for (int o = 0; o < t.output_count; ++o) {
        if (f.fates[o] == fate::stored) largest = std::max(largest, size_of(t.outputs[o].type));
        else ++sums;
    }
    // Its code is long, and its time is not that of memory: it is not repeated for the elements of a pack.
    for (int r = 0; r < t.length; ++r)
        if (t.code[r].op == opcode::polygamma) return 1;
    int width = static_cast<int>(16 / largest);
    // Where columns are summed, each element of a pack has sums of its own, in registers.
    if (sums > 0) width = std::min(width, 4);
    while (f.columns && width > 1 && width * sums > 16) width /= 2;
    return width;
}

// A GPU moves as much as it can where its threads have some 32 bytes each on their way: of one operand two packs. Long code waits for
// arithmetic, and takes the compiler's time.
int packs_of(const tape& t, const form& f) {
    constexpr int long_code = 32;
    std::size_t read = 0;
    for (int i = 0; i < t.input_count; ++i)
        if (t.loads(i) && f.group_of[i] >= 0 && f.along[f.group_of[i]])
            read += size_of(t.inputs[i]) * static_cast<std::size_t>(f.width);
    return f.width > 1 && read <= 16 && t.length <= long_code ? 2 : 1;
}

pass make_pass(const fused_layout& l, const tape& merged, const std::vector<int>& outputs, std::uint32_t kept) {
    pass p{.code = with_outputs(merged, outputs), .made = outputs};
    form& f = p.shape;
    std::vector<merged_dimension> dims = merge(l, p.code, kept);
    f.columns = dims.back().kept;
    const int fastest = dims.back().last;
    std::stable_partition(dims.begin(), dims.end(), [](const merged_dimension& d) { return d.kept; });
    f.dims = static_cast<int>(dims.size());
    f.kept = 0;
    for (const merged_dimension& d : dims) {
        p.sizes.push_back(d.size);
        f.kept += d.kept;
        (d.kept ? p.kept : p.summed) *= d.size;
    }

    std::vector<std::pair<std::uint32_t, std::vector<std::int64_t>>> groups; // dimensions, and strides of those
    const auto group_for = [&](std::uint32_t has, const std::int64_t* strides) {
        std::pair<std::uint32_t, std::vector<std::int64_t>> key{has, {}};
        for (const merged_dimension& d : dims) key.second.push_back(strides[d.last]);
        const auto found = std::find(groups.begin(), groups.end(), key);
        if (found != groups.end()) return static_cast<std::int8_t>(found - groups.begin());
        f.along[groups.size()] = (has >> fastest & 1U) != 0;
        p.strides.insert(p.strides.end(), key.second.begin(), key.second.end());
        groups.push_back(std::move(key));
        return static_cast<std::int8_t>(groups.size() - 1);
    };
    std::int64_t dense[max_rank], step = 1;
    for (int d = l.rank - 1; d >= 0; --d) dense[d] = step, step *= l.sizes[d];
    const std::uint32_t all = (std::uint32_t{1} << l.rank) - 1;
    group_for(all, dense);
    for (int i = 0; i < p.code.input_count; ++i) {
        const std::uint32_t has = dimensions_of(l, i);
        f.group_of[i] = -1;
        if (p.code.loads(i) && has != 0) f.group_of[i] = group_for(has, l.operands[i].read);
        p.firsts[i] = l.operands[i].first;
    }
    f.groups = static_cast<int>(groups.size());
    for (int o = 0; o < p.code.output_count; ++o) {
        const int like = p.code.outputs[o].like;
        const std::uint32_t has = like < 0 ? all : dimensions_of(l, like);
        f.fates[o] = has == all ? fate::stored : has == kept ? fate::summed : fate::totalled;
    }
    f.wide_index = p.elements() >= std::int64_t{1} << 31;
    f.width = width_of(p.code, f);
    if (!p.sums()) f.packs = packs_of(p.code, f);
    const bool flat = f.dims == 1 && !p.sums(); // what is left over comes behind the packs
    const std::int64_t run = f.columns ? p.sizes[static_cast<std::size_t>(f.kept - 1)] : p.sizes.back();
    p.whole_packs = flat || run % f.width == 0;
    for (int i = 0; i < p.code.input_count; ++i) // rows of parts begin anywhere
        for (const merged_dimension& d : dims)
            if (!l.operands[i].dense && d.last != fastest)
                p.whole_packs = p.whole_packs && l.operands[i].read[d.last] % f.width == 0;
    return p;
}

} // namespace

std::vector<pass> make_passes(const tape& merged, type_list inputs, const std::vector<detail::operand_part>& parts) {
    const fused_layout l = detail::make_layout(inputs, parts);
    const std::uint32_t all = (std::uint32_t{1} << l.rank) - 1;
    std::vector<int> stored, totals;
    std::vector<std::pair<std::uint32_t, std::vector<int>>> sums; // by the dimensions that are kept
    for (int o = 0; o < merged.output_count; ++o) {
        const int like = merged.outputs[o].like;
        // A space of one element has no dimensions: there is nothing to sum.
        const std::uint32_t has = like < 0 || l.operands[like].full ? all : dimensions_of(l, like);
        if (has == all) {
            stored.push_back(o);
        } else if (has == 0) {
            totals.push_back(o);
        } else {
            auto at = std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == has; });
            if (at == sums.end()) at = sums.insert(at, {has, {}});
            at->second.push_back(o);
        }
    }
    if (sums.empty() && !totals.empty()) sums.push_back({0, {}});
    if (sums.empty()) return {make_pass(l, merged, stored, all)};
    auto& first = sums.front().second;
    first.insert(first.end(), totals.begin(), totals.end());
    auto& last = sums.back().second;
    last.insert(last.end(), stored.begin(), stored.end());
    std::vector<pass> passes;
    for (const auto& [kept, outputs] : sums) passes.push_back(make_pass(l, merged, outputs, kept));
    return passes;
}

std::uint64_t divisor_of(std::int64_t size) noexcept {
    // n / d = (mulhi(n, m) + n) >> s with s = ceil(log2 d), m = floor(2^32 (2^s - d) / d) + 1: exact for n < 2^31. (Granlund and
    // Montgomery, "Division by invariant integers using multiplication", 1994.)
    if (size < 1 || size >= std::int64_t{1} << 31) return 0; // counted in 64 bits
    const auto d = static_cast<std::uint64_t>(size);
    std::uint64_t shift = 0;
    while ((std::uint64_t{1} << shift) < d) ++shift;
    const std::uint64_t factor = ((((std::uint64_t{1} << shift) - d) << 32) / d) + 1;
    return shift << 32 | (factor & 0xffffffffU);
}

} // namespace tenon::cuda::tapes
