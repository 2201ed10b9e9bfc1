#include "reference/sizes.hpp"

#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/graph/attribute.hpp>

namespace tn = tenon;

namespace reference {

void sizes::bind(const tn::extents& declared, const tn::extents& actual, const std::string& whose) {
    for (int i = 0; i < declared.rank(); ++i) {
        if (declared[i].is_number() && declared[i].size != actual[i].size)
            throw tn::invalid_argument_error(whose + " is " + tn::to_string(actual) + ", not " +
                                             tn::to_string(declared));
        if (!declared[i].is_named()) continue;
        const auto [at, isnew] = names_.emplace(declared[i].name, actual[i].size);
        if (!isnew && at->second != actual[i].size)
            throw tn::invalid_argument_error("size " + at->first + " has two values");
    }
}

tn::extents sizes::known(tn::extents e) const {
    for (int i = 0; i < e.rank(); ++i) {
        if (!e[i].is_named()) continue;
        const auto at = names_.find(e[i].name);
        if (at != names_.end()) e[i] = tn::extent(at->second);
    }
    return e;
}

sizes::sizes(const request& r, const order& o) {
    for (const tn::fed_value& f : r.feeds) {
        if (const std::string why = tn::misfit(f.value.type(), f.tensor.type()); !why.empty())
            throw tn::invalid_argument_error("feed of " + f.tensor.name() + ": " + why);
        bind(f.tensor.extents(), f.value.extents(), f.tensor.name());
        types_[place_of(f.tensor.output())] = f.value.type();
    }
    for (const tn::node* n : o.sized()) {
        const std::string_view op = n->op->name;
        if (op == "placeholder" && (o.runs(n) || !known(n->outputs[0].extents).is_static()))
            throw tn::invalid_argument_error("placeholder " + n->name + " is not fed");
        std::vector<tn::tensor_type> in;
        for (const tn::node_output& i : n->inputs) in.push_back(types_.at(place_of(i)));
        tn::attributes a = n->attributes;
        for (const auto& [name, value] : n->attributes)
            if (const auto* e = std::get_if<tn::extents>(&value)) a.set(name.c_str(), known(*e));
        // What these two declare leaves room for what may be fed; what they are is their input.
        if (op == "ensure_shape" || op == "placeholder_with_default") a.set("shape", in[0].extents);
        for (int k = 0; k < static_cast<int>(n->outputs.size()); ++k) {
            tn::inferred t = n->op->infer(a, tn::type_list(in.data(), static_cast<int>(in.size())), k);
            if (t && op == "test_pause") t = in[0]; // what its rule does not say, the values will
            if (!t) throw tn::invalid_argument_error(n->name + ": the rule finds a fault in the step's sizes");
            t.type.extents = known(t.type.extents);
            if (!t.type.extents.is_static()) throw tn::invalid_argument_error(n->name + ": its sizes are not known");
            bind(n->outputs[static_cast<std::size_t>(k)].extents, t.type.extents, n->name);
            made_[{n, k}] = t.type;
            types_.try_emplace({n, k}, t.type);
        }
        attributes_[n] = std::move(a);
    }
}

} // namespace reference
