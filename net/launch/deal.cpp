#include <net/launch/deal.hpp>

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr const char* count_advice = "write \"8\", or by job \"ps=2,worker=6\"";

int count(const named_value& whole, const std::string& text) {
    return whole.number_in(text, 1, most_ranks, "a number of tasks", count_advice);
}

} // namespace

std::vector<job_count> read_task_counts(const named_value& text) {
    std::vector<job_count> jobs;
    const std::string& all = text.value;
    long long total = 0;
    for (std::size_t at = 0; at <= all.size();) {
        const std::size_t end = std::min(all.find(',', at), all.size());
        const std::string part = all.substr(at, end - at);
        at = end + 1;
        const std::size_t mark = part.find('=');
        job_count job;
        if (mark == std::string::npos) {
            if (all.size() != part.size()) text.refuse("\"" + part + "\" names no job; " + count_advice);
            job.tasks = count(text, part);
        } else {
            job.job = part.substr(0, mark);
            if (!tenon::detail::is_word(job.job) || job.job.size() > decltype(device_name::job)::most)
                text.refuse("\"" + job.job +
                            "\" is no job's name: a letter, then letters, digits and underscores, of at "
                            "most 47 characters");
            const std::string number = part.substr(mark + 1);
            const std::size_t times = number.find('x');
            job.tasks = count(text, number.substr(0, times));
            if (times != std::string::npos) {
                job.pods_each = count(text, number.substr(times + 1));
                if (job.tasks > most_ranks / job.pods_each)
                    text.refuse("\"" + part + "\" is more than " + std::to_string(most_ranks) + " tasks");
                job.tasks *= job.pods_each;
            }
            for (const job_count& other : jobs)
                if (other.job == job.job) text.refuse("job \"" + job.job + "\" occurs twice");
        }
        total += job.tasks;
        if (total > most_ranks) text.refuse("that is more than " + std::to_string(most_ranks) + " tasks");
        jobs.push_back(std::move(job));
    }
    return jobs;
}

int ranks_of(const std::vector<job_count>& jobs) noexcept {
    int sum = 0;
    for (const job_count& j : jobs) sum += j.tasks;
    return sum;
}

std::vector<job_count> deal_ranks(const settings& s, int size, const std::string& who) {
    std::vector<job_count> jobs;
    if (const auto tasks = s.tasks()) {
        jobs = read_task_counts(*tasks);
        if (size > 0 && ranks_of(jobs) != size)
            tasks->refuse("these are " + std::to_string(ranks_of(jobs)) + " tasks, but " + who + " started " +
                          std::to_string(size) + " processes; make the numbers equal");
        size = ranks_of(jobs);
    }
    if (size == 0)
        throw invalid_argument_error(
            "TENON_TASKS is not set; " + who +
            " does not tell how many processes there are: set it to their number, as \"8\" or by "
            "job as \"ps=2,worker=6\"");
    const auto ps = s.ps_tasks();
    if (!jobs.empty() && !jobs.front().job.empty()) {
        if (ps) ps->refuse(s.tasks()->text() + " says already which ranks are parameter servers; give one of the two");
        return jobs;
    }
    const int servers = ps ? ps->number(0, most_ranks, "the number of parameter servers") : 0;
    if (servers >= size)
        ps->refuse("of " + std::to_string(size) +
                   " processes none would be left as a worker; start more, or give less");
    jobs.clear();
    if (servers > 0) jobs.push_back({"ps", servers});
    jobs.push_back({"worker", size - servers});
    return jobs;
}

std::pair<std::string, int> task_of_rank(const std::vector<job_count>& jobs, int rank) {
    for (const job_count& j : jobs) {
        if (rank < j.tasks) return {j.job, rank};
        rank -= j.tasks;
    }
    throw internal_error("a rank that is dealt to no job");
}

std::string words(const std::vector<job_count>& jobs) {
    std::string text;
    for (const job_count& j : jobs) {
        text += (text.empty() ? "" : ", ") + j.job + " 0";
        if (j.tasks > 1) text += "-" + std::to_string(j.tasks - 1);
    }
    return text;
}

} // namespace tenon::net
