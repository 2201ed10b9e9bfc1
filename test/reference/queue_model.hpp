#pragma once

#include <functional>
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

    /// `who` stands in line; false where the queue is closed to it.
    bool enqueue(int who, std::vector<tuple> elements);
    /// `takes_rest`: once it is closed, and there is nothing more to come, fewer will do, but 1.
    void dequeue(int who, std::size_t least, std::size_t most, bool takes_rest);
    /// As if it had not come.
    void stop(int who, const values& v);
    /// Of those that dequeued and are done, until the end of their steps: whether what each took is first in the queue again, as
    /// if it had not come, or is used. Nothing: it is of another step.
    void settle(const std::function<std::optional<bool>(int who)>& gives_back, const values& v);
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
        std::vector<tuple> left = {};
        std::size_t least = 0, most = 0;
        bool takes_rest = false;
        bool taking = false; // of one that takes what is there: it is about it, and nothing comes in between
        std::vector<element> taken = {};
    };
    void put_back(const asked& a, const values& v);
    void disown(int who);

    const queue_rules* rules_;
    std::vector<element> elements_;
    bool closed_ = false;
    std::vector<asked> enqueuers_, dequeuers_;
    std::vector<asked> kept_; // done, their steps not; the latest last
};

struct queue_model::move {
    queue_model then;
    std::optional<ended> end;
};

} // namespace reference
