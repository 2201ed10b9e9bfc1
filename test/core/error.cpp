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
