#include <net/client/settings.hpp>

#include <tenon/core/error.hpp>

namespace tenon::net {

const std::string* environment::find(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() || found->second.empty() ? nullptr : &found->second;
}

namespace {

struct flag_name {
    const char* name;
    std::string cluster_flags::*value;
};

constexpr flag_name flag_names[] = {
    {"cluster", &cluster_flags::cluster},   {"job", &cluster_flags::job},
    {"task", &cluster_flags::task},         {"rank", &cluster_flags::rank},
    {"tasks", &cluster_flags::tasks},       {"ps-tasks", &cluster_flags::ps_tasks},
    {"port", &cluster_flags::port},         {"host", &cluster_flags::host},
    {"service", &cluster_flags::service},   {"rendezvous", &cluster_flags::rendezvous},
    {"launcher", &cluster_flags::launcher},
};

} // namespace

cluster_flags take_cluster_flags(int& argc, char** argv) {
    cluster_flags flags;
    int kept = argc > 0 ? 1 : 0;
    for (int i = kept; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--") {
            while (i < argc) argv[kept++] = argv[i++];
            break;
        }
        const std::size_t mark = argument.find('=');
        const std::string name = argument.substr(0, mark);
        const flag_name* found = nullptr;
        for (const flag_name& f : flag_names)
            if (name.size() > 2 && name.starts_with("--") && name.substr(2) == f.name) found = &f;
        if (!found) {
            argv[kept++] = argv[i];
            continue;
        }
        std::string value;
        if (mark != std::string::npos) value = argument.substr(mark + 1);
        else if (i + 1 < argc && !std::string(argv[i + 1]).starts_with("--")) value = argv[++i];
        if (value.empty()) throw invalid_argument_error(name + " has no value; write " + name + "=VALUE");
        if (!(flags.*found->value).empty()) throw invalid_argument_error(name + " is given twice");
        flags.*found->value = value;
    }
    argc = kept;
    argv[kept] = nullptr;
    return flags;
}

std::string named_value::text() const {
    constexpr std::size_t most = 160;
    std::string shown = value.substr(0, most);
    if (value.size() > most) shown += "...";
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    return name + "=\"" + shown + '"';
}

void named_value::refuse(const std::string& why) const { throw invalid_argument_error(text() + ": " + why); }

int named_value::number(int least, int most, const std::string& what, const std::string& advice) const {
    return number_in(value, least, most, what, advice);
}
int named_value::number_in(const std::string& part, int least, int most, const std::string& what,
                           const std::string& advice) const {
    const auto wrong = [&] {
        refuse((part == value ? "" : "of \"" + part + "\": ") + what + " is a decimal number from " +
               std::to_string(least) + " to " + std::to_string(most) + (advice.empty() ? "" : "; " + advice));
    };
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos) wrong();
    const int n = std::stoi(part);
    if (n < least || n > most) wrong();
    return n;
}

std::optional<named_value> settings::variable(const std::string& name) const {
    if (const std::string* value = variables_.find(name)) return named_value{name, *value};
    return std::nullopt;
}

bool settings::switched_on(const std::string& name) const {
    const auto v = variable(name);
    if (!v) return false;
    for (const char* yes : {"1", "true", "yes", "on"})
        if (v->value == yes) return true;
    for (const char* no : {"0", "false", "no", "off"})
        if (v->value == no) return false;
    v->refuse("it is neither 1 nor 0");
}

std::optional<named_value> settings::first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
        if (auto found = variable(name)) return found;
    return std::nullopt;
}

named_value settings::needed(const std::string& name, const std::string& because) const {
    if (auto found = variable(name)) return *found;
    throw invalid_argument_error(name + " is not set; " + because);
}

std::optional<named_value> settings::ours(const std::string& flag, const char* flag_name,
                                          const char* variable_name) const {
    if (!flag.empty()) return named_value{flag_name, flag};
    return variable(variable_name);
}

int settings::port(int task_of_host, int otherwise) const {
    const auto given = given_port();
    const int first = given ? given->number(2, 65535, "the port of a host's first task") : otherwise;
    if (first == 0) return 0;
    if (first > 65535 - task_of_host)
        (given ? *given : named_value{"TENON_PORT", std::to_string(otherwise)})
            .refuse("a host's task " + std::to_string(task_of_host) + " would have port " +
                    std::to_string(first + task_of_host) + "; give a lower port");
    return first + task_of_host;
}

} // namespace tenon::net
