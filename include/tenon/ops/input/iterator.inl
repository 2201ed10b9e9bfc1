#pragma once

#include <mutex>

#include <tenon/graph/node.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/iterator.hpp>
#include <tenon/ops/queue/queue.inl>

/// The kernels of ops/input/iterator.hpp, and what iterator a node stands for.

namespace tenon::detail {

// A data set by its number: of this process, or of the session's client. Found before the resource is that goes through it, which is made
// under the lock of all.
class found_source {
public:
    found_source(const kernel_setup& s, std::int64_t number) :
        node_(s.node), number_(static_cast<std::uint64_t>(number)) {
        if (number == 0 || (here_ = numbered_source(number_))) return;
        const auto nowhere = []() -> std::shared_ptr<resource> { throw not_found_error("the client has none"); };
        try {
            of_client_ = s.resources->find_or_make<element_sources>(s.session_container, "", nowhere);
        } catch (const not_found_error&) {
        }
    }
    /// nullptr of number 0.
    std::shared_ptr<const element_source> with(const std::vector<tensor_type>& components) const {
        if (number_ == 0 || here_) return here_;
        if (of_client_) return of_client_->find(number_, components);
        throw failed_precondition_error(
            node_.name +
            ": its data set is not in this process. A data set lives in the program that made it, with its functions "
            "and arrays: place the iterator on the task that this program's session is on, which asks it for elements, "
            "or hand its elements on by a queue");
    }

private:
    const node& node_;
    const std::uint64_t number_;
    std::shared_ptr<const element_source> here_;
    std::shared_ptr<element_sources> of_client_;
};

// The iterator that a node stands for, on the device that `s` is for.
inline std::shared_ptr<iterator_resource> iterator_of(const node& n, const kernel_setup& s) {
    require_made_by<iterator_op>(n, s, "iterator");
    const auto a = decode<iterator_op::attributes>(n.attributes);
    const resource_identity id(n, a.shared_name, s);
    // Names of sizes are a graph's; the data set has them too.
    const found_source source(s, a.source);
    auto it = s.resources->find_or_make<iterator_resource>(id.container, id.name, [&] {
        return std::make_shared<iterator_resource>(id.name, a.components, source.with(a.components));
    });
    if (without_names(it->components()) != without_names(a.components))
        throw invalid_argument_error("iterator " + id.shown() + " exists with elements of " +
                                     to_string(it->components()) + ", not of " + to_string(a.components));
    return it;
}
inline std::shared_ptr<iterator_resource> used_iterator(const kernel_setup& s) {
    return iterator_of(*s.node.inputs[0].node, s);
}

struct iterator_kernel final : kernel {
    explicit iterator_kernel(const kernel_setup& s) : it(iterator_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = static_cast<std::int64_t>(it->components().size());
    }
    std::shared_ptr<iterator_resource> it;
};

struct iterator_initialize_kernel final : kernel {
    explicit iterator_initialize_kernel(const kernel_setup& s) :
        it(used_iterator(s)),
        source(found_source(s, decode<iterator_initialize_op::attributes>(s.attrs).source).with(it->components())) {
        if (!source) throw invalid_argument_error(s.node.name + ": it names no data set");
    }
    void run(const kernel_run&) override { it->initialize(source); }
    std::shared_ptr<iterator_resource> it;
    std::shared_ptr<const element_source> source;
};

struct iterator_handle_kernel final : kernel {
    explicit iterator_handle_kernel(const kernel_setup& s) : it(used_iterator(s)) {
        const node& n = *s.node.inputs[0].node;
        const auto a = decode<iterator_op::attributes>(n.attributes);
        handle = (a.shared_name.empty() ? std::string(s.session_container) : n.container) + '\n' + it->name();
    }
    void run(const kernel_run& r) override { *r.output<std::string>(0) = handle; }
    std::shared_ptr<iterator_resource> it;
    std::string handle;
};

struct iterator_restore_kernel final : kernel {
    explicit iterator_restore_kernel(const kernel_setup& s) : it(used_iterator(s)) {}
    void run(const kernel_run& r) override { it->restore(*r.input<std::string>(1)); }
    std::shared_ptr<iterator_resource> it;
};

struct iterator_report_kernel final : kernel {
    explicit iterator_report_kernel(const kernel_setup& s) : it(used_iterator(s)) {}
    void run(const kernel_run& r) override { *r.output<std::string>(0) = it->report(); }
    std::shared_ptr<iterator_resource> it;
};

class iterator_wait : public wait, private iterator_attempt {
public:
    iterator_wait(std::shared_ptr<iterator_resource> it, bool saves) : it_(std::move(it)), saves_(saves) {}

    void start(const step&, completion& then) override {
        then_ = &then;
        wait::values.clear();
        iterator_attempt::keeps = wait::keeps;
        if (saves_) it_->save(*this);
        else it_->get_next(*this);
    }
    bool stop() noexcept override { return it_ && it_->stop(*this); }
    void give_back() noexcept override { it_->give_back(*this); }
    void let_go() noexcept override { it_->let_go(*this); }
    std::string awaited() const override { return it_->awaited(); }

protected:
    std::shared_ptr<iterator_resource> it_;

private:
    void completed(std::exception_ptr failure) noexcept override {
        if (!failure) wait::values = std::exchange(iterator_attempt::values, {});
        iterator_attempt::values.clear();
        then_->completed(std::move(failure)); // whoever is told may start it anew
    }
    const bool saves_;
    completion* then_ = nullptr;
};

struct iterator_next_kernel final : waiting_kernel {
    explicit iterator_next_kernel(const kernel_setup& s) : it(used_iterator(s)) {
        const auto asked = s.attrs.get<std::vector<tensor_type>>("components");
        if (without_names(asked) != without_names(it->components()))
            throw invalid_argument_error(s.node.name + ": elements of " + to_string(asked) +
                                         " are asked of iterator \"" + it->name() + "\" of " +
                                         to_string(it->components()));
    }
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<iterator_wait>(it, false); }
    bool takes() const override { return true; }
    std::shared_ptr<iterator_resource> it;
};

struct iterator_save_kernel final : waiting_kernel {
    explicit iterator_save_kernel(const kernel_setup& s) : it(used_iterator(s)) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<iterator_wait>(it, true); }
    std::shared_ptr<iterator_resource> it;
};

struct iterator_next_of_kernel final : waiting_kernel {
    explicit iterator_next_of_kernel(const kernel_setup& s) :
        components(without_names(s.attrs.get<std::vector<tensor_type>>("components"))),
        name(s.node.name),
        resources(s.resources) {}

    std::unique_ptr<wait> make_wait() const override { return std::make_unique<named>(*this); }
    bool takes() const override { return true; }

    // Which iterator it is, each step says.
    class named final : public iterator_wait {
    public:
        explicit named(const iterator_next_of_kernel& k) : iterator_wait(nullptr, false), kernel_(k) {}
        void start(const step& in, completion& then) override {
            const std::string handle = *wait::values.at(0).data<std::string>();
            const std::size_t end = handle.find('\n');
            const auto missing = [&]() -> std::shared_ptr<resource> {
                throw not_found_error(
                    kernel_.name + ": there is no iterator '" + handle +
                    "' on this task; give what string_handle() gave, in the same session or of a shared one");
            };
            if (end == std::string::npos) missing();
            auto it = kernel_.resources->find_or_make<iterator_resource>(handle.substr(0, end), handle.substr(end + 1),
                                                                         missing);
            if (without_names(it->components()) != kernel_.components)
                throw invalid_argument_error(kernel_.name + ": elements of " + to_string(kernel_.components) +
                                             " are asked of iterator \"" + it->name() + "\" of " +
                                             to_string(it->components()));
            {
                const std::lock_guard lock(guard_);
                it_ = std::move(it);
            }
            iterator_wait::start(in, then);
        }
        bool stop() noexcept override {
            std::shared_ptr<iterator_resource> it; // it may be stopped before it starts
            {
                const std::lock_guard lock(guard_);
                it = it_;
            }
            return it && iterator_wait::stop();
        }

    private:
        const iterator_next_of_kernel& kernel_;
        std::mutex guard_; // of it_, until it is started
    };

    const std::vector<tensor_type> components;
    const std::string name;
    resource_manager* const resources;
};

} // namespace tenon::detail
