#include <tenon/core/sizes/shape.hpp>

// What is known of sizes at compile time.

namespace tn = tenon;
using tn::extent, tn::extents, tn::shape;
using tn::detail::shape_from_t;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct classes : tn::dim<"classes"> {} classes;

struct mixed {
    static constexpr extents value{extent::named("classes"), 3, tn::dynamic_extent, extent::named("batch")};
};
struct scalar {
    static constexpr extents value{};
};
struct large {
    static constexpr extents value{std::int64_t{1} << 40};
};

} // namespace

// Shapes and their extents.
static_assert(shape<>::rank == 0 && shape<batch, 784>::rank == 2);
static_assert(shape<batch, 784>::extents == extents{extent::named("batch"), 784});
static_assert(shape<tn::dyn>::extents == extents{tn::dynamic_extent});
static_assert(shape<2, 3>::extents.elements() == 6 && shape<2, batch>::extents.elements() == -1);
static_assert(shape<2, 3>::extents.is_static() && !shape<2, batch>::extents.is_static());
static_assert(shape<batch>::extents[0].is_named() && !shape<batch>::extents[0].is_dynamic());
static_assert(!(shape<batch>::extents == shape<classes>::extents));

static_assert(tn::Shape<shape<2>> && !tn::Shape<int>);

// A number is one size however it is spelled; names and dyn stay what they are.
static_assert(std::is_same_v<tn::canonical_t<shape<784U, 1L, std::size_t{7}>>, shape<784, 1, 7>>);
static_assert(std::is_same_v<tn::canonical_t<shape<batch, tn::dyn>>, shape<batch, tn::dyn>>);
static_assert(!std::is_same_v<shape<batch>, shape<classes>>);

// From values back to types: names are found among the operands' dimensions.
static_assert(std::is_same_v<shape_from_t<scalar>, shape<>>);
static_assert(
    std::is_same_v<shape_from_t<mixed, shape<batch, 3>, shape<tn::dyn, classes>>, shape<classes, 3, tn::dyn, batch>>);
static_assert(std::is_same_v<shape_from_t<large>, shape<(std::int64_t{1} << 40)>>);

// Extents as values.
static_assert([] {
    extents e{1, 2};
    e.insert(1, extent::named("n"));
    e.erase(0);
    return e == extents{extent::named("n"), 2};
}());
static_assert(extents{0, 5}.elements() == 0 && extents{}.elements() == 1);
