#include "tests.hpp"
#include "runtime/support.hpp"

// Layers whose weights are split over devices (SEMANTICS 43).

namespace nn = tenon::nn;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

tn::any_array numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<double>()[i] = std::sin(static_cast<double>(12 * i + 7 * seed + 1));
    return a;
}

// Values by name.
using named_values = std::map<std::string, tn::any_array>;

struct outcome {
    tn::any_array output;
    named_values begins, gradients, ends;
};

// A model's output, its gradients and three steps of momentum, with the same numbers whatever its layers are.
template <int In, class Model>
outcome outcome_of(const Model& model, const tn::extents& sizes, const tn::session_options& o) {
    own_graph g;
    g.set_seed(5);
    tn::any_tensor fed;
    const auto y = [&] {
        if constexpr (In > 0) {
            const auto x = tn::placeholder<double, tn::shape<batch, In>>("x");
            fed = x;
            return model(x);
        } else {
            const auto x = tn::placeholder<double, tn::shape<batch, tn::dyn, -In>>("x");
            fed = x;
            return model(x);
        }
    }();
    const auto loss = tn::mean(square(y - 0.3));
    const auto gradients = tn::optimizer::compute_gradients(loss);
    const tn::operation train = tn::momentum(0.1, 0.9).apply_gradients(gradients);
    initialized_session s(o);
    outcome result;
    const auto feeds = [&](int seed) {
        std::vector<tn::fed_value> all;
        all.push_back({fed, numbers(sizes, seed)});
        return all;
    };
    const std::vector<tn::any_tensor> variables = g.collection(tn::trainable_variables);
    const auto by_name = [&](std::vector<tn::any_array> values, const auto& name) {
        named_values all;
        for (std::size_t i = 0; i < values.size(); ++i) all.emplace(name(i), std::move(values[i]));
        return all;
    };
    const auto name_of_variable = [&](std::size_t i) { return variables[i].name(); };
    result.begins = by_name(s.run_untyped({}, variables), name_of_variable);
    result.output = std::move(s.run_untyped(feeds(1), {y})[0]);
    std::vector<tn::any_tensor> fetched;
    for (const auto& p : gradients) fetched.push_back(p.gradient);
    result.gradients =
        by_name(s.run_untyped(feeds(1), fetched), [&](std::size_t i) { return gradients[i].variable.name(); });
    for (int i = 0; i < 3; ++i) s.run_untyped(feeds(i), {}, {train});
    result.ends = by_name(s.run_untyped({}, variables), name_of_variable);
    return result;
}

// A whole of parts "name/part_0", .., along the axis in which they are smaller.
void check_is_whole_of(const tn::any_array& whole, const std::string& name, const named_values& values,
                       double tolerance) {
    if (const auto at = values.find(name); at != values.end()) {
        REQUIRE(at->second.type() == whole.type());
        for (std::int64_t i = 0; i < whole.elements(); ++i)
            CHECK(std::fabs(at->second.data<double>()[i] - whole.data<double>()[i]) <= tolerance);
        return;
    }
    std::vector<const tn::any_array*> parts;
    for (int i = 0; values.contains(name + "/part_" + std::to_string(i)); ++i)
        parts.push_back(&values.at(name + "/part_" + std::to_string(i)));
    REQUIRE(!parts.empty());
    const bool columns = whole.rank() == 2 && !(parts[0]->extents()[1] == whole.extents()[1]);
    std::int64_t first = 0;
    for (const tn::any_array* p : parts) {
        const std::int64_t width = whole.rank() == 2 ? whole.extents()[1].size : 1,
                           own = p->rank() == 2 ? p->extents()[1].size : 1;
        for (std::int64_t i = 0; i < p->elements(); ++i) {
            const std::int64_t row = i / own, column = i % own;
            const std::int64_t at = columns ? row * width + first + column : (first + row) * width + column;
            CHECK(std::fabs(whole.data<double>()[at] - p->data<double>()[i]) <= tolerance);
        }
        first += columns ? own : p->extents()[0].size;
    }
    CHECK(first == (columns ? whole.extents()[1].size : whole.extents()[0].size));
}

void check_same(const outcome& whole, const outcome& split) {
    REQUIRE(whole.output.type() == split.output.type());
    for (std::int64_t i = 0; i < whole.output.elements(); ++i)
        CHECK(std::fabs(whole.output.data<double>()[i] - split.output.data<double>()[i]) < 1e-12);
    REQUIRE(!whole.begins.empty());
    for (const auto& begins : whole.begins) {
        const std::string& name = begins.first;
        CAPTURE(name);
        check_is_whole_of(begins.second, name, split.begins, 0); // the same numbers
        check_is_whole_of(whole.gradients.at(name), name, split.gradients, 1e-12);
        check_is_whole_of(whole.ends.at(name), name, split.ends, 1e-12);
    }
}

tn::session_options gpus(int n) { return {.gpus = tn::simulated_gpu(n, std::size_t{64} << 20)}; }

} // namespace

TEST_CASE("S43: column- and row-parallel dense layers have the numbers of those in one piece") {
    const nn::dense_options biased{.bias = tn::uniform(-0.5, 0.5)};
    for (const tn::initializer& how :
         {tn::glorot_uniform(), tn::he_normal(), tn::uniform(-1, 1, 8), tn::constant_value(0.1)}) {
        nn::dense_options o = biased;
        o.kernel = how;
        const outcome whole =
            outcome_of<12>([&](const auto& x) { return nn::dense<6>(o)(nn::dense<18>(nn::tanh, o)(x)); }, {5, 12}, {});
        check_same(whole,
                   outcome_of<12>(
                       [&](const auto& x) { // the hidden values stay where they are
                           const auto h = nn::column_parallel_dense<18>({"/gpu:0", "/gpu:1", "/gpu:2"}, nn::tanh, o)(x);
                           static_assert(decltype(h)::size() == 3);
                           return nn::row_parallel_dense<6>({"/gpu:0", "/gpu:1", "/gpu:2"}, o)(h);
                       },
                       {5, 12}, gpus(3)));
        check_same(
            whole,
            outcome_of<12>(
                [&](const auto& x) { // they are gathered, and taken apart again
                    const auto h = nn::column_parallel_dense<18>({"/gpu:0", "/gpu:1"}, nn::tanh, o).gathering()(x);
                    return nn::row_parallel_dense<6>({"/gpu:1", "/gpu:0"}, o)(h);
                },
                {5, 12}, gpus(2)));
        check_same(whole, outcome_of<12>(
                              [&](const auto& x) {
                                  return nn::parallel_mlp<18, 6>({"/gpu:0", "/gpu:1", "/gpu:0"}, nn::tanh, o)(x);
                              },
                              {5, 12}, gpus(2)));
    }
}

TEST_CASE("S43: attention split by heads has the numbers of attention in one piece") {
    for (const bool causal : {false, true}) {
        const nn::attention_options o{.causal = causal, .bias = tn::uniform(-0.5, 0.5)};
        const outcome whole =
            outcome_of<-12>([&](const auto& x) { return nn::multi_head_attention<4>(o)(x); }, {2, 5, 12}, {});
        const outcome halves = outcome_of<-12>(
            [&](const auto& x) {
                return nn::parallel_multi_head_attention<4>({"/gpu:0", "/gpu:1"}, o)(x);
            },
            {2, 5, 12}, gpus(2));
        check_same(whole, halves);
        const outcome quarters = outcome_of<-12>(
            [&](const auto& x) {
                return nn::parallel_multi_head_attention<4>({"/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"}, o)(x);
            },
            {2, 5, 12}, gpus(4));
        check_same(whole, quarters);
    }
}

TEST_CASE_FIXTURE(in_graph, "S43: split weights lie on their devices; nothing of the hidden values crosses") {
    const auto x = tn::placeholder<float, tn::shape<32, 20>>("x");
    const auto layer = nn::parallel_mlp<64, 10>({"/gpu:0", "/gpu:1"});
    const auto y = layer(x);
    const auto train = tn::gradient_descent(0.1).minimize(tn::mean(square(y)));
    tn::session s(gpus(2));
    const auto e = s.explain_placement(tn::feed(x, tn::array<float, tn::shape<32, 20>>()), train);
    std::map<std::string, std::string> device;
    for (const auto& n : e.nodes) device[n.name] = tn::to_string(n.device);
    for (const auto* parts : {&layer.columns().kernel(), &layer.columns().bias(), &layer.rows().kernel()}) {
        REQUIRE(parts->size() == 2);
        CHECK(contains(device.at((*parts)[0].name()), "GPU:0"));
        CHECK(contains(device.at((*parts)[1].name()), "GPU:1"));
    }
    // x to both, the second's product to the first, the gradient of that back; of x's none is asked.
    std::int64_t bytes = 0;
    for (const auto& edge : e.edges)
        if (!edge.once && !edge.shared) bytes += edge.bytes;
    CHECK(bytes == 2 * 32 * 20 * 4 + 32 * 10 * 4 + 32 * 10 * 4);
    s.run(tn::initialize_variables());
    s.run(tn::feed(x, tn::array<float, tn::shape<32, 20>>()), train);
}

TEST_CASE_FIXTURE(in_graph, "S43: a split layer in a sequence; what does not fit is refused, with names") {
    const auto x = tn::placeholder<double, tn::shape<batch, 8>>("x");
    const auto model = nn::sequential(nn::column_parallel_dense<4>({"/cpu:0", "/cpu:1"}, nn::relu).gathering(),
                                      nn::row_parallel_dense<2>({"/cpu:0", "/cpu:1"}));
    const auto y = model(x);
    static_assert(std::is_same_v<decltype(y), const tn::tensor<double, tn::shape<batch, 2>>>);
    const auto again = model(x); // the same weights
    CHECK(g.collection(tn::trainable_variables).size() == 2 + 2 + 2 + 1);
    CHECK_ERROR(tn::invalid_argument_error, "the name of device 1 of 2 is empty",
                nn::parallel_mlp<4, 2>({"/cpu:0", tn::device_name()}));
    const auto layer = nn::column_parallel_dense<4>({"/cpu:0", "/cpu:1"});
    (void)layer(x);
    const auto wider = tn::placeholder<double, tn::shape<batch, 9>>("wider");
    CHECK_ERROR(tn::invalid_argument_error, "make another layer for it", layer(wider));
}
