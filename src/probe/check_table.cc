#include "probe/check_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::probe {
namespace {

constexpr size_t kMostPast = 4'096;

}  // namespace

void CheckTable::set(const std::vector<CheckSpec>& specs, const std::vector<std::string>& exposed,
                     Time now) {
  std::map<std::string, Entry, std::less<>> next;
  for (const CheckSpec& spec : specs) {
    const auto known = entries_.find(spec.name);
    const bool same = known != entries_.end() && known->second.spec == spec;
    const bool added =
        same ? next.insert(entries_.extract(known)).inserted
             : next.try_emplace(spec.name,
                                Entry{.id = ++last_id_,
                                      .spec = spec,
                                      .check = Check(spec.times, begin_with(spec), rng_, now)})
                   .second;
    HF_CHECK(added, "each check has a name of its own");
  }
  for (const auto& [name, entry] : entries_) remember(entry);
  entries_ = std::move(next);
  exposed_ = {exposed.begin(), exposed.end()};
}

void CheckTable::remember(const Entry& entry) {
  if (past_.size() >= kMostPast && !past_.contains(entry.spec.name)) return;
  past_[entry.spec.name].add(entry.check.stats());
}

Verdict CheckTable::begin_with(const CheckSpec& spec) const {
  if (!exposed_.contains(spec.service)) return not_checked_yet();
  const auto before = entries_.find(spec.name);
  return before == entries_.end() ? Verdict{.healthy = true} : before->second.check.verdict();
}

CheckTable::Actions CheckTable::on_tick(Time now) {
  Actions actions;
  for (auto& [name, entry] : entries_) {
    if (entry.check.on_tick(now)) actions.start.push_back({entry.id, entry.spec.probe});
  }
  return actions;
}

CheckTable::Actions CheckTable::on_outcome(CheckId id, const Outcome& outcome, Time now) {
  Actions actions;
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& entry) { return entry.second.id == id; });
  if (found == entries_.end()) return actions;
  Entry& entry = found->second;
  const Check::Told told = entry.check.on_outcome(outcome, now);
  if (told.again) actions.start.push_back({id, entry.spec.probe});
  if (told.changed) actions.changed.insert(entry.spec.service);
  return actions;
}

std::optional<Time> CheckTable::next_deadline() const {
  std::optional<Time> first;
  for (const auto& [name, entry] : entries_) {
    const std::optional<Time> due = entry.check.next_deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

Verdict CheckTable::verdict(std::string_view service) const {
  for (const auto& [name, entry] : entries_) {
    const Verdict& verdict = entry.check.verdict();
    if (entry.spec.service != service || verdict.healthy) continue;
    if (name == service) return verdict;
    return {.healthy = false, .reason = fmt::format("{}: {}", name, verdict.reason)};
  }
  return {.healthy = true};
}

std::vector<CheckTable::Row> CheckTable::rows() const {
  std::vector<Row> rows;
  for (const auto& [name, entry] : entries_) {
    rows.push_back({.name = name,
                    .service = entry.spec.service,
                    .verdict = entry.check.verdict(),
                    .stats = entry.check.stats()});
    const auto past = past_.find(name);
    if (past != past_.end()) rows.back().stats.add(past->second);
  }
  return rows;
}

}  // namespace holdfast::probe
