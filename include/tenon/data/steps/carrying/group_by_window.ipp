#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

// Elements that are in memory.
class window_node final : public data_node {
public:
    window_node(std::vector<tensor_type> types, std::vector<data_element> all) :
        data_node("window", std::move(types)), all_(std::move(all)) {}
    std::unique_ptr<element_stream> make(pipeline&) const override { return std::make_unique<stream>(*this); }
    std::int64_t size() const override { return static_cast<std::int64_t>(all_.size()); }
    std::string no_access() const override { return {}; }
    void at(std::int64_t i, std::uint64_t, data_element& x) const override {
        x.clear(); // who takes one may write to it
        for (const any_array& a : all_[static_cast<std::size_t>(i)]) x.push_back(a.copy());
    }
    const std::vector<data_element>& all() const noexcept { return all_; }

private:
    class stream final : public element_stream {
    public:
        explicit stream(const window_node& n) : node_(n) {}
        bool next(data_element& x) override {
            if (at_ == node_.size()) return false;
            node_.at(at_++, 0, x);
            return true;
        }
        void save(state_writer& to) override { to.number(static_cast<std::uint64_t>(at_)); }
        void restore(state_reader& from) override {
            at_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(node_.size())));
        }

    private:
        const window_node& node_;
        std::int64_t at_ = 0;
    };
    const std::vector<data_element> all_;
};

class grouped_node final : public data_node {
public:
    grouped_node(pointer from, std::vector<tensor_type> types, shared_function<std::int64_t(const data_element&)> key,
                 shared_function<std::int64_t(std::int64_t)> size, shared_function<pointer(std::int64_t, pointer)> f) :
        data_node("group_by_window", std::move(types), {std::move(from)}),
        key_(std::move(key)),
        size_(std::move(size)),
        made_(std::move(f)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return true; } // nobody knows what the functions will do

private:
    struct window {
        std::uint64_t room = 0; // elements that it may have
        std::vector<data_element> elements;
    };

    class stream final : public element_stream {
    public:
        stream(const grouped_node& n, pipeline& p) :
            node_(n), pipeline_(p), from_(open_step(n.input(), p)), epoch_(p.next_epoch(n)) {}
        bool next(data_element& x) override {
            for (;;) {
                if (now_) {
                    if (now_->next(x)) return true;
                    now_.reset();
                    opened_.reset();
                } else if (!ended_) take();
                else if (!windows_.empty()) open(windows_.begin());
                else return false;
            }
        }
        void save(state_writer& to) override {
            to.number(epoch_);
            to.number(number_);
            to.number(made_);
            to.number(ended_);
            to.number(windows_.size());
            for (const auto& [key, w] : windows_) {
                to.number(static_cast<std::uint64_t>(key));
                to.number(w.room);
                save_elements(to, w.elements);
            }
            to.number(now_ != nullptr);
            if (now_) {
                to.number(static_cast<std::uint64_t>(key_));
                save_elements(to, opened_->all());
                now_->save(to);
            }
            from_->save(to);
        }
        void restore(state_reader& from) override {
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            number_ = from.number();
            made_ = from.number();
            ended_ = from.number(0, 1) != 0;
            windows_.clear();
            for (std::uint64_t left = from.number(); left > 0; --left) {
                window& w = windows_[static_cast<std::int64_t>(from.number())];
                w.room = from.number();
                w.elements = restored_elements(from);
                if (w.elements.empty() || w.elements.size() >= w.room)
                    from.damaged("a window has other elements than it may");
            }
            now_.reset();
            if (from.number(0, 1) != 0) {
                key_ = static_cast<std::int64_t>(from.number());
                opened_ = std::make_shared<window_node>(node_.input().components(), restored_elements(from));
                now_ = stream_of(key_, opened_, made_ - 1);
                now_->restore(from);
            }
            from_->restore(from);
        }

    private:
        static void save_elements(state_writer& to, const std::vector<data_element>& all) {
            to.number(all.size());
            for (const data_element& x : all) to.element(x);
        }
        std::vector<data_element> restored_elements(state_reader& from) const {
            std::vector<data_element> all;
            for (std::uint64_t left = from.number(); left > 0; --left)
                all.push_back(from.element(node_.input().components()));
            return all;
        }
        // An element goes to its window, which is opened where it is full then.
        void take() {
            data_element x;
            if (!from_->next(x)) {
                ended_ = true;
                return;
            }
            const std::uint64_t number = number_++;
            std::map<std::int64_t, window>::iterator at;
            try {
                const std::int64_t key = node_.key_(x);
                at = windows_.find(key);
                if (at == windows_.end()) {
                    const std::int64_t room = node_.size_(key);
                    if (room < 1)
                        throw invalid_argument_error("a window of " + std::to_string(room) + " elements for key " +
                                                     std::to_string(key) + "; give 1 or more");
                    at = windows_.emplace(key, window{static_cast<std::uint64_t>(room), {}}).first;
                }
            } catch (...) {
                throw_at(place_of_element(node_.step(), number));
            }
            at->second.elements.push_back(std::move(x));
            if (at->second.elements.size() == at->second.room) open(at);
        }
        void open(std::map<std::int64_t, window>::iterator at) {
            const std::int64_t key = at->first;
            auto all = std::make_shared<window_node>(node_.input().components(), std::move(at->second.elements));
            windows_.erase(at); // also where it comes to nothing
            now_ = stream_of(key, all, made_++);
            opened_ = std::move(all);
            key_ = key;
        }
        std::unique_ptr<element_stream> stream_of(std::int64_t key, const pointer& all, std::uint64_t number) const {
            try {
                const pointer made = node_.made_(key, all);
                if (!made || made->components() != node_.components())
                    throw invalid_argument_error("the function gives a data set of " +
                                                 (made ? to_string(made->components()) : std::string("nothing")) +
                                                 ", not of " + to_string(node_.components()));
                return made->open(pipeline_.options(), nullptr, number_in_epoch(epoch_, number, 24));
            } catch (...) {
                throw_at(node_.step() + ": window " + std::to_string(number) + ", of key " + std::to_string(key));
            }
        }

        const grouped_node& node_;
        pipeline& pipeline_;
        std::unique_ptr<element_stream> from_;
        std::uint64_t epoch_, number_ = 0, made_ = 0; // numbers of the next element, of the next window
        bool ended_ = false;
        std::map<std::int64_t, window> windows_; // not empty, and not full
        std::shared_ptr<const window_node> opened_;
        std::int64_t key_ = 0;                // its
        std::unique_ptr<element_stream> now_; // what stands for it
    };

    const shared_function<std::int64_t(const data_element&)> key_;
    const shared_function<std::int64_t(std::int64_t)> size_;
    const shared_function<pointer(std::int64_t, pointer)> made_;
};

TENON_INLINE data_node::pointer grouped(data_node::pointer from, std::vector<tensor_type> types,
                                        shared_function<std::int64_t(const data_element&)> key,
                                        shared_function<std::int64_t(std::int64_t)> size,
                                        shared_function<data_node::pointer(std::int64_t, data_node::pointer)> f) {
    return std::make_shared<grouped_node>(std::move(from), std::move(types), std::move(key), std::move(size),
                                          std::move(f));
}

} // namespace tenon::detail
