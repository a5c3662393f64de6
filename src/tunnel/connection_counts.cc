#include "tunnel/connection_counts.h"

namespace holdfast::tunnel {
namespace {

uint64_t* count_of(route::FailedCounts& failed, route::Ended how) {
  switch (how) {
    case route::Ended::Closed:
      return nullptr;
    case route::Ended::Refused:
      return &failed.refused;
    case route::Ended::TimedOut:
      return &failed.timed_out;
    case route::Ended::Reset:
      return &failed.reset;
    case route::Ended::GaveUp:
      return &failed.gave_up;
    case route::Ended::Cut:
      return &failed.cut;
  }
  return nullptr;
}

}  // namespace

ConnectionRow* ConnectionCounts::hold(const AskedFor& asked, std::string_view zone) {
  auto found = rows_.find(ConnectionKey::View{asked.service, asked.port, zone});
  if (found == rows_.end()) {
    if (rows_.size() >= most_) {
      left_out_ += 1;
      return nullptr;
    }
    ConnectionKey key{
        .service = std::string(asked.service), .port = asked.port, .zone = std::string(zone)};
    found = rows_.try_emplace(std::move(key)).first;
  }
  ConnectionRow& row = found->second;
  if (row.address != asked.address) row.address = asked.address;
  if (row.protocol != asked.protocol) row.protocol = asked.protocol;
  row.held += 1;
  return &row;
}

void ConnectionCounts::ended(ConnectionRow& row, route::Ended how) {
  row.closed += 1;
  uint64_t* failed = count_of(row.failed, how);
  if (failed != nullptr) *failed += 1;
}

void ConnectionCounts::forget_unless(
    const std::function<bool(const std::string& service)>& is_there) {
  std::erase_if(rows_, [&](const auto& each) {
    return each.second.held == 0 && !is_there(each.first.service);
  });
}

}  // namespace holdfast::tunnel
