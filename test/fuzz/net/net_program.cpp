// Reads a part of a program from any bytes. What is accepted is written and read again, and is the same; where it is small, its
// segments are planned, as a worker plans them: that may fail, with one of the library's errors.
// covers: net/wire/program_codec net/wire/values graph/graph

#include "net_packed.hpp"

#include <net/wire/program_codec.hpp>
#include <tenon/runtime/body/plan_body.hpp>
#include <tenon/runtime/run/subgraph.hpp>
#include <tenon/tenon.hpp>

namespace {

using namespace tenon::net;
namespace rt = tenon::runtime;

constexpr int devices = 2;

bool is_small(const rt::program& p) {
    constexpr std::int64_t most = 1 << 12;
    for (const rt::program_value& v : p.values)
        for (const tenon::extent& e : v.type.extents)
            if (e.size > most || v.type.extents.elements() > most) return false;
    for (const rt::program_item& i : p.items)
        if (std::string(i.op->name) == "print") return false; // nobody wants to read it
    return p.items.size() < 100;
}

void plan(program_part& part) {
    static const auto first = tenon::make_cpu_device(std::size_t{16} << 20, 0);
    static const auto second = tenon::make_cpu_device(std::size_t{16} << 20, 1);
    rt::plan_options o;
    o.set_devices({first.get(), second.get()});
    o.session_container = "session";
    o.plan_body = &rt::plan_body;
    try {
        const rt::subgraph made(std::move(part.program), o, true);
        (void)made.summary();
    } catch (const tenon::internal_error& e) {
        fuzz::stop(e.what());
    } catch (const tenon::error&) {
    }
    for (const auto* d : {first.get(), second.get()})
        for (const char* container : {"", "session"}) const_cast<tenon::device*>(d)->resources().clear(container);
}

} // namespace

void try_input(const fuzz::input& in) {
    packed input = fuzz::packed_of(in.bytes());
    program_part part;
    if (!fuzz::is_taken([&] { part = decode_program(input, devices); })) return;
    packed written = encode_program(part.program);
    const program_hash hash = hash_of(written);
    const program_part again = decode_program(written, devices);
    if (hash_of(encode_program(again.program)) != hash) fuzz::stop("a part that was read is written otherwise");
    if (is_small(part.program)) plan(part);
}
