#include "tests.hpp"

using tn::collective_kind, tn::element_type;

TEST_CASE("what cannot be summed, averaged, gathered or sent between processes is refused with its name and type") {
    const struct {
        collective_kind kind;
        tn::tensor_type type;
        const char* why;
    } refused[] = {
        {collective_kind::sum, {element_type::boolean, {2}}, "sum x (bool[2]): only numbers have a sum"},
        {collective_kind::broadcast, {element_type::string, {2}}, "only numbers and bools go from process to process"},
        {collective_kind::mean, {element_type::int32, {2}}, "mean x (int32[2]): only floating numbers have a mean"},
        {collective_kind::gather, {element_type::float32, {}}, "gather x (float[]): a scalar has no rows to gather"},
    };
    for (const auto& [kind, type, why] : refused) {
        const std::string said = message_of<tn::invalid_argument_error>([kind = kind, &type = type] {
            tn::check_collective({kind, "x", type});
        });
        CHECK_MESSAGE(contains(said, why), said);
    }
    tn::check_collective({collective_kind::gather, "x", {element_type::boolean, {0}}});
}
