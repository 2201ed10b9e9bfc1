#include <net/collective/exchange_group.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/simd/ordered_sum.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_early = 65536; // of parts

extents list_of(std::int64_t n) { return extents(n); }

any_array as_list(any_array a) { return std::move(a).reshape(list_of(a.elements())); }

collective_signature signature_of(const collective_here& h) {
    collective_signature s{h.kind, h.name, {h.element, {}}};
    for (const std::int64_t size : h.sizes) s.type.extents.push_back(extent(size));
    return s;
}

} // namespace

// What is to be done without the lock.
struct exchange_group::todo {
    struct sending {
        int to;
        collective_part part;
    };
    struct summing {
        std::uint64_t number;
        std::uint32_t piece;
        std::vector<any_array> from; // by rank; this process's own, too
        std::vector<double> factors;
        any_array to;
    };
    std::vector<sending> parts;
    std::vector<summing> sums;
    std::vector<std::pair<std::uint64_t, any_array>> results;
};

exchange_group::exchange_group(std::string name, int rank, int size, std::uint64_t number,
                               std::unique_ptr<collective_channel> channel) :
    collective_group(std::move(name), rank, size),
    group_(number),
    channel_(std::move(channel)),
    left_(static_cast<std::size_t>(size)) {}

exchange_group::~exchange_group() = default;

std::size_t exchange_group::under_way() const {
    const std::lock_guard lock(guard_);
    return running_.size();
}

bool exchange_group::sums(const running& r) const noexcept {
    return r.what.kind == collective_kind::sum || r.what.kind == collective_kind::mean;
}

// Of a gather it depends on the process: what is small of one may be large of another.
bool exchange_group::is_small(const running& r) const noexcept {
    return r.what.kind != collective_kind::gather &&
           r.what.type.extents.elements() * static_cast<std::int64_t>(size_of(r.what.type.element)) <= small_bytes;
}

std::vector<double> exchange_group::factors(const running& r) const {
    std::vector<double> f;
    if (r.what.kind != collective_kind::mean) return f;
    double sum = 0;
    for (const auto& h : r.here) sum += h->weight;
    for (const auto& h : r.here) f.push_back(sum == 0 ? 0 : h->weight / sum);
    return f;
}

exchange_group::running& exchange_group::at(std::uint64_t number) {
    running& r = running_[number];
    if (r.here.empty()) {
        if (running_.size() > most_early)
            throw resource_exhausted_error("group " + name() + ": " + std::to_string(most_early) +
                                           " collectives are under way");
        r.here.resize(static_cast<std::size_t>(size()));
        r.sent.resize(static_cast<std::size_t>(size()));
    }
    return r;
}

void exchange_group::compare(const running& r, std::uint64_t number, int other) const {
    const collective_signature theirs = signature_of(*r.here[static_cast<std::size_t>(other)]);
    if (theirs == r.what) return;
    const bool first = rank() < other; // so that all say the same
    const auto said = [&](int by, const collective_signature& s) { return member(by) + " has " + to_string(s); };
    throw invalid_argument_error("group " + name() + ": the processes do not agree on collective number " +
                                 std::to_string(number) + ": " + (first ? said(rank(), r.what) : said(other, theirs)) +
                                 ", " + (first ? said(other, theirs) : said(rank(), r.what)) +
                                 "; all must run the same steps of the same graph in the same order");
}

void exchange_group::issue(std::uint64_t sequence, const collective_signature& what, double weight, any_array value) {
    collective_here h{
        .group = group_, .number = sequence, .kind = what.kind, .name = what.name, .element = what.type.element};
    for (const extent& e : what.type.extents) h.sizes.push_back(e.size);
    h.weight = weight;
    if (what.kind == collective_kind::gather) h.rows = value.extents()[0].size;
    const tensor_type type = value.type();
    any_array own = as_list(std::move(value));
    const bool has = what.kind != collective_kind::broadcast || rank() == 0;
    if (has && static_cast<std::int64_t>(own.bytes()) <= small_bytes)
        h.value = own.copy(); // it may be sent again later
    todo then;
    {
        const locked lock(guard_);
        for (int j = 0; j < size(); ++j)
            if (const auto& left = left_[static_cast<std::size_t>(j)]; left && *left < sequence)
                throw unavailable_error("group " + name() + ": " + member(j) + " has left it, and does not come to " +
                                            to_string(what),
                                        error_reason::lost_task);
        running& r = at(sequence);
        last_ = std::max(last_, sequence);
        r.begun = true;
        r.what = what;
        r.weight = weight;
        r.result = type;
        r.own = std::move(own);
        for (int j = 0; j < size(); ++j)
            if (const auto& other = r.here[static_cast<std::size_t>(j)]) {
                early_bytes_ -= other->value.bytes();
                compare(r, sequence, j);
            }
        collective_here& mine = r.here[static_cast<std::size_t>(rank())].emplace();
        mine.weight = weight;
        mine.rows = h.rows;
        ++r.came;
    }
    for (int j = 1; j < size(); ++j) channel_->send((rank() + j) % size(), h);
    {
        const locked lock(guard_);
        if (const auto found = running_.find(sequence); found != running_.end())
            progress(sequence, found->second, then);
    }
    work(then);
}

void exchange_group::came(int from, collective_here&& m) noexcept {
    guarded([&] {
        todo then;
        {
            const locked lock(guard_);
            if (gone_ || has_ended()) return;
            const std::uint64_t number = m.number;
            const auto wrong = [&](const char* what) {
                throw data_loss_error("group " + name() + ": " + member(from) + " has sent, of collective number " +
                                      std::to_string(number) + ", " + what);
            };
            if (m.sizes.size() > static_cast<std::size_t>(max_rank)) wrong("too many sizes");
            for (const std::int64_t s : m.sizes)
                if (s < 0) wrong("a size below 0");
            if (m.element == element_type::none || m.element == element_type::string) wrong("no numbers");
            if (!(m.weight >= 0) || m.rows < 0) wrong("a weight below 0");
            tensor_type type{m.element, signature_of(m).type.extents};
            if (m.kind == collective_kind::gather) {
                if (type.extents.rank() == 0) wrong("a scalar to gather");
                type.extents[0] = extent(m.rows);
            }
            (void)checked_elements(type.element, type.extents);
            if (m.value && (m.value.element() != m.element || m.value.rank() != 1 ||
                            m.value.elements() != type.extents.elements()))
                wrong("a value of other sizes than it says");
            running& r = at(number);
            auto& place = r.here[static_cast<std::size_t>(from)];
            if (place) wrong("twice that it has come");
            place = std::move(m);
            ++r.came;
            if (r.begun) {
                compare(r, number, from);
                progress(number, r, then);
            } else if ((early_bytes_ += place->value.bytes()) > most_early_bytes)
                throw resource_exhausted_error("group " + name() + ": " + std::to_string(early_bytes_) +
                                               " bytes have come of collectives that this process has not come to");
        }
        work(then);
    });
}

// Where everybody's part begins and ends; needs all to be here, of a gather.
void exchange_group::lay_out(running& r) {
    r.laid_out = true;
    const auto n = static_cast<std::size_t>(size());
    const std::int64_t all = r.result.extents.elements();
    r.piece_elements = std::max<std::int64_t>(1, piece_bytes / static_cast<std::int64_t>(size_of(r.result.element)));
    r.regions.resize(n);
    if (r.what.kind == collective_kind::gather) {
        std::int64_t rows = 0, row = 1;
        for (int a = 1; a < r.result.extents.rank(); ++a) row *= r.result.extents[a].size;
        for (std::size_t j = 0; j < n; ++j) {
            r.regions[j].begin = rows * row;
            rows += r.here[j]->rows;
            r.regions[j].end = rows * row;
        }
        r.result.extents[0] = extent(rows);
    } else if (r.what.kind == collective_kind::broadcast) {
        for (region& g : r.regions) g = {all, all, 0};
        r.regions[0].begin = 0;
    } else { // starts on whole cache lines
        const std::int64_t share = (all / static_cast<std::int64_t>(n) + 16) / 16 * 16;
        for (std::size_t j = 0; j < n; ++j) {
            r.regions[j].begin = std::min(all, share * static_cast<std::int64_t>(j));
            r.regions[j].end = j + 1 == n ? all : std::min(all, share * static_cast<std::int64_t>(j + 1));
        }
    }
    r.out = any_array(r.result.element, list_of(checked_elements(r.result.element, r.result.extents)));
    r.arrived.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
        region& g = r.regions[j];
        g.pieces = static_cast<std::uint32_t>((g.end - g.begin + r.piece_elements - 1) / r.piece_elements);
        r.arrived[j].resize(g.pieces);
        r.left += g.pieces;
    }
    const region& mine = r.regions[static_cast<std::size_t>(rank())];
    if (sums(r)) {
        r.pieces.resize(mine.pieces);
        for (own_piece& p : r.pieces) p.from.resize(n);
    } else {
        tenon::detail::copy_elements(r.result.element, r.out.data(), mine.begin, r.own.data(), 0,
                                     mine.end - mine.begin);
        r.left -= mine.pieces;
    }
}

void exchange_group::add_small(std::uint64_t number, running& r, todo& then) const {
    std::vector<const void*> from;
    for (int j = 0; j < size(); ++j)
        from.push_back(j == rank() ? std::as_const(r.own).data()
                                   : std::as_const(r.here[static_cast<std::size_t>(j)]->value).data());
    any_array out(r.result.element, list_of(r.own.elements()));
    if (sums(r)) ordered_sum(r.result.element, from, factors(r), out.data(), out.elements());
    else if (out.bytes() > 0) std::memcpy(out.data(), from[0], out.bytes());
    r.finished = true;
    then.results.emplace_back(number, std::move(out).reshape(r.result.extents));
}

// What has become possible, of a collective that this process has come to.
void exchange_group::progress(std::uint64_t number, running& r, todo& then) {
    if (r.finished) return;
    const bool all = r.came == size();
    if (is_small(r)) {
        if (!all) return;
        for (int j = 0; j < (sums(r) ? size() : 1); ++j)
            if (j != rank() && !r.here[static_cast<std::size_t>(j)]->value)
                throw data_loss_error("group " + name() + ": " + member(j) + " has sent no value of " +
                                      to_string(r.what));
        add_small(number, r, then);
        running_.erase(number);
        return;
    }
    if (!r.laid_out && (all || r.what.kind != collective_kind::gather)) {
        lay_out(r);
        for (auto& [from, part] : std::exchange(r.early, {})) take(r, from, std::move(part));
    }
    if (!r.laid_out) return;
    for (int k = 1; k < size(); ++k) { // to who has come, what it adds up, or what this process has
        const int j = (rank() + k) % size();
        const auto at_j = static_cast<std::size_t>(j);
        if (!r.here[at_j] || r.sent[at_j]) continue;
        r.sent[at_j] = true;
        const bool adds = sums(r);
        const region& g = r.regions[adds ? at_j : static_cast<std::size_t>(rank())];
        const std::int64_t from = adds ? 0 : g.begin; // where the region's own elements begin in `own`
        if (!adds &&
            (r.what.kind == collective_kind::gather && static_cast<std::int64_t>(r.own.bytes()) <= small_bytes))
            continue; // it went with the word
        for (std::uint32_t p = 0; p < g.pieces; ++p) {
            const std::int64_t b = g.begin + p * r.piece_elements, e = std::min(g.end, b + r.piece_elements);
            then.parts.push_back({j, {group_, number, p, !adds, r.own.slice(b - from, e - from)}});
        }
    }
    if (!all) return;
    if (!sums(r)) // what came with the word
        for (int j = 0; j < size(); ++j) {
            const auto at_j = static_cast<std::size_t>(j);
            collective_here& h = *r.here[at_j];
            const region& g = r.regions[at_j];
            if (j == rank() || !h.value || g.pieces == 0 || r.arrived[at_j][0]) continue;
            tenon::detail::copy_elements(r.result.element, r.out.data(), g.begin, std::as_const(h.value).data(), 0,
                                         h.value.elements());
            std::fill(r.arrived[at_j].begin(), r.arrived[at_j].end(), true);
            r.left -= g.pieces;
        }
    else add_ready(number, r, then);
    if (r.left > 0) return;
    r.finished = true;
    then.results.emplace_back(number, std::move(r.out).reshape(r.result.extents));
    running_.erase(number);
}

// The pieces of which all parts are there, once all have come: who has not has said neither what it means nor its weight.
void exchange_group::add_ready(std::uint64_t number, running& r, todo& then) const {
    if (r.came < size()) return;
    const region& mine = r.regions[static_cast<std::size_t>(rank())];
    for (std::uint32_t p = 0; p < r.pieces.size(); ++p) {
        own_piece& piece = r.pieces[p];
        if (piece.summed || piece.came < size() - 1) continue;
        piece.summed = true;
        const std::int64_t b = mine.begin + p * r.piece_elements, e = std::min(mine.end, b + r.piece_elements);
        piece.from[static_cast<std::size_t>(rank())] = r.own.slice(b, e);
        then.sums.push_back({number, p, std::move(piece.from), factors(r), r.out.slice(b, e)});
    }
}

void exchange_group::take(running& r, int from, collective_part&& m) {
    const auto wrong = [&](const char* what) {
        throw data_loss_error("group " + name() + ": " + member(from) + " has sent, of " + to_string(r.what) + ", " +
                              what);
    };
    const region& g = r.regions[static_cast<std::size_t>(m.result ? from : rank())];
    if ((!m.result && !sums(r)) || m.piece >= g.pieces) wrong("a piece that there is not");
    const std::int64_t b = g.begin + m.piece * r.piece_elements, e = std::min(g.end, b + r.piece_elements);
    if (m.value.element() != r.result.element || m.value.elements() != e - b) wrong("a piece of other sizes");
    if (!m.result) {
        own_piece& p = r.pieces[m.piece];
        if (p.summed || p.from[static_cast<std::size_t>(from)]) wrong("a piece twice");
        p.from[static_cast<std::size_t>(from)] = std::move(m.value);
        ++p.came;
        return;
    }
    auto arrived = r.arrived[static_cast<std::size_t>(from)][m.piece];
    if (arrived) wrong("a result twice");
    arrived = true;
    any_array to = r.out.slice(b, e);
    if (std::as_const(m.value).data() != to.data()) std::memcpy(to.data(), std::as_const(m.value).data(), to.bytes());
    --r.left;
}

void exchange_group::came(int from, collective_part&& m) noexcept {
    guarded([&] {
        todo then;
        {
            const locked lock(guard_);
            if (gone_ || has_ended()) return;
            const std::uint64_t number = m.number;
            const auto found = running_.find(number);
            // It is sent to who has come: where there is no such collective, that was stopped.
            if (found == running_.end() || !found->second.begun) return;
            running& r = found->second;
            if (is_small(r))
                throw data_loss_error("group " + name() + ": " + member(from) + " has sent a piece of a small value");
            if (!r.laid_out) r.early.emplace_back(from, std::move(m));
            else take(r, from, std::move(m));
            progress(number, r, then);
        }
        work(then);
    });
}

void exchange_group::work(todo& then) {
    while (!then.parts.empty() || !then.sums.empty() || !then.results.empty()) {
        for (todo::sending& s : std::exchange(then.parts, {})) channel_->send(s.to, s.part);
        for (todo::summing& s : std::exchange(then.sums, {})) {
            std::vector<const void*> from;
            for (const any_array& a : s.from) from.push_back(a.data());
            ordered_sum(s.to.element(), from, s.factors, s.to.data(), s.to.elements());
            s.from.clear();
            for (int k = 1; k < size(); ++k)
                channel_->send((rank() + k) % size(), collective_part{group_, s.number, s.piece, true, s.to.share()});
            s.to = {};
            const locked lock(guard_);
            const auto found = running_.find(s.number);
            if (found == running_.end()) continue;
            --found->second.left;
            found->second.arrived[static_cast<std::size_t>(rank())][s.piece] = true;
            progress(s.number, found->second, then);
        }
        for (auto& [number, value] : std::exchange(then.results, {})) finish(number, std::move(value));
        changed_.notify_all();
    }
}

any_array exchange_group::place(int from, const collective_part& head, const tensor_type& type) {
    const std::lock_guard lock(guard_);
    const auto found = running_.find(head.number);
    if (!head.result || found == running_.end() || !found->second.laid_out || found->second.finished) return {};
    running& r = found->second;
    const region& g = r.regions[static_cast<std::size_t>(from)];
    if (head.piece >= g.pieces || r.arrived[static_cast<std::size_t>(from)][head.piece]) return {};
    const std::int64_t b = g.begin + head.piece * r.piece_elements, e = std::min(g.end, b + r.piece_elements);
    if (type.element != r.result.element || type.extents.rank() != 1 || type.extents[0] != extent(e - b)) return {};
    return r.out.slice(b, e);
}

} // namespace tenon::net
