#include <doctest/doctest.h>

#include <tenon/core/error.hpp>

using namespace tenon;

namespace {

template <error_code Code> bool is_thrown_for_its_code() {
    try {
        throw_error(Code, "what was wrong");
    } catch (const coded_error<Code>& e) {
        return e.code() == Code && std::string(e.what()) == "what was wrong";
    } catch (const error&) {
        return false;
    }
}

} // namespace

TEST_CASE("an error can be thrown again from its code alone, as the type that callers catch") {
    CHECK(is_thrown_for_its_code<error_code::cancelled>());
    CHECK(is_thrown_for_its_code<error_code::invalid_argument>());
    CHECK(is_thrown_for_its_code<error_code::deadline_exceeded>());
    CHECK(is_thrown_for_its_code<error_code::not_found>());
    CHECK(is_thrown_for_its_code<error_code::already_exists>());
    CHECK(is_thrown_for_its_code<error_code::permission_denied>());
    CHECK(is_thrown_for_its_code<error_code::resource_exhausted>());
    CHECK(is_thrown_for_its_code<error_code::failed_precondition>());
    CHECK(is_thrown_for_its_code<error_code::aborted>());
    CHECK(is_thrown_for_its_code<error_code::out_of_range>());
    CHECK(is_thrown_for_its_code<error_code::unimplemented>());
    CHECK(is_thrown_for_its_code<error_code::internal>());
    CHECK(is_thrown_for_its_code<error_code::unavailable>());
    CHECK(is_thrown_for_its_code<error_code::data_loss>());
    CHECK_THROWS_AS(throw_error(error_code::unknown, "?"), error);
}

TEST_CASE("S28, S37: what a handler acts on is a type of its own, below the code's, and stays when the words change") {
    const auto end = [] { throw_error(error_code::out_of_range, "no more", error_reason::end_of_data); };
    CHECK_THROWS_AS(end(), end_of_data_error);
    CHECK_THROWS_AS(end(), out_of_range_error);
    CHECK_THROWS_AS(throw_error(end_of_data_error("no more"), "queue: no more"), end_of_data_error);
    CHECK(end_of_data_error("no more").reason() == error_reason::end_of_data);
    CHECK(out_of_range_error("index 7 of 3").reason() == error_reason::none);

    const auto lost = [](error_code code) { throw_error(code, "/job:ps/task:0 is lost", error_reason::lost_task); };
    CHECK_THROWS_AS(lost(error_code::unavailable), unavailable_error);
    CHECK_THROWS_AS(lost(error_code::aborted), aborted_error);
    for (const error_code code : {error_code::unavailable, error_code::aborted}) {
        CHECK_THROWS_AS(lost(code), lost_task_error);
        try {
            lost(code);
        } catch (const lost_task_error& e) {
            CHECK(std::string(e.what()) == "/job:ps/task:0 is lost");
        }
    }
}
