// Whatever the bytes, an example that is parsed is written and parsed again as the same, and parse_example gives the same
// values, or each throws a tenon::error.
// covers: io/example/example io/example/example_wire

#include <tenon/io/example/example.hpp>
#include <tenon/ops/input/parse_example.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "fuzz/fuzzing.hpp"

namespace tn = tenon;

namespace {

struct program {
    tn::graph made;
    tn::graph_scope scope{made};
    tn::tensor<std::string, tn::shape<>> in = tn::placeholder<std::string, tn::shape<>>("in");
    tn::padded_feature<std::int64_t> integers{"a"};
    tn::padded_feature<std::string> texts{"c"};
    std::tuple<tn::tensor<std::int64_t, tn::shape<tn::dyn>>, tn::tensor<std::string, tn::shape<tn::dyn>>,
               tn::tensor<float, tn::shape<2>>>
        parsed = tn::parse_single_example(in, integers, texts, tn::fixed_feature<float, tn::shape<2>>("b", 1.0f));
    tn::session s;

    std::vector<tn::any_array> run(const std::string& bytes) {
        tn::any_array fed(tn::element_type::string, {});
        *fed.data<std::string>() = bytes;
        std::vector<tn::fed_value> feeds;
        feeds.push_back({in, std::move(fed)});
        return s.run_untyped(std::move(feeds), {std::get<0>(parsed), std::get<1>(parsed), std::get<2>(parsed)});
    }
};

} // namespace

void try_input(const fuzz::input& in) {
    static program p;
    const std::string bytes = in.text();
    tn::example e;
    bool parsed = false;
    try {
        e = tn::example::parse(bytes);
        parsed = true;
        const std::string again = e.serialize();
        fuzz::require(tn::example::parse(again).serialize() == again);
    } catch (const tn::error&) { // as it should be
        fuzz::require(!parsed);
    }
    try {
        const std::vector<tn::any_array> got = p.run(bytes);
        if (!parsed) return; // another feature may be damaged
        const auto a = e.features.find("a"), c = e.features.find("c");
        const bool integers = a != e.features.end() && a->second.kind() == tn::feature_kind::int64s;
        fuzz::require(got[0].elements() == (integers ? static_cast<std::int64_t>(a->second.int64s().size()) : 0));
        for (std::int64_t i = 0; i < got[0].elements(); ++i)
            fuzz::require(got[0].data<std::int64_t>()[i] == a->second.int64s()[static_cast<std::size_t>(i)]);
        const bool texts = c != e.features.end() && c->second.kind() == tn::feature_kind::bytes;
        fuzz::require(got[1].elements() == (texts ? static_cast<std::int64_t>(c->second.bytes().size()) : 0));
        for (std::int64_t i = 0; i < got[1].elements(); ++i)
            fuzz::require(got[1].data<std::string>()[i] == c->second.bytes()[static_cast<std::size_t>(i)]);
    } catch (const tn::error&) { // damaged, or of other kinds
    }
}
