// An op of your own that waits: the next readings that somebody posts to a mailbox. While there are none, a step that was
// started holds no thread. docs/adding-an-op.md goes through this file, too.
//
//     readings<S>("north")       float[S], as many as were posted together: known when they are there
//
//     float[samples=3] [1, 2, 6]: mean 3
//     started before they came: mean 15
//     after 0.05 s: the step did not end within its run's time limit of 0.05 s; it was waiting for readings in mailbox ...
//     stopped: the step was stopped (pending_step::stop)
//     and nothing was lost: mean 4
//     closed: mailbox "north" is closed [node readings (readings) on /device:CPU:0, made at waiting_op.cpp:167]
#include <tenon/op/wait.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tn = tenon;

namespace {

inline constexpr struct samples : tn::dim<"samples"> {} samples;

// Where readings are posted, by any thread. Each goes to one reader, and who came first is served first.
class mailbox {
public:
    class reader {
    public:
        // Called once for each read() that was not taken back, by the thread that reads, posts or closes, without a lock.
        virtual void served(tn::any_array readings, std::exception_ptr failure) noexcept = 0;

    protected:
        ~reader() = default;
    };

    static mailbox& called(const std::string& name) {
        static std::mutex guard;
        static std::map<std::string, mailbox> all;
        const std::lock_guard lock(guard);
        return all.try_emplace(name, name).first->second;
    }
    explicit mailbox(std::string name) : name_(std::move(name)) {}

    void post(tn::array<float> readings) {
        tn::any_array posted = std::move(readings).untyped();
        reader* first = nullptr;
        {
            const std::lock_guard lock(guard_);
            if (waiting_.empty()) posted_.push_back(std::move(posted));
            else {
                first = waiting_.front();
                waiting_.pop_front();
            }
        }
        if (first) first->served(std::move(posted), nullptr);
    }
    // Whoever waits fails, and who comes later, once what was posted is gone.
    void close() {
        std::list<reader*> all;
        {
            const std::lock_guard lock(guard_);
            closed_ = true;
            all.swap(waiting_);
        }
        for (reader* r : all) r->served({}, no_more());
    }
    void read(reader& r) {
        tn::any_array first;
        {
            const std::lock_guard lock(guard_);
            if (!posted_.empty()) {
                first = std::move(posted_.front());
                posted_.pop_front();
            } else if (!closed_) {
                waiting_.push_back(&r);
                return;
            }
        }
        if (first) r.served(std::move(first), nullptr);
        else r.served({}, no_more());
    }
    // Whether it was waiting.
    bool take_back(reader& r) noexcept {
        const std::lock_guard lock(guard_);
        return waiting_.remove(&r) > 0;
    }
    const std::string& name() const noexcept { return name_; }

private:
    std::exception_ptr no_more() const {
        return std::make_exception_ptr(tn::end_of_data_error("mailbox \"" + name_ + "\" is closed"));
    }

    const std::string name_;
    std::mutex guard_; // of what follows
    std::deque<tn::any_array> posted_;
    std::list<reader*> waiting_;
    bool closed_ = false;
};

// in: nothing. The next readings of a mailbox, when there are some.
struct readings_op {
    static constexpr const char* name = "readings";
    static constexpr tn::op_flags flags = tn::op_flags::waits | tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {
        std::string mailbox;
        tn::extents sizes; // what is known of them before they come
    };
    static tn::inferred infer(const attributes& a, tn::type_list in, int) {
        if (in.size() != 0 || a.sizes.rank() != 1) return tn::fault::components_differ;
        return tn::inferred(tn::element_type::float32, a.sizes);
    }
    static tn::kernel_pointer prepare(const tn::kernel_setup& s);
};
inline const tn::op_definition& readings_definition = tn::definition_of<readings_op>();

// Size is a number, a named size, or tn::dyn.
template <auto Size> auto readings(const std::string& mailbox, tn::called_from here = tn::caller()) {
    using sizes = tn::shape<Size>;
    return tn::as<float, sizes>(tn::add<readings_op>({mailbox, sizes::extents}, {}, here));
}

// What one step in flight waits for.
class readings_wait final : public tn::wait, private mailbox::reader {
public:
    explicit readings_wait(mailbox& from) : from_(from) {}

    void start(const tn::step&, tn::completion& then) override {
        then_ = &then;
        values.resize(1); // what may fail is done before anything is begun
        from_.read(*this);
    }
    bool stop() noexcept override { return from_.take_back(*this); }
    std::string awaited() const override { return "readings in mailbox \"" + from_.name() + "\""; }

private:
    void served(tn::any_array readings, std::exception_ptr failure) noexcept override {
        if (!failure) values[0] = std::move(readings);
        then_->completed(std::move(failure)); // the last that it does: the step may start it anew
    }

    mailbox& from_;
    tn::completion* then_ = nullptr;
};

// Made with the plan, for all its steps.
struct readings_kernel final : tn::waiting_kernel {
    explicit readings_kernel(const tn::kernel_setup& s) :
        from(mailbox::called(tn::decode<readings_op::attributes>(s.attrs).mailbox)) {}
    std::unique_ptr<tn::wait> make_wait() const override { return std::make_unique<readings_wait>(from); }

    mailbox& from;
};

tn::kernel_pointer readings_op::prepare(const tn::kernel_setup& s) { return std::make_unique<readings_kernel>(s); }

} // namespace

int main() {
    mailbox& north = mailbox::called("north");
    const auto xs = readings<samples>("north");
    const auto average = mean(xs);
    const auto shown = [](const tn::array<float, tn::shape<>>& a) { return static_cast<double>(a.item()); };

    tn::session sess;
    north.post({1.0f, 2.0f, 6.0f});
    const auto [all, first] = sess.run(xs, average);
    std::printf("%s: mean %g\n", to_string(all).c_str(), shown(first));

    auto step = sess.callable(tn::feeds(), tn::fetches(average));
    const auto started = step.start();
    std::thread([&] { north.post({10.0f, 20.0f}); }).join();
    const auto [second] = started.get();
    std::printf("started before they came: mean %g\n", shown(second));

    try {
        (void)step.run_for(0.05);
    } catch (const tn::deadline_exceeded_error& e) {
        std::printf("after 0.05 s: %s\n", e.what());
    }

    const auto stopped = step.start();
    stopped.stop();
    try {
        (void)stopped.get();
    } catch (const tn::cancelled_error& e) {
        std::printf("stopped: %s\n", e.what());
    }
    north.post({4.0f});
    const auto [third] = step();
    std::printf("and nothing was lost: mean %g\n", shown(third));

    bool ended = false;
    north.close();
    try {
        (void)step();
    } catch (const tn::end_of_data_error& e) {
        std::printf("closed: %s\n", e.what());
        ended = true;
    }
    return shown(first) == 3 && shown(second) == 15 && shown(third) == 4 && ended ? 0 : 1;
}
