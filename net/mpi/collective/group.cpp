#include <net/mpi/collective/group.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <unistd.h>

#include <net/mpi/collective/library.hpp>
#include <net/wire/text_hash.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/simd/ordered_sum.hpp>

namespace tenon::mpi {

namespace {

using namespace std::chrono_literals;

constexpr int most_direct = 16; // processes that speak to each other one by one
constexpr std::size_t most_spare = 64;
// Elements of one call. Two processes sum in one of them, by Open MPI: while it adds up one piece, the other has the last one.
constexpr std::int64_t most_at_once = std::int64_t{1} << 18;

MPI_Datatype type_of(element_type e) {
    switch (e) {
    case element_type::float32: return MPI_FLOAT;
    case element_type::float64: return MPI_DOUBLE;
    case element_type::int8: return MPI_INT8_T;
    case element_type::int16: return MPI_INT16_T;
    case element_type::int32: return MPI_INT32_T;
    case element_type::int64: return MPI_INT64_T;
    case element_type::uint8:
    case element_type::boolean: return MPI_UINT8_T;
    case element_type::float16:
    case element_type::bfloat16: // only moved
    case element_type::uint16: return MPI_UINT16_T;
    case element_type::uint32: return MPI_UINT32_T;
    case element_type::uint64: return MPI_UINT64_T;
    default: throw internal_error("tenon::mpi: elements that do not travel");
    }
}
bool is_short_float(element_type e) { return e == element_type::float16 || e == element_type::bfloat16; }

} // namespace

struct group::word {
    std::uint64_t number = 0, name_hash = 0;
    double weight = 1;
    std::int64_t rows = 0, bytes = 0; // of a gather; of the value
    std::int64_t sizes[max_rank] = {};
    std::int32_t kind = 0, element = 0, rank = 0;
    char name[140] = {};

    collective_signature signature() const {
        collective_signature s{static_cast<collective_kind>(kind), name, {static_cast<element_type>(element), {}}};
        for (int a = 0; a < rank; ++a) s.type.extents.push_back(extent(sizes[a]));
        return s;
    }
    bool means(const word& o) const {
        return name_hash == o.name_hash && kind == o.kind && element == o.element && rank == o.rank &&
               std::equal(sizes, sizes + max_rank, o.sizes);
    }
};

namespace {
int size_of_world() {
    int n = 1;
    require(MPI_Comm_size(MPI_COMM_WORLD, &n), "MPI_Comm_size");
    return n;
}
int rank_in_world() {
    int n = 0;
    require(MPI_Comm_rank(MPI_COMM_WORLD, &n), "MPI_Comm_rank");
    return n;
}
} // namespace

group::group(const std::string& name) :
    collective_group(name, rank_in_world(), size_of_world()),
    unanswered_(static_cast<std::size_t>(size())),
    last_of_(static_cast<std::size_t>(size())),
    come_(static_cast<std::size_t>(size())),
    left_(static_cast<std::size_t>(size())),
    heard_(static_cast<std::size_t>(size())) {
    for (MPI_Comm* c : {&words_, &values_, &notes_}) {
        require(MPI_Comm_dup(MPI_COMM_WORLD, c), "MPI_Comm_dup");
        require(MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    char own[128] = {};
    char host[64] = {};
    (void)::gethostname(host, sizeof host - 1);
    const std::string text =
        "rank " + std::to_string(rank()) + " (" + host + ", process " + std::to_string(::getpid()) + ")";
    text.copy(own, sizeof own - 1);
    std::vector<char> all(sizeof own * static_cast<std::size_t>(size()));
    require(MPI_Allgather(own, sizeof own, MPI_CHAR, all.data(), sizeof own, MPI_CHAR, values_), "MPI_Allgather");
    for (int r = 0; r < size(); ++r) members_.emplace_back(all.data() + sizeof own * static_cast<std::size_t>(r));
    inline_bytes_ = size() <= most_direct ? 2048 : 256;
    thread_ = std::thread([this] { serve(); });
}

group::~group() { leave(0); }

void group::issue(std::uint64_t sequence, const collective_signature& what, double weight, any_array value) {
    auto now = clock::now();
    {
        const std::lock_guard lock(guard_);
        if (spare_.empty()) arriving_.emplace_back();
        else arriving_.splice(arriving_.end(), spare_, spare_.begin());
        running& r = arriving_.back();
        r.number = sequence;
        r.what = what;
        r.weight = weight;
        r.own = std::move(value);
        issued_ = std::max(issued_, sequence);
        ++open_;
    }
    // What is small is often through before a thread would have woken.
    for (const auto until = now + 20us; now < until; now = clock::now()) {
        (void)advance(now);
        if (open_ == 0) return;
    }
    const std::lock_guard lock(guard_);
    changed_.notify_all();
}

// Where nothing moves it sleeps, longer and longer: who yields instead would wait for all others' time on the core.
void group::serve() {
#if defined(__linux__)
    (void)::prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
    auto moved = clock::now();
    for (;;) {
        const auto now = clock::now();
        if (advance(now)) moved = now;
        {
            std::unique_lock lock(guard_);
            if (over_) return;
            if (open_ == 0 && !leaving_) {
                (void)changed_.wait_for(lock, 250ms, [&] { return over_ || open_ > 0 || leaving_; });
                moved = clock::now();
                continue;
            }
        }
        std::this_thread::sleep_for(std::clamp<clock::duration>((now - moved) / 8, 3us, 300us));
    }
}

bool group::advance(clock::time_point now) {
    std::vector<result> done;
    std::vector<failed> ends;
    bool moved = false;
    {
        const std::unique_lock lock(mpi_guard_, std::try_to_lock);
        if (!lock) return false; // another thread does it
        try {
            moved = advance_locked(now, done, ends);
        } catch (const error& e) {
            ends.push_back({e.code(), "group " + name() + ": " + e.what(), e.reason(), true});
        } catch (const std::exception& e) {
            ends.push_back(
                {error_code::resource_exhausted, "group " + name() + ": " + e.what(), error_reason::none, true});
        }
    }
    for (result& r : done) finish(r.number, std::move(r.value));
    for (const failed& f : ends) (void)fail(f.code, f.why, f.reason, f.tells);
    return moved || !done.empty();
}

bool group::advance_locked(clock::time_point now, std::vector<result>& done, std::vector<failed>& ends) {
    bool moved = false;
    if (open_ > static_cast<std::int64_t>(under_way_.size() + waiting_.size())) {
        const std::lock_guard lock(guard_);
        if (over_ || dead_) drop(arriving_);
        waiting_.splice(waiting_.end(), arriving_);
    }
    const auto is_next = [&](const running& r) { return r.number == next_; };
    for (auto at = waiting_.begin(); (at = std::find_if(waiting_.begin(), waiting_.end(), is_next)) != waiting_.end();
         ++next_) {
        under_way_.splice(under_way_.end(), waiting_, at);
        begin_words(under_way_.back(), now);
        moved = true;
    }
    bool told = true; // what all mean by those before it: values meet in the order of numbers, too
    for (auto r = under_way_.begin(); r != under_way_.end();) {
        int over = 0;
        require(MPI_Testall(static_cast<int>(r->requests.size()), r->requests.data(), &over, MPI_STATUSES_IGNORE),
                "MPI_Testall");
        if (!over || (r->now == phase::telling && !told)) {
            told = told && r->now != phase::telling;
            ++r;
            continue;
        }
        moved = true;
        r->requests.clear();
        const std::size_t had = done.size();
        if (r->now == phase::telling) compare_words(*r, done);
        else {
            any_array out = std::move(r->out);
            if (r->narrows) {
                any_array rounded(r->what.type.element, out.extents());
                tenon::detail::narrow(out.data<float>(), rounded.data(), r->what.type.element, out.elements(), nullptr);
                out = std::move(rounded);
            }
            done.push_back({r->number, std::move(out)});
        }
        const auto at = r++;
        if (done.size() == had) continue;
        running fresh; // which keeps the memory of words
        fresh.said.swap(at->said);
        fresh.heard.swap(at->heard);
        *at = std::move(fresh);
        const std::lock_guard lock(guard_);
        --open_;
        if (spare_.size() < most_spare) spare_.splice(spare_.end(), under_way_, at);
        else under_way_.erase(at);
    }
    // Little is said: it is looked for seldom.
    if (now >= looks_again_) {
        looks_again_ = now + 1ms;
        read_notes(ends);
        look_for_lost(now, ends);
    }
    return moved;
}

// Under the lock of the list.
void group::drop(std::list<running>& all) noexcept {
    open_ -= static_cast<std::int64_t>(all.size());
    all.clear();
}

void group::begin_words(running& r, clock::time_point now) {
    const std::size_t slot = sizeof(word) + inline_bytes_;
    r.said.resize(slot);
    r.heard.resize(slot * static_cast<std::size_t>(size()));
    word& w = *new (r.said.data()) word;
    w.number = r.number;
    w.name_hash = net::hash_of_text(r.what.name);
    w.weight = r.weight;
    w.kind = static_cast<std::int32_t>(r.what.kind);
    w.element = static_cast<std::int32_t>(r.what.type.element);
    w.rank = r.what.type.extents.rank();
    for (int a = 0; a < w.rank; ++a) w.sizes[a] = r.what.type.extents[a].size;
    w.rows = r.what.kind == collective_kind::gather ? r.own.extents()[0].size : 0;
    w.bytes = static_cast<std::int64_t>(r.own.bytes());
    r.what.name.copy(w.name, sizeof w.name - 1);
    if (r.own.bytes() > 0 && r.own.bytes() <= inline_bytes_)
        std::memcpy(r.said.data() + sizeof w, std::as_const(r.own).data(), r.own.bytes());
    r.since = now;
    if (size() > most_direct) {
        r.requests.resize(1);
        require(MPI_Iallgather(r.said.data(), static_cast<int>(slot), MPI_CHAR, r.heard.data(), static_cast<int>(slot),
                               MPI_CHAR, words_, r.requests.data()),
                "MPI_Iallgather");
        return;
    }
    // To a few it is quicker to say it to each; they are told apart by order.
    const std::size_t said = sizeof w + (r.own.bytes() <= inline_bytes_ ? r.own.bytes() : 0);
    r.requests.assign(static_cast<std::size_t>(2 * (size() - 1)), MPI_REQUEST_NULL);
    MPI_Request* q = r.requests.data();
    for (int k = 1; k < size(); ++k) {
        const int from = (rank() + size() - k) % size();
        require(MPI_Irecv(r.heard.data() + slot * static_cast<std::size_t>(from), static_cast<int>(slot), MPI_CHAR,
                          from, 0, words_, q++),
                "MPI_Irecv");
    }
    for (int k = 1; k < size(); ++k)
        require(MPI_Isend(r.said.data(), static_cast<int>(said), MPI_CHAR, (rank() + k) % size(), 0, words_, q++),
                "MPI_Isend");
}

const group::word& group::word_of(const running& r, int rank_of) const {
    const char* const at = rank_of == rank()
                               ? r.said.data()
                               : r.heard.data() + (sizeof(word) + inline_bytes_) * static_cast<std::size_t>(rank_of);
    return *std::launder(reinterpret_cast<const word*>(at));
}

void group::compare_words(running& r, std::vector<result>& done) {
    std::vector<const word*> words;
    std::vector<const void*> values;
    words.reserve(static_cast<std::size_t>(size()));
    values.reserve(static_cast<std::size_t>(size()));
    bool small = true;
    for (int j = 0; j < size(); ++j) {
        words.push_back(&word_of(r, j));
        values.push_back(words.back() + 1);
        small = small && words.back()->bytes <= static_cast<std::int64_t>(inline_bytes_);
    }
    for (int j = 1; j < size(); ++j)
        if (!words[static_cast<std::size_t>(j)]->means(*words[0]))
            throw invalid_argument_error("the processes do not agree on collective number " + std::to_string(r.number) +
                                         ": " + member(0) + " has " + to_string(words[0]->signature()) + ", " +
                                         member(j) + " has " +
                                         to_string(words[static_cast<std::size_t>(j)]->signature()) +
                                         "; all must run the same steps of the same graph in the same order");
    if (!small) {
        begin_values(r, words);
        r.now = phase::sharing;
        return;
    }
    const bool gathers = r.what.kind == collective_kind::gather;
    tensor_type type = r.own.type();
    if (gathers) {
        std::int64_t rows = 0;
        for (const word* w : words) rows += w->rows;
        type.extents[0] = extent(rows);
    }
    any_array out(type.element, type.extents);
    if (gathers) {
        auto* to = static_cast<std::byte*>(out.data());
        for (int j = 0; j < size(); ++j) {
            const auto bytes = static_cast<std::size_t>(words[static_cast<std::size_t>(j)]->bytes);
            if (bytes > 0) std::memcpy(to, values[static_cast<std::size_t>(j)], bytes);
            to += bytes;
        }
    } else if (r.what.kind == collective_kind::broadcast) {
        if (out.bytes() > 0) std::memcpy(out.data(), values[0], out.bytes());
    } else ordered_sum(type.element, values, factors_of(r, words), out.data(), out.elements());
    done.push_back({r.number, std::move(out)});
}

std::vector<double> group::factors_of(const running& r, const std::vector<const word*>& words) {
    std::vector<double> f;
    if (r.what.kind != collective_kind::mean) return f;
    double sum = 0;
    for (const word* w : words) sum += w->weight;
    for (const word* w : words) f.push_back(sum == 0 ? 0 : w->weight / sum);
    return f;
}

void group::begin_values(running& r, const std::vector<const word*>& words) {
    const element_type element = r.what.type.element;
    const auto pieces = [&](std::int64_t n, auto&& begin) {
        for (std::int64_t b = 0; b < n; b += most_at_once) {
            r.requests.push_back(MPI_REQUEST_NULL);
            begin(b, static_cast<int>(std::min(most_at_once, n - b)), &r.requests.back());
        }
    };
    switch (r.what.kind) {
    case collective_kind::sum:
    case collective_kind::mean: {
        const std::vector<double> all = factors_of(r, words);
        const std::vector<double> own = all.empty() ? all : std::vector<double>{all[static_cast<std::size_t>(rank())]};
        r.narrows = is_short_float(element);
        const element_type wide = r.narrows ? element_type::float32 : element;
        r.out = any_array(wide, r.own.extents());
        const void* from = std::as_const(r.own).data();
        if (r.narrows) {
            tenon::detail::widen(from, element, r.out.data<float>(), r.out.elements(), nullptr);
            from = r.out.data();
        }
        if (!own.empty()) {
            ordered_sum(wide, {from}, own, r.out.data(), r.out.elements());
            from = r.out.data();
        }
        const auto size = static_cast<std::int64_t>(size_of(wide));
        r.requests.reserve(static_cast<std::size_t>(r.out.elements() / most_at_once + 1)); // they stay where they are
        pieces(r.out.elements(), [&](std::int64_t b, int n, MPI_Request* q) {
            auto* const to = static_cast<std::byte*>(r.out.data()) + b * size;
            const void* const at = from == r.out.data() ? MPI_IN_PLACE : static_cast<const std::byte*>(from) + b * size;
            require(MPI_Iallreduce(at, to, n, type_of(wide), MPI_SUM, values_, q), "MPI_Iallreduce");
        });
        break;
    }
    case collective_kind::broadcast: {
        r.out = rank() == 0 ? r.own.copy() : any_array(element, r.own.extents());
        const auto size = static_cast<std::int64_t>(size_of(element));
        r.requests.reserve(static_cast<std::size_t>(r.out.elements() / most_at_once + 1));
        pieces(r.out.elements(), [&](std::int64_t b, int n, MPI_Request* q) {
            require(MPI_Ibcast(static_cast<std::byte*>(r.out.data()) + b * size, n, type_of(element), 0, values_, q),
                    "MPI_Ibcast");
        });
        break;
    }
    case collective_kind::gather: {
        std::int64_t elements = 0, rows = 0;
        for (const word* w : words) {
            r.places.push_back(static_cast<int>(elements));
            r.counts.push_back(static_cast<int>(w->bytes / static_cast<std::int64_t>(size_of(element))));
            elements += r.counts.back();
            rows += w->rows;
        }
        if (elements > 2147483647)
            throw unimplemented_error("gather " + r.what.name + ": " + std::to_string(elements) +
                                      " elements of all processes are more than MPI counts; gather fewer at a time");
        extents sizes = r.own.extents();
        sizes[0] = extent(rows);
        r.out = any_array(element, sizes);
        r.requests.resize(1);
        require(MPI_Iallgatherv(std::as_const(r.own).data(), r.counts[static_cast<std::size_t>(rank())],
                                type_of(element), r.out.data(), r.counts.data(), r.places.data(), type_of(element),
                                values_, r.requests.data()),
                "MPI_Iallgatherv");
    }
    }
}

} // namespace tenon::mpi
