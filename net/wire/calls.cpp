#include <net/wire/calls.hpp>

#include <memory>

#include <tenon/runtime/trace/cost_measurements.hpp>

namespace tenon::net {

namespace {

// f(option, setting) of each that is the same for a session on a server.
template <class Options, class Settings, class F> void each_setting(Options& o, Settings& s, const F& f) {
    f(o.operation_timeout, s.operation_timeout);
    f(o.inter_op_threads, s.inter_op_threads);
    f(o.kept_plans, s.kept_plans);
    f(o.check_numerics, s.check_numerics);
    f(o.flush_denormals, s.flush_denormals);
    f(o.allow_tf32, s.allow_tf32);
    f(o.allow_soft_placement, s.allow_soft_placement);
    f(o.log_device_placement, s.log_device_placement);
    f(o.fold_constants, s.fold_constants);
    f(o.fuse, s.fuse);
    f(o.wire_type, s.wire_type);
}

} // namespace

session_settings settings_of(const session_options& o) {
    const auto require = [](bool left, const char* name) {
        if (!left)
            throw invalid_argument_error(std::string("session_options::") + name +
                                         " is set for a session on a server, whose tasks have their own; set it where "
                                         "they are started");
    };
    require(o.intra_op_threads == 0, "intra_op_threads");
    require(!o.use_per_session_threads, "use_per_session_threads");
    require(o.memory_limit == 0, "memory_limit");
    require(o.cpu_devices == 1, "cpu_devices");
    require(!o.gpus, "gpus");
    require(o.gpu_memory == memory_policy{}, "gpu_memory");
    require(o.gpu_devices == gpu_selection{}, "gpu_devices");
    session_settings s;
    each_setting(o, s, [](const auto& from, auto& to) { to = from; });
    for (const std::string& f : o.device_filters) {
        device_name name;
        try {
            name = device_name(f);
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error("session_options::device_filters: " + std::string(e.what()));
        }
        if (!name.type.empty())
            throw invalid_argument_error("session_options::device_filters has \"" + f +
                                         "\", a device; filters are tasks, such as \"/job:ps\"");
        s.device_filters.push_back(name);
    }
    if (o.cost_measurements) s.cost_measurements = o.cost_measurements->to_json();
    return s;
}

session_options options_of(const session_settings& s) {
    session_options o;
    each_setting(o, s, [](auto& to, const auto& from) { to = from; });
    if (!s.cost_measurements.empty())
        o.cost_measurements =
            std::make_shared<const cost_measurements>(cost_measurements::from_json(s.cost_measurements));
    return o;
}

namespace {

template <class V> V read_all(value_reader& from, const char* what) {
    static_assert(!net::detail::has_any<V, tensor_type>() || net::detail::has_any<V, size_names>(),
                  "tenon::net: a call with types holds the names of their sizes, too");
    try {
        V v{};
        take_value(from, v);
        from.end();
        return v;
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error(std::string(what) + ": " + e.what());
    }
}

message packed_message(message_type type, value_writer& w) {
    message m{.type = type};
    packed p = w.take_packed();
    m.body = std::move(p.body);
    m.arrays = std::move(p.arrays);
    return m;
}

} // namespace

template <class C>
    requires(Call<C> || Note<C>)
message message_of(const C& c) {
    value_writer w;
    put_value(w, c);
    message m = packed_message(Call<C> ? message_type::call : message_type::note, w);
    m.verb = static_cast<std::uint8_t>(verb_of<C>);
    return m;
}

template <class C>
    requires(Call<C> || Note<C>)
C read(message& m) {
    value_reader from(m.body, m.arrays, name_of(verb_of<C>));
    return read_all<C>(from, name_of(verb_of<C>));
}

template <Call C> message reply_to(const typename C::reply& r) {
    value_writer w;
    put_value(w, r);
    return packed_message(message_type::reply, w);
}

template <Call C> typename C::reply read_reply(message& m) {
    static const auto& what = *new std::string(std::string("reply to ") + name_of(verb_of<C>));
    value_reader from(m.body, m.arrays, what.c_str());
    return read_all<typename C::reply>(from, what.c_str());
}

awaited_values awaited_by(const message& head) {
    value_reader from(head.body, {}, name_of(verb::step_values));
    awaited_values a;
    take_value(from, a.session);
    take_value(from, a.step);
    const std::size_t n = from.count(net::detail::least_bytes<edge_value>());
    for (std::size_t i = 0; i < n; ++i) {
        const auto edge = from.number<std::int64_t>();
        if (const int beside = pass_array(from)) a.edges.push_back(beside == 1 ? edge : -1);
    }
    from.end();
    return a;
}

collective_part awaited_part(const bytes& body) {
    value_reader from(body, {}, name_of(verb::collective_part));
    collective_part p;
    take_value(from, p.group);
    take_value(from, p.number);
    take_value(from, p.piece);
    take_value(from, p.result);
    return p;
}

#define TENON_NET_NOTE(NUMBER, NAME, CALLER, TURN) \
    template message message_of(const NAME&);      \
    template NAME read<NAME>(message&);
#define TENON_NET_CALL(NUMBER, NAME, CALLER, TURN)       \
    TENON_NET_NOTE(NUMBER, NAME, CALLER, TURN)           \
    template message reply_to<NAME>(const NAME::reply&); \
    template NAME::reply read_reply<NAME>(message&);
TENON_NET_CALLS(TENON_NET_CALL, TENON_NET_NOTE)
#undef TENON_NET_CALL
#undef TENON_NET_NOTE

} // namespace tenon::net
