#include <net/http/status/serving_metrics.hpp>
#include <net/serve/open_inference.hpp>
#include <tenon/io/json/json_parse.hpp>

#include "tests.hpp"

// S47: the Open Inference Protocol as bytes.

using namespace tenon::net;

namespace {

tn::model_signature model_of(std::vector<tn::model_tensor> inputs, std::vector<tn::model_tensor> outputs) {
    return {"m", std::move(inputs), std::move(outputs), 32};
}
tn::model_tensor tensor(const char* name, tn::element_type e, const tn::extents& sizes) { return {name, {e, sizes}}; }

const tn::model_signature simple = model_of({tensor("x", tn::element_type::float32, {tn::dynamic_extent, 2}),
                                             tensor("s", tn::element_type::string, {tn::dynamic_extent})},
                                            {tensor("y", tn::element_type::float32, {tn::dynamic_extent}),
                                             tensor("z", tn::element_type::string, {tn::dynamic_extent})});

inference_request read(const std::string& json, const std::string& binary = {}) {
    return read_inference_request(json + binary, json.size(), simple);
}
std::string why_not(const std::string& json, const std::string& binary = {}) {
    return message_of<tn::invalid_argument_error>([&] { (void)read(json, binary); });
}

const std::string x = R"({"name":"x","shape":[2,2],"datatype":"FP32","data":[1,2,3,4.5]})",
                  s = R"({"name":"s","shape":[2],"datatype":"BYTES","data":["a","b"]})";
std::string with(const std::string& inputs, const std::string& more = {}) {
    return R"({"inputs":[)" + inputs + "]" + more + "}";
}

} // namespace

TEST_CASE("S47: tensors come as JSON, flat or nested, in any order of inputs, with an id, a time limit and outputs "
          "that are wanted") {
    const inference_request r =
        read(with(s + "," + x, R"(,"id":"7","parameters":{"timeout":1500},"outputs":[{"name":"z"}])"));
    CHECK(r.id == "7");
    CHECK(r.seconds == doctest::Approx(0.0015));
    CHECK(r.inputs[0].data<float>()[3] == 4.5f);
    CHECK(r.inputs[1].data<std::string>()[1] == "b");
    REQUIRE(r.outputs.size() == 1);
    CHECK(r.outputs[0].index == 1);
    const inference_request nested =
        read(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2],[3,4.5]]})"));
    CHECK(nested.inputs[0] == r.inputs[0]);
    CHECK(nested.outputs.size() == 2);
}

TEST_CASE("S47: tensors come as bytes behind the JSON, texts each behind its length") {
    const float values[] = {1, 2, 3, 4.5f};
    std::string binary(reinterpret_cast<const char*>(values), sizeof values);
    binary += std::string("\3\0\0\0abc\0\0\0\0", 11);
    const std::string json = with(
        R"({"name":"x","shape":[2,2],"datatype":"FP32","parameters":{"binary_data_size":16}},)"
        R"({"name":"s","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":11}})",
        R"(,"parameters":{"binary_data_output":true},"outputs":[{"name":"y"},{"name":"z","parameters":{"binary_data":false}}])");
    const inference_request r = read(json, binary);
    CHECK(r.inputs[0].data<float>()[3] == 4.5f);
    CHECK(r.inputs[1].data<std::string>()[0] == "abc");
    CHECK(r.inputs[1].data<std::string>()[1] == "");
    CHECK(r.outputs[0].is_binary);
    CHECK_FALSE(r.outputs[1].is_binary);
    CHECK(contains(why_not(json, binary + "x"), "1 bytes behind the last binary tensor"));
    CHECK(contains(why_not(json, binary.substr(0, 20)), "and there are 4"));
    CHECK_THROWS_AS(read_inference_request(json, json.size() + 1, simple), tn::invalid_argument_error);
}

TEST_CASE("S47: what is no request, or none for the model, is refused, and says why") {
    CHECK(contains(why_not("{"), "the request"));
    CHECK(contains(why_not("[]"), "has no \"inputs\""));
    CHECK(contains(why_not(with(x)), "the request lacks input 's' of model 'm'"));
    CHECK(contains(why_not(with(x + "," + x + "," + s)), "input 'x' is there twice"));
    CHECK(contains(why_not(with(s + R"(,{"name":"q","shape":[1],"datatype":"FP32","data":[1]})")),
                   "no input 'q'; it has 'x', 's'"));
    CHECK(contains(why_not(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP64","data":[1,2,3,4]})")),
                   "is FP32, and the request gives FP64"));
    CHECK(contains(why_not(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP32","data":[1,2,3]})")),
                   "1 elements fewer"));
    CHECK(contains(why_not(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP32","data":[1,2,3,4,5]})")),
                   "more elements than its shape"));
    CHECK(
        contains(why_not(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP32","data":[1,2,"3",4]})")), "no FP32"));
    const auto why_data = [](const std::string& data) {
        return why_not(with(s + R"(,{"name":"x","shape":[2,2],"datatype":"FP32","data":)" + data + "}"));
    };
    CHECK(contains(why_data("[[1],[2,3,4]]"),
                   "input 'x' has a list of 1 at depth 1, which is not as its shape [2, 2] says"));
    CHECK(contains(why_data("[[1,2],3]"), "at depth 1, where its shape [2, 2] has lists"));
    CHECK(contains(why_data("[[[1],[2]],[[3],[4]]]"), "no FP32"));
    CHECK(contains(why_data("[1,2,[3],4]"), "no FP32"));
    CHECK(contains(why_data("[1,2,3,1e39]"), "no FP32"));
    CHECK(contains(why_data("[1,2,3,null]"), "no FP32"));
    CHECK(contains(why_not(with(s + R"(,{"name":"x","shape":[2,-2],"datatype":"FP32","data":[]})")), "must be a size"));
    CHECK(contains(
        why_not(
            with(s + R"(,{"name":"x","shape":[4611686018427387904,4611686018427387904],"datatype":"FP32","data":[]})")),
        "more elements than the request has bytes for"));
    CHECK(contains(
        why_not(with(s + R"(,{"name":"x","shape":[1000000,2],"datatype":"FP32","parameters":{"binary_data_size":0}})")),
        "more elements than the request has bytes for"));
    CHECK(contains(why_not(with(s + R"(,{"name":"x","shape":[1,1,1,1,1,1,1,1,1,1,1],"datatype":"FP32","data":[1]})")),
                   "dimensions"));
    CHECK(contains(why_not(with(x + "," + s, R"(,"outputs":[{"name":"w"}])")), "no output 'w'; it has 'y', 'z'"));
    CHECK(contains(why_not(with(x + "," + s, R"(,"outputs":[{"name":"y"},{"name":"y"}])")), "wanted twice"));
    CHECK(contains(
        why_not(with(x + R"(,{"name":"s","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":6}})"),
                std::string("\3\0\0\0ab", 6)),
        "end within an element"));
    std::string deep = R"({"name":"x","shape":[1,2],"datatype":"FP32","data":)";
    for (int i = 0; i < 100000; ++i) deep += "[";
    CHECK(contains(why_not(with(deep)), "the request"));
}

TEST_CASE("S47: every element type goes out and comes back the same, as bytes and as JSON") {
    using e = tn::element_type;
    std::mt19937_64 random(3);
    for (const e type : {e::boolean, e::int8, e::int16, e::int32, e::int64, e::uint8, e::uint16, e::uint32, e::uint64,
                         e::float16, e::bfloat16, e::float32, e::float64, e::string})
        for (const bool binary : {true, false}) {
            CAPTURE(inference_type_of(type));
            tn::any_array a(type, {3, 2});
            for (std::int64_t i = 0; i < 6; ++i) switch (type) {
                case e::string: a.data<std::string>()[i] = "text " + std::to_string(random()); break;
                case e::boolean: a.data<bool>()[i] = random() % 2 == 0; break;
                case e::float32: a.data<float>()[i] = static_cast<float>(random()) * 1e-19f; break;
                case e::float64: a.data<double>()[i] = static_cast<double>(random()) * 1e-19; break;
                case e::float16: a.data<tn::half>()[i] = static_cast<tn::half>(static_cast<float>(i) / 3); break;
                case e::bfloat16:
                    a.data<tn::bfloat16>()[i] = static_cast<tn::bfloat16>(static_cast<float>(i) / 3);
                    break;
                default: {
                    const std::uint64_t bits = i == 0 ? ~std::uint64_t{0} : random();
                    std::memcpy(static_cast<char*>(a.data()) + static_cast<std::size_t>(i) * size_of(type), &bits,
                                size_of(type));
                }
                }
            const tn::model_signature m =
                model_of({tensor("a", type, {tn::dynamic_extent, 2})}, {tensor("a", type, {tn::dynamic_extent, 2})});
            inference_request wanted;
            wanted.outputs.push_back({0, binary});
            std::vector<tn::any_array> outputs;
            outputs.push_back(a.share());
            const inference_response out = inference_response_of(wanted, m, 5, outputs);
            CHECK(out.has_binary == binary);
            const std::string json = out.body.substr(0, out.json_bytes);
            CHECK(contains(json, R"("model_version":"5")"));
            // An answer's outputs are written as a request's inputs are.
            const std::size_t at = json.find("\"outputs\"");
            REQUIRE(at != std::string::npos);
            const std::string request = "{\"inputs\"" + json.substr(at + 9);
            const inference_request back =
                read_inference_request(request + out.body.substr(out.json_bytes), request.size(), m);
            CHECK(back.inputs[0] == a);
        }
}

TEST_CASE("S47: a model that gives other outputs than it has is said to be unavailable") {
    const inference_request r = read(with(x + "," + s));
    CHECK_ERROR(tn::unavailable_error, "model 'm' gave 0 outputs, and has 2", inference_response_of(r, simple, 1, {}));
}

TEST_CASE("S47: metadata, configuration, statistics and metrics say what the model is and did") {
    const auto parsed = [](const std::string& t) { return tn::detail::parse_json(t, "it"); };
    const auto meta = parsed(model_metadata_json(simple, 3));
    CHECK(*meta.find("name")->get<std::string>() == "m");
    CHECK(*(*meta.find("versions")->get<tn::detail::json_value::list>())[0].get<std::string>() == "3");
    CHECK(contains(model_metadata_json(simple, 3), R"({"name":"x","datatype":"FP32","shape":[-1,2]})"));
    CHECK(contains(model_config_json(simple), R"("max_batch_size":32)"));
    CHECK(contains(model_config_json(simple), R"({"name":"s","data_type":"TYPE_STRING","dims":[]})"));
    tn::serving_metrics m{.answered = 4};
    m.latency.add(0.002);
    m.devices.push_back({"/cpu:\"0\"\n"});
    const std::string text = serving_metrics_text({{"m", m}});
    CHECK(contains(text, "tenon_serving_requests_total{model=\"m\",outcome=\"ok\"} 4\n"));
    CHECK(contains(text, "tenon_serving_request_seconds_bucket{model=\"m\",le=\"0.001\"} 0\n"));
    CHECK(contains(text, "tenon_serving_request_seconds_bucket{model=\"m\",le=\"0.0025\"} 1\n"));
    CHECK(contains(text, "device=\"/cpu:\\\"0\\\"\\n\""));
    CHECK(contains(error_json("a \"word\""), R"({"error":"a \"word\""})"));
}

TEST_CASE("S47: quantiles of latencies are right to five per cent") {
    tn::latency_histogram h;
    CHECK(h.quantile(0.5) == 0);
    for (int i = 1; i <= 1000; ++i) h.add(i * 1e-4);
    CHECK(h.count() == 1000);
    for (const double q : {0.01, 0.5, 0.9, 0.99, 1.0}) CHECK(h.quantile(q) == doctest::Approx(q * 0.1).epsilon(0.06));
    h.add(1e9);
    h.add(-1);
    h.add(std::numeric_limits<double>::quiet_NaN());
    CHECK(h.quantile(1) > 1000);
}
