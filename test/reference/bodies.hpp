#pragma once

#include <memory>

#include <tenon/op/prepared_body.hpp>

#include "reference/step.hpp"

/// Bodies of control flow, run node by node as steps are: a loop's own kernel goes through its runs, and nothing of them is planned.

namespace reference {

class body_evaluator final : public tenon::body_planner {
public:
    explicit body_evaluator(const noise& shaken) : shaken_(shaken) {}
    std::unique_ptr<tenon::prepared_body> plan(const std::shared_ptr<const tenon::body>& of,
                                               tenon::type_list arguments) const override;
    tenon::kernel_factory kernel_of(const tenon::op_definition& op, tenon::element_type) const override {
        return op.cpu;
    }

private:
    const noise shaken_;
};

} // namespace reference
