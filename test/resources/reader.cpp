#include <tenon/resources/reader.hpp>

#include "tests.hpp"

// Readers without graphs. What ops do with them is in ops/input/reader.cpp.

namespace {

tn::any_array text(const std::string& s) { return tn::test::array_of<std::string>({}, {s}); }

class asked final : public tn::read_attempt {
public:
    void begin() { done_ = false; }
    void wait() {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return done_; });
    }
    std::exception_ptr failure;

private:
    void completed(std::exception_ptr why) noexcept override {
        const std::lock_guard lock(guard_); // who waits may end this once it is let go of
        failure = std::move(why);
        done_ = true;
        changed_.notify_all();
    }
    std::mutex guard_;
    std::condition_variable changed_;
    bool done_ = false;
};
class put_name final : public tn::queue_attempt {
public:
    explicit put_name(const std::string& name) { tuple.push_back(text(name)); }

private:
    void completed(std::exception_ptr) noexcept override {}
};

} // namespace

TEST_CASE("threads that read from one reader and take back what they asked get each record once, and lose none") {
    const temporary_folder folder;
    constexpr int files = 80, each = 5, readers = 4;
    const auto names = std::make_shared<tn::queue_resource>(
        "names", tn::queue_description{.components = {{tn::element_type::string, {}}}, .capacity = files});
    const auto reader = std::make_shared<tn::reader_resource>("lines", tn::record_format());
    std::mutex guard; // of what came
    std::multiset<std::string> came;
    std::vector<std::thread> all;
    for (int r = 0; r < readers; ++r)
        all.emplace_back([&, r] {
            std::mt19937 random(static_cast<unsigned>(r));
            asked a;
            a.names = names;
            for (;;) {
                a.begin();
                if (random() % 2 == 0) reader->read(a);
                else reader->read_up_to(a, 1 + static_cast<std::int64_t>(random() % 4));
                if (random() % 3 == 0 && reader->stop(a)) continue;
                a.wait();
                if (a.failure) {
                    try {
                        std::rethrow_exception(a.failure);
                    } catch (const tn::end_of_data_error&) {
                        return;
                    } catch (const tn::cancelled_error&) { // stopped while another thread was serving it
                        continue;
                    }
                }
                const std::lock_guard lock(guard);
                for (std::int64_t i = 0; i < a.read_values.elements(); ++i)
                    came.insert(a.read_values.data<std::string>()[i]);
            }
        });
    std::vector<std::unique_ptr<put_name>> puts;
    for (int f = 0; f < files; ++f) {
        std::string bytes;
        for (int i = 0; i < each; ++i) bytes += std::to_string(f * each + i) + "\n";
        const std::string path = folder / std::to_string(f);
        write_bytes(path, bytes);
        names->enqueue(*puts.emplace_back(std::make_unique<put_name>(path)));
        std::this_thread::yield();
    }
    names->close();
    for (std::thread& t : all) t.join();
    CHECK(came.size() == files * each);
    CHECK(std::set<std::string>(came.begin(), came.end()).size() == files * each);
    CHECK(reader->records_produced() == files * each);
    CHECK(reader->work_units_completed() == files);
}
