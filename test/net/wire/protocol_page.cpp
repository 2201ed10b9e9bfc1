#include <fstream>
#include <iterator>

#include <net/wire/calls.hpp>

#include "project_file.hpp"
#include "tests.hpp"

// docs/protocol.md says every call, note and reply, with its fields, as they are: who writes another client goes by it.

using namespace tenon::net;

namespace {

template <class V> std::string type_name() {
    if constexpr (std::is_same_v<V, bool>) return "bool";
    else if constexpr (std::is_enum_v<V>) return std::is_same_v<V, tn::element_type> ? "element" : "u8";
    else if constexpr (std::is_floating_point_v<V>) return "f64";
    else if constexpr (std::is_integral_v<V>)
        return std::string(std::is_signed_v<V> ? "i" : "u") + std::to_string(8 * sizeof(V));
    else if constexpr (std::is_same_v<V, std::string>) return "text";
    else if constexpr (tenon::net::detail::digits_of<V>::value) return std::to_string(sizeof(V)) + " bytes";
    else if constexpr (std::is_same_v<V, packed>) return "packed";
    else if constexpr (std::is_same_v<V, tn::any_array>) return "array";
    else if constexpr (std::is_same_v<V, tn::tensor_type>) return "type";
    else if constexpr (std::is_same_v<V, tn::device_name>) return "device";
    else if constexpr (std::is_same_v<V, failure>) return "error";
    else if constexpr (tenon::net::detail::list_of<V>::value)
        return "list of " + type_name<typename tenon::net::detail::list_of<V>::element>();
    else if constexpr (std::is_same_v<V, session_settings>) return "session_settings";
    else if constexpr (std::is_same_v<V, graph_output>) return "graph_output";
    else if constexpr (std::is_same_v<V, data_wanted>) return "data_wanted";
    else if constexpr (std::is_same_v<V, tn::detail::trace_record>) return "trace_record";
    else if constexpr (std::is_same_v<V, tn::detail::trace_record::event>) return "trace_event";
    else if constexpr (std::is_same_v<V, tn::detail::trace_record::order>) return "trace_order";
    else if constexpr (std::is_same_v<V, wait_row>) return "wait_row";
    else if constexpr (std::is_same_v<V, step_row>) return "step_row";
    else if constexpr (std::is_same_v<V, session_row>) return "session_row";
    else if constexpr (std::is_same_v<V, resource_row>) return "resource_row";
    else if constexpr (std::is_same_v<V, device_row>) return "device_row";
    else if constexpr (std::is_same_v<V, holder_row>) return "holder_row";
    else if constexpr (std::is_same_v<V, heard_row>) return "heard_row";
    else if constexpr (std::is_same_v<V, task_row>) return "task_row";
    else if constexpr (std::is_same_v<V, peer_row>) return "peer_row";
    else if constexpr (std::is_same_v<V, edge_row>) return "edge_row";
    else if constexpr (std::is_same_v<V, edge_value>) return "edge_value";
    else if constexpr (std::is_same_v<V, tn::device_attributes>) return "device_attributes";
    else if constexpr (std::is_same_v<V, tn::memory_info>) return "memory_info";
    else if constexpr (std::is_same_v<V, tn::run_count>) return "run_count";
    else if constexpr (std::is_same_v<V, tn::session_statistics>) return "session_statistics";
    else if constexpr (std::is_same_v<V, tn::device_report>) return "device_report";
    else if constexpr (std::is_same_v<V, tn::step_report>) return "step_report";
    else if constexpr (std::is_same_v<V, tn::recording_counts>) return "recording_counts";
    else if constexpr (std::is_same_v<V, tn::placement_explanation>) return "placement_explanation";
    else if constexpr (std::is_same_v<V, tn::placement_explanation::node>) return "placed_node";
    else if constexpr (std::is_same_v<V, tn::crossing>) return "crossing";
    else {
        static_assert(std::is_same_v<V, tn::placement_explanation::edge>, "say what the page calls it");
        return "placed_edge";
    }
}

// "session u64, step u64"
template <class T> std::string fields_as_text() {
    std::string text;
    const T value{};
    tn::each_member(value, [&]<class M>(const char* name, const M&) {
        if constexpr (!std::is_same_v<M, size_names>) // no bytes
            text += (text.empty() ? "" : ", ") + std::string(name) + " " + type_name<M>();
    });
    return text.empty() ? "nothing" : text;
}

std::string page() {
    std::ifstream file(project_file("docs/protocol.md"));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    // However its lines are broken.
    std::string flat;
    for (const char c : text)
        if (c != '\n' && c != ' ') flat += c;
        else if (!flat.empty() && flat.back() != ' ') flat += ' ';
    return flat;
}

void expect(const std::string& all, const std::string& line) {
    CHECK_MESSAGE(contains(all, line), "docs/protocol.md does not say: " << line);
}

} // namespace

TEST_CASE("docs/protocol.md says what every call, note and reply is made of") {
    const std::string all = page();
    for (int v = 0; v < static_cast<int>(verb::count); ++v)
        (void)with_verb(static_cast<verb>(v), [&]<class C>() {
            expect(all, "**" + std::to_string(v) + " " + name_of(verb_of<C>) + "** `" + fields_as_text<C>() + "`");
            if constexpr (Call<C>) {
                using R = typename C::reply;
                constexpr bool is_row = std::is_same_v<R, tn::step_report> || std::is_same_v<R, tn::memory_info> ||
                                        std::is_same_v<R, tn::session_statistics> || std::is_same_v<R, task_row>;
                if constexpr (is_row) expect(all, "-> `" + type_name<R>() + "`");
                else expect(all, "-> `" + fields_as_text<R>() + "`");
            }
        });
}

TEST_CASE("docs/protocol.md says what calls are made of") {
    const std::string all = page();
    const auto say = [&]<class T>(const T&) {
        expect(all, "**" + type_name<T>() + "** `" + fields_as_text<T>() + "`");
    };
    say(session_settings{}), say(graph_output{}), say(data_wanted{}), say(wait_row{}), say(step_row{});
    say(tn::detail::trace_record{}), say(tn::detail::trace_record::event{}), say(tn::detail::trace_record::order{});
    say(session_row{}), say(resource_row{}), say(device_row{}), say(holder_row{}), say(heard_row{}), say(task_row{}),
        say(peer_row{}), say(edge_row{});
    say(edge_value{}), say(tn::device_attributes{}), say(tn::memory_info{}), say(tn::session_statistics{});
    say(tn::device_report{}), say(tn::step_report{}), say(tn::recording_counts{}), say(tn::placement_explanation{});
    say(tn::placement_explanation::node{}), say(tn::placement_explanation::edge{});
}

TEST_CASE("docs/protocol.md has the limits that hold") {
    const std::string all = page();
    expect(all, "`inline_bytes` | " + std::to_string(inline_bytes));
    expect(all, "`most_name_bytes` | " + std::to_string(most_name_bytes));
    expect(all, "`most_size_name_bytes` | " + std::to_string(most_size_name_bytes));
    expect(all, "`most_error_bytes` | " + std::to_string(most_error_bytes));
    expect(all, "`most_entries` | " + std::to_string(most_entries));
    expect(all, "`most_arrays` | " + std::to_string(most_arrays));
}
