#include <cmath>
#include <filesystem>
#include <optional>

#include <unistd.h>

#include <tenon/tenon.hpp>

#include "scenario.hpp"
#include "ops/untyped_run.hpp"

namespace tn = tenon;
namespace u = tenon::untyped;
using tn::any_array, tn::any_tensor, tn::element_type, tn::extents;

namespace no_memory {

namespace {

// Loops of one tape and of bodies, a scan, a branch, and what goes through rows; of x's sizes.
any_tensor through_flow(any_tensor x, const any_tensor& weights) {
    using tensors = std::vector<any_tensor>;
    const auto often = [](int most, any_tensor from, auto once) {
        return u::while_loop([&](const tensors& c) { return u::less(c[0], most); },
                             [&](const tensors& c) {
                                 return tensors{u::add(c[0], 1), once(c[1])};
                             },
                             {u::scalar(0, element_type::int32), from})[1];
    };
    x = often(5, x, [](const any_tensor& t) { return u::add(u::multiply(t, 0.5), 0.125); });
    x = often(3, x, [&](const any_tensor& t) { return u::tanh(u::matmul(t, weights)); });
    x = u::scan(
        [](const tensors& carried, const tensors& slices) {
            const any_tensor next = u::tanh(u::add(carried[0], slices[0]));
            return tn::detail::carried_and_given{{next}, {u::softmax(next)}};
        },
        {u::sum(x, {0})}, {x})[1];
    x = u::cond(
        u::less(u::sum(x), 1000.0), [&] { return tensors{u::attention(x, x, x)}; }, [&] { return tensors{x}; })[0];
    const any_tensor ones = u::constant(any_array::zeros(element_type::float32, extents(4)));
    return u::add(x, u::layer_norm(x, ones, ones));
}

// A table in parts, a dense layer, what only the values tell the sizes of, an optimiser with slots, and a count of steps.
class model {
public:
    explicit model(bool with_flow) : with_flow_(with_flow) {}
    void build() {
        const tn::graph_scope here(graph_);
        x_ = u::placeholder(element_type::float32, extents{tn::dynamic_extent, 4}, "x");
        const any_tensor table = u::variable("table", {element_type::float32, extents(7, 4)}, tn::uniform(-1, 1, 3),
                                             {.partition = {.parts = 2}});
        const any_tensor weights =
            u::variable("weights", {element_type::float32, extents(4, 4)}, tn::uniform(-1, 1, 4));
        count_ = u::variable("count", u::constant(any_array::zeros(element_type::float32, {})));
        const any_tensor counted = u::assign_add(count_, 1);
        const any_tensor ids =
            u::cast(u::floor(u::multiply(u::abs(u::tanh(u::sum(x_, {1}))), 6.9)), element_type::int32);
        any_tensor hidden = u::tanh(u::matmul(x_, weights));
        if (with_flow_) hidden = through_flow(hidden, weights);
        const any_tensor some = u::boolean_mask(hidden, u::less(u::sum(hidden, {1}), 0.0));
        loss_ = u::add(u::sum(u::square(u::gather(table, ids))), u::sum(u::square(some)));
        distinct_ = u::unique(ids)[0];
        targets_ = {tn::adam(0.1).minimize(loss_), counted.operation()};
    }
    void open(bool gpus) {
        tn::session_options o;
        if (gpus) o.gpus = tn::simulated_gpu(2, std::size_t{64} << 20);
        o.allow_soft_placement = true;
        o.intra_op_threads = 2;
        o.inter_op_threads = 2;
        o.use_per_session_threads = true;
        session_.emplace(graph_, o);
    }
    void initialize() {
        const tn::graph_scope here(graph_);
        session_->run(tn::initialize_variables());
    }
    void step(std::int64_t rows) {
        any_array a(element_type::float32, extents(rows, 4));
        for (std::int64_t i = 0; i < a.elements(); ++i)
            a.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.3 + static_cast<double>(rows)));
        (void)session_->run_untyped(tn::test::fed(x_, a), {loss_, distinct_}, targets_);
    }
    int steps() { return static_cast<int>(*session_->run_untyped({}, {count_})[0].data<float>()); }
    tn::session& session() { return *session_; }
    bool is_open() const { return session_.has_value(); }

private:
    const bool with_flow_;
    tn::graph graph_;
    std::optional<tn::session> session_;
    any_tensor x_, loss_, count_, distinct_;
    std::vector<tn::operation> targets_;
};

class of_model : public scenario {
public:
    explicit of_model(bool with_gpus, bool with_flow = false) : gpus_(with_gpus), with_flow_(with_flow) {}
    // What goes through run_untyped is made here, and so are arguments of functions that build.
    bool has_own_allocations() const override { return true; }

protected:
    void ready() {
        model_->build();
        model_->open(gpus_);
        model_->initialize();
    }
    // A step was tried where there had been `before`.
    void require_one_step_at_most(int before, bool well) {
        const int now = model_->steps();
        require(now == before + 1 || (now == before && !well), std::to_string(now) + " steps were counted of " +
                                                                   std::to_string(before + 1) +
                                                                   (well ? ", all of which ended well" : ""));
        model_->step(3);
        require(model_->steps() == now + 1,
                "the next step, which ended well, was counted as " + std::to_string(model_->steps() - now));
        model_->step(0);
    }
    const bool gpus_, with_flow_;
    std::unique_ptr<model> model_ = std::make_unique<model>(with_flow_);
};

struct building final : of_model {
    using of_model::of_model;
    void prepare() override {}
    void act() override { model_->build(); }
    void check(bool well) override {
        if (!well) model_ = std::make_unique<model>(with_flow_), model_->build();
        model_->open(gpus_);
        model_->initialize();
        require_one_step_at_most(0, false);
    }
};

struct opening final : of_model {
    using of_model::of_model;
    void prepare() override { model_->build(); }
    void act() override {
        model_->open(gpus_);
        model_->initialize();
    }
    void check(bool) override {
        if (!model_->is_open()) model_->open(gpus_);
        model_->initialize();
        require_one_step_at_most(0, false);
    }
};

struct first_step final : of_model {
    using of_model::of_model;
    void prepare() override { ready(); }
    void act() override { model_->step(3); }
    void check(bool well) override { require_one_step_at_most(0, well); }
};

struct later_step final : of_model {
    using of_model::of_model;
    void prepare() override {
        ready();
        model_->step(3);
    }
    void act() override { model_->step(5); }
    void check(bool well) override { require_one_step_at_most(1, well); }
};

struct saving final : of_model {
    using of_model::of_model;
    void prepare() override {
        std::filesystem::create_directory(folder_);
        ready();
    }
    void act() override { save_and_restore(1); }
    void check(bool) override {
        save_and_restore(2);
        require_one_step_at_most(0, false);
    }
    void save_and_restore(int step) {
        tn::saver s(path_);
        s.save(model_->session(), step);
        s.restore(model_->session());
    }
    ~saving() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

private:
    const std::string folder_ = "/tmp/tenon_no_memory_" + std::to_string(getpid());
    const std::string path_ = folder_ + "/model";
};

} // namespace

std::vector<named_scenario> model_scenarios() {
    std::vector<named_scenario> all;
    const auto add = [&]<class S>(std::in_place_type_t<S>, const char* name) {
        all.push_back({std::string("cpu, ") + name, [] { return std::make_unique<S>(false); }});
        all.push_back({std::string("gpus, ") + name, [] { return std::make_unique<S>(true); }});
    };
    all.push_back({"building a graph", [] { return std::make_unique<building>(false); }});
    add(std::in_place_type<opening>, "opening and initialising");
    add(std::in_place_type<first_step>, "first step");
    add(std::in_place_type<later_step>, "later step, of other sizes");
    add(std::in_place_type<saving>, "saving and restoring");
    const auto add_flow = [&]<class S>(std::in_place_type_t<S>, const char* name) {
        all.push_back({name, [] { return std::make_unique<S>(false, true); }});
    };
    add_flow(std::in_place_type<building>, "loops, building a graph");
    add_flow(std::in_place_type<first_step>, "loops, first step");
    add_flow(std::in_place_type<later_step>, "loops, later step, of other sizes");
    return all;
}

} // namespace no_memory
