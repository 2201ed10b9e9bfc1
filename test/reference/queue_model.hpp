#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>

#include "reference/values.hpp"

/// What a queue does, in words of its statements (SEMANTICS 31 to 33): element by element. Nothing of the library's queues.

namespace reference {

enum class queue_kind { fifo, shuffled, padding, priority };

struct queue_rules {
    queue_kind kind = queue_kind::fifo;
    std::size_t capacity = 1, min_after_dequeue = 0;
    std::vector<tenon::tensor_type> components;
};

class queue_model {
public:
    using tuple = std::vector<int>; ///< numbers of values
    struct ended {
        int who = 0;
        std::optional<tenon::error_code> error;
        std::vector<tuple> taken;
    };
    struct move;

    explicit queue_model(const queue_rules& r) : rules_(&r) {}
    const queue_rules& rules() const { return *rules_; }

    std::size_t size() const { return elements_.size(); }
    bool is_closed() const { return closed_; }
    bool is_empty_and_idle() const { return enqueuers_.empty() && dequeuers_.empty(); }

    /// `who` stands in line; false where the queue is closed to it.
    bool enqueue(int who, std::vector<tuple> elements);
    void dequeue(int who, std::size_t wanted, bool up_to);
    /// As if it had not come.
    void stop(int who, const values& v);
    /// Those whom it cancels.
    std::vector<int> close(bool cancel);
    /// What can happen next by itself; one of these does. Empty: nothing.
    std::vector<move> moves(const values& v) const;
    /// Equal for queues of which nothing different can be told.
    void describe(std::string& to) const;

private:
    struct element {
        tuple parts;
        int owner; ///< who is putting in more beside it; -1
    };
    struct asked {
        int who = 0;
        std::vector<tuple> left;
        std::size_t wanted = 0;
        bool up_to = false;
        std::vector<element> taken;
    };
    void put_back(const asked& a, const values& v);
    void disown(int who);

    const queue_rules* rules_;
    std::vector<element> elements_;
    bool closed_ = false;
    std::vector<asked> enqueuers_, dequeuers_;
};

struct queue_model::move {
    queue_model then;
    std::optional<ended> end;
};

} // namespace reference
