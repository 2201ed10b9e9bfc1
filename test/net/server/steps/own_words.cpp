#include <net/wire/graph_codec.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

// An op's own words for what it refuses come over the network as those of the library do.

namespace {

// in: x [n]. x, where n is even; of a program that is strict.
struct paired_op {
    static constexpr const char* name = "paired_of_test";
    using attributes = tn::no_attributes;
    static inline bool is_strict = true;
    static constexpr char in_pairs[] = "what is paired is of an even number";
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 1) return tn::fault::expects_more_operands;
        if (in[0].extents.rank() != 1) return tn::fault::rank_too_high;
        if (is_strict && in[0].extents[0].is_number() && in[0].extents[0].size % 2 != 0) return in_pairs;
        return in[0];
    }
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { throw tn::internal_error("it is never run"); }
};
const tn::op_definition& definition = tn::definition_of<paired_op>();

} // namespace

TEST_CASE_FIXTURE(in_graph, "a server says an op's own words of the sizes of a step") {
    tn::server server = tn::server::create_local_server();
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const tn::any_tensor y = tn::add<paired_op>({}, {x});
    tn::session sess(server.target(), g);
    CHECK_ERROR(tn::invalid_argument_error,
                "paired_of_test: what is paired is of an even number: float[3] in this step's sizes",
                sess.run_untyped(tn::test::fed(x, tn::array<float>({1, 2, 3}).untyped()), {y}));
}

TEST_CASE_FIXTURE(in_graph, "a graph that arrives is refused in an op's own words") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    paired_op::is_strict = false;
    (void)tn::add<paired_op>({}, {x});
    paired_op::is_strict = true;
    tn::net::graph_mark now;
    tn::net::packed p = tn::net::encode_nodes(g, {}, now);
    const tn::graph copy;
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::net::append_nodes(copy, p); }) ==
          "node 1, \"paired_of_test\" (paired_of_test): paired_of_test: what is paired is of an even number: "
          "float[3] (inputs x)");
    CHECK(copy.size() == 0);
    // And by a server that is asked to extend a session's graph.
    tn::server server = tn::server::create_local_server();
    tn::session sess(server.target(), g);
    CHECK_ERROR(tn::invalid_argument_error, "paired_of_test: what is paired is of an even number: float[3]",
                sess.run(x * 2.0f));
}

TEST_CASE_FIXTURE(in_graph, "an error that a server's step ends with says the line of the client's program") {
    tn::server server = tn::server::create_local_server();
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto i = tn::placeholder<int, tn::shape<2>>("i");
    const auto rows = tn::gather(x, i);
    const std::string here = std::string(", made at ") + __FILE__ + ":" + std::to_string(__LINE__ - 1);
    tn::session sess(server.target(), g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)sess.run(tn::feed(x, tn::array<float>({1, 2, 3, 4})), tn::feed(i, tn::array<int>({1, 7})), rows);
    });
    CHECK_MESSAGE(contains(words, "[node gather (gather) on /job:local/replica:0/task:0/device:CPU:0" + here + "]"),
                  words);
}
