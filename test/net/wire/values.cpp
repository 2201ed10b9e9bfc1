#include <net/wire/values.hpp>
#include <tenon/core/sizes/size_name.hpp>
#include <tenon/op/attribute.hpp>

#include "tests.hpp"

using namespace tenon::net;

namespace {

packed written(const auto& v) {
    value_writer w;
    put(w, v);
    return w.take_packed();
}

tn::any_array there_and_back(const tn::any_array& a, std::size_t beside) {
    packed p = written(a);
    CHECK(p.arrays.size() == beside);
    value_reader r(p.body, p.arrays, "test");
    tn::any_array b = take_array(r);
    r.end();
    return b;
}

// While their reader lives, whose names of sizes they have.
bool come_back(const tn::attributes& a) {
    packed p = written(a);
    value_reader r(p.body, p.arrays, "test");
    const tn::attributes b = take_attributes(r);
    r.end();
    return a == b;
}

tn::tape some_tape() {
    tn::tape t;
    const int x = t.add_input(tn::element_type::float32);
    (void)t.add_constant(tn::element_type::float32);
    const int a = t.emit_input(x);
    const int c = t.emit(tn::opcode::constant, tn::element_type::float32, 0);
    const int l = t.emit_literal(tn::number(-0.0), tn::element_type::float32);
    const int s = t.emit(tn::opcode::add, tn::element_type::float32, a, c);
    t.add_output(t.emit(tn::opcode::multiply, tn::element_type::float32, s, l), tn::element_type::float32, 0);
    return t;
}

} // namespace

TEST_CASE("values: a shape keeps numbers, names and what is unknown") {
    const tn::extents sizes{tn::extent(0), tn::extent::named("batch"), tn::dynamic_extent, tn::extent(1)};
    packed p = written(tn::tensor_type{tn::element_type::bfloat16, sizes});
    value_reader r(p.body, p.arrays, "test");
    CHECK(take_type(r) == tn::tensor_type{tn::element_type::bfloat16, sizes});
    r.end();
}

TEST_CASE("values: names of sizes live as long as their reader's names") {
    const std::size_t before = tn::detail::shared_size_names();
    packed p = written(tn::extents{tn::extent::named("a_name_that_nobody_else_has")});
    size_names kept;
    {
        value_reader r(p.body, p.arrays, "test");
        CHECK(std::string(take_extents(r)[0].name) == "a_name_that_nobody_else_has");
        kept = r.names();
    }
    CHECK(tn::detail::shared_size_names() == before + 1);
    kept.held.clear();
    CHECK(tn::detail::shared_size_names() == before);
}

TEST_CASE("values: shapes that overflow, of too high a rank, with bad sizes or names are refused") {
    const auto refused = [](auto&&... numbers) {
        byte_writer w;
        (w.number(numbers), ...);
        const bytes b = w.take();
        value_reader r(b, {}, "shape");
        CHECK_THROWS_AS(take_extents(r), tn::data_loss_error);
    };
    using u8 = std::uint8_t;
    using i64 = std::int64_t;
    refused(u8{9});
    refused(u8{1}, i64{-3});
    refused(u8{1}, i64{-2}, std::uint32_t{0});
    refused(u8{1}, i64{-2}, std::uint32_t{1}, u8{0});
    refused(u8{2}, i64{1} << 40, i64{1} << 40);
    refused(u8{2}, i64{1});
}

TEST_CASE("values: small arrays stand in the body, large ones beside it, and are shared") {
    tn::any_array small(tn::element_type::float32, {64});
    for (int i = 0; i < 64; ++i) small.data<float>()[i] = static_cast<float>(i) / 3;
    CHECK(there_and_back(small, 0) == small);

    tn::any_array large(tn::element_type::float32, {65});
    for (int i = 0; i < 65; ++i) large.data<float>()[i] = static_cast<float>(-i);
    packed p = written(large);
    REQUIRE(p.arrays.size() == 1);
    CHECK(p.arrays[0].data() == large.data());
    CHECK(there_and_back(large, 1) == large);

    CHECK(there_and_back(tn::any_array(tn::element_type::int8, {3, 0}), 0).extents() == tn::extents{3, 0});
    CHECK_FALSE(there_and_back(tn::any_array(), 0));
}

TEST_CASE("values: strings are packed, whatever is in them") {
    tn::any_array few(tn::element_type::string, {2, 2});
    few.data<std::string>()[0] = std::string("\0\xff", 2);
    few.data<std::string>()[3] = "naïve";
    CHECK(there_and_back(few, 0) == few);
    tn::any_array long_one(tn::element_type::string, {});
    long_one.data<std::string>()[0] = std::string(100000, 'x');
    packed p = written(long_one);
    REQUIRE(p.arrays.size() == 1);
    CHECK(p.arrays[0].element() == tn::element_type::uint8); // what travels as it lies has no pointers
    CHECK(there_and_back(long_one, 1) == long_one);
}

TEST_CASE(
    "values: an array that says more than there is, or bools that are neither, are refused before memory is taken") {
    packed p = written(tn::any_array::zeros(tn::element_type::float64, {2}));
    const std::int64_t huge = std::int64_t{1} << 40;
    std::memcpy(p.body.data() + 3, &huge, sizeof huge);
    value_reader r(p.body, p.arrays, "array");
    CHECK_ERROR(tn::data_loss_error, "8796093022208 bytes are asked for where 16 are left", take_array(r));

    packed b = written(tn::any_array::zeros(tn::element_type::boolean, {2}));
    b.body.back() = std::byte{2};
    value_reader bools(b.body, b.arrays, "array");
    CHECK_THROWS_AS(take_array(bools), tn::data_loss_error);

    packed large = written(tn::any_array::zeros(tn::element_type::boolean, {1000}));
    static_cast<unsigned char*>(large.arrays[0].data())[999] = 7;
    value_reader beside(large.body, large.arrays, "array");
    CHECK_THROWS_AS(take_array(beside), tn::data_loss_error);

    packed missing = written(tn::any_array::zeros(tn::element_type::float32, {1000}));
    value_reader alone(missing.body, {}, "array");
    CHECK_THROWS_AS(take_array(alone), tn::data_loss_error);

    packed strings = written(tn::any_array::zeros(tn::element_type::string, {1000}));
    strings.arrays[0] = strings.arrays[0].slice(0, 10);
    value_reader cut(strings.body, strings.arrays, "array");
    CHECK_THROWS_AS(take_array(cut), tn::data_loss_error);
}

TEST_CASE("values: what belongs to nothing is refused") {
    std::vector<tn::any_array> beside;
    beside.push_back(tn::any_array::zeros(tn::element_type::float32, {1}));
    value_reader r({}, beside, "test");
    CHECK_THROWS_AS(r.end(), tn::data_loss_error);
}

TEST_CASE("values: attributes of every kind come back as they were") {
    tn::attributes a;
    a.set("integer", std::int64_t{-7});
    a.set("real", -0.0);
    a.set("not_a_number", std::numeric_limits<double>::quiet_NaN());
    a.set("text", std::string("x\0y", 3));
    a.set("integers", std::vector<std::int64_t>{1, -2, std::numeric_limits<std::int64_t>::min()});
    a.set("element", tn::element_type::uint16);
    a.set("sizes", tn::extents{3, tn::extent::named("batch"), tn::dynamic_extent});
    a.set("types", std::vector<tn::tensor_type>{{tn::element_type::string, {}}, {tn::element_type::float16, {2}}});
    a.set("array", std::make_shared<const tn::any_array>(tn::any_array::zeros(tn::element_type::int32, {3})));
    a.set("large", std::make_shared<const tn::any_array>(tn::any_array::zeros(tn::element_type::int32, {3000})));
    a.set("tape", tn::share_tape(some_tape()));
    CHECK(come_back(a));
    CHECK(come_back(tn::attributes()));
}

TEST_CASE("values: a tape is checked as one that is read from JSON") {
    packed p = written(some_tape());
    {
        value_reader r(p.body, p.arrays, "tape");
        CHECK(*take_tape(r) == some_tape());
    }
    packed bad = p.share();
    bad.body[0] = std::byte{0}; // it has no input
    value_reader r(bad.body, bad.arrays, "tape");
    CHECK_THROWS_AS(take_tape(r), tn::error);
    tn::tape t = some_tape();
    t.code[3].a = 4; // of what comes later
    packed unsound = written(t);
    value_reader u(unsound.body, unsound.arrays, "tape");
    CHECK_THROWS_WITH_AS(take_tape(u), "the tape is not sound: a register is used before it is computed",
                         tn::invalid_argument_error);
}

TEST_CASE("values: devices and errors") {
    for (const char* text : {"", "/job:ps/replica:0/task:3/device:GPU:1", "/device:CPU:0", "/job:worker"}) {
        const tn::device_name d = *text ? tn::device_name(std::string_view(text)) : tn::device_name();
        packed p = written(d);
        value_reader r(p.body, p.arrays, "device");
        CHECK(take_device(r) == d);
    }
    for (int code = 0; code < 15; ++code) {
        packed p = written(failure{static_cast<tn::error_code>(code), "words"});
        value_reader r(p.body, p.arrays, "error");
        const failure back = take_failure(r);
        CHECK(static_cast<int>(back.code) == code);
        const failure again = failure::of(back.exception());
        CHECK(again.code == back.code);
        CHECK(again.message == "words");
    }
    for (const auto& [code, reason] : {std::pair(tn::error_code::out_of_range, tn::error_reason::end_of_data),
                                       std::pair(tn::error_code::unavailable, tn::error_reason::lost_task),
                                       std::pair(tn::error_code::aborted, tn::error_reason::lost_task),
                                       std::pair(tn::error_code::data_loss, tn::error_reason::other_shard)}) {
        packed p = written(failure{code, "words", reason});
        value_reader r(p.body, p.arrays, "error");
        const failure back = failure::of(take_failure(r).exception());
        CHECK(back.code == code);
        CHECK(back.reason == reason);
    }
    CHECK(failure::of(std::make_exception_ptr(std::bad_alloc())).code == tn::error_code::resource_exhausted);
    CHECK(failure::of(std::make_exception_ptr(3)).code == tn::error_code::internal);
    packed unknown = written(failure{static_cast<tn::error_code>(14), ""});
    unknown.body[0] = std::byte{15};
    value_reader r(unknown.body, unknown.arrays, "error");
    CHECK_THROWS_AS(take_failure(r), tn::data_loss_error);
    packed for_no_reason = written(failure{tn::error_code::aborted, ""});
    for_no_reason.body[1] = std::byte{tn::error_reasons};
    value_reader n(for_no_reason.body, for_no_reason.arrays, "error");
    CHECK_THROWS_AS(take_failure(n), tn::data_loss_error);
}
