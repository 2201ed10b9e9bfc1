#include <net/command/ssh.hpp>

#include <net/launch/run_files.hpp>

namespace tenon::command {

namespace {

// Before the program. Nothing that is secret may be a word of a command, but of one that is the shell's own: `export` is, `printf` is not
// everywhere.
constexpr const char* begin = R"sh(
exec 3<&0 4>&2 </dev/null
echo "$tenon_mark" >&2
tenon_folder=$(umask 077 && mktemp -d) || exit 1
tenon_fail() { rm -rf "$tenon_folder"; exit 1; }
)sh";

// The guard is the background, not the program: what a shell puts there cannot be interrupted. It outlives a shell that is killed. Errors of
// the shell's own, as that a process was killed, go nowhere.
constexpr const char* guard_words = R"sh(
exec 2>/dev/null
tenon_to_group() {
    until [ -s "$tenon_folder/group" ]; do sleep 1; done
    kill "-$1" "-$(cat "$tenon_folder/group")"
}
{
    while read -r tenon_word tenon_name; do
        if [ "$tenon_word" = signal ]; then tenon_to_group "$tenon_name"; fi
    done
    tenon_to_group TERM
    while [ "$tenon_grace" -gt 0 ] && tenon_to_group 0; do
        sleep 1
        tenon_grace=$((tenon_grace - 1))
    done
    tenon_to_group KILL
    rm -rf "$tenon_folder"
} <&3 >/dev/null 4>&- &
tenon_guard=$!
if command -v setsid >/dev/null; then tenon_own=setsid; else tenon_own=; set -m; fi
$tenon_own sh -c 'exec 2>&4 3<&- 4>&-; echo $$ >"$1"; shift; exec "$@"' "$tenon_task" "$tenon_folder/group" )sh";

// After it: what it has left in its group goes with it.
constexpr const char* end = R"sh( 4>&4
tenon_status=$?
kill -KILL "-$(cat "$tenon_folder/group")"
kill -KILL "$tenon_guard"
rm -rf "$tenon_folder"
exit "$tenon_status"
)sh";

std::string file_words(const std::string& name, const char* variable, const std::string& text) {
    const std::string mark = "END_" + net::random_digits(16), path = "\"$tenon_folder/" + name + "\"";
    return "(umask 077; cat >" + path + ") <<'" + mark + "' || tenon_fail\n" + text +
           (text.ends_with('\n') ? "" : "\n") + mark + "\nexport " + variable + "=" + path + "\n";
}

} // namespace

std::string quoted(const std::string& text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'') word += "'\\''";
        else word += c;
    }
    return word + "'";
}

void send_by_ssh(task_plan& plan, const ssh_options& options) {
    const std::string mark = "tenon: the task begins";
    std::string script = "tenon_mark=" + quoted(mark) + begin;
    for (const auto& [name, value] : plan.variables) script += "export " + name + "=" + quoted(value) + "\n";
    if (const auto& c = options.certificates)
        script += file_words("certificate.pem", "TENON_CERTIFICATE", c->certificate) +
                  file_words("key.pem", "TENON_KEY", c->key) +
                  file_words("authorities.pem", "TENON_AUTHORITIES", c->authorities);
    const std::string folder = quoted(options.folder);
    script +=
        "if ! cd " + folder + " 2>/dev/null; then\n" +
        (options.home_will_do
             ? "cd; echo \"tenon: there is no folder \"" + folder + "\" on this host; the task runs in $PWD\" >&4\n"
             : "echo \"tenon: --workdir \"" + folder + "\": there is no such folder on this host\" >&4; tenon_fail\n") +
        "fi\ntenon_grace=" + std::to_string(options.grace) + "\ntenon_task=" + quoted(plan.name()) + "\n" + guard_words;
    for (const std::string& argument : plan.arguments) script += quoted(argument) + " ";
    script += end;

    // Login shells of all kinds read this: sh, csh, fish.
    const std::string command =
        "exec sh -c 'eval \"$(dd bs=1 count=" + std::to_string(script.size()) + " 2>/dev/null)\"'";
    plan.arguments = {"sh", "-c", "exec " + options.command + " \"$@\"", "sh", plan.login, command};
    plan.variables.clear();
    plan.input = child_input{std::move(script), mark};
}

} // namespace tenon::command
