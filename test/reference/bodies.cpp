#include "reference/bodies.hpp"

#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>

#include "reference/evaluator.hpp"

namespace tn = tenon;

namespace reference {

namespace {

class evaluated_body final : public tn::prepared_body {
public:
    evaluated_body(std::shared_ptr<const tn::body> of, tn::type_list arguments, const noise& shaken) :
        of_(std::move(of)), types_(arguments.begin(), arguments.end()), shaken_(shaken) {}

    std::size_t scratch_bytes() const override { return 0; }
    double cost() const override { return 0; }
    std::size_t kernels() const override { return 1; }
    bool may_be_recorded() const override { return false; }
    std::size_t told_bytes() const override { return 0; }
    void tell(std::byte*) const override {}
    bool may_refuse() const override { return false; }
    void refuse(const std::byte*) const override {}
    in_step& begin(const tn::kernel_run&) const override { return *new runs(*this); }
    void end(in_step& ended) const noexcept override { delete static_cast<runs*>(&ended); }

private:
    class runs final : public in_step {
    public:
        explicit runs(const evaluated_body& of) :
            of_(of), given_(of.types_.size()), gives_(of.of_->results().size()), shaken_(of.shaken_) {
            arguments = given_.data();
            results = gives_.data();
        }
        void run() override {
            request r;
            for (std::size_t k = 0; k < of_.types_.size(); ++k) {
                tn::any_array value(of_.types_[k].element, of_.types_[k].extents);
                if (given_[k]) std::memcpy(value.data(), given_[k], value.bytes());
                r.feeds.push_back({of_.of_->arguments()[k], std::move(value)});
            }
            r.fetches = of_.of_->results();
            ++shaken_.seed; // other roundings in each run
            const outcome o = evaluate(r, {}, 0, shaken_);
            if (!o.errors.empty()) throw tn::invalid_argument_error("the body of a node fails");
            for (std::size_t k = 0; k < gives_.size(); ++k)
                if (gives_[k]) std::memcpy(gives_[k], o.fetches[k].value->data(), o.fetches[k].value->bytes());
        }

    private:
        const evaluated_body& of_;
        std::vector<const void*> given_;
        std::vector<void*> gives_;
        noise shaken_;
    };

    const std::shared_ptr<const tn::body> of_;
    const std::vector<tn::tensor_type> types_;
    const noise shaken_;
};

} // namespace

std::unique_ptr<tn::prepared_body> body_evaluator::plan(const std::shared_ptr<const tn::body>& of,
                                                        tn::type_list arguments) const {
    return std::make_unique<evaluated_body>(of, arguments, shaken_);
}

} // namespace reference
