#include <tenon/debug/emit.hpp>

#include "tests.hpp"

// What a step becomes, in words.

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
    return n;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "an expression's tape, what runs it, and why its operands are kernels of their own") {
    const auto x = tn::placeholder<float, tn::shape<50, 4>>("x");
    const auto w = tn::variable<float, tn::shape<4, 3>>("w", tn::ones());
    const auto product = tn::matmul(x, w);
    const std::string text = tn::emit(tn::sigmoid(product * 2.0f) + 1.0f);
    CAPTURE(text);
    CHECK(contains(text,
                   "matmul (matmul) on /device:CPU:0\n    input 0: x, float[50, 4]\n    input 1: w, float[4, 3]\n"));
    CHECK(contains(text, "(fused) on /device:CPU:0\n    r0 = input 0: matmul, float[50, 3]\n"));
    CHECK(contains(text, "constant 2\n"));
    CHECK(contains(text, "= sigmoid r"));
    CHECK(contains(text, "  run by\n    the "));
    CHECK(contains(text, "matmul (matmul) is no part of this pass: it is no elementwise op"));
}

TEST_CASE_FIXTURE(in_graph, "what no kernel computes is said in words") {
    for (const std::string& text : {tn::emit(tn::variable("v", 1.0f)), tn::emit(tn::constant(1.0f)),
                                    tn::emit(tn::placeholder<float, tn::shape<3>>("x"))})
        CHECK(contains(text, "no kernel runs: what is fetched is a variable, a constant, or what is fed"));
}

TEST_CASE_FIXTURE(in_graph, "a stencil is one pass, which says of which elements on it reads each part") {
    const auto x = tn::placeholder<float, tn::shape<10, 8>>("x");
    const auto left = tn::slice<tn::range{}, tn::range{0, 6}>(x), right = tn::slice<tn::range{}, tn::range{2, 8}>(x);
    const std::string text = tn::emit(0.5f * (left + right));
    CAPTURE(text);
    CHECK(contains(text, "(fused_parts) on /device:CPU:0\n"));
    CHECK(contains(text, ": x, float[10, 8], of it float[10, 6] from element 0 on\n"));
    CHECK(contains(text, ": x, float[10, 8], of it float[10, 6] from element 2 on\n"));
    CHECK(contains(text, "= add r"));
    CHECK(contains(text, "    result 0 = r"));
}

TEST_CASE_FIXTURE(in_graph, "of each node that is no part of a pass it is said once, and of none that does not run") {
    const auto x = tn::placeholder<float, tn::shape<50, 4>>("x");
    const auto w = tn::variable<float, tn::shape<4, 3>>("w", tn::ones());
    const auto b = tn::variable<float, tn::shape<3>>("b", tn::zeros());
    const auto h = tn::relu(tn::matmul(x, w) + b);
    const std::string text = tn::emit(std::get<0>(tn::gradients(tn::sum(h * h), b)));
    CAPTURE(text);
    const std::string line = "  relu (matmul_bias) is no part of this pass: it is no elementwise op\n";
    CHECK(contains(text, line));
    CHECK(!contains(text, line + line));
    CHECK(!contains(text, "(matmul) is no part")); // the bias is added by its kernel
}

TEST_CASE_FIXTURE(in_graph,
                  "an optimiser's update of rows is the one pass that runs, with what it reads and replaces") {
    const auto table = tn::variable<float, tn::shape<100, 16>>("table", tn::ones());
    const auto ids = tn::placeholder<int, tn::shape<50>>("ids");
    const auto loss = tn::mean(tn::square(tn::gather(table, ids)));
    const auto train = tn::adam(0.1).minimize(loss);
    tn::session s;
    const std::string text = s.emit(train, loss);
    CAPTURE(text);
    CHECK(contains(text, "table/gather (fused_rows) on /device:CPU:0\n"));
    CHECK(contains(text, ": rows of table, float[100, 16], at ids, int32[50]\n"));
    CHECK(contains(text, ": rows of table/adam_m, float[100, 16], at ids, int32[50]\n"));
    CHECK(contains(text, ": sums of rows of gradients/"));
    CHECK(contains(text, " = sqrt r"));
    CHECK(contains(text, " replaces the rows of table, float[100, 16]\n"));
    CHECK(!contains(text, "scatter"));
    CHECK(count(text, "(gather) on ") == 1); // the loss's
    // It is what runs.
    const auto ran = s.report(train, loss, tn::feed(ids, tn::array<int, tn::shape<50>>())).order;
    CHECK(std::find(ran.begin(), ran.end(), "table/gather (fused_rows)") != ran.end());
}

TEST_CASE("nodes that the planner joins are one pass; of those that it does not, each has its reason") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<rows>>("x");
    const tn::any_tensor a = tn::untyped::exp(x), once = tn::untyped::tanh(a);
    tn::session s;
    const tn::array<float, tn::shape<rows>> values{1, 2, 3};
    const std::string joined = s.emit(tn::feed(x, values), once);
    CAPTURE(joined);
    CHECK(count(joined, "(fused) on") == 1);
    CHECK(contains(joined, "= exp r"));
    CHECK(contains(joined, "= tanh r"));
    CHECK(contains(joined, "the interpreter of tapes"));
    CHECK(!contains(joined, "no part of this pass"));

    const tn::any_tensor twice = tn::untyped::add(tn::untyped::tanh(a), tn::untyped::sin(a));
    const std::string shared = s.emit(tn::feed(x, values), twice);
    CAPTURE(shared);
    CHECK(count(shared, "exp (fused) is no part of this pass: it is read more than once") == 1);

    const tn::any_tensor row = tn::untyped::exp(tn::placeholder<float, tn::shape<3>>("row")),
                         table = tn::untyped::add(row, tn::placeholder<float, tn::shape<5, 3>>("table"));
    const std::string repeated = s.emit(table);
    CAPTURE(repeated);
    CHECK(contains(repeated, "is no part of this pass: it would be computed again for each repetition"));

    const tn::operation first = tn::no_op();
    const tn::any_tensor ordered = [&] {
        const tn::control_dependencies after(first);
        return tn::untyped::exp(x);
    }();
    CHECK(contains(s.emit(tn::feed(x, values), tn::untyped::tanh(ordered)), "ordered by control dependencies"));

    tn::session plain({.fuse = false});
    CHECK(contains(plain.emit(tn::feed(x, values), once), "fusing is switched off"));
}

TEST_CASE(
    "devices, ops that wait and sizes that only the step tells; nothing runs, and no variable need have a value") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<6>>("x");
    const auto v = tn::variable<float, tn::shape<6>>("v", tn::ones());
    tn::session s({.gpus = tn::simulated_gpu(1, 64 << 20)});
    const std::string text = s.emit(tn::boolean_mask<tn::dyn>(x, x > 0.0f) * 2.0f,
                                    v.assign_add(tn::on("/cpu:0", [&] { return tn::detail::as_tensor(x * 3.0f); })));
    CAPTURE(text);
    CHECK(contains(text, "(boolean_mask) on /device:CPU:0"));
    CHECK(contains(text, "its kernel is made when the step tells its sizes"));
    CHECK(contains(text, "on /device:GPU:0"));
    CHECK_THROWS_AS((void)s.run(v), tn::failed_precondition_error);
    CHECK_ERROR(tn::invalid_argument_error, "open", s.emit(tn::placeholder<float, tn::shape<rows>>("open") + 1.0f));
}
