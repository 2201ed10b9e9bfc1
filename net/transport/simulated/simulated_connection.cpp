#include <algorithm>
#include <cstring>
#include <utility>

#include <net/transport/simulated/simulated_state.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t head_bytes = 56; // about what a frame's head takes

std::size_t size_of(const message& m) { return m.body.size() + m.payload_bytes() + head_bytes; }

duration seconds(double s) { return std::chrono::duration_cast<duration>(std::chrono::duration<double>(s)); }

duration time_on(const simulated_card& card, std::size_t size) {
    return card.per_message + seconds(static_cast<double>(size) / card.bytes_per_second);
}

message head_of(const message& m) { return {m.type, m.verb, m.sequence, m.acknowledged, m.request, {}, {}}; }

/// Why a message of this size may not come; empty where it may.
std::string beyond(const message& m, const message_limits& limits) {
    const auto more = [](const char* what, std::size_t is, std::size_t most) {
        return "a message has " + std::to_string(is) + " " + what + " where " + std::to_string(most) + " are taken";
    };
    if (m.body.size() > limits.body_bytes) return more("bytes of body", m.body.size(), limits.body_bytes);
    if (m.arrays.size() > limits.arrays) return more("arrays", m.arrays.size(), limits.arrays);
    if (m.payload_bytes() > limits.payload_bytes)
        return more("bytes of arrays", m.payload_bytes(), limits.payload_bytes);
    return {};
}

} // namespace

void simulated_connection::send(message m) {
    const std::lock_guard lock(net->mutex);
    if (!open || !owner.alive) return;
    if (other_is_gone) {
        if (!std::exchange(reset_comes, true)) end_after(2 * net->usual.latency, "connection reset");
    } else if (net->between(&owner.where, &other->owner.where).cut) {
        auto& kept = net->remember("cannot send to", &owner.where, &other->owner.where, wire);
        kept.head = head_of(m);
        kept.has_message = true;
        kept.size = size_of(m);
        held_bytes += kept.size;
        held.push_back(std::move(m));
    } else carry(std::move(m));
    net->changed.notify_all();
    ++net->wakes;
}

void simulated_connection::end_after(duration d, const std::string& why) {
    net->after(d, &owner, [self = shared_from_this(), why] {
        const std::lock_guard lock(self->net->mutex);
        self->begin_end(why);
    });
}

void simulated_connection::carry(message m, bool again) {
    const auto now = net->now.load();
    const std::size_t size = size_of(m);
    simulated_host &from = owner.where, &to = other->owner.where;
    const auto& line = net->between(&from, &to).line;
    auto takes = seconds(static_cast<double>(size) / line.bytes_per_second);
    const bool small = is_small(m);
    time_point when = (small ? now : std::max(now, line_free)) + takes;
    if (from.has_card) {
        const auto on_card = time_on(from.card, size);
        when = std::max(when, from.outward.take(now, on_card, small));
        takes = std::max(takes, on_card);
    }
    if (!small) line_free = when;
    when += net->way(&from, &to);
    if (net->chance(net->faults.slow)) when += net->about(net->faults.slow_by);

    auto& kept = net->remember(again ? "sent late" : "sent", &owner.where, &other->owner.where, wire);
    kept.head = head_of(m);
    kept.has_message = true;
    kept.size = size;

    if (!to.has_card) return land(std::move(m), size, when);
    // The other card is taken from when the message's beginning is there: in its order, which is not that of sending.
    const auto there = time_on(to.card, size);
    time_point& before = small ? came_small : came_any;
    const time_point begins = std::max({now, when - takes, before});
    before = begins;
    came_any = std::max(came_any, begins);
    net->at(begins, nullptr,
            [self = shared_from_this(), &to, size, when, there, small, held = std::make_shared<message>(std::move(m))] {
                const std::lock_guard lock(self->net->mutex);
                if (!self->open || !self->other) return;
                const auto over = to.inward.take(self->net->now.load(), there, small);
                self->land(std::move(*held), size, std::max(when, over));
            });
}

void simulated_connection::land(message m, std::size_t size, time_point when) {
    // Small ones keep their order and may arrive before large ones; large ones arrive after all that was sent before.
    const bool small = is_small(m);
    when = std::max(when, small ? last_small : last_any);
    if (small) last_small = when;
    last_any = std::max(last_any, when);
    if (net->chance(net->faults.duplicate)) arrive(when + net->about(std::chrono::milliseconds(1)), m.share(), size);
    if (net->chance(net->faults.reorder)) when += net->about(std::chrono::milliseconds(1));
    arrive(when, std::move(m), size);
}

void simulated_connection::arrive(time_point when, message m, std::size_t size) {
    const auto& line = net->between(&owner.where, &other->owner.where).line;
    const auto to = other;
    if (!to->open) return;
    const std::size_t place = to->next_place++;
    const bool is_read = !m.arrays.empty() && !net->shares_arrays;
    to->on_the_way[place].m = std::move(m);
    if (is_read) {
        const auto begins = when - seconds(static_cast<double>(size) / line.bytes_per_second);
        net->at(std::max(begins, net->now.load()), &to->owner, [to, place] { to->begin_message(place); });
    }
    net->at(when, &to->owner, [to, place] { to->receive(place); });
}

std::size_t simulated_connection::unsent_bytes() const noexcept {
    const std::lock_guard lock(net->mutex);
    if (!open || !other) return 0;
    const auto left = std::chrono::duration<double>(line_free - net->now.load()).count();
    const double rate = net->between(&owner.where, &other->owner.where).line.bytes_per_second;
    return held_bytes + (left > 0 ? static_cast<std::size_t>(left * rate) : 0);
}

void simulated_connection::close(const std::string& why) noexcept {
    const std::lock_guard lock(net->mutex);
    if (!open || !owner.alive) return;
    net->remember("closes", &owner.where, nullptr, wire).words = why;
    if (other)
        other->hear_end_of(owner.where, net->chance(0.5) ? time_point{} : last_any); // what is on its way may be lost
    begin_end(why);
    net->changed.notify_all();
    ++net->wakes;
}

void simulated_connection::hear_end_of(const simulated_host& from, time_point earliest) {
    if (!open) return;
    if (net->between(&from, &owner.where).cut) { // systems try again by themselves
        net->after(std::chrono::milliseconds(100), nullptr, [self = shared_from_this(), &from] {
            const std::lock_guard lock(self->net->mutex);
            self->hear_end_of(from, {});
        });
        return;
    }
    const auto now = net->now.load();
    end_after(std::max(net->way(&from, &owner.where), earliest - now), "closed by the other side");
}

void simulated_connection::begin_end(const std::string& why) {
    if (!open) return;
    open = false;
    on_the_way.clear();
    held.clear();
    other.reset();
    net->remember("loses", &owner.where, nullptr, wire).words = why;
    net->after({}, &owner, [self = shared_from_this(), why] {
        std::shared_ptr<connection_user> told;
        {
            const std::lock_guard lock(self->net->mutex);
            told = std::move(self->user);
            self->user = nullptr;
            if (const auto found = self->net->wires.find(self->wire); found != self->net->wires.end()) {
                found->second.side[self->side].reset();
                if (!found->second.side[0] && !found->second.side[1]) self->net->wires.erase(found);
            }
        }
        if (told) told->closed(why);
    });
}

void simulated_connection::begin_message(std::size_t place) {
    std::unique_lock lock(net->mutex);
    const auto found = on_the_way.find(place);
    if (!open || !user || found == on_the_way.end() || found->second.begun) return;
    found->second.begun = true;
    const auto by = user;
    message m = found->second.m.share();
    lock.unlock();
    std::vector<any_array> places;
    std::string wrong, refused;
    try {
        wrong = beyond(m, by->limits());
        const message head{m.type, m.verb, m.sequence, m.acknowledged, m.request, m.body, {}};
        for (std::size_t i = 0; i < m.arrays.size() && wrong.empty(); ++i) {
            const bool plain = m.arrays[i].element() != element_type::string;
            any_array p =
                m.arrays[i] ? by->place_for(head, i, m.arrays[i].type(), bytes_on_wire(m.arrays[i])) : any_array();
            if (!plain || (p && !(p.type() == m.arrays[i].type()))) p = {};
            if (p) std::memcpy(p.data(), m.arrays[i].data(), p.bytes() / 2); // the rest is still on its way
            places.push_back(std::move(p));
        }
    } catch (const resource_exhausted_error& e) {
        refused = e.what();
    } catch (const std::exception& e) {
        wrong = e.what();
    }
    if (!wrong.empty()) return close(wrong);
    lock.lock();
    const auto still = on_the_way.find(place);
    if (still == on_the_way.end()) return;
    still->second.places = std::move(places);
    still->second.m.refused = std::move(refused);
}

void simulated_connection::receive(std::size_t place) {
    if (std::unique_lock lock(net->mutex);
        !net->shares_arrays && on_the_way.count(place) && !on_the_way[place].m.arrays.empty()) {
        lock.unlock();
        begin_message(place);
    }
    std::unique_lock lock(net->mutex);
    const auto found = on_the_way.find(place);
    if (!open || !user || found == on_the_way.end()) return;
    arriving a = std::move(found->second);
    on_the_way.erase(found);
    const auto by = user;
    const bool shared = net->shares_arrays;
    lock.unlock();
    try {
        if (const std::string wrong = beyond(a.m, by->limits()); !wrong.empty()) return close(wrong);
        for (std::size_t i = 0; i < a.m.arrays.size() && !shared; ++i) {
            any_array& from = a.m.arrays[i];
            if (!a.m.refused.empty()) from = {};
            else if (i < a.places.size() && a.places[i]) {
                std::memcpy(a.places[i].data(), from.data(), from.bytes());
                from = std::move(a.places[i]);
            } else from = from.copy();
        }
        by->received(std::move(a.m));
    } catch (const std::exception& e) {
        close(e.what());
    }
}

void simulated_process::dial(const std::string& address, duration limit, dialed then) {
    const std::lock_guard lock(net.mutex);
    if (!alive) return;
    const auto began = net.now.load();
    auto kept = std::make_shared<dialed>(std::move(then));
    const auto colon = address.rfind(':');
    const auto to = net.hosts.find(address.substr(0, colon));
    if (colon == std::string::npos || to == net.hosts.end()) {
        net.after({}, this, [kept, address] { (*kept)(nullptr, "there is no host of the address " + address); });
        return;
    }
    const auto way = net.way(&where, to->second.get());
    net.after(way, nullptr, [this, address, began, limit, kept] { try_dial(address, began, limit, kept); });
}

void simulated_process::try_dial(const std::string& address, time_point began, duration limit,
                                 std::shared_ptr<dialed> then) {
    const std::lock_guard lock(net.mutex);
    if (!alive) return;
    simulated_host& to = net.host(address.substr(0, address.rfind(':')));
    if (net.between(&where, &to).cut || net.between(&to, &where).cut) {
        const auto now = net.now.load();
        constexpr auto again = std::chrono::milliseconds(100); // systems try again by themselves
        if (now + again < began + limit) {
            net.after(again, nullptr, [this, address, began, limit, then] { try_dial(address, began, limit, then); });
        } else {
            net.at(std::max(now, began + limit), this, [then] { (*then)(nullptr, "timed out"); });
        }
        return;
    }
    const auto back = net.way(&to, &where);
    const auto listening = to.running ? to.running->listeners.find(address) : listeners.end();
    if (!to.running || listening == to.running->listeners.end() || to.refuses || net.chance(net.faults.refuse)) {
        net.remember("refused a dial of", &to, &where);
        net.after(back, this, [then] { (*then)(nullptr, "connection refused"); });
        return;
    }
    connect(*to.running, address, listening->second, then);
}

void simulated_process::connect(simulated_process& to, const std::string& address, std::shared_ptr<accept> each,
                                std::shared_ptr<dialed> then) {
    const auto keep = net.shared_from_this();
    auto here = std::make_shared<simulated_connection>(keep, *this);
    auto there = std::make_shared<simulated_connection>(keep, to);
    const std::uint64_t id = ++net.wires_made;
    net.wires[id] = {{here, there}};
    here->other = there;
    there->other = here;
    here->peer_address = address;
    there->peer_address = where.name + ":" + std::to_string(where.next_port++);
    there->side = 1;
    for (const auto& side : {here, there}) side->wire = id, side->hidden = net.is_private;
    const auto ready = net.now.load() + net.way(&to.where, &where);
    there->last_small = there->last_any = ready; // nothing arrives before it is there
    net.remember("connected to", &where, &to.where, id);

    const auto use = [](const std::shared_ptr<simulated_connection>& c, std::shared_ptr<connection_user> user) {
        std::unique_lock lock(c->net->mutex);
        if (user && c->open) c->user = std::move(user);
        else {
            const bool was_open = c->open;
            lock.unlock();
            if (was_open) c->close("nobody uses it");
            else if (user) user->closed("connection reset");
        }
    };
    net.after({}, &to, [there, each, use] { use(there, (*each)(there)); });
    net.at(ready, this, [here, then, use] { use(here, (*then)(here, {})); });

    if (net.faults.connection_life > duration{}) {
        net.after(net.about(net.faults.connection_life), nullptr, [n = &net, id, epoch = net.fault_epoch] {
            const std::lock_guard lock(n->mutex);
            if (epoch != n->fault_epoch) return;
            n->lose(id, n->chance(n->faults.one_side) ? static_cast<int>(n->below(2)) : 2);
        });
    }
}

} // namespace tenon::net
