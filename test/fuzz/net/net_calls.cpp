// Reads a call, a note or a reply from any bytes, the first of which says which: what is no such is an error of two kinds; what
// is read is written and read again, and is the same.
// covers: net/wire/calls net/wire/values

#include "net_packed.hpp"

#include <net/wire/calls.hpp>

namespace {

using namespace tenon::net;

packed content_of(const message& m) {
    packed p{m.body, {}};
    for (const tenon::any_array& a : m.arrays) p.arrays.push_back(a.share());
    return p;
}

// `read` gives what `write` takes.
template <class Read, class Write> void there_and_back(message& m, Read&& read, Write&& write) {
    message written;
    if (!fuzz::is_taken([&] {
            const auto value = read(m);
            written = write(value);
        }))
        return;
    const packed once = content_of(written);
    const auto value = read(written);
    if (!fuzz::same(once, content_of(write(value)))) fuzz::stop("what was read is not what was written");
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    packed input = fuzz::packed_of(in.bytes(1));
    message m{.body = std::move(input.body), .arrays = std::move(input.arrays)};
    const bool reply = in[0] >= 128;
    (void)with_verb(static_cast<verb>(in[0] % 128), [&]<class C>() {
        if constexpr (Call<C>)
            if (reply)
                return there_and_back(
                    m, [](message& from) { return read_reply<C>(from); },
                    [](const typename C::reply& r) { return reply_to<C>(r); });
        if constexpr (std::is_same_v<C, step_values>) {
            const message head{m.type, m.verb, 0, 0, 0, m.body, {}};
            (void)fuzz::is_taken([&] { (void)awaited_by(head); });
        }
        there_and_back(
            m, [](message& from) { return read<C>(from); }, [](const C& c) { return message_of(c); });
    });
}
