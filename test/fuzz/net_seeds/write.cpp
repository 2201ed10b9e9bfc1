// Writes what the cluster sends, as seeds of the fuzz targets net_*: graphs and parts of programs of the samples of the table of
// ops (test/op_table), calls with every field.
//
//   PROGRAM FOLDER
//
// Ends with 1 where something that was written is not accepted.

#include <exception>
#include <filesystem>
#include <fstream>

#include <net/wire/calls.hpp>
#include <net/wire/graph_codec.hpp>
#include <net/wire/program_codec.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/task_programs.hpp>
#include <tenon/tenon.hpp>

#include "../net/net_packed.hpp"
#include "op_table/table.hpp"

namespace {

using namespace op_table;
namespace net = tenon::net;
namespace rt = tenon::runtime;

std::filesystem::path folder;

void write(const char* target, const std::string& name, const std::string& content) {
    std::filesystem::create_directories(folder / target);
    std::ofstream(folder / target / name, std::ios::binary) << content;
}

void write_graph(const built& b, const std::string& name) {
    net::graph_mark none, all;
    net::packed p = net::encode_nodes(b.in, none, all);
    write("net_graph", name, fuzz::text_of(p));
    net::append_nodes(graph(), p);
}

// The step that computes the sample, on two tasks of two devices: every other node on the second.
void write_parts(const built& b, const std::string& name) {
    static const auto first = make_cpu_device(0, 0), second = make_cpu_device(0, 1);
    rt::plan_options o;
    o.set_devices({first.get(), second.get()});
    rt::request r;
    for (const any_tensor& x : b.operands)
        if (x.node()->op->is(op_flags::fed)) {
            r.feeds.push_back(x.output());
            r.feed_types.push_back(x.type());
        }
    for (const any_tensor& y : b.results()) r.fetches.push_back(y.output());
    for (const operation& t : b.targets()) r.targets.push_back(t.node());
    rt::program p = rt::prune(r);
    for (rt::program_item& i : p.items) {
        const bool bound = i.op->is(op_flags::variable) || i.op->is(op_flags::updates) || i.op->is(op_flags::uses) ||
                           i.op->is(op_flags::resource) || i.op->is(op_flags::constant);
        i.device = bound ? 0 : static_cast<int>(i.origin->number % 2);
        for (const int v : i.outputs) p.value(v).device = i.device;
    }
    const rt::task_programs cut = rt::cut_by_task(p, {{{0}}, {{1}}}, o);
    for (std::size_t t = 0; t < cut.programs.size(); ++t) {
        net::packed part = net::encode_program(cut.programs[t]);
        write("net_program", name + "_" + std::to_string(t), fuzz::text_of(part));
        (void)net::decode_program(part, 1);
    }
}

void write_values(const built& b, const std::string& name) {
    net::value_writer w;
    net::put(w, b.node->attributes);
    write("net_values", name, '\0' + fuzz::text_of(w.take_packed()));
}

// Every field is something.
class filler {
public:
    template <class V> void fill(V& v) {
        ++next_;
        if constexpr (std::is_same_v<V, bool>) v = true;
        else if constexpr (std::is_enum_v<V>) v = static_cast<V>(1);
        else if constexpr (std::is_arithmetic_v<V>) v = static_cast<V>(next_);
        else if constexpr (std::is_same_v<V, std::string>) v = "text";
        else if constexpr (net::detail::digits_of<V>::value) v.fill(static_cast<std::byte>(next_));
        else if constexpr (std::is_same_v<V, net::packed>) {
            v.body.assign(5, static_cast<std::byte>(next_));
            v.arrays.push_back(any_array::zeros(element_type::int32, {100}));
        } else if constexpr (std::is_same_v<V, net::size_names>) return;
        else if constexpr (net::detail::list_of<V>::value) {
            v.resize(2);
            for (auto& e : v) fill(e);
        } else if constexpr (net::Fielded<V>) with_members(v, [&](auto&... members) { (fill(members), ...); });
        else if constexpr (std::is_same_v<V, any_array>)
            v = any_array::zeros(next_ % 3 ? element_type::int32 : element_type::string, {next_ % 2 ? 3 : 300});
        else if constexpr (std::is_same_v<V, tensor_type>) v = {element_type::float32, {3, extent::named("batch")}};
        else if constexpr (std::is_same_v<V, device_name>) v = device_name("/job:ps/task:1");
        else v = net::failure{error_code::aborted, "words"};
    }

private:
    int next_ = 0;
};

void write_message(const net::message& m, int first, const std::string& name) {
    net::packed p{m.body, {}};
    for (const any_array& a : m.arrays) p.arrays.push_back(a.share());
    write("net_calls", name, static_cast<char>(first) + fuzz::text_of(p));
}

void write_calls() {
    for (int v = 0; v < static_cast<int>(net::verb::count); ++v)
        (void)net::with_verb(static_cast<net::verb>(v), [&]<class C>() {
            const std::string name = net::name_of(net::verb_of<C>);
            filler f;
            C c{};
            f.fill(c);
            write_message(net::message_of(c), v, name);
            if constexpr (net::Call<C>) {
                typename C::reply r{};
                f.fill(r);
                write_message(net::reply_to<C>(r), v + 128, name + "_reply");
            }
        });
}

// Two steps of a part, of which one sends and the other receives.
void write_traces() {
    net::run_part::reply told;
    for (const auto way : {tenon::trace_event::way::send, tenon::trace_event::way::receive}) {
        tenon::trace t;
        t.add("mul", "mul", "CPU:0 thread 0", 100, 200);
        tenon::trace_event e{
            .name = "w", .op = "op", .row = "CPU:0 waits", .task = "/job:ps/task:0", .begin = 200, .end = 300};
        e.goes = way;
        e.edge = 1;
        e.bytes = 8;
        t.add(e);
        if (!told.traces.empty()) t.add(told.traces[0], "another", 1, 50, 400);
        told.traces.push_back(t.record(50, 400));
    }
    const net::message m = net::reply_to<net::run_part>(told);
    write("net_traces", "two", fuzz::text_of({m.body, {}}));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    for (const char* target : {"net_graph", "net_program", "net_values", "net_calls", "net_traces"})
        std::filesystem::remove_all(folder / target);
    int number = 0, refused = 0;
    for (const entry& e : entries())
        for (const sample& s : e.samples) {
            const std::string name = "op_" + e.op + "_" + std::to_string(number++);
            try {
                const built b = build(e, s, setting_of(s, element_of(e)), known::numbers);
                write_graph(b, name);
                write_values(b, name);
                if (!b.node->op->is(op_flags::fed)) write_parts(b, name);
                write_graph(build(e, s, setting_of(s, element_of(e)), known::names), name + "_names");
            } catch (const std::exception& x) {
                std::fprintf(stderr, "%s: not accepted: %s\n", name.c_str(), x.what());
                ++refused;
            }
        }
    write_calls();
    write_traces();
    return refused == 0 ? 0 : 1;
}
