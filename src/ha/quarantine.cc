#include "ha/quarantine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/bytes.h"
#include "base/check.h"
#include "ha/protocol.h"

namespace holdfast::ha {
namespace {

using store::Change;
using store::Entry;
using store::Operation;

// Who may do what. Other kinds describe the cluster; nobody is safer without them.
constexpr std::array<std::string_view, 3> kRightsKinds = {"/role/", "/token/", "/user/"};
constexpr std::string_view kUsers = "/user/";

bool is_right(std::string_view key) {
  return std::ranges::any_of(kRightsKinds,
                             [&](std::string_view kind) { return key.starts_with(kind); });
}

size_t changes_in(const Quarantine& quarantine) {
  size_t count = 0;
  for (const Entry& entry : quarantine.entries) count += entry.changes.size();
  return count;
}

// By its epochs: who takes over by the rules takes one of the next. Its first tenures may be
// forgotten; then an epoch that high says that there was one, once.
bool is_forced(const store::ReplicaFacts& winner, store::Revision fork) {
  store::Epoch before = 0;
  for (const store::Tenure& tenure : winner.tenures) {
    const bool common = fork > 0 && tenure.first <= fork;
    if (!common && tenure.epoch >= before + Protocol::Config{}.forced_leap) return true;
    before = tenure.epoch;
  }
  return false;
}

}  // namespace

bool may_be_acknowledged(const store::ReplicaFacts& mine, const store::ReplicaFacts& winner,
                         store::Revision fork, store::Epoch alone_through) {
  const bool last_tenure = store::epoch_of(mine.tenures, fork + 1) == mine.head.epoch;
  return !last_tenure || mine.head.epoch <= alone_through || is_forced(winner, fork);
}

Quarantine make_quarantine(QuarantineHeader header, const std::vector<Entry>& entries) {
  Quarantine quarantine{.header = std::move(header)};
  for (const Entry& entry : entries) {
    if (entry.head.revision > quarantine.header.fork) quarantine.entries.push_back(entry);
  }
  // What was compacted before it could be kept is missing too: a revision is an entry.
  const store::Revision lost = quarantine.header.head.revision - quarantine.header.fork;
  const uint64_t kept = quarantine.entries.size();
  quarantine.header.entries = std::max(kept, static_cast<uint64_t>(std::max<int64_t>(lost, 0)));
  quarantine.header.left_out = quarantine.header.entries - kept;
  return quarantine;
}

std::vector<Revocation> revocations(const Quarantine& quarantine, const RevocationRules& rules) {
  std::map<std::string, Revocation::Type> found;
  for (const Entry& entry : quarantine.entries) {
    for (const Change& change : entry.changes) {
      const std::string& key = change.item.key;
      if (!is_right(key)) continue;
      if (change.type == Change::Type::Delete) {
        found.insert_or_assign(key, Revocation::Type::Remove);
      } else if (key.starts_with(kUsers) && rules.is_disabled(key, change.item.value)) {
        found.try_emplace(key, Revocation::Type::Disable);
      }
    }
  }
  std::vector<Revocation> list;
  list.reserve(found.size());
  for (const auto& [key, type] : found) list.push_back({.type = type, .key = key});
  return list;
}

std::optional<Operation> to_operation(const Revocation& revocation,
                                      const std::optional<store::Item>& current,
                                      const RevocationRules& rules) {
  if (!current) return std::nullopt;
  Operation operation{.type = Operation::Type::Delete,
                      .key = revocation.key,
                      .precondition = store::Precondition::Revision,
                      .revision = current->revision};
  if (revocation.type == Revocation::Type::Remove) return operation;
  if (rules.is_disabled(revocation.key, current->value)) return std::nullopt;
  std::optional<std::string> disabled = rules.disable(revocation.key, current->value);
  // A user that cannot be read cannot be disabled in place. Without it nobody logs in as it.
  if (!disabled) return operation;
  operation.type = Operation::Type::Put;
  operation.value = *std::move(disabled);
  operation.expires = current->expires;
  return operation;
}

std::vector<std::string> to_lines(const Quarantine& quarantine, size_t max_lines) {
  std::vector<std::string> lines;
  for (const Entry& entry : quarantine.entries) {
    for (const Change& change : entry.changes) {
      if (lines.size() >= max_lines) {
        lines.push_back(fmt::format("and {} more", changes_in(quarantine) - max_lines));
        return lines;
      }
      const bool put = change.type == Change::Type::Put;
      lines.push_back(fmt::format("revision {}: {} {}", entry.head.revision,
                                  put ? "put" : "removed", printable(change.item.key)));
    }
  }
  return lines;
}

std::string summary(const Quarantine& quarantine) {
  const QuarantineHeader& header = quarantine.header;
  std::string text = fmt::format(
      "{} changes of {} after revision {}, {}, put aside {} for epoch {}", changes_in(quarantine),
      printable(header.node), header.fork,
      header.acknowledged ? "may have been acknowledged to clients" : "never acknowledged",
      to_rfc3339(header.at), header.winner);
  if (header.left_out > 0)
    text += fmt::format("; {} more are only in the whole store", header.left_out);
  return text;
}

}  // namespace holdfast::ha
