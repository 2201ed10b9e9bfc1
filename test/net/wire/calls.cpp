#include <net/wire/calls.hpp>
#include <tenon/core/sizes/size_name.hpp>

#include "tests.hpp"

using namespace tenon::net;

namespace {

// Values that are different in every field.
class filler {
public:
    template <class V> void fill(V& v) {
        const std::uint64_t n = ++next_;
        if constexpr (std::is_same_v<V, bool>) v = n % 2 == 0;
        else if constexpr (std::is_enum_v<V>) v = static_cast<V>(1 + n % (enum_count<V> - 1));
        else if constexpr (std::is_arithmetic_v<V>) v = static_cast<V>(n * 1000003 % 2000000011);
        else if constexpr (std::is_same_v<V, std::string>) v = "text " + std::to_string(n);
        else if constexpr (tenon::net::detail::digits_of<V>::value) v.fill(static_cast<std::byte>(n));
        else if constexpr (std::is_same_v<V, packed>) {
            v.body.assign(n % 300 + 1, static_cast<std::byte>(n));
            v.arrays.push_back(array(1000));
        } else if constexpr (std::is_same_v<V, size_names>) return;
        else if constexpr (tenon::net::detail::list_of<V>::value) {
            v.resize(2);
            for (auto& e : v) fill(e);
        } else if constexpr (Fielded<V>) tn::with_members(v, [&](auto&... members) { (fill(members), ...); });
        else if constexpr (std::is_same_v<V, tn::any_array>) v = array(static_cast<std::int64_t>(n % 2 ? 3 : 3000));
        else if constexpr (std::is_same_v<V, tn::tensor_type>)
            v = {tn::element_type::float32, {static_cast<std::int64_t>(n), tn::extent::named("batch")}};
        else if constexpr (std::is_same_v<V, tn::device_name>) v = tn::device_name("/job:ps/task:" + std::to_string(n));
        else v = failure{tn::error_code::aborted, "failure " + std::to_string(n), tn::error_reason::lost_task};
    }

private:
    tn::any_array array(std::int64_t size) {
        tn::any_array a(tn::element_type::int32, {size});
        for (std::int64_t i = 0; i < size; ++i) a.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 + 1);
        return a;
    }
    std::uint64_t next_ = 0;
};

template <class V> bool same(const V& a, const V& b) {
    if constexpr (tenon::net::detail::list_of<V>::value) {
        bool all = a.size() == b.size();
        for (std::size_t i = 0; all && i < a.size(); ++i) all = same(a[i], b[i]);
        return all;
    } else if constexpr (std::is_same_v<V, packed>) return a.body == b.body && same(a.arrays, b.arrays);
    else if constexpr (std::is_same_v<V, size_names>) return true;
    else if constexpr (std::is_same_v<V, failure>)
        return a.code == b.code && a.message == b.message && a.reason == b.reason;
    else if constexpr (Fielded<V>) {
        bool all = true;
        const char* const* name = tn::member_names<V>.data();
        const auto check = [&](bool one) {
            CHECK_MESSAGE(one, *name);
            all = all && one;
            ++name;
        };
        tn::with_members(a, [&](const auto&... of_a) {
            tn::with_members(b, [&](const auto&... of_b) { (check(same(of_a, of_b)), ...); });
        });
        return all;
    } else return a == b;
}

message copy_of(const message& m) { return m.share(); }

template <class F> void each_verb(F&& f) {
    for (int v = 0; v < static_cast<int>(verb::count); ++v)
        REQUIRE(with_verb(static_cast<verb>(v), [&]<class C>() { f.template operator()<C>(); }));
}

} // namespace

TEST_CASE("calls: every field of every call and note comes back") {
    each_verb([]<class C>() {
        CAPTURE(name_of(verb_of<C>));
        filler f;
        C c{};
        f.fill(c);
        message m = message_of(c);
        CHECK(m.type == (Call<C> ? message_type::call : message_type::note));
        CHECK(static_cast<verb>(m.verb) == verb_of<C>);
        CHECK(is_note(verb_of<C>) == Note<C>);
        CHECK(same(read<C>(m), c));
    });
}

TEST_CASE("calls: every field of every reply comes back") {
    each_verb([]<class C>() {
        if constexpr (Call<C>) {
            CAPTURE(name_of(verb_of<C>));
            filler f;
            typename C::reply r{};
            f.fill(r);
            message m = reply_to<C>(r);
            CHECK(m.type == message_type::reply);
            CHECK(same(read_reply<C>(m), r));
        }
    });
}

TEST_CASE("calls: one that is cut short anywhere is refused by name") {
    each_verb([]<class C>() {
        CAPTURE(name_of(verb_of<C>));
        filler f;
        C c{};
        f.fill(c);
        const message whole = message_of(c);
        for (std::size_t n = 0; n < whole.body.size(); ++n) {
            message m = copy_of(whole);
            m.body.resize(n);
            CHECK_THROWS_AS(read<C>(m), tn::error);
        }
        message longer = copy_of(whole);
        longer.body.push_back({});
        CHECK_ERROR(tn::data_loss_error, name_of(verb_of<C>), read<C>(longer));
        message more = copy_of(whole);
        more.arrays.push_back(tn::any_array::zeros(tn::element_type::int8, {1}));
        CHECK_THROWS_AS(read<C>(more), tn::data_loss_error);
    });
}

TEST_CASE("calls: changed bytes are refused, or are another call that comes back") {
    std::mt19937_64 random(1);
    each_verb([&]<class C>() {
        filler f;
        C c{};
        f.fill(c);
        const message whole = message_of(c);
        if (whole.body.empty()) return;
        for (int i = 0; i < 300; ++i) {
            message m = copy_of(whole);
            m.body[random() % m.body.size()] = static_cast<std::byte>(random());
            try {
                const C changed = read<C>(m);
                message again = message_of(changed);
                (void)read<C>(again);
            } catch (const tn::data_loss_error&) {
            } catch (const tn::invalid_argument_error&) {
            }
        }
    });
}

TEST_CASE("calls: lists that cannot be there are refused before memory is taken") {
    message m = message_of(run_step{});
    const std::uint32_t many = 0xffffffff;
    std::memcpy(m.body.data() + m.body.size() - sizeof many, &many, sizeof many);
    CHECK_THROWS_WITH_AS(read<run_step>(m), "run_step: a list of 4294967295 is cut short", tn::data_loss_error);
}

TEST_CASE("calls: what of a session's options travels, and what is left to the tasks") {
    tn::session_options o;
    o.operation_timeout = 2.5;
    o.inter_op_threads = 3;
    o.kept_plans = 5;
    o.check_numerics = o.flush_denormals = o.allow_tf32 = o.allow_soft_placement = o.log_device_placement = true;
    o.fold_constants = o.fuse = false;
    tn::cost_measurements costs;
    costs.add_kernel("CPU", "add", 1000);
    o.cost_measurements = std::make_shared<const tn::cost_measurements>(std::move(costs));
    const tn::session_options back = options_of(settings_of(o));
    CHECK(back.operation_timeout == 2.5);
    CHECK(back.inter_op_threads == 3);
    CHECK(back.kept_plans == 5);
    CHECK((back.check_numerics && back.flush_denormals && back.allow_tf32 && back.allow_soft_placement &&
           back.log_device_placement));
    CHECK_FALSE((back.fold_constants || back.fuse));
    CHECK(back.cost_measurements->to_json() == o.cost_measurements->to_json());

    tn::session_options threads{.intra_op_threads = 4};
    CHECK_ERROR(tn::invalid_argument_error, "intra_op_threads", settings_of(threads));
}

TEST_CASE("calls: names of sizes in an explanation are held by it") {
    explain_step::reply r;
    tn::placement_explanation::edge e;
    {
        const auto name = tn::share_size_name("held_by_an_explanation");
        e.type = {tn::element_type::float32, {tn::extent::named(name.get())}};
        r.explanation.edges.push_back(e);
        message m = reply_to<explain_step>(r);
        r = read_reply<explain_step>(m);
    }
    CHECK(to_string(r.explanation.edges[0].type) == "float[held_by_an_explanation]");
}

TEST_CASE("calls: of values that come, it is known where the arrays belong before they are there") {
    step_values v{.session = 3, .step = 4};
    const auto add = [&](std::int64_t edge, tn::any_array a) { v.values.push_back({edge, std::move(a)}); };
    add(7, tn::any_array::zeros(tn::element_type::float32, {2}));
    add(5, tn::any_array::zeros(tn::element_type::float32, {2000}));
    add(1, {});
    add(2, tn::any_array::zeros(tn::element_type::string, {3}));
    add(6, tn::any_array::zeros(tn::element_type::string, {300}));
    add(9, tn::any_array::zeros(tn::element_type::int8, {300}));
    message m = message_of(v);
    const awaited_values a = awaited_by(m);
    CHECK(a.session == 3);
    CHECK(a.step == 4);
    REQUIRE(m.arrays.size() == 3);
    CHECK(a.edges == std::vector<std::int64_t>{5, -1, 9});
    m.body.pop_back();
    CHECK_THROWS_AS(awaited_by(m), tn::data_loss_error);
}
