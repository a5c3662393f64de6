#include "net/http_linger.h"

#include <array>
#include <iterator>
#include <utility>

namespace holdfast::net {
namespace {

constexpr int kAtOnce = 4;

}  // namespace

HttpLinger::~HttpLinger() {
  close_all();
}

void HttpLinger::add(std::unique_ptr<HttpStream> stream, Time deadline) {
  all_.push_back({.stream = std::move(stream), .deadline = deadline});
  shared_.counters.connections.add(1);
}

// What a peer still sends is read, so that closing is no reset of what it has not read yet.
bool HttpLinger::has_ended(One& one) {
  std::array<char, 1024> unread;
  while (one.discarded_bytes < kMaxDiscardedBytes) {
    const std::optional<Result<size_t>> count = one.stream->read_now(unread);
    if (!count) return false;
    if (!count->ok() || **count == 0) return true;
    one.discarded_bytes += **count;
  }
  return true;
}

void HttpLinger::close(std::list<One>::iterator one) {
  all_.erase(one);
  shared_.counters.connections.add(-1);
}

void HttpLinger::look_at_oldest() {
  for (int i = 0; i < kAtOnce && !all_.empty() && has_ended(all_.front()); ++i) close(all_.begin());
}

void HttpLinger::on_tick(Time now) {
  for (auto one = all_.begin(); one != all_.end();) {
    const auto current = one++;
    if (has_ended(*current)) {
      close(current);
    } else if (now >= current->deadline) {
      shared_.counters.cut.with({{"reason", "linger_timeout"}}).add();
      close(current);
    }
  }
}

bool HttpLinger::give_way() {
  if (all_.empty()) return false;
  if (!has_ended(all_.front())) shared_.counters.cut.with({{"reason", "replaced"}}).add();
  close(all_.begin());
  return true;
}

void HttpLinger::close_all() {
  while (!all_.empty()) close(all_.begin());
}

}  // namespace holdfast::net
