#include <doctest/doctest.h>

#include <tenon/core/sizes/shape.hpp>
#include <tenon/core/sizes/size_name.hpp>

namespace tn = tenon;
using tn::extent, tn::extents, tn::shape, tn::to_string;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

} // namespace

TEST_CASE("a shape's extents at run time are those of its type") {
    CHECK(to_string(shape<batch, 784, tn::dyn, time_step>::extents) == "[batch, 784, ?, time]");
    CHECK(shape<>::extents == extents{});
    // The names compare by text: these live elsewhere than the template argument.
    CHECK(shape<batch>::extents == extents{extent::named("batch")});
    CHECK_FALSE(shape<batch>::extents == shape<time_step>::extents);
}

TEST_CASE("the names in a shape's extents live for ever") {
    const char* kept = shape<time_step>::extents[0].name;
    CHECK(std::string(kept) == "time");
    CHECK(tn::detail::holder_of_size_name(kept) == nullptr);
}
